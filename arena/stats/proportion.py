"""Estimate a proportion from counted cases, with a confidence interval that respects matches. Constant size.

Cases of one match are correlated: the same bots meet, with what they have learned of each other. So the interval is
Wilson's (1927), for the number of independent cases that the variance between matches implies (Taylor linearization,
as for a ratio from clusters). It uses the quantile of Student's t for the number of matches, and is never narrower
than Wilson's of independent cases. A single match gives no interval."""

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

from ladder.rating import Z_95, wilson_interval

Interval = tuple[float, float]

LEVEL = 0.95  # of an interval


def student_t_quantile(freedom: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t for a level; degrees of freedom are rounded down, to 1 at least."""
    from scipy.special import stdtrit  # scipy takes longer to import than the rest of the command

    return float(stdtrit(max(1, int(freedom + 1e-9)), (1 + level) / 2))


@dataclass(slots=True)
class Proportion:
    """Cases of one kind: `total` of them, and the `count` that hit; a shared win counts as a part."""

    count: float = 0.0
    total: int = 0
    matches: int = 0
    _counts: float = 0.0  # sums over the matches: count², count * total, total²
    _mixed: float = 0.0
    _ofs: float = 0.0

    def add(self, count: float, total: int) -> None:
        """Add what one match gave."""
        self.count += count
        self.total += total
        self.matches += 1
        self._counts += count * count
        self._mixed += count * total
        self._ofs += total * total

    @property
    def value(self) -> float | None:
        """Return the share, 0 to 1; None without a case."""
        return self.count / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        """Return the 95 % interval of the share; None where fewer than two matches have a case."""
        return None if self.matches < 2 else self.within(student_t_quantile(self.matches - 1))

    def within(self, times: float, least: float = Z_95) -> Interval:
        """Return the interval of `errors` standard errors around the share of two matches or more.

        It is no narrower than that of `least` errors of independent cases.
        """
        return wilson_interval(
            self.count / self.total, max(least * least, times * times * self._design_effect()) / self.total
        )

    @property
    def squares(self) -> float:
        """Return the sum of what matches differ by from the share, squared: (count - share * total)²."""
        share = self.count / self.total
        return max(0.0, self._counts - 2 * share * self._mixed + share * share * self._ofs)

    @property
    def variance(self) -> float:
        """Return the variance of the share, from two matches or more."""
        return self.squares * self.matches / (self.matches - 1) / self.total**2

    def _design_effect(self) -> float:
        """Return how many cases are worth one that is independent; 1 where the share is 0 or 1."""
        share = self.count / self.total
        return self.variance * self.total / (share * (1 - share)) if 0 < share < 1 else 1.0


@dataclass(slots=True)
class JointCounts:
    """What two tallies have in the same matches: one bot wins what the other loses, so their shares are tied."""

    matches: int = 0
    _counts: float = 0.0  # sums over the matches: count * count, count * total, total * count, total * total
    _count_of: float = 0.0
    _of_count: float = 0.0
    _ofs: float = 0.0

    def add(self, now: tuple[float, int], before: tuple[float, int]) -> None:
        """Add what one match gave to both: counts and numbers of cases."""
        self.matches += 1
        self._counts += now[0] * before[0]
        self._count_of += now[0] * before[1]
        self._of_count += now[1] * before[0]
        self._ofs += now[1] * before[1]

    def correlation(self, now: Proportion, before: Proportion) -> float:
        """Return how the two shares go together, -1 to 1, by what matches differ by from each."""
        first, second = now.count / now.total, before.count / before.total
        root = sqrt(now.squares * before.squares)
        if root == 0:
            return 0.0
        product = self._counts - second * self._count_of - first * self._of_count + first * second * self._ofs
        return min(1.0, max(-1.0, product / root))


def proportion_difference(
    now: Proportion, before: Proportion, both: JointCounts | None = None, level: float = LEVEL
) -> tuple[float, Interval | None]:
    """Return the difference of two shares, and its interval of that level where each is from two matches or more.

    The interval is Newcombe's (1998, method 10), which takes what each interval leaves open; degrees of freedom are
    Welch's. `both` is what the two have in the same matches, None where they are of other matches.
    """
    first, second = now.count / now.total, before.count / before.total
    if min(now.matches, before.matches) < 2:
        return first - second, None
    freedom, tied = _welch(now, before), 0.0
    if both is not None and both.matches:
        freedom = min(freedom, now.matches + before.matches - both.matches - 1)
        tied = both.correlation(now, before)
    times, independent = student_t_quantile(freedom, level), NormalDist().inv_cdf((1 + level) / 2)
    (low, high), (low_before, high_before) = now.within(times, independent), before.within(times, independent)
    least = 0.0 if not tied else times * _tied(sqrt(now.variance), sqrt(before.variance), tied)
    below = max(least, _tied(first - low, high_before - second, tied))
    above = max(least, _tied(high - first, second - low_before, tied))
    return first - second, (max(-1.0, first - second - below), min(1.0, first - second + above))


def _tied(now: float, before: float, correlation: float) -> float:
    return sqrt(max(0.0, now * now + before * before - 2 * correlation * now * before))


def _welch(now: Proportion, before: Proportion) -> float:
    """Return the degrees of freedom of a difference of two means whose variances differ."""
    first, second = now.variance, before.variance
    if not first + second:
        return min(now.matches, before.matches) - 1
    return (first + second) ** 2 / (first**2 / (now.matches - 1) + second**2 / (before.matches - 1))
