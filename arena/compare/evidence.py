"""Test whether NEW is better than OLD, by blocks of pairs, with an interval that stays valid at every interim result.

The result of a block is x, the mean over its pairs of NEW's wins minus OLD's, from -1 to 1. The method is a bet on
bounded means (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024). To rule out
that the mean is m or less, a gambler starts with a wealth of 1. Each block multiplies the wealth by

    1 + stake * (x - m),  with a stake from 0 to .98 / (1 + m), chosen before the block

If the expected x of each block, given the earlier blocks, is m or less, no stake gains on average, however x is
distributed. So the wealth reaches 20 with a probability of at most 1 in 20, however often it is looked at (Ville's
inequality). Nine tenths of the wealth are staked for a mean of m + `points`, at points / (v + points^2) with v, the
variance of a block, from earlier blocks; a tenth is staked for a far larger difference, so that it is found sooner.

The low end of the interval is the largest m that is ruled out; the high end is the same for -x. The interval decides:
"better" above 0, "worse" below 0, "no difference" between -points and points. Pure.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median, variance
from typing import Literal, NamedTuple

from arena.formatting import format_count, format_points, format_points_interval
from arena.stats import paired_variance

Verdict = Literal["better", "worse", "no difference"]

MIN_BLOCKS = 10  # for a variance
VALIDITY = "each end holds with 95 %, however often you look, if bots carry nothing from match to match"
BIAS = "on average too far from 0, because a comparison stops when the difference is large"
ABOUT_PAIRS = "Both games of a pair have the same cards, seats and opponents"
UNDECIDED_ADVICE = "More pairs, or a larger change, may decide"
_DECISION_THRESHOLD = 20.0  # the wealth that decides: each end of the interval is wrong at most once in 20 comparisons
_PARTS = (0.9, 0.1)  # of the wealth, staked for a difference of `points` and for a larger one
_LARGER_DEVIATIONS = 0.7  # the larger difference's stake, as a mean in standard deviations of a block
_MAX_STAKE = 0.98  # of the wealth, so that no block loses all of it
_PRIOR_BLOCKS = 5  # the weight of the prior variance, in blocks
_MIN_FORECAST_BLOCKS = 4
_MAX_FORECAST_BLOCKS = 10_000
_FORECAST_WEIGHT = 0.15  # of the newest forecast, against the earlier ones
_QUANTILES = [NormalDist().inv_cdf((each + 0.5) / 9) for each in range(9)]


@dataclass(frozen=True, slots=True)
class PairedResult:
    """The result of a comparison so far. Differences are from -1 to 1.

    `low`, `high`: each end holds with 95 % at all interim results together. `discordant_pairs`: with different results.
    `pairing_gain`: how many times as many games unpaired matches need, from the variances and the covariance of the
    halves; None before 10 blocks. `verdict`: None if undecided.
    """

    verdict: Verdict | None
    min_effect: float
    blocks: int
    pairs: int
    discordant_pairs: int
    old_win_rate: float
    new_win_rate: float
    difference: float
    low: float
    high: float
    pairing_gain: float | None

    @property
    def verdict_text(self) -> str:
        """Return the verdict with its interval: "NEW is better by 0.4 to 6.1 points"."""
        interval = f"{format_points_interval(self.low, self.high)} points"
        if self.verdict == "no difference":
            return f"NEW makes no difference of {100 * self.min_effect:.3g}: {interval}"
        if self.verdict is None:
            return f"undecided after {format_count(self.pairs, 'pair')}: {interval}"
        ends = sorted((abs(self.low), abs(self.high)))
        digits = 0 if ends[0] >= 0.01 else 1
        return f"NEW is {self.verdict} by {' to '.join(f'{100 * end:.{digits}f}' for end in ends)} points"

    def __str__(self) -> str:
        """Return the verdict, and the numbers on which it rests, one line for each."""
        lines = [self.verdict_text]
        if self.pairs:
            lines += (
                f"{format_count(self.pairs, 'pair')} in {format_count(self.blocks, 'block')}, "
                f"{self.discordant_pairs} with different results: OLD won {self.old_win_rate:.1%}, NEW "
                f"{self.new_win_rate:.1%}",
                f"{format_points_interval(self.low, self.high)} points ({VALIDITY}); measured "
                f"{format_points(self.difference)}, {BIAS}",
            )
        if self.pairing_gain is not None:
            lines.append(describe_pairing_gain(self.pairing_gain))
        return "\n".join(lines)


class Evidence:
    """The results of all blocks so far. `min_effect`: the difference that counts, 0 to 1.

    `verdict`: that of the first block that decided. `forecasts`: whether `blocks_left` is used.
    """

    def __init__(self, min_effect: float, *, forecasts: bool = True) -> None:
        self.min_effect = min_effect
        self._forecasts = forecasts
        self.verdict: Verdict | None = None
        self._bets: list[_Bet] = []
        self._halves: list[tuple[float, float]] = []  # win rates of OLD and NEW in each block
        self._pairs = self._discordant = 0
        self._total = self._squares = 0.0  # of the blocks' differences
        self._forecast = math.inf  # the expected number of blocks
        self._most_wealth = 1.0  # of a bet on both verdicts
        claims = ((1, 0.0), (-1, 0.0), (1, -min_effect), (-1, min_effect))
        self._wealth: dict[tuple[int, float], tuple[float, float]] = dict.fromkeys(claims, _PARTS)

    @property
    def blocks(self) -> int:
        return len(self._bets)

    def add(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Add a block: OLD's and NEW's share of the win, 0 to 1, in each pair."""
        half = fmean(old for old, _ in pairs), fmean(new for _, new in pairs)
        # As the mean of differences, a block of equal halves is exactly 0.
        difference = fmean(new - old for old, new in pairs)
        spread = self._variance(len(pairs))
        stake = self.min_effect / (spread + self.min_effect**2)
        bet = _Bet(difference, stake, _LARGER_DEVIATIONS / math.sqrt(spread))
        self._bets.append(bet)
        self._halves.append(half)
        self._pairs += len(pairs)
        self._discordant += sum(old != new for old, new in pairs)
        self._total += difference
        self._squares += difference**2
        self._wealth = {claim: _grow(parts, (bet,), *claim) for claim, parts in self._wealth.items()}
        both = sum(self._wealth[1, 0.0]) + sum(self._wealth[-1, 0.0])
        self._most_wealth = max(self._most_wealth, both / 2)
        if self.verdict is None:
            better, worse, *no_difference = (sum(parts) >= _DECISION_THRESHOLD for parts in self._wealth.values())
            self.verdict = "better" if better else "worse" if worse else "no difference" if all(no_difference) else None
        if self._forecasts:
            self._update_forecast(self._variance(len(pairs)))

    def estimate(self, blocks: int | None = None) -> tuple[float, float, float]:
        """Return the difference and the ends of its interval after this many blocks; after all of them if None."""
        bets = self._bets[:blocks]
        mean = fmean(bet.x for bet in bets) if bets else 0.0
        return mean, _interval_end(bets, 1), _interval_end(bets, -1)

    def result(self) -> PairedResult:
        """Return the result of all blocks."""
        mean, low, high = self.estimate()
        old, new = map(fmean, zip(*self._halves, strict=True)) if self._halves else (0.0, 0.0)
        gain = None
        if self.blocks >= MIN_BLOCKS and (paired := variance(bet.x for bet in self._bets)):
            gain = sum(map(variance, zip(*self._halves, strict=True))) / paired
        return PairedResult(
            verdict=self.verdict,
            min_effect=self.min_effect,
            blocks=self.blocks,
            pairs=self._pairs,
            discordant_pairs=self._discordant,
            old_win_rate=old,
            new_win_rate=new,
            difference=mean,
            low=low,
            high=high,
            pairing_gain=gain,
        )

    @property
    def p_value(self) -> float:
        """Return the p-value of no difference, of both sides, which is valid at every interim result (Ville)."""
        return 1 / self._most_wealth

    def describe_wealth(self) -> str:
        """Return how strong the evidence is: the wealth of the bets on either verdict."""
        better, worse = (sum(self._wealth[sign, 0.0]) for sign in (1, -1))
        return f"evidence for better {better:.3g}, for worse {worse:.3g}; {_DECISION_THRESHOLD:.0f} decides"

    def blocks_left(self) -> int | None:
        """Estimate how many more blocks are needed; None if that isn't possible."""
        forecast_left = self._forecast - self.blocks
        return (
            max(1, math.ceil(forecast_left))
            if self.blocks >= _MIN_FORECAST_BLOCKS and forecast_left < _MAX_FORECAST_BLOCKS
            else None
        )

    def resolution(self, blocks: int, pairs: int) -> float:
        """Return the smallest difference, 0 to 1, that this many blocks of `pairs` pairs are expected to decide."""
        spread = self._variance(pairs)
        stake = min(self.min_effect / (spread + self.min_effect**2), _MAX_STAKE)
        return min(1.0, math.log(_DECISION_THRESHOLD / _PARTS[0]) / blocks / stake + stake * spread / 2)

    def _update_forecast(self, spread: float) -> None:
        """Smooth the expected number of blocks, the median over the means that are plausible with this variance."""
        weight = self.blocks / (self.blocks + spread / (4 * self.min_effect) ** 2)  # of the mean, against 0
        mean, error = weight * self._total / self.blocks, math.sqrt(weight * spread / self.blocks)
        blocks = self.blocks + median(self._blocks_needed(mean + error * z, spread) for z in _QUANTILES)
        if self.blocks > _MIN_FORECAST_BLOCKS:
            blocks = self._forecast ** (1 - _FORECAST_WEIGHT) * blocks**_FORECAST_WEIGHT
        self._forecast = blocks

    def _blocks_needed(self, mean: float, spread: float) -> float:
        """Return how many more blocks are needed if this is the true mean, at most _MAX_FORECAST_BLOCKS."""
        needs = []
        for (sign, m), parts in self._wealth.items():
            stake = min(self._bets[-1].points, _max_stake(sign, m))
            growth = stake * sign * (mean - m) - stake**2 * (spread + (mean - m) ** 2) / 2  # the wealth's logarithm
            missing = math.log(_DECISION_THRESHOLD / max(sum(parts), 1e-300))
            needs.append(max(missing, 0.0) / growth if growth > 0 else math.inf)
        return min(needs[0], needs[1], max(needs[2:]), float(_MAX_FORECAST_BLOCKS))

    def _variance(self, pairs: int) -> float:
        """Return the variance of a block of this many pairs, estimated from the prior and the blocks so far."""
        blocks = self.blocks
        squares = max(0.0, self._squares - self._total**2 / blocks) if blocks else 0.0
        return paired_variance(squares, blocks, pairs, _PRIOR_BLOCKS)


