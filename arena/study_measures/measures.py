"""Measure players and conditions by deal, and compare them.

A case belongs to a player, a condition, a measure and a deal. A measure is the sum of its counts divided by its number
of opportunities. Its interval treats all cases of a deal as one observation: that of `arena.stats.Proportion` for
shares, one of Student's t for amounts such as tokens.

A difference is the mean over deals of the difference of two rates in the same deal, over the deals in which both have
opportunities. `arena.compare.Evidence` tests it, with bets that aim at the difference that the study's size can show.
So the answer is valid whenever it is looked at. Holm's method corrects the p-values of each measure for its number of
comparisons: if nothing differs, a measure has any clear difference in at most 5 % of studies."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, log, nan, sqrt
from typing import NamedTuple

from arena.compare import Evidence
from arena.rating import Z_95
from arena.stats import ALL, Proportion, student_t_quantile
from arena.study_measures.tables import Claim, Decision, GameTables, Line

LEVEL = 0.05  # of the corrected p-values
_MIN_ERRORS = 0.7 * Z_95  # of independent cases; those of a deal vary less, as each player gets each seat's cards
PAIR_VARIANCE = 0.25  # of a difference in a pair of games, as comparisons of bots assume
_MAX_STAKE = 0.98
_AIMED_SHARE = 0.9  # of the wealth: it is staked for the difference that the study can show
_ERRORS_OF_80 = 0.84  # standard errors


class Measure(NamedTuple):
    """A measure: its title, what it is a share or an amount of, and whether it is compared."""

    title: str
    of: str
    compared: bool = False
    is_share: bool = True


MEASURES = {
    "win_rate": Measure("games won", "of its games; a draw counts as a share", True),
    "placement": Measure("opponents outlasted", "of its opponents; survivors of a draw outlast half of each other"),
    "bluff_rate": Measure("bluffs per opportunity", "of its decisions that allow to claim a role that it lacks", True),
    "bluffs": Measure("bluffs per claim", "of its claims of that role, to act or to block", True),
    "bluffs_stood": Measure("bluffs that stood", "of its bluffs that the others could challenge"),
    "challenges": Measure("challenges", "of the claims that it was asked about", True),
    "challenges_right": Measure("right challenges", "of its challenges, those of a false claim", True),
    "challenges_expected": Measure(
        "right challenges by the odds",
        "of its challenges, the mean probability that the claim was false, by the cards that it saw or knew",
    ),
    "blocks": Measure("blocks", "of the actions that it was asked about"),
    "blocks_bluffed": Measure("blocks without the card", "of its blocks"),
    "statements_true": Measure("true statements", "of its statements that it holds or lacks a role", True),
    "doubts_true": Measure("true doubts", "of its statements that another player lacks a role"),
    "challenged_announced": Measure(
        "announced claims challenged", "of its claims of a role that it had said in this game to hold"
    ),
    "challenged_others": Measure("other claims challenged", "of its claims without such a statement"),
    "answers": Measure(
        "answers that were asked for again or replaced", "of its decisions with a call; a reason: of default moves"
    ),
    "cost": Measure("cost of a decision in wins", "estimated by playouts of a sample of its games", False, False),
    "calls_game": Measure("calls a game", "of its games", False, False),
    "tokens_decision": Measure("tokens a decision", "of its decisions with a call", False, False),
    "tokens_game": Measure("tokens a game", "of its games", False, False),
    "seconds_decision": Measure("seconds a decision", "of its decisions with a call", False, False),
    "seconds_game": Measure("seconds a game", "of its games", False, False),
    "dollars_decision": Measure("dollars a decision", "of its decisions with a call", False, False),
    "dollars_game": Measure("dollars a game", "of its games", False, False),
}  # fmt: skip
COMPARED_MEASURES = tuple(name for name, measure in MEASURES.items() if measure.compared)


class Key(NamedTuple):
    """The group of cases, of any deal, to which a case belongs. name: of a part of the measure, such as a role."""

    player: str
    condition: str
    measure: str
    name: str = ALL


class Cases:
    """The cases of a study: by key and deal, the sum of the counts and the number of opportunities."""

    def __init__(self) -> None:
        self.by_key: dict[Key, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))

    def add(self, key: Key, deal: int, count: float, total: int = 1) -> None:
        case = self.by_key[key][deal]
        case[0] += count
        case[1] += total

    def add_game(self, game: GameTables) -> None:
        """Add all cases of a game but those of playouts."""
        for player, won in game.worth.items():
            self._add(game, player, "win_rate", won)
            self._add(game, player, "placement", game.placement[player])
        for decision in game.decisions:
            self._add_decision(game, decision)
        for claim in game.claims:
            self._add_claim(game, claim)
        for challenge in game.challenges:
            self._add(game, challenge.player, "challenges_right", challenge.right)
            if challenge.chance_right is not None:
                self._add(game, challenge.player, "challenges_expected", challenge.chance_right)
        for statement in game.statements:
            if statement.true is not None:
                measure = "doubts_true" if statement.says == "doubt" else "statements_true"
                self._add(game, statement.player, measure, statement.true)
        self._add_calls(game)

    def _add(self, game: GameTables, player: str, measure: str, count: float, *names: str) -> None:
        """Add a case of a game, to each part of the measure in `names`; without one, to its case of all."""
        for name in names or (ALL,):
            self.add(Key(player, game.condition, measure, name), game.deal, count)

    def _add_decision(self, game: GameTables, decision: Decision) -> None:
        if decision.could_bluff:
            self._add(game, decision.player, "bluff_rate", decision.bluff)
        if decision.kind == "challenge":
            self._add(game, decision.player, "challenges", decision.notation == "!")
        if decision.kind == "block":
            self._add(game, decision.player, "blocks", decision.notation != "-")
        if decision.outcome is not None:
            self._add(game, decision.player, "answers", decision.outcome != "played")
            self._add(game, decision.player, "answers", decision.outcome == "default move", "default move")

    def _add_claim(self, game: GameTables, claim: Claim) -> None:
        self._add(game, claim.player, "bluffs", not claim.true, ALL, claim.role)
        if claim.counted:
            measure = "challenged_announced" if claim.announced else "challenged_others"
            self._add(game, claim.player, measure, claim.challenged)
            if not claim.true:
                self._add(game, claim.player, "bluffs_stood", bool(claim.stood))
        if claim.block:
            self._add(game, claim.player, "blocks_bluffed", not claim.true)

    def _add_calls(self, game: GameTables) -> None:
        """Add the use of calls, of each decision and of each player in the game, as far as it is known."""
        game_amounts: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))  # by player
        player_of = {decision.move: decision.player for decision in game.decisions}
        for move, lines in game.calls.items():
            player, amounts = player_of[move], _sum_amounts(lines)
            self._add_amounts(player, game, amounts, "decision")
            for name, amount in amounts.items():
                game_amounts[player][name] += amount
        for player, sums in game_amounts.items():
            self._add_amounts(player, game, sums, "game")

    def _add_amounts(self, player: str, game: GameTables, amounts: Mapping[str, float], unit: str) -> None:
        """Add the amounts (name -> amount) that are known, and measured by this unit: "decision" or "game"."""
        for name, amount in amounts.items():
            if f"{name}_{unit}" in MEASURES and not isnan(amount):
                self._add(game, player, f"{name}_{unit}", amount)


def _sum_amounts(lines: Sequence[Line]) -> dict[str, float]:
    """Return the use of these calls by name; NaN for an amount that one of them doesn't know."""
    used = zip(*(line["used"] for line in lines), strict=True)
    calls, tokens, dollars = (sum(nan if amount is None else amount for amount in amounts) for amounts in used)
    return {"calls": calls, "tokens": tokens, "dollars": dollars, "seconds": sum(line["seconds"] for line in lines)}


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure of a player in a condition. name: the part, such as a role. total: its opportunities.

    deals: those with an opportunity. value: count / total, 0 to 1 for shares. low: of the 95 % interval, clustered by
    deal; null with fewer than two deals.
    """

    player: str
    condition: str
    measure: str
    name: str
    count: float
    total: int
    deals: int
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A compared measure: the first player and condition less the second. One of the two is the same in both.

    deals: those in which both have opportunities. difference: the mean over them, -1 to 1. low: as high, an end that
    holds with 95 % whenever the study is looked at; not corrected. p: of no difference, valid at any time. holm_p: p,
    corrected for all comparisons of the measure. clear: whether holm_p is at most 0.05.
    """

    measure: str
    player: str
    condition: str
    other_player: str
    other_condition: str
    deals: int
    difference: float
    low: float
    high: float
    p: float
    holm_p: float
    clear: bool


