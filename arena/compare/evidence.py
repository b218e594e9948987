"""Test NEW against OLD by blocks of pairs: evidence that stays valid at every interim look, and an interval.

A block is worth x, the mean over its pairs of what NEW won more than OLD, from -1 to 1. A player that doubts that NEW
is better is offered a bet on each block: on the sign of x, with a stake that grows with its size. Of 1 it makes

    1 + tanh(1.1 * x * points / v),  with tanh cut at .98;  v: the variance of a block, from the blocks before

If it is chance alone which of the two played which half of a pair, x has either sign with the same probability, and no
way to bet gains on average, whatever the tables, the deals and the opponents are. So the product of all bets reaches 20
with a probability of at most 1 in 20, however often one looks (Ville). Without the factor, and with x normal, the bet
is the likelihood ratio of a mean of `points` against the even mixture of `points` and -`points`; what fits best in
simulation is a little more. A tenth of the money is staked for a far larger difference, which so is found sooner. "Not
better by `points`" is the same bet on points - x, and an end of the interval is the difference m at which the bet on
x - m, or on m - x, reaches 20. Both suppose that x falls above its true mean as it falls below: docs/compare.md says
how wrong the verdicts are where it doesn't.

A player that bets without that supposition may make 1 + s * x of 1 with s up to 1, since x may be -1. In blocks of 12
pairs x never comes near that, and at +5 points such a bet gains at most .04 a block, as a logarithm: it needs 75
blocks, 900 pairs, where this one takes half. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DECISION_THRESHOLD = 20.0  # evidence that decides; 1 in DECISION_THRESHOLD is the chance of a wrong verdict
# Of the money: how much is staked for each multiple of the points, and for this part of a block's SD. Of the simulated
# ones, this takes the fewest pairs at +5 points, and a third of what it took at +18 where a point counts.
_FOR_POINTS, _TIMES = 0.9, 1.1
_FOR_MORE, _DEVIATIONS = 0.1, 0.7
_MAX_STAKE = 0.98  # staked of what there is, so that no block ends a bet
_VARIANCE = 0.25  # of a pair, before the first block; 0.2 where one pair in five ends differently
_WEIGHT = 5  # blocks that this guess is worth
_HINT_BLOCKS = 15  # from which the studentised mixture means something
_HINT_SPREAD = 5.0  # the mixture is sharpest at some 8 times as many blocks
_GUESSED = 4  # blocks from which one may guess how many more it takes
_FAR = 10_000  # blocks; more are no guess
_HALVINGS = 20  # of the range of an end: a millionth is left


@dataclass(frozen=True, slots=True)
class Summary:
    """The result after a number of blocks. Differences are from -1 to 1, evidence from 0 on.

    `low` and `high`: each end alone holds with 95 %, at all looks together, where blocks fall above their true mean as
    below. `studentised_mixture` is its evidence that NEW is better, which is often sooner and promises less; 0 before
    it means something.
    """

    blocks: int
    mean: float
    low: float
    high: float
    better: float
    not_better: float
    studentised_mixture: float


class Evidence:
    """The evidence of all blocks so far. `points` is the difference that counts as better, from 0 to 1."""

    def __init__(self, points: float, pairs: int) -> None:
        self.min_effect = points
        self._pairs = pairs  # of a block
        self._bets: list[_Bet] = []
        self._money = (_Wealth(), _Wealth())  # evidence for better, evidence for not better
        self._logs = [(0.0, 0.0)]  # after each block: for better, for not better

    def add(self, difference: float) -> None:
        """Add a block."""
        variance = self._variance()
        self._bets.append(_Bet(difference, _TIMES * self.min_effect / variance, _DEVIATIONS / math.sqrt(variance)))
        better, not_better = self._money
        self._money = better.after(self._bets[-1], 1, 0.0), not_better.after(self._bets[-1], -1, self.min_effect)
        self._logs.append((self._money[0].log, self._money[1].log))

    @property
    def blocks(self) -> int:
        """Return the number of blocks."""
        return len(self._bets)

    @property
    def verdict(self) -> bool | None:
        """Return whether NEW is better, by the first block that decided; None if none has."""
        enough = math.log(DECISION_THRESHOLD)
        return next((better >= enough for better, other in self._logs if max(better, other) >= enough), None)

    def summary(self, blocks: int | None = None) -> Summary:
        """Return the evidence after a number of blocks, all if None."""
        blocks = len(self._bets) if blocks is None else blocks
        bets = self._bets[:blocks]
        better, not_better = self._logs[blocks]
        return Summary(
            blocks=blocks,
            mean=math.fsum(bet.x for bet in bets) / blocks if blocks else 0.0,
            low=_end(bets, 1),
            high=_end(bets, -1),
            better=math.exp(better),
            not_better=math.exp(not_better),
            studentised_mixture=_mixture([bet.x for bet in bets]),
        )

    def blocks_left(self) -> int | None:
        """Guess how many more blocks decide if the difference is what it seems; None where that can't be guessed."""
        if len(self._bets) < _GUESSED:
            return None
        mean = math.fsum(bet.x for bet in self._bets) / len(self._bets)
        gain = self.min_effect * (mean - self.min_effect / 2) / self._variance()  # of a block, as a logarithm
        have = self._logs[-1][0 if gain > 0 else 1]
        left = (math.log(DECISION_THRESHOLD) - have) / max(abs(gain), 1e-9)
        return max(1, math.ceil(left)) if left < _FAR else None

    def _variance(self) -> float:
        """Return the variance of a block, as the blocks so far let it be guessed."""
        values = [bet.x for bet in self._bets]
        mean = math.fsum(values) / len(values) if values else 0.0
        squares = math.fsum((x - mean) ** 2 for x in values)
        return (_WEIGHT * _VARIANCE / self._pairs + squares) / (_WEIGHT + max(len(values) - 1, 0))


