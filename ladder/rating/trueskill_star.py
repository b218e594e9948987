"""TrueSkill for a game with no second place: the winner beats each loser, and losers are not compared.

Theory of operation. TrueSkill's own way to rate a free-for-all is a chain of neighbours in the ranking. Ranks
[0, 1, 1, 1] then say that the losers are *equal*: their sigma falls faster than the winner's although nothing was
learned about them, and equal losers get different mu. Here the factor graph is a star:

    skill_i ~ N(mu_i, sigma_i^2 + tau^2)     performance_i ~ N(skill_i, beta^2)     performance_w > performance_l

with one comparison for each pair (winner, loser). A draw has several winners: each of them beats each eliminated seat
and they are not compared with one another. Messages are passed over the comparisons, one after the other, until they
stop changing; then the skills are read off. The factors are those of the trueskill package.

A game that compares nobody (a draw with nobody eliminated, or all forfeited) changes nothing at all, not even by tau:
a bot's skill did not change because the game said nothing about it.

Ratings depend a little on the order of the games; a fold over the same games in the same order gives the same ratings.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import trueskill
from trueskill.factorgraph import LikelihoodFactor, PriorFactor, SumFactor, TruncateFactor, Variable

__all__ = ["NEWCOMER", "Outcome", "Rating", "WinnerTakeAll", "fold", "rate"]

MU = 25.0  # TrueSkill's usual start
SIGMA = MU / 3  # TrueSkill's usual start
BETA = 50 / 3  # 2 sigma: Coup is mostly luck. Simulated: error .52 after 50 games, 1.39 with the usual sigma / 2
TAU = 0.02  # simulated: the usual sigma / 100 never gets past Kendall tau .83; this one does, and intervals stay honest
MIN_DELTA = 1e-4  # the package's own; at 6 seats equal losers then agree to 1e-7
MAX_SWEEPS = 50  # 5 winners and 5 losers need 12, one winner needs 7
FAR = -30.0  # below this the series is the more exact, and pdf / cdf ends in 0 / 0 at -38


@dataclass(frozen=True, slots=True)
class Rating:
    """What is believed of a bot's skill: mean and standard deviation, in TrueSkill's units. Standings sort by mu."""

    mu: float
    sigma: float


NEWCOMER = Rating(MU, SIGMA)
"""The rating of a bot of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Who won a game and who was eliminated, as bot indices; a bot stands in it at most once.

    A draw has its survivors as winners; a game that all forfeited has none.
    """

    winners: tuple[int, ...]
    losers: tuple[int, ...]


class WinnerTakeAll(trueskill.TrueSkill):  # type: ignore[misc]  # the package has no types, so its class is Any
    """The rating environment. Its settings are explicit, so that the package's global ones never matter."""

    def __init__(self, beta: float = BETA, tau: float = TAU) -> None:
        super().__init__(mu=MU, sigma=SIGMA, beta=beta, tau=tau, draw_probability=0.0, backend=None)

    def compare(self, winners: Sequence[Rating], losers: Sequence[Rating]) -> list[Rating]:
        """Give the ratings after one game, winners first; unchanged when there are no winners or no losers."""
        before = [*winners, *losers]
        if not winners or not losers:
            return before
        skills = [Variable() for _ in before]
        performances = [Variable() for _ in before]
        priors = [PriorFactor(skill, rating, self.tau) for skill, rating in zip(skills, before, strict=True)]
        noises = [
            LikelihoodFactor(skill, performance, self.beta**2)
            for skill, performance in zip(skills, performances, strict=True)
        ]
        for factor in (*priors, *noises):
            factor.down()
        self._settle(performances[: len(winners)], performances[len(winners) :])
        for factor in noises:
            factor.up()
        return [Rating(float(skill.mu), float(skill.sigma)) for skill in skills]

    def _settle(self, winners: list[Variable], losers: list[Variable]) -> None:
        """Pass messages over the comparisons until they no longer change."""
        comparisons = []
        for winner in winners:
            for loser in losers:
                lead = Variable()
                difference = SumFactor(lead, [winner, loser], [+1, -1])
                comparisons.append((difference, TruncateFactor(lead, self.v_win, self.w_win, 0.0)))
        for _ in range(MAX_SWEEPS):
            delta = 0.0
            for difference, positive in comparisons:
                difference.down()
                delta = max(delta, positive.up())
                difference.up(0)
                if len(winners) > 1:  # a sole winner's losers stand in no other comparison: told once, at the end
                    difference.up(1)
            if delta <= MIN_DELTA:
                break
        for difference, _ in comparisons:
            difference.up(1)

    def v_win(self, diff: float, draw_margin: float) -> float:
        """Give the mean of a standard normal beyond -x, plus -x: how far a win by x shifts the mean.

        Replaces the package's, which has no value for upsets beyond 38 sigma; a rating must not stop at one.
        """
        x = diff - draw_margin
        if x < FAR:  # Mills' ratio, its asymptotic series inverted
            y = 1 / x**2
            return -x * (1 + y - 2 * y**2 + 10 * y**3)
        return math.exp(-x * x / 2) / (math.sqrt(math.pi / 2) * math.erfc(-x / math.sqrt(2)))

    def w_win(self, diff: float, draw_margin: float) -> float:
        """Give the share of the variance that a win by x takes away, 0 <= w < 1."""
        x = diff - draw_margin
        if x < FAR:
            y = 1 / x**2
            return 1 - y + 6 * y**2 - 50 * y**3
        v = self.v_win(diff, draw_margin)
        return v * (v + x)


STANDARD = WinnerTakeAll()
"""The arena's settings. Holds no state: the same for every fold."""


def rate(
    ratings: Mapping[int, Rating] | Sequence[Rating],
    winners: Sequence[int],
    losers: Sequence[int],
    environment: WinnerTakeAll = STANDARD,
) -> dict[int, Rating]:
    """Rate one game: the new ratings of the bots in it, by bot index.

    `ratings` holds at least those bots and is left as it is.
    Raises ValueError when a bot stands in the game twice.
    """
    bots = [*winners, *losers]
    if len(set(bots)) < len(bots):
        raise ValueError(f"a bot is in one game twice: winners {list(winners)}, losers {list(losers)}")
    after = environment.compare([ratings[bot] for bot in winners], [ratings[bot] for bot in losers])
    return dict(zip(bots, after, strict=True))


def fold(games: Iterable[Outcome], bots: int, environment: WinnerTakeAll = STANDARD) -> tuple[Rating, ...]:
    """Rate all games in their order, every bot starting as a newcomer; one rating for each of `bots` bots."""
    ratings = dict.fromkeys(range(bots), NEWCOMER)
    for game in games:
        ratings.update(rate(ratings, game.winners, game.losers, environment))
    return tuple(ratings.values())