def measure_all(cases: Cases, players: Sequence[str], conditions: Sequence[str]) -> Iterator[Measured]:
    """Yield all measures: in the order of MEASURES, then by part, condition and player.

    players, conditions: all that have cases, in the order of the report.
    """
    orders = list(MEASURES), list(conditions), list(players)

    def order(key: Key) -> tuple[int, bool, str, int, int]:
        measure, condition, player = map(list.index, orders, (key.measure, key.condition, key.player))
        return measure, key.name != ALL, key.name, condition, player

    for key in sorted(cases.by_key, key=order):
        yield _measure_cases(key, cases.by_key[key].values())


def _measure_cases(key: Key, cases: Iterable[Sequence[float]]) -> Measured:
    """Return the measure of one key. cases: (count, opportunities) of each deal, of which there is at least one."""
    rate = Proportion()
    for count, total in cases:
        rate.add(count, int(total))
    value = rate.value
    assert value is not None
    low = high = None
    if rate.matches > 1:
        quantile = student_t_quantile(rate.matches - 1)
        half_width = quantile * sqrt(rate.variance)
        low, high = value - half_width, value + half_width
        if MEASURES[key.measure].is_share:
            low, high = rate.within(quantile, _MIN_ERRORS)
    return Measured(*key, rate.count, rate.total, rate.matches, value, low, high)


