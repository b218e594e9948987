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
_QUANTILES = [NormalDist().inv_cdf((ninth + 0.5) / 9) for ninth in range(9)]
_BISECTIONS = 18  # to 1 in 100,000


@dataclass(frozen=True, slots=True)
class PairedResult:
    """The result of a comparison so far. Differences are from -1 to 1.

    `low`, `high`: each end holds with 95 % at all interim results together. `discordant_pairs`: with different results.
    `pairing_gain`: how many times as many games unpaired matches need, from the variances and the covariance of the
    halves; None before 10 blocks, or if all blocks have the same result. `verdict`: None if undecided.
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
        smaller, larger = sorted((abs(self.low), abs(self.high)))
        digits = 0 if smaller >= 0.01 else 1
        return f"NEW is {self.verdict} by {100 * smaller:.{digits}f} to {100 * larger:.{digits}f} points"

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
        self._has_forecasts = forecasts
        self.verdict: Verdict | None = None
        self._bets: list[_Bet] = []
        self._halves: list[tuple[float, float]] = []  # win rates of OLD and NEW in each block
        self._pairs = self._discordant_pairs = 0
        self._sum = self._sum_of_squares = 0.0  # of the blocks' differences
        self._expected_blocks = math.inf
        self._max_wealth = 1.0  # of a bet on both verdicts
        claims = ((1, 0.0), (-1, 0.0), (1, -min_effect), (-1, min_effect))
        self._wealth: dict[tuple[int, float], tuple[float, float]] = dict.fromkeys(claims, _PARTS)

    @property
    def blocks(self) -> int:
        return len(self._bets)

    def add(self, pairs: Sequence[tuple[float, float]]) -> None:
        """Add a block: OLD's and NEW's share of the win, 0 to 1, in each pair. This may decide the verdict."""
        # As the mean of differences, a block of equal halves is exactly 0.
        difference = fmean(new - old for old, new in pairs)
        block_variance = self._block_variance(len(pairs))
        stake = self.min_effect / (block_variance + self.min_effect**2)
        bet = _Bet(difference, stake, _LARGER_DEVIATIONS / math.sqrt(block_variance))
        self._bets.append(bet)
        self._halves.append((fmean(old for old, _ in pairs), fmean(new for _, new in pairs)))
        self._pairs += len(pairs)
        self._discordant_pairs += sum(old != new for old, new in pairs)
        self._sum += difference
        self._sum_of_squares += difference**2
        self._wealth = {claim: _grow(parts, (bet,), *claim) for claim, parts in self._wealth.items()}
        two_sided_wealth = (sum(self._wealth[1, 0.0]) + sum(self._wealth[-1, 0.0])) / 2
        self._max_wealth = max(self._max_wealth, two_sided_wealth)
        if self.verdict is None:
            self.verdict = self._decide()
        if self._has_forecasts:
            self._update_forecast(self._block_variance(len(pairs)))

    def _decide(self) -> Verdict | None:
        """Return the verdict that the wealth allows; None if it allows none."""
        is_better, is_worse, *is_small = (sum(parts) >= _DECISION_THRESHOLD for parts in self._wealth.values())
        if is_better or is_worse:
            return "better" if is_better else "worse"
        return "no difference" if all(is_small) else None

    def estimate(self, blocks: int | None = None) -> tuple[float, float, float]:
        """Return the difference and the ends of its interval after this many blocks; after all of them if None."""
        bets = self._bets[:blocks]
        mean = fmean(bet.x for bet in bets) if bets else 0.0
        return mean, _interval_end(bets, 1), _interval_end(bets, -1)

    def result(self) -> PairedResult:
        """Return the result of all blocks."""
        mean, low, high = self.estimate()
        old, new = map(fmean, zip(*self._halves, strict=True)) if self._halves else (0.0, 0.0)
        return PairedResult(
            verdict=self.verdict,
            min_effect=self.min_effect,
            blocks=self.blocks,
            pairs=self._pairs,
            discordant_pairs=self._discordant_pairs,
            old_win_rate=old,
            new_win_rate=new,
            difference=mean,
            low=low,
            high=high,
            pairing_gain=self._compute_pairing_gain(),
        )

    def _compute_pairing_gain(self) -> float | None:
        """Return how many times as many games unpaired matches need; None as in `PairedResult`."""
        if self.blocks < MIN_BLOCKS:
            return None
        difference_variance = variance(bet.x for bet in self._bets)
        if not difference_variance:
            return None
        return float(sum(map(variance, zip(*self._halves, strict=True))) / difference_variance)

    @property
    def p_value(self) -> float:
        """Return the p-value of no difference, of both sides, which is valid at every interim result (Ville)."""
        return 1 / self._max_wealth

    def describe_wealth(self) -> str:
        """Return how strong the evidence is: the wealth of the bets on either verdict."""
        better, worse = (sum(self._wealth[sign, 0.0]) for sign in (1, -1))
        return f"evidence for better {better:.3g}, for worse {worse:.3g}; {_DECISION_THRESHOLD:.0f} decides"

    def blocks_left(self) -> int | None:
        """Estimate how many more blocks are needed; None if that isn't possible."""
        blocks_left = self._expected_blocks - self.blocks
        if self.blocks < _MIN_FORECAST_BLOCKS or blocks_left >= _MAX_FORECAST_BLOCKS:
            return None
        return max(1, math.ceil(blocks_left))

    def resolution(self, blocks: int, pairs: int) -> float:
        """Return the smallest difference, 0 to 1, that this many blocks of `pairs` pairs are expected to decide."""
        block_variance = self._block_variance(pairs)
        stake = min(self.min_effect / (block_variance + self.min_effect**2), _MAX_STAKE)
        return min(1.0, math.log(_DECISION_THRESHOLD / _PARTS[0]) / blocks / stake + stake * block_variance / 2)

    def _update_forecast(self, block_variance: float) -> None:
        """Smooth the expected number of blocks, the median over the means that are plausible with this variance."""
        weight = self.blocks / (self.blocks + block_variance / (4 * self.min_effect) ** 2)  # of the mean, against 0
        mean, error = weight * self._sum / self.blocks, math.sqrt(weight * block_variance / self.blocks)
        blocks = self.blocks + median(self._blocks_needed(mean + error * z, block_variance) for z in _QUANTILES)
        if self.blocks > _MIN_FORECAST_BLOCKS:
            blocks = self._expected_blocks ** (1 - _FORECAST_WEIGHT) * blocks**_FORECAST_WEIGHT
        self._expected_blocks = blocks

    def _blocks_needed(self, mean: float, block_variance: float) -> float:
        """Return how many more blocks are needed if this is the true mean, at most _MAX_FORECAST_BLOCKS."""
        counts = []  # for each claim
        for (sign, m), parts in self._wealth.items():
            stake = min(self._bets[-1].points, _max_stake(sign, m))
            # The logarithm of the wealth grows by this in a block.
            growth = stake * sign * (mean - m) - stake**2 * (block_variance + (mean - m) ** 2) / 2
            missing_growth = math.log(_DECISION_THRESHOLD / max(sum(parts), 1e-300))
            counts.append(max(missing_growth, 0.0) / growth if growth > 0 else math.inf)
        return min(counts[0], counts[1], max(counts[2:]), float(_MAX_FORECAST_BLOCKS))

    def _block_variance(self, pairs: int) -> float:
        """Return the variance of a block of this many pairs, estimated from the prior and the blocks so far."""
        blocks = self.blocks
        squares = max(0.0, self._sum_of_squares - self._sum**2 / blocks) if blocks else 0.0
        return paired_variance(squares, blocks, pairs, _PRIOR_BLOCKS)


