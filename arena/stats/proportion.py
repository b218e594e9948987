"""Estimate a proportion from counted cases, with a confidence interval that allows for correlation within matches.

Cases of one match are correlated: the same bots meet, and they learn about each other. So the interval is Wilson's
(1927), for the number of independent cases that the variance between matches implies (Taylor linearization, as for a
ratio from clusters). It uses the quantile of Student's t for the number of matches, and is never narrower than Wilson's
interval for independent cases. A single match gives no interval. Memory use doesn't grow with the number of cases."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean

from arena.rating import Z_95, wilson_interval

Interval = tuple[float, float]

LEVEL = 0.95  # the confidence level of intervals
_PRIOR_VARIANCE = 0.25  # of a pair's difference of wins; 0.2 if one pair in five is discordant


def student_t_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t; degrees of freedom are rounded down, but to no less than 1."""
    from scipy.special import stdtrit  # scipy takes longer to import than the rest of the command

    return float(stdtrit(max(1, int(freedom + 1e-9)), (1 + level) / 2))


def paired_variance(squares: float, matches: int, pairs: float, prior: int) -> float:
    """Return the variance of a match's mean difference over its `pairs` of games; equal matches have one, too.

    `squares`: the sum of squared differences from the mean of the `matches`. `prior`: its weight in matches.
    """
    return (prior * _PRIOR_VARIANCE / pairs + squares) / (prior + max(matches - 1, 0))


def paired_interval(gains: Sequence[float], pairs: float) -> tuple[float, float | None, float | None]:
    """Return the mean gain of matches with `pairs` of games each, -1 to 1, and the ends of its interval.

    With fewer than 2 matches the ends are None.
    """
    mean, count = fmean(gains), len(gains)
    if count < 2:
        return mean, None, None
    variance = paired_variance(sum((gain - mean) ** 2 for gain in gains), count, pairs, prior=1)
    half_width = student_t_quantile(count - 1) * sqrt(variance / count)
    return mean, max(-1.0, mean - half_width), min(1.0, mean + half_width)


@dataclass(slots=True)
class Proportion:
    """A proportion: `count` hits in `total` cases of `matches` matches. A shared win counts as a fraction of a hit."""

    count: float = 0.0
    total: int = 0
    matches: int = 0
    _sum_count_squared: float = 0.0  # sums over the matches
    _sum_count_total: float = 0.0
    _sum_total_squared: float = 0.0

    def add(self, count: float, total: int) -> None:
        """Add one match: its hits and its cases."""
        self.count += count
        self.total += total
        self.matches += 1
        self._sum_count_squared += count * count
        self._sum_count_total += count * total
        self._sum_total_squared += total * total

    @property
    def value(self) -> float | None:
        """Return the share `count / total`, 0 to 1; None if there are no cases."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval of the share; None if there are fewer than two matches."""
        return None if self.matches < 2 else self.within(student_t_quantile(self.matches - 1))

    def within(self, errors: float, min_errors: float = Z_95) -> Interval:
        """Return the interval of `errors` standard errors around the share, within 0 to 1; needs two matches or more.

        The interval is never narrower than `min_errors` standard errors computed as if the cases were independent.
        """
        squared_errors = max(min_errors * min_errors, errors * errors * self._design_effect())
        return wilson_interval(self.count / self.total, squared_errors / self.total)

    @property
    def squares(self) -> float:
        """Return the sum over the matches of (count - share * total)²."""
        share = self.count / self.total
        linear_terms = self._sum_count_squared - 2 * share * self._sum_count_total
        return max(0.0, linear_terms + share * share * self._sum_total_squared)

    @property
    def variance(self) -> float:
        """Return the variance of the share; needs two matches or more."""
        return self.squares * self.matches / (self.matches - 1) / self.total**2

    def _design_effect(self) -> float:
        """Return how many cases carry the information of one independent case; 1 if the share is 0 or 1."""
        share = self.count / self.total
        return self.variance * self.total / (share * (1 - share)) if 0 < share < 1 else 1.0


@dataclass(slots=True)
class JointCounts:
    """Sums of products of two Proportions over the matches they share, for the correlation of their shares."""

    matches: int = 0
    _counts: float = 0.0  # sum of count * count; below count * total, total * count and total * total
    _count_total: float = 0.0
    _total_count: float = 0.0
    _totals: float = 0.0

    def add(self, case: tuple[float, int], other_case: tuple[float, int]) -> None:
        """Add one match: (count, total) of each proportion, as for `Proportion.add`."""
        self.matches += 1
        self._counts += case[0] * other_case[0]
        self._count_total += case[0] * other_case[1]
        self._total_count += case[1] * other_case[0]
        self._totals += case[1] * other_case[1]

    def correlation(self, proportion: Proportion, other: Proportion) -> float:
        """Return the correlation of the two shares, -1 to 1; 0 if either doesn't vary between matches."""
        p, q = proportion.count / proportion.total, other.count / other.total
        root = sqrt(proportion.squares * other.squares)
        if root == 0:
            return 0.0
        product = self._counts - q * self._count_total - p * self._total_count + p * q * self._totals
        return min(1.0, max(-1.0, product / root))


def proportion_difference(
    proportion: Proportion, other: Proportion, joint: JointCounts | None = None, level: float = LEVEL
) -> tuple[float, Interval | None]:
    """Return the share of `proportion` minus that of `other`, and its interval.

    The interval is Newcombe's (1998, method 10), computed from the intervals of the two shares, with Welch's degrees of
    freedom; None if either has fewer than two matches. joint: the counts of the matches they share; None if they share
    none. Both need a case.
    """
    share, other_share = proportion.count / proportion.total, other.count / other.total
    difference = share - other_share
    if min(proportion.matches, other.matches) < 2:
        return difference, None
    freedom, correlation = _welch_freedom(proportion, other), 0.0
    if joint is not None and joint.matches:
        freedom = min(freedom, proportion.matches + other.matches - joint.matches - 1)
        correlation = joint.correlation(proportion, other)
    errors, min_errors = student_t_quantile(freedom, level), NormalDist().inv_cdf((1 + level) / 2)
    low, high = proportion.within(errors, min_errors)
    other_low, other_high = other.within(errors, min_errors)
    min_width = 0.0
    if correlation:
        min_width = errors * _combine_errors(sqrt(proportion.variance), sqrt(other.variance), correlation)
    lower_width = max(min_width, _combine_errors(share - low, other_high - other_share, correlation))
    upper_width = max(min_width, _combine_errors(high - share, other_share - other_low, correlation))
    return difference, (max(-1.0, difference - lower_width), min(1.0, difference + upper_width))


def _combine_errors(error: float, other_error: float, correlation: float) -> float:
    """Return the error of a difference whose two terms have these errors."""
    return sqrt(max(0.0, error * error + other_error * other_error - 2 * correlation * error * other_error))


def _welch_freedom(proportion: Proportion, other: Proportion) -> float:
    """Return the degrees of freedom of a difference of two means whose variances differ."""
    variance, other_variance = proportion.variance, other.variance
    total = variance + other_variance
    if not total:
        return min(proportion.matches, other.matches) - 1
    return total**2 / (variance**2 / (proportion.matches - 1) + other_variance**2 / (other.matches - 1))
