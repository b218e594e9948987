"""Test whether NEW is better than OLD, by blocks of pairs, with evidence that stays valid at every interim result.

The result of a block is x, the mean over its pairs of NEW's wins minus OLD's, from -1 to 1. The method is a sequential
test by betting: before each block a gambler bets on the sign of x, and the stake grows with the size of x. A bet
multiplies the gambler's wealth, which starts at 1, by

    1 + tanh(1.1 * x * points / v),  with tanh cut at .98;  v: the variance of a block, estimated from earlier blocks

If NEW and OLD are equally good, x and -x are equally likely, and no strategy gains on average, whatever the tables,
deals and opponents are. So the wealth, the evidence that NEW is better, reaches 20 with a probability of at most 1 in
20, however often it is looked at (Ville's inequality). With 1 instead of 1.1, and normal x, the bet is the likelihood
ratio of a mean of `points` against the even mixture of `points` and -`points`; 1.1 does best in simulations. A tenth of
the wealth is staked for a far larger difference, so that such a difference is found sooner. The evidence for "not
better by `points`" is the wealth from bets on points - x. An end of the interval is the difference m at which the
wealth from bets on x - m, or on m - x, reaches 20. Both assume that x is distributed symmetrically about its mean:
docs/explanation/statistics.md gives the error rates if it isn't.

A bet without that assumption may multiply by 1 + s * x with s up to 1, since x may be -1. In blocks of 12 pairs x never
comes near -1, and at +5 points such a bet gains at most .04 a block, as a logarithm: it needs 75 blocks (900 pairs),
twice as many as this one. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

DECISION_THRESHOLD = 20.0  # evidence that decides; a verdict is wrong at most once in DECISION_THRESHOLD
# The parts of the wealth that are staked for a difference of `points`, and for a larger one, given in standard
# deviations of a block. Of the values simulated, these need the fewest pairs at +5 points.
_POINTS_PART, _POINTS_FACTOR = 0.9, 1.1
_LARGER_PART, _LARGER_DEVIATIONS = 0.1, 0.7
_MAX_STAKE = 0.98  # of the wealth, so that no block loses all of it
_PRIOR_VARIANCE = 0.25  # of a pair, before the first block; 0.2 if one pair in five is discordant
_PRIOR_BLOCKS = 5  # the weight of the prior variance, in blocks
_MIN_MIXTURE_BLOCKS = 15
_MIXTURE_PRIOR_BLOCKS = 5.0  # the mixture is sharpest at about 8 times as many blocks
_MIN_FORECAST_BLOCKS = 4
_MAX_FORECAST_BLOCKS = 10_000


@dataclass(frozen=True, slots=True)
class Summary:
    """The result after a number of blocks. Differences are from -1 to 1, evidence from 0 on.

    `low` and `high`: each end alone holds with 95 % probability at all interim results together, if blocks are
    distributed symmetrically about their mean. `studentised_mixture`: the studentised mixture's evidence that NEW is
    better, which often decides sooner but assumes normal blocks; 0 before block 15.
    """

    blocks: int
    mean: float
    low: float
    high: float
    better: float
    not_better: float
    studentised_mixture: float


class Evidence:
    """The evidence of all blocks so far. `points`: the difference that counts as better; `pairs`: in each block."""

    def __init__(self, points: float, pairs: int) -> None:
        self.min_effect = points
        self._pairs = pairs  # of a block
        self._bets: list[_Bet] = []
        self._wealth = (_Wealth(), _Wealth())  # evidence for better, evidence for not better
        self._logs = [(0.0, 0.0)]  # logarithms of both, after each block

    def add(self, difference: float) -> None:
        """Add the result of a block: the mean difference of its pairs, -1 to 1."""
        variance = self._variance()
        self._bets.append(
            _Bet(difference, _POINTS_FACTOR * self.min_effect / variance, _LARGER_DEVIATIONS / math.sqrt(variance))
        )
        better, not_better = self._wealth
        self._wealth = better.after(self._bets[-1], 1, 0.0), not_better.after(self._bets[-1], -1, self.min_effect)
        self._logs.append((self._wealth[0].log, self._wealth[1].log))

    @property
    def blocks(self) -> int:
        return len(self._bets)

    @property
    def verdict(self) -> bool | None:
        """Return whether NEW is better, as decided by the first block that reached the threshold; None if undecided."""
        enough = math.log(DECISION_THRESHOLD)
        return next((better >= enough for better, other in self._logs if max(better, other) >= enough), None)

    def summary(self, blocks: int | None = None) -> Summary:
        """Return the result after this many blocks; after all of them if None."""
        blocks = len(self._bets) if blocks is None else blocks
        bets = self._bets[:blocks]
        better, not_better = self._logs[blocks]
        return Summary(
            blocks=blocks,
            mean=math.fsum(bet.x for bet in bets) / blocks if blocks else 0.0,
            low=_interval_end(bets, 1),
            high=_interval_end(bets, -1),
            better=math.exp(better),
            not_better=math.exp(not_better),
            studentised_mixture=_studentised_mixture([bet.x for bet in bets]),
        )

    def blocks_left(self) -> int | None:
        """Estimate how many more blocks are needed if the mean so far is the true one; None if that isn't possible."""
        if len(self._bets) < _MIN_FORECAST_BLOCKS:
            return None
        mean = math.fsum(bet.x for bet in self._bets) / len(self._bets)
        gain = self.min_effect * (mean - self.min_effect / 2) / self._variance()  # of a block, as a logarithm
        log = self._logs[-1][0 if gain > 0 else 1]
        left = (math.log(DECISION_THRESHOLD) - log) / max(abs(gain), 1e-9)
        return max(1, math.ceil(left)) if left < _MAX_FORECAST_BLOCKS else None

    def _variance(self) -> float:
        """Return the estimated variance of a block, from the prior and the blocks so far."""
        values = [bet.x for bet in self._bets]
        mean = math.fsum(values) / len(values) if values else 0.0
        squares = math.fsum((x - mean) ** 2 for x in values)
        return (_PRIOR_BLOCKS * _PRIOR_VARIANCE / self._pairs + squares) / (_PRIOR_BLOCKS + max(len(values) - 1, 0))