def pairs_needed(difference: float, pairs: int) -> int:
    """Estimate how many pairs, in blocks of `pairs`, find a difference, 0 to 1, that is the smallest that counts."""
    spread = paired_variance(0.0, 0, pairs, _PRIOR_BLOCKS)
    stake = min(difference / spread, _MAX_STAKE)
    needed = pairs * math.log(_DECISION_THRESHOLD / _PARTS[0]) / (stake * (difference - stake * spread / 2))
    return max(10, int(round(needed, -2 if needed >= 1000 else -1)))


class _Bet(NamedTuple):
    """A block's difference x, and both stakes that were chosen before it."""

    x: float
    points: float
    larger: float


def _max_stake(sign: int, m: float) -> float:
    """Return the largest stake on sign * (x - m) that no block can lose."""
    return _MAX_STAKE / max(1 + sign * m, 1e-9)


def _grow(parts: tuple[float, float], bets: Iterable[_Bet], sign: int, m: float) -> tuple[float, float]:
    """Return both parts of the wealth after bets that the mean is above (sign 1) or below (sign -1) m."""
    most = _max_stake(sign, m)
    gains = [(sign * (x - m), points, larger) for x, points, larger in bets]
    return (
        parts[0] * math.prod([1 + min(points, most) * gain for gain, points, _ in gains]),
        parts[1] * math.prod([1 + min(larger, most) * gain for gain, _, larger in gains]),
    )


