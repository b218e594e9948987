"""TrueSkill for a game with no second place: the winner beats each loser, and losers are not compared.

TrueSkill's own way to rate a free-for-all is a chain of neighbours in the ranking. Ranks [0, 1, 1, 1] then say that the
losers are *equal*: their sigma falls faster than the winner's although nothing was learned about them, and equal losers
get different mu. Here the factor graph is a star:

    skill_i ~ N(mu_i, sigma_i^2 + tau^2)     performance_i ~ N(skill_i, beta^2)     performance_w > performance_l

with one comparison for each pair (winner, loser). A draw has several winners: each of them beats each eliminated seat,
and winners are not compared with one another. Messages are passed over the comparisons, one after the other, until they
stop changing; then the skills are read off. The factors are those of the trueskill package.

A game that compares nobody (a draw with nobody eliminated, or all forfeited) changes nothing, not even by tau: it says
nothing about a bot's skill.

Ratings depend a little on the order of the games. The same games in the same order give the same ratings.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import trueskill
from trueskill.factorgraph import LikelihoodFactor, PriorFactor, SumFactor, TruncateFactor, Variable

from ladder.rating.estimate import Estimate, Outcome

__all__ = ["NEWCOMER", "Skill", "WinnerTakeAll", "fold", "rate", "rate_game"]

MU = 25.0  # TrueSkill's usual start
SIGMA = MU / 3  # TrueSkill's usual start
BETA = 50 / 3  # 2 sigma: Coup is mostly luck. Simulated: error .52 after 50 games, 1.39 with the usual sigma / 2
TAU = 0.02  # simulated: the usual sigma / 100 never gets past Kendall tau .83; this one does, and intervals stay honest
MIN_DELTA = 1e-4  # the package's own; at 6 seats equal losers then agree to 1e-7
MAX_SWEEPS = 50  # 5 winners and 5 losers need 12, one winner needs 7
FAR = -30.0  # below this the series is the more exact, and pdf / cdf ends in 0 / 0 at -38


@dataclass(frozen=True, slots=True)
class Skill:
    """What is believed of a bot's skill: mean and standard deviation, in TrueSkill's units."""

    mu: float
    sigma: float


NEWCOMER = Skill(MU, SIGMA)
"""The skill of a bot of which nothing is known."""


class WinnerTakeAll(trueskill.TrueSkill):  # type: ignore[misc]  # the package has no types, so its class is Any
    """The rating environment. Its settings are explicit, so that the package's global ones never matter."""

    def __init__(self, beta: float = BETA, tau: float = TAU) -> None:
        super().__init__(mu=MU, sigma=SIGMA, beta=beta, tau=tau, draw_probability=0.0, backend=None)

    def compare(self, winners: Sequence[Skill], losers: Sequence[Skill]) -> list[Skill]:
        """Return the skills after one game, winners first; unchanged when there are no winners or no losers."""
        before = [*winners, *losers]
        if not winners or not losers:
            return before
        after = [Variable() for _ in before]
        performances = [Variable() for _ in before]
        priors = [PriorFactor(skill, known, self.tau) for skill, known in zip(after, before, strict=True)]
        noises = [
            LikelihoodFactor(skill, performance, self.beta**2)
            for skill, performance in zip(after, performances, strict=True)
        ]
        for factor in (*priors, *noises):
            factor.down()
        self._settle(performances[: len(winners)], performances[len(winners) :])
        for factor in noises:
            factor.up()
        return [Skill(float(skill.mu), float(skill.sigma)) for skill in after]

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
        """Return the mean of a standard normal beyond -x, plus -x: how far a win by x shifts the mean.

        It replaces the package's, which has no value for upsets beyond 38 sigma: a rating must not stop at one.
        """
        x = diff - draw_margin
        if x < FAR:  # Mills' ratio, its asymptotic series inverted
            y = 1 / x**2
            return -x * (1 + y - 2 * y**2 + 10 * y**3)
        return math.exp(-x * x / 2) / (math.sqrt(math.pi / 2) * math.erfc(-x / math.sqrt(2)))

    def w_win(self, diff: float, draw_margin: float) -> float:
        """Return the share of the variance that a win by x takes away, 0 <= w < 1."""
        x = diff - draw_margin
        if x < FAR:
            y = 1 / x**2
            return 1 - y + 6 * y**2 - 50 * y**3
        v = self.v_win(diff, draw_margin)
        return v * (v + x)


STANDARD = WinnerTakeAll()
"""The settings of every rating. Holds no state."""


def rate(outcomes: Sequence[Outcome], bots: int) -> tuple[Estimate, ...]:
    """Estimate each bot's skill: mu, between mu - 2 sigma and mu + 2 sigma."""
    return tuple(
        Estimate(skill.mu, skill.mu - 2 * skill.sigma, skill.mu + 2 * skill.sigma) for skill in fold(outcomes, bots)
    )


def fold(games: Iterable[Outcome], bots: int, environment: WinnerTakeAll = STANDARD) -> tuple[Skill, ...]:
    """Rate all games in their order, every bot starting as a newcomer; one skill for each of `bots` bots."""
    skills = dict.fromkeys(range(bots), NEWCOMER)
    for game in games:
        skills.update(rate_game(skills, game.winners, game.losers, environment))
    return tuple(skills.values())


def rate_game(
    skills: Mapping[int, Skill] | Sequence[Skill],
    winners: Sequence[int],
    losers: Sequence[int],
    environment: WinnerTakeAll = STANDARD,
) -> dict[int, Skill]:
    """Rate one game: the new skills of the bots in it, by bot index.

    `skills` holds at least those bots and is left as it is.
    Raises ValueError when a bot stands in the game twice.
    """
    bots = [*winners, *losers]
    if len(set(bots)) < len(bots):
        raise ValueError(f"a bot is in one game twice: winners {list(winners)}, losers {list(losers)}")
    after = environment.compare([skills[bot] for bot in winners], [skills[bot] for bot in losers])
    return dict(zip(bots, after, strict=True))
