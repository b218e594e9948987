"""Define the report of `arena run --json` as models: one object on stdout, with its JSON schema.

`--csv` gives the same data in rows and columns. All versions 1.x of the arena keep VERSION: fields may be added, none
is removed or changes its meaning."""

import csv
import io
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from arena.escaping import escape_csv_cell
from arena.rating import Estimate
from arena.referee import FAULTS, LatencyHistogram
from arena.run.run_folder import RunFolder
from arena.run.session import Progress, Run
from arena.run.standings import HeadToHead, RunStanding, RunStandings

VERSION: Literal[1] = 1

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class RequestTimes(_Part):
    """A bot's response times in this session, in ms."""

    median: float
    p99: float


class RunReportRow(_Part):
    """A bot's row of the standings. `wins` counts a draw as 1/k for each of k survivors. Intervals have a level of
    95 %; `low` and `high` are null if the run has too few matches.
    """

    position: int = Field(description="by rating, from 1; rank_range shows which are certain")
    bot: str
    rank_range: tuple[int, int] = Field(description="the best and the worst rank that fit the games")
    rating: Estimate = Field(description="TrueSkill's model, fitted to all games at once; the mean of the field is 25")
    win_rate_adjusted: Estimate | None = Field(
        description="as if the bot met all others equally often; without an interval, a prior pulls it to the fair rate"
    )
    win_rate: Share | None = Field(description="of the bot's games")
    wins: float
    games: Count
    matches: Count
    faults: Count = Field(description="without those that other faults cause")
    faults_by_code: dict[str, Count] = Field(description="with those that others cause (out_of_lives, retired)")
    forfeits: Count


class HeadToHeadRow(_Part):
    """A bot's results against one other bot, in games with both at the table. A draw among k counts 1/k."""

    wins: float
    losses: float
    games: Count
    matches: Count
    win_rate: Share | None = Field(description="of the games that one of the two won; null below 10 matches")


class SkippedBot(_Part):
    """A requested bot that can't play; the run is played without it."""

    bot: str
    reason: str


class Speed(_Part):
    """The speed of this session, by wall time."""

    games_per_s: float
    requests_per_s: float
    startup_s: float = Field(description="to start the processes of a match")


class ModelCalls(_Part):
    """The calls of a language model in a run with all its resumptions."""

    player: str
    calls: Count = Field(description="that were answered, or may have been billed")
    tokens: Count
    dollars: float | None = Field(description="null without a price")
    seconds: float
    played: Count = Field(description="answers that were played")
    asked_again: Count
    default_moves: dict[str, Count] = Field(description="moves that replaced useless answers, by reason")
    provider_failures: dict[str, Count] = Field(description="which count as no move, by reason")


class RunReport(_Part):
    """The results of a run that ended or stopped."""

    version: Literal[1] = VERSION
    error: str | None = Field(description="why the run stopped early; null if it is complete or was interrupted")
    run: str = Field(description="the run's folder")
    rules: str
    seed: int | None
    seats: int
    games: Count
    matches: Count
    draws: Count
    failed_attempts: Count = Field(description="failed attempts at matches in this session")
    abandoned: list[int] = Field(description="matches that failed too often")
    skipped: list[SkippedBot]
    fair_win_rate: Share = Field(description="1 / seats")
    standings: list[RunReportRow]
    win_rate_by_seat: list[Share] = Field(description="first to last")
    head_to_head: dict[str, dict[str, HeadToHeadRow]]
    speed: Speed
    request_ms: dict[str, RequestTimes] = Field(description="by bot; without bots that got no requests in this session")
    peak_memory_bytes: dict[str, Count] = Field(description="by bot, of one process in this session, if known")
    models: list[ModelCalls] = Field(description="calls of language models, by player")


class RefusedRun(_Part):
    """The error of a run that wasn't started."""

    version: Literal[1] = VERSION
    error: str