class _Bet(NamedTuple):
    """A block's difference x, and the stakes per unit of x: for `points`, and for a larger difference (`larger`)."""

    x: float
    points: float
    larger: float


class _Wealth(NamedTuple):
    """The logarithms of both parts of the wealth."""

    points: float = math.log(_POINTS_PART)
    larger: float = math.log(_LARGER_PART)

    @property
    def log(self) -> float:
        most = max(self)
        return most + math.log(math.exp(self.points - most) + math.exp(self.larger - most))

    def after(self, bet: _Bet, sign: int, difference: float) -> "_Wealth":
        """Return the wealth after a bet that the mean is above (sign 1) or below (sign -1) `difference`."""
        x = sign * (bet.x - difference)
        return _Wealth(self.points + _log_factor(bet.points * x), self.larger + _log_factor(bet.larger * x))


def _log_factor(stake: float) -> float:
    return math.log1p(max(-_MAX_STAKE, min(_MAX_STAKE, math.tanh(stake))))


def _interval_end(bets: Sequence[_Bet], sign: int) -> float:
    """Return the low (sign 1) or high (sign -1) end of the interval: the last difference that the bets rule out."""
    out, inside = -1.0 * sign, 1.0 * sign

    def ruled_out(difference: float) -> bool:
        wealth = _Wealth()
        for bet in bets:
            wealth = wealth.after(bet, sign, difference)
        return wealth.log >= math.log(DECISION_THRESHOLD)

    if not ruled_out(out):
        return out
    for _ in range(20):  # of the range of an interval's end: to a millionth
        middle = (out + inside) / 2
        out, inside = (middle, inside) if ruled_out(middle) else (out, middle)
    return out


def _studentised_mixture(values: Sequence[float]) -> float:
    """Return the one-sided normal mixture of the blocks' t statistic, which assumes normal blocks."""
    blocks = len(values)
    total = math.fsum(values)
    if blocks < _MIN_MIXTURE_BLOCKS or total <= 0:
        return 0.0
    spread = math.fsum((x - total / blocks) ** 2 for x in values) / (blocks - 1)
    if not spread:
        return 0.0
    wide = blocks + _MIXTURE_PRIOR_BLOCKS
    return 2 * math.sqrt(_MIXTURE_PRIOR_BLOCKS / wide) * math.exp(min(total * total / spread / (2 * wide), 700.0))
