"""Compare versions with the baselines of a ladder, which give points.

A baseline compares a measurement with its threshold. A version beats a bot if the 95 % interval of the difference of
adjusted win rates is above 0. Games in common are too few, and at a table of four they depend as much on the others.
Faults are counted plainly: after 240 games without one, the interval still reaches 1.6 %. A rate is compared by its
value; if the threshold is inside the interval, the result is marked as inconclusive.
"""

from dataclasses import astuple, dataclass

from sqlalchemy import Connection

from arena.escaping import escape_control
from arena.formatting import format_count, format_interval
from arena.rating import Estimate, win_rate_interval
from ladder import store
from ladder.settings import Baseline, LadderError
from ladder.standings import Evaluation


@dataclass(frozen=True, slots=True)
class BaselineResult:
    """The result of one baseline for one version. threshold, value and its interval (low, high) are in percent.

    points: those earned, of `max_points`. inconclusive: whether the threshold lies within the interval.
    """

    baseline: str
    passed: bool
    points: float
    max_points: float
    threshold: float | None
    value: float | None
    low: float | None
    high: float | None
    inconclusive: bool
    explanation: str


def require_baseline_bots(connection: Connection, baselines: tuple[Baseline, ...]) -> None:
    """Raise LadderError if a baseline names an unknown bot."""
    bots = {bot.name: bot for bot in store.all_bots(connection)}
    for baseline in baselines:
        if baseline.beats is not None and baseline.beats not in bots:
            references = ", ".join(sorted(escape_control(bot.name) for bot in bots.values() if bot.is_reference))
            raise LadderError(
                f'the baseline "{baseline.name}" names a bot "{escape_control(baseline.beats)}" that doesn\'t exist.\n'
                f"The reference bots are {references}."
            )


def evaluate_baseline(
    baseline: Baseline, version: store.Version, evaluation: Evaluation, opponent: store.Version | None
) -> BaselineResult:
    """Compare a version with a baseline. opponent: the version of the bot to beat, None if it doesn't play."""
    if baseline.beats is not None:
        return _judge_lead(baseline, version, evaluation, opponent)
    if baseline.min_games is not None:
        return _judge_games(baseline, baseline.min_games, version, evaluation)
    assert baseline.min_win_rate_percent is not None
    return _judge_win_rate(baseline, baseline.min_win_rate_percent, version, evaluation)


def _judge_lead(
    baseline: Baseline, version: store.Version, evaluation: Evaluation, opponent: store.Version | None
) -> BaselineResult:
    """Return the result of a baseline that is passed if the win rate is above the opponent's.

    The whole interval of the difference must be above 0.
    """
    if opponent is None:
        return make_baseline_result(baseline, f"{baseline.beats} doesn't play")
    if opponent.bot == version.bot:
        return make_baseline_result(baseline, f"this bot is {baseline.beats} itself")
    lead = evaluation.lead(version.id, opponent.id)
    if lead is None:
        return make_baseline_result(baseline, "no games yet")
    if lead.low is None:
        return make_baseline_result(baseline, "too few games for an interval", threshold=0.0, estimate=lead)
    direction = "ahead of" if lead.value > 0 else "behind"
    points = abs(_to_percent(lead).value)
    text = f"{points:.1f} points {direction} {opponent.version_ref} ({format_interval(lead, to=' to ')})"
    return make_baseline_result(baseline, text, passed=lead.low > 0, threshold=0.0, estimate=lead)


def _judge_games(baseline: Baseline, games: int, version: store.Version, evaluation: Evaluation) -> BaselineResult:
    """Return the result of a baseline that requires at least `games` games, and perhaps a small share of faulty ones.

    The share is compared with `baseline.max_fault_percent`.
    """
    games_played = evaluation.get_row(version.id).games
    has_enough = games_played >= games
    text = f"{games_played} of {format_count(games, 'required game')}"
    threshold = baseline.max_fault_percent
    if threshold is None:
        return make_baseline_result(baseline, text, passed=has_enough)
    if not games_played:
        return make_baseline_result(baseline, text, threshold=threshold)
    games_with_fault = evaluation.faulty.get(version.id, 0)
    estimate = Estimate(games_with_fault / games_played, *win_rate_interval(games_with_fault, games_played))
    fault_percent = _to_percent(estimate).value
    return make_baseline_result(
        baseline,
        f"{text}, {fault_percent:.1f} % with a fault",
        passed=has_enough and fault_percent < threshold,
        threshold=threshold,
        estimate=estimate,
    )


def _judge_win_rate(
    baseline: Baseline, threshold: float, version: store.Version, evaluation: Evaluation
) -> BaselineResult:
    """Return the result of a baseline that requires an adjusted win rate of at least the threshold, in percent."""
    estimate = evaluation.get_row(version.id).win_rate_adjusted
    if estimate is None:
        return make_baseline_result(baseline, "no games yet")
    percent = _to_percent(estimate)
    text = f"win rate {percent.value:.1f} %"
    if percent.low is None or percent.high is None:
        return make_baseline_result(
            baseline, f"{text}, too few games for an interval", threshold=threshold, estimate=estimate
        )
    return make_baseline_result(
        baseline,
        f"{text} ({format_interval(estimate, to=' to ')})",
        passed=percent.value >= threshold,
        threshold=threshold,
        estimate=estimate,
        inconclusive=percent.low < threshold <= percent.high,
    )


def make_baseline_result(
    baseline: Baseline,
    explanation: str,
    *,
    passed: bool = False,
    threshold: float | None = None,
    estimate: Estimate | None = None,
    inconclusive: bool = False,
) -> BaselineResult:
    """Return a baseline's result, by default not passed. threshold: in percent. estimate: the measured rate, of 1."""
    value, low, high = (None, None, None) if estimate is None else astuple(_to_percent(estimate))
    return BaselineResult(
        baseline=baseline.name,
        passed=passed,
        points=baseline.points if passed else 0.0,
        max_points=baseline.points,
        threshold=threshold,
        value=value,
        low=low,
        high=high,
        inconclusive=inconclusive,
        explanation=explanation,
    )


def _to_percent(estimate: Estimate) -> Estimate:
    """Return a rate in percent with six decimals, since further digits depend on the processor."""
    low, high = (None if bound is None else round(100 * bound, 6) for bound in (estimate.low, estimate.high))
    return Estimate(round(100 * estimate.value, 6), low, high)


_REQUIREMENTS = {
    "beats": "beating {}",
    "min_games": "at least {} games",
    "max_fault_percent": "faults in less than {:g} % of games",
    "min_win_rate_percent": "a win rate of at least {:g} %",
}


def describe_baseline(baseline: Baseline | None) -> str:
    """Return what a baseline requires, and its points; "none" without one."""
    if baseline is None:
        return "none"
    values = baseline.model_dump(exclude={"name", "points"}, exclude_none=True)
    return f"{baseline.points:g} points for {' and '.join(_REQUIREMENTS[name].format(values[name]) for name in values)}"


def describe_baseline_result(result: BaselineResult) -> str:
    """Return a result in words, as a grade's reason has it."""
    outcome = "passed" if result.passed else "not passed"
    doubt = ", inconclusive: the threshold is inside the interval" if result.inconclusive else ""
    return f"{result.baseline}: {outcome}, {result.explanation}{doubt}"