class _Bet(NamedTuple):
    """A block: its difference, and what a unit of it is staked with, for the points and for more."""

    x: float
    points: float
    more: float


class _Wealth(NamedTuple):
    """The logarithms of what each part of the money has become."""

    points: float = math.log(_FOR_POINTS)
    more: float = math.log(_FOR_MORE)

    @property
    def log(self) -> float:
        """Return the logarithm of all of it."""
        most = max(self)
        return most + math.log(math.exp(self.points - most) + math.exp(self.more - most))

    def after(self, bet: _Bet, sign: int, difference: float) -> "_Wealth":
        """Return what it is after a bet that the truth is above (sign 1) or below (-1) a difference."""
        x = sign * (bet.x - difference)
        return _Wealth(self.points + _won(bet.points * x), self.more + _won(bet.more * x))


def _won(stake: float) -> float:
    return math.log1p(max(-_MAX_STAKE, min(_MAX_STAKE, math.tanh(stake))))


def _end(bets: Sequence[_Bet], sign: int) -> float:
    """Return the interval's low end for 1, its high end for -1: the difference that the bets just rule out."""
    out, inside = -1.0 * sign, 1.0 * sign

    def ruled_out(difference: float) -> bool:
        money = _Wealth()
        for bet in bets:
            money = money.after(bet, sign, difference)
        return money.log >= math.log(DECISION_THRESHOLD)

    if not ruled_out(out):
        return out
    for _ in range(_HALVINGS):
        middle = (out + inside) / 2
        out, inside = (middle, inside) if ruled_out(middle) else (out, middle)
    return out


def _mixture(values: Sequence[float]) -> float:
    """Return the one-sided normal mixture of the blocks' t, which takes them as normal."""
    blocks = len(values)
    total = math.fsum(values)
    if blocks < _HINT_BLOCKS or total <= 0:
        return 0.0
    spread = math.fsum((x - total / blocks) ** 2 for x in values) / (blocks - 1)
    if not spread:
        return 0.0
    wide = blocks + _HINT_SPREAD
    return 2 * math.sqrt(_HINT_SPREAD / wide) * math.exp(min(total * total / spread / (2 * wide), 700.0))