def _interval_end(bets: Sequence[_Bet], sign: int) -> float:
    """Return the low (sign 1) or high (sign -1) end of the interval: the last difference that the bets rule out."""
    out, inside = -1.0 * sign, 1.0 * sign
    for _ in range(18):  # to 1 in 100,000; the first middle is 0, so that the end fits the verdict
        middle = (out + inside) / 2
        ruled_out = sum(_grow(_PARTS, bets, sign, middle)) >= _DECISION_THRESHOLD
        out, inside = (middle, inside) if ruled_out else (out, middle)
    return out


def describe_elo(result: PairedResult) -> str | None:
    """Return the difference of two-seat games in Elo, with its interval; None where a win rate of 0 or 1 has no Elo."""
    old = result.old_win_rate
    rates = [old, *(old + difference for difference in (result.difference, result.low, result.high))]
    if not all(0 < rate < 1 for rate in rates):
        return None
    base, *elo = (400 * math.log10(rate / (1 - rate)) for rate in rates)
    middle, low, high = (f"{rating - base:+.0f}" for rating in elo)
    return f"in Elo against these opponents: {middle} ({low} to {high}), from OLD's win rate"


def describe_pairing_gain(gain: float) -> str:
    return f"without pairs, this takes {gain:.1f} times as many games"
