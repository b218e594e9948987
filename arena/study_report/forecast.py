"""Forecast what a study uses and which differences it can show, before it is played.

A pilot is an earlier study with the same names of players: it gives the use of each player, and how much differences
vary from deal to deal."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, variance

from arena.bots import BotError
from arena.models import Budget, ModelSettings, read_settings
from arena.study import StudyConfig
from arena.study_measures import measures
from arena.study_report.report import Study

# Assumptions where no pilot says more.
_CALLS_PER_GAME = 30
_PROMPT_TOKENS, _OUTPUT_TOKENS, _SECONDS = 2500, 400, 10  # of a call


@dataclass(frozen=True, slots=True)
class Use:
    """What a model player will use in a condition. dollars: null without a price.

    pilot_condition: the condition of the pilot that the numbers are from; null if they are assumed.
    """

    player: str
    condition: str
    model: str
    games: int
    calls: int
    tokens: int
    seconds: float
    dollars: float | None
    pilot_condition: str | None = None


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """The differences of two rates, 0 to 1, that are clear in 80 % of studies.

    alone: if this comparison were the only one of its measure. corrected: with Holm's correction for all `comparisons`.
    assumed: whether the variation from deal to deal isn't from a pilot.
    """

    measure: str
    alone: float
    corrected: float
    comparisons: int
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The plan of a study. games: in all; games_each: of each player in each condition.

    hours: within the limits of keys. pilot: the study whose numbers are used; null for assumptions. refused: which
    parts of the budget aren't enough.
    """

    deals: int
    games: int
    games_each: int
    uses: tuple[Use, ...]
    calls: int
    tokens: int
    dollars: float | None
    hours: float
    differences: tuple[ShownDifference, ...]
    pilot: str | None
    refused: tuple[str, ...]


def plan_study(config: StudyConfig, budget: Budget, jobs: int, pilot: Study | None = None) -> StudyPlan:
    """Return the plan of a study that plays `jobs` games at once.

    Raises BotError if a model's settings aren't valid, or the pilot has no complete deal of any player.
    """
    plan, pilot_cases = config.plan(), measures.Cases()
    for game in pilot.games if pilot else ():
        pilot_cases.add_game(game)
    models = _forecast_models(config, budget, _measure_pilot(pilot, pilot_cases, config.players), pilot)
    uses = [use for use, _ in models]
    calls, tokens = sum(use.calls for use in uses), sum(use.tokens for use in uses)
    prices = [use.dollars for use in uses]
    dollars = None if None in prices else round(sum(price or 0.0 for price in prices), 2)
    played_h = sum(use.seconds for use in uses) / min(jobs, plan.games) / 3600
    return StudyPlan(
        deals=plan.rounds,
        games=plan.games,
        games_each=plan.rounds * config.games_of_deal(),
        uses=tuple(uses),
        calls=calls,
        tokens=tokens,
        dollars=dollars,
        hours=round(max([played_h, *_limit_hours(models, budget)]), 2),
        differences=tuple(_forecast_differences(config, pilot_cases, pilot)),
        pilot=None if pilot is None else str(pilot.path),
        refused=tuple(_list_excesses({"calls": calls, "tokens": tokens, "dollars": dollars}, budget)),
    )


def _list_excesses(needed: Mapping[str, float | None], budget: Budget) -> Iterator[str]:
    """Yield a text for each needed amount above the budget's limit of the same name. An amount of None is unknown."""
    for name, amount in needed.items():
        limit = getattr(budget, name)
        if amount is not None and limit is not None and amount > limit:
            yield f"about {amount:.9g} {name}, and the budget allows {limit:.9g}"


