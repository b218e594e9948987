"""The share of its games that a bot wins, with a 95 % interval that counts matches, not games.

The games of a match aren't independent: the opponents are the same, and a bot may learn, break or be learned. So the
match is the observation. How much the matches differ gives the design effect: the variance of the share over the
variance that independent games would give:

    deff = m/(m-1) * sum_i (wins_i - share * games_i)^2  /  (games * share * (1 - share))          m matches

The interval is Wilson's, which stays in [0, 1] and holds for small shares. In it stand games / deff for the games and,
because deff is itself estimated, Student's t with m - 1 degrees of freedom for the normal quantile z.

It is never narrower than Wilson's for independent games: t^2 * deff is raised to z^2 where it is less. Seats are
balanced within a match, so deff can truly be under 1, but not by much unless the seat decides the game. An estimate
from ten matches is under 1/2 by chance in one case of eight, and equal matches would give no width at all. A bot that
won all or nothing shows no variance to estimate. Its deff is taken as 1, which is what the formula gives for a single
win in matches of equal length, so the interval has no jump there.

Simulated coverage for shares of .25 and .5, matches of 24 games, a correlation within matches of 0 to .2: 94 to 98 %.
It falls to 89 % at 10 matches for a rare winner whose wins come in bursts (share .05, correlation .2).
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from ladder.rating.estimate import Estimate, Outcome

__all__ = ["MatchShare", "rate", "win_share"]

UPPER = 0.975  # a two-sided interval of 95 %
MIN_MATCHES = 10  # with fewer, the variance between matches is too uncertain for an interval to mean anything


@dataclass(frozen=True, slots=True)
class MatchShare:
    """One bot's result in one match: wins of games. A draw among k survivors is 1/k of a win for each."""

    wins: Fraction | float
    games: int


def rate(outcomes: Sequence[Outcome], bots: int) -> tuple[Estimate, ...]:
    """Estimate each bot's share of wins, 0 to 1. A bot without a game has the share 0."""
    shares: list[defaultdict[int, list[Fraction]]] = [defaultdict(list) for _ in range(bots)]
    for outcome in outcomes:
        for bot in outcome.winners:
            shares[bot][outcome.match].append(Fraction(1, len(outcome.winners)))
        for bot in outcome.losers:
            shares[bot][outcome.match].append(Fraction(0))
    played = [[MatchShare(sum(games, Fraction(0)), len(games)) for games in found.values()] for found in shares]
    return tuple(win_share(matches) if matches else Estimate(0.0) for matches in played)


def win_share(matches: Sequence[MatchShare]) -> Estimate:
    """Estimate a bot's share of wins from all its matches, in any order. Under 10 matches there is no interval.

    Raises ValueError without a match, for a match without games, and for wins that are not from 0 to games.
    """
    if not matches:
        raise ValueError("no matches: a share needs at least one")
    for match in matches:
        if match.games < 1 or not 0 <= match.wins <= match.games:
            raise ValueError(
                f"{match.wins} wins of {match.games} games: games from 1, wins from 0 to games are allowed"
            )
    games = sum(match.games for match in matches)
    value = math.fsum(match.wins for match in matches) / games
    if len(matches) < MIN_MATCHES:
        return Estimate(value)
    return Estimate(value, *_wilson(value, games, _quantile_squared(matches, value, games)))


def _quantile_squared(matches: Sequence[MatchShare], value: float, games: int) -> float:
    """Return the square of the quantile that the interval is made with, the design effect in it."""
    from scipy.special import stdtrit  # scipy.stats has it as t.ppf, and takes ten times as long to import

    t = float(stdtrit(len(matches) - 1, UPPER))
    z = NormalDist().inv_cdf(UPPER)
    return max(t**2 * _design_effect(matches, value, games), z**2)


def _design_effect(matches: Sequence[MatchShare], value: float, games: int) -> float:
    """Return the variance of the share between matches over that of independent games."""
    if not 0 < value < 1:
        return 1.0
    residuals = math.fsum((float(match.wins) - value * match.games) ** 2 for match in matches)
    return len(matches) / (len(matches) - 1) * residuals / (games * value * (1 - value))


def _wilson(value: float, games: int, quantile_squared: float) -> tuple[float, float]:
    """Return Wilson's score interval for a share of so many games."""
    ratio = quantile_squared / games
    centre = value + ratio / 2
    spread = math.sqrt(ratio * value * (1 - value) + ratio**2 / 4)
    low, high = (centre - spread) / (1 + ratio), (centre + spread) / (1 + ratio)
    # Rounding must not put the share of a bot that won all or nothing outside of its interval.
    return max(0.0, min(low, value)), min(1.0, max(high, value))