def make_run_report(
    run: Run, folder: RunFolder, standings: RunStandings, error: str | None, models: Sequence[ModelCalls] = ()
) -> RunReport:
    """Return the report of a run. error: why it stopped before its end, None if it didn't."""
    config, progress = run.config, run.progress
    request_times = {bot: _request_ms(times) for bot, times in progress.times.items()}
    return RunReport(
        error=error,
        run=str(folder.path),
        rules=config.settings.rules.name,
        seed=config.seed,
        seats=config.seats,
        games=standings.games,
        matches=standings.matches,
        draws=standings.draws,
        failed_attempts=progress.failed_attempts,
        abandoned=[attempt.match for attempt in progress.abandoned],
        skipped=[SkippedBot(bot=name, reason=reason) for name, reason in config.skipped],
        fair_win_rate=round(1 / config.seats, 4),
        standings=[_report_row(row) for row in standings.rows],
        win_rate_by_seat=[round(wins / standings.games, 4) for wins in standings.seats],
        head_to_head={
            bot: {opponent: _head_to_head_row(duel) for opponent, duel in row.items()}
            for bot, row in standings.head_to_head.items()
        },
        speed=_measure_speed(progress),
        request_ms={bot: times for bot, times in request_times.items() if times is not None},
        peak_memory_bytes=progress.peaks,
        models=list(models),
    )


def _measure_speed(progress: Progress) -> Speed:
    """Return the speed of this session; 0 before its first match."""
    seconds, matches = progress.seconds, progress.done - progress.resumed
    return Speed(
        games_per_s=round(progress.fresh_games / seconds, 2) if seconds else 0.0,
        requests_per_s=round(progress.requests / seconds, 1) if seconds else 0.0,
        startup_s=round(progress.startup_s / matches, 4) if matches else 0.0,
    )


def _report_row(row: RunStanding) -> RunReportRow:
    """Return a bot's standing as --json prints it: rounded, and with a count for each fault."""
    return RunReportRow(
        position=row.position,
        bot=row.bot,
        rank_range=row.rank_range,
        rating=_round_estimate(row.rating, 3),
        win_rate_adjusted=None if row.win_rate_adjusted is None else _round_estimate(row.win_rate_adjusted, 4),
        win_rate=None if row.win_rate is None else round(row.win_rate, 4),
        wins=round(row.wins, 4),
        games=row.games,
        matches=row.matches,
        faults=row.faults,
        faults_by_code={code: row.faults_by_code.get(code, 0) for code in FAULTS},
        forfeits=row.forfeits,
    )


def _round_estimate(estimate: Estimate, digits: int) -> Estimate:
    low, high = (None if end is None else round(end, digits) for end in (estimate.low, estimate.high))
    return Estimate(round(estimate.value, digits), low, high)


def _head_to_head_row(duel: HeadToHead) -> HeadToHeadRow:
    return HeadToHeadRow(
        wins=round(duel.wins, 4),
        losses=round(duel.losses, 4),
        games=duel.games,
        matches=duel.matches,
        win_rate=None if duel.win_rate is None else round(duel.win_rate, 4),
    )


def _request_ms(times: LatencyHistogram) -> RequestTimes | None:
    """Return the median and the 99 % quantile in ms, None without requests."""
    median, p99 = (times.quantile_ms(share) for share in (0.5, 0.99))
    return None if median is None or p99 is None else RequestTimes(median=round(median, 3), p99=round(p99, 3))


# ---------------------------------------------------------------- rows and columns


def run_report_to_csv(report: RunReport) -> str:
    """Return the standings as CSV, without a newline at the end, with two columns of results against each bot."""
    text = io.StringIO()
    writer: csv.DictWriter[str] | None = None
    for row in report.standings:
        cells = _make_csv_cells(report, row)
        if writer is None:
            writer = csv.DictWriter(text, list(cells), lineterminator="\n")
            writer.writeheader()
        writer.writerow(cells)
    return text.getvalue().removesuffix("\n")


def _make_csv_cells(report: RunReport, row: RunReportRow) -> dict[str, object]:
    """Return a bot's row as column -> value; an estimate has three columns: value, low and high."""
    cells: dict[str, object] = {}
    for name, value in row.model_dump(exclude={"faults_by_code"}).items():
        if name in ("rating", "win_rate_adjusted"):
            estimate = value or {"value": None, "low": None, "high": None}
            cells |= {name: estimate["value"], f"{name}_low": estimate["low"], f"{name}_high": estimate["high"]}
        elif name == "rank_range":
            cells["best_rank"], cells["worst_rank"] = value
        else:
            cells[name] = escape_csv_cell(value) if isinstance(value, str) else value
    times = report.request_ms.get(row.bot)
    cells["median_ms"], cells["p99_ms"] = (None, None) if times is None else (times.median, times.p99)
    cells["peak_memory_bytes"] = report.peak_memory_bytes.get(row.bot)
    for opponent in report.standings:
        duel = report.head_to_head[row.bot].get(opponent.bot)
        cells[f"win_rate against {opponent.bot}"] = None if duel is None else duel.win_rate
        cells[f"matches against {opponent.bot}"] = None if duel is None else duel.matches
    return cells