def _measure_pilot(
    pilot: Study | None, cases: measures.Cases, players: Sequence[str]
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the pilot's measures by (player, condition), then by name; {} without a pilot.

    cases: the pilot's. Raises BotError if none is of these players.
    """
    values: dict[tuple[str, str], dict[str, float]] = {}
    if pilot is None:
        return values
    for row in measures.measure_all(cases, pilot.participants, pilot.conditions):
        values.setdefault((row.player, row.condition), {})[row.measure] = row.value
    if not any(player in players for player, _ in values):
        raise BotError(
            f"{pilot.path}: no complete deal of any of the players {', '.join(players)}.\n"
            "Name a study with some of these players, or omit --pilot."
        )
    return values


def _forecast_models(
    config: StudyConfig, budget: Budget, pilot_measures: dict[tuple[str, str], dict[str, float]], pilot: Study | None
) -> list[tuple[Use, ModelSettings]]:
    """Return the use of each model in each condition, with the model's settings.

    pilot_measures: by (player, condition); those of the same condition come first, then those of any other one.
    Raises BotError if a model's settings aren't valid.
    """
    games = Counter(
        (config.place_of(table.match).condition.name, bot) for table in config.plan().tables for bot in table.bots
    )
    pilot_conditions = pilot.conditions if pilot else []
    forecasts = []
    for condition in config.conditions:
        for player, bot in zip((*config.players, *config.anchors), condition.bots, strict=True):
            if not config.bots[bot].is_model:
                continue
            settings = read_settings(config.bots[bot])
            source = _find_pilot_condition(player, (condition.name, *pilot_conditions), pilot_measures)
            pilot_values = {} if source is None else pilot_measures[player, source]
            use = _forecast_use(player, condition.name, settings, games[condition.name, bot], pilot_values, budget)
            forecasts.append((replace(use, pilot_condition=source), settings))
    return forecasts


def _find_pilot_condition(
    player: str, conditions: Sequence[str], pilot_measures: Mapping[tuple[str, str], Mapping[str, float]]
) -> str | None:
    """Return the first of these conditions in which a pilot measured a player's tokens, None without one."""
    return next((name for name in conditions if "tokens_game" in pilot_measures.get((player, name), {})), None)


def _limit_hours(models: Sequence[tuple[Use, ModelSettings]], budget: Budget) -> list[float]:
    """Return for each key with limits the hours that all uses of its models take at these limits per minute."""
    hours: dict[str, float] = {}  # by key
    for use, settings in models:
        if limits := budget.keys.get(settings.key_name):
            amounts = (use.calls, limits.requests_per_minute), (use.tokens, limits.tokens_per_minute)
            use_hours = max([amount / limit / 60 for amount, limit in amounts if limit], default=0.0)
            hours[settings.key_name] = hours.get(settings.key_name, 0.0) + use_hours
    return list(hours.values())


def _forecast_use(
    player: str, condition: str, settings: ModelSettings, games: int, pilot_values: Mapping[str, float], budget: Budget
) -> Use:
    """Return what a player will use in these games. pilot_values: a pilot's measures, which replace assumed ones.

    Dollars are those of the pilot, else the price of its tokens, divided as the assumed prompt and output are.
    """
    price = budget.prices.get(settings.model)
    tokens_game = pilot_values.get("tokens_game", _CALLS_PER_GAME * (_PROMPT_TOKENS + _OUTPUT_TOKENS))
    dollars_game = pilot_values.get("dollars_game")
    if dollars_game is None and price is not None:
        calls = tokens_game / (_PROMPT_TOKENS + _OUTPUT_TOKENS)
        dollars_game = price.cost(round(calls * _PROMPT_TOKENS), round(calls * _OUTPUT_TOKENS))
    return Use(
        player=player,
        condition=condition,
        model=settings.model,
        games=games,
        calls=math.ceil(games * pilot_values.get("calls_game", _CALLS_PER_GAME)),
        tokens=math.ceil(games * tokens_game),
        seconds=round(games * pilot_values.get("seconds_game", _CALLS_PER_GAME * _SECONDS), 1),
        dollars=None if dollars_game is None else round(games * dollars_game, 4),
    )


def _forecast_differences(
    config: StudyConfig, pilot_cases: measures.Cases, pilot: Study | None
) -> Iterator[ShownDifference]:
    """Yield the differences that the study can show, in the order of measures; without a pilot, of win rates alone."""
    deals, conditions = config.plan().rounds, [condition.name for condition in config.conditions]
    for measure in measures.COMPARED_MEASURES:
        comparisons = len(list(measures.pair_keys(measure, config.players, conditions)))
        spread = _measure_spread(measure, config.players, pilot_cases, pilot.conditions) if pilot else 0.0
        is_assumed = not spread and measure == "win_rate"
        if is_assumed:
            spread = measures.PAIR_VARIANCE / config.games_of_deal()
        if spread and comparisons:
            alone = measures.smallest_difference(deals, spread)
            corrected = measures.smallest_difference(deals, spread, comparisons)
            yield ShownDifference(measure, alone, corrected, comparisons, is_assumed)


def _measure_spread(measure: str, players: Sequence[str], cases: measures.Cases, conditions: Sequence[str]) -> float:
    """Return the variance of a difference from deal to deal, as the mean of all comparisons; 0 without two deals."""
    variances = []
    for key, other_key in measures.pair_keys(measure, players, conditions):
        gains = [rate - other_rate for rate, other_rate in measures.paired_rates(cases, key, other_key)]
        if len(gains) > 1:
            variances.append(variance(gains))
    return fmean(variances) if variances else 0.0