def pairs_needed(difference: float, pairs: int) -> int:
    """Estimate how many pairs, in blocks of `pairs`, find a difference, 0 to 1, that is the smallest that counts."""
    block_variance = paired_variance(0.0, 0, pairs, _PRIOR_BLOCKS)
    stake = min(difference / block_variance, _MAX_STAKE)
    growth = stake * (difference - stake * block_variance / 2)  # of the wealth's logarithm in a block
    count = pairs * math.log(_DECISION_THRESHOLD / _PARTS[0]) / growth
    return max(10, int(round(count, -2 if count >= 1000 else -1)))


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
    max_stake = _max_stake(sign, m)
    gains = [(sign * (x - m), points, larger) for x, points, larger in bets]
    return (
        parts[0] * math.prod([1 + min(points, max_stake) * gain for gain, points, _ in gains]),
        parts[1] * math.prod([1 + min(larger, max_stake) * gain for gain, _, larger in gains]),
    )


def _interval_end(bets: Sequence[_Bet], sign: int) -> float:
    """Return the low (sign 1) or high (sign -1) end of the interval: the last difference that the bets rule out."""
    end, plausible = -1.0 * sign, 1.0 * sign
    for _ in range(_BISECTIONS):  # the first middle is 0, so that the end fits the verdict
        middle = (end + plausible) / 2
        if sum(_grow(_PARTS, bets, sign, middle)) >= _DECISION_THRESHOLD:
            end = middle
        else:
            plausible = middle
    return end


def describe_elo(result: PairedResult) -> str | None:
    """Return the difference of two-seat games in Elo, with its interval; None where a win rate of 0 or 1 has no Elo."""
    old_rate = result.old_win_rate
    rates = [old_rate, *(old_rate + difference for difference in (result.difference, result.low, result.high))]
    if not all(0 < rate < 1 for rate in rates):
        return None
    old_elo, *elos = (400 * math.log10(rate / (1 - rate)) for rate in rates)
    difference, low, high = (f"{elo - old_elo:+z.0f}" for elo in elos)
    return f"in Elo against these opponents: {difference} ({low} to {high}), from OLD's win rate"


def describe_pairing_gain(gain: float) -> str:
    return f"without pairs, this takes {gain:.1f} times as many games"