def compare_all(
    cases: Cases, players: Sequence[str], conditions: Sequence[str], deals: int, games: int
) -> Iterator[Difference]:
    """Yield the differences of players in each condition, and of conditions for each player, measure by measure.

    deals, games: the planned deals, and the games of a player in a deal of a condition. A comparison without a common
    deal yields nothing, but counts in the correction: later it may have some.
    """
    aim = smallest_difference(deals, PAIR_VARIANCE / games)
    for measure in COMPARED_MEASURES:
        key_pairs = list(pair_keys(measure, players, conditions))
        tests = [_gather_evidence(cases, *key_pair, aim, games) for key_pair in key_pairs]
        holm_p_values = correct_by_holm([evidence.p_value for evidence in tests])
        for (key, other_key), evidence, holm_p in zip(key_pairs, tests, holm_p_values, strict=True):
            if evidence.blocks:
                compared = (key.player, key.condition, other_key.player, other_key.condition)
                p = evidence.p_value
                yield Difference(measure, *compared, evidence.blocks, *evidence.estimate(), p, holm_p, holm_p <= LEVEL)


def _gather_evidence(cases: Cases, key: Key, other_key: Key, aim: float, games: int) -> Evidence:
    """Return the evidence that the rate of `key` differs from that of `other_key`: each common deal is a block.

    aim: the difference at which the bets aim. games: of a player in a deal.
    """
    evidence = Evidence(aim, forecasts=False)
    for rate, other_rate in paired_rates(cases, key, other_key):
        evidence.add([(other_rate, rate)] * games)
    return evidence


def smallest_difference(deals: int, spread: float, comparisons: int = 1) -> float:
    """Estimate the smallest difference, 0 to 1, that is clear in 80 % of studies.

    spread: the variance of a deal's difference. comparisons: of the measure, of which none is clear before.
    """
    needed_log_wealth = log(2 * comparisons / LEVEL / _AIMED_SHARE)  # twice, for bets on both sides
    for aim in (points / 1000 for points in range(1, 1000)):
        stake = min(_MAX_STAKE, aim / (spread + aim**2))
        growth = stake * aim - stake**2 * (spread + aim**2) / 2
        if deals * growth - _ERRORS_OF_80 * stake * sqrt(deals * spread) >= needed_log_wealth:
            return aim
    return 1.0


def pair_keys(measure: str, players: Sequence[str], conditions: Sequence[str]) -> Iterator[tuple[Key, Key]]:
    """Yield the keys of each comparison: of players in each condition, then of conditions for each player."""
    for condition in conditions:
        for player, other_player in combinations(players, 2):
            yield Key(player, condition, measure), Key(other_player, condition, measure)
    for player in players:
        for condition, other_condition in combinations(conditions, 2):
            yield Key(player, condition, measure), Key(player, other_condition, measure)


def paired_rates(cases: Cases, key: Key, other_key: Key) -> Iterator[tuple[float, float]]:
    """Yield both rates in each deal in which both have opportunities, in order of the deals."""
    counts, other_counts = cases.by_key.get(key, {}), cases.by_key.get(other_key, {})
    for deal in sorted(counts.keys() & other_counts.keys()):
        (count, total), (other_count, other_total) = counts[deal], other_counts[deal]
        yield count / total, other_count / other_total


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's method, in the same order."""
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = highest
    return corrected
