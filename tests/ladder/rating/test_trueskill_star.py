"""TrueSkill's star graph, held against independent mathematics."""

import math
import random
from statistics import NormalDist

import pytest

from ladder.rating import Outcome
from ladder.rating.trueskill_star import NEWCOMER, Skill, WinnerTakeAll, fold, rate, rate_game

USUAL = WinnerTakeAll(beta=25 / 6, tau=25 / 300)  # TrueSkill's usual settings, for the published figures
STILL = WinnerTakeAll(tau=0.0)
STANDARD = WinnerTakeAll()

# Means of the order statistics of n standard normals, largest first (Harter 1961).
ORDER = {2: (0.56419,), 4: (1.02938, 0.29701), 6: (1.26721, 0.64176, 0.20155)}


def test_four_newcomers_get_the_published_ratings() -> None:
    """Winner (32.66, 6.38), losers (22.45, 7.28): the package's own factors with TrueSkill's usual settings."""
    after = rate_game([NEWCOMER] * 4, [2], [0, 1, 3], USUAL)
    assert (round(after[2].mu, 2), round(after[2].sigma, 2)) == (32.66, 6.38)
    for loser in (0, 1, 3):
        assert (round(after[loser].mu, 2), round(after[loser].sigma, 2)) == (22.45, 7.28)


@pytest.mark.parametrize("environment", [USUAL, STILL, STANDARD], ids=["usual", "still", "standard"])
@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        (NEWCOMER, NEWCOMER),
        (Skill(31.0, 1.5), Skill(22.0, 7.0)),
        (Skill(10.0, 2.0), Skill(40.0, 3.0)),
        (Skill(60.0, 0.8), Skill(0.0, 0.9)),
    ],
)
def test_two_seats_follow_the_closed_formula(environment: WinnerTakeAll, winner: Skill, loser: Skill) -> None:
    """Herbrich, Minka, Graepel 2007: mu +- sigma^2/c v, sigma^2 (1 - sigma^2/c^2 w), c^2 = 2 beta^2 + both sigma^2."""
    normal = NormalDist()
    won, lost = (rating.sigma**2 + environment.tau**2 for rating in (winner, loser))
    c = math.sqrt(2 * environment.beta**2 + won + lost)
    t = (winner.mu - loser.mu) / c
    v = normal.pdf(t) / normal.cdf(t)
    w = v * (v + t)
    after = rate_game({7: winner, 3: loser}, [7], [3], environment)
    assert after[7].mu == pytest.approx(winner.mu + won / c * v, abs=1e-9)
    assert after[3].mu == pytest.approx(loser.mu - lost / c * v, abs=1e-9)
    assert after[7].sigma == pytest.approx(math.sqrt(won * (1 - won / c**2 * w)), abs=1e-9)
    assert after[3].sigma == pytest.approx(math.sqrt(lost * (1 - lost / c**2 * w)), abs=1e-9)


@pytest.mark.parametrize(("seats", "survivors"), [(2, 1), (4, 1), (6, 1), (4, 2), (6, 2), (6, 3)])
def test_newcomers_move_as_order_statistics_say(seats: int, survivors: int) -> None:
    """Equal players: survivors' mean performance is that of the top k of n normals; messages come within 3 %."""
    c = math.sqrt(NEWCOMER.sigma**2 + STILL.beta**2)
    top = sum(ORDER[seats][:survivors]) / survivors
    rise = NEWCOMER.sigma**2 / c * top
    fall = rise * survivors / (seats - survivors)
    after = rate_game([NEWCOMER] * seats, range(survivors), range(survivors, seats), STILL)
    for bot, rating in after.items():
        assert rating.mu == pytest.approx(NEWCOMER.mu + (rise if bot < survivors else -fall), abs=0.03 * rise)
        assert rating.sigma < NEWCOMER.sigma


@pytest.mark.parametrize(("winners", "losers"), [(1, 3), (1, 5), (1, 9), (2, 4), (5, 5)])
def test_equal_bots_with_equal_results_stay_equal(winners: int, losers: int) -> None:
    """The chain of ties gives three equal losers three different mu (a known fault of trueskill); the star must not."""
    after = rate_game([NEWCOMER] * (winners + losers), range(winners), range(winners, winners + losers))
    for group in (range(winners), range(winners, winners + losers)):
        for value in ("mu", "sigma"):
            values = [getattr(after[bot], value) for bot in group]
            assert max(values) - min(values) < 1e-5


def test_the_order_in_which_losers_are_listed_does_not_matter() -> None:
    """A game's result is a set of losers."""
    ratings = [Skill(20.0 + 3 * bot, 8.0 - bot) for bot in range(6)]
    one = rate_game(ratings, [1], [0, 2, 3, 4, 5])
    other = rate_game(ratings, [1], [5, 3, 0, 4, 2])
    for bot in range(6):
        assert one[bot].mu == pytest.approx(other[bot].mu, abs=1e-5)
        assert one[bot].sigma == pytest.approx(other[bot].sigma, abs=1e-5)


def test_losers_learn_less_than_the_winner() -> None:
    """With ties the losers' sigma drops more than the winner's; in the star it is the other way round."""
    after = rate_game([NEWCOMER] * 4, [0], [1, 2, 3])
    assert after[0].sigma < after[1].sigma < NEWCOMER.sigma


def test_survivors_of_a_draw_are_not_compared_with_each_other() -> None:
    """Compared as equals, the far better survivor would fall towards the other; it must not fall."""
    ratings = [Skill(40.0, 4.0), Skill(20.0, 4.0), Skill(25.0, 4.0)]
    after = rate_game(ratings, [0, 1], [2], STILL)
    assert after[0].mu > ratings[0].mu
    assert after[1].mu > ratings[1].mu
    assert after[2].mu < ratings[2].mu


@pytest.mark.parametrize(("winners", "losers"), [((0, 1, 2), ()), ((), (0, 1, 2)), ((0,), ()), ((), ())])
def test_a_game_that_compares_nobody_changes_nothing(winners: tuple[int, ...], losers: tuple[int, ...]) -> None:
    """Turn limit with all alive, or all forfeited: not even tau is added."""
    ratings = [Skill(30.0, 1.0), NEWCOMER, Skill(12.0, 3.0)]
    after = rate_game(ratings, winners, losers)
    assert after == {bot: ratings[bot] for bot in (*winners, *losers)}


def test_tau_keeps_sigma_from_vanishing() -> None:
    """sigma^2 grows by tau^2 before each game; a result that was certain then adds nothing."""
    after = rate_game([Skill(2000.0, 0.5), Skill(0.0, 0.5)], [0], [1])
    assert after[0].mu == 2000.0
    assert after[0].sigma == pytest.approx(math.hypot(0.5, STANDARD.tau))


@pytest.mark.parametrize("gap", [100.0, 500.0, 700.0, 711.0, 1000.0, 10_000.0, 1_000_000.0])
def test_an_upset_of_any_size_is_rated(gap: float) -> None:
    """The package raises FloatingPointError beyond 38 sigma; a fold must not stop there."""
    sigma = 3.0
    share = sigma**2 / (2 * (sigma**2 + STILL.beta**2))
    after = rate_game([Skill(0.0, sigma), Skill(gap, sigma)], [0], [1], STILL)
    assert after[0].mu == pytest.approx(gap - after[1].mu)
    # the lead's mean after the game is between 0 and c, so each moves by its share of the gap and a little more
    assert gap * share < after[0].mu < (gap + 24) * share
    assert 0 < after[0].sigma < sigma


def test_the_upset_series_continues_the_exact_formula() -> None:
    """At 30 sigma the two must agree, or a rating would jump."""
    exact, series = (-30 + 1e-9, -30 - 1e-9)
    assert STANDARD.v_win(exact, 0.0) == pytest.approx(STANDARD.v_win(series, 0.0), rel=1e-8)
    assert 1 - STANDARD.w_win(exact, 0.0) == pytest.approx(1 - STANDARD.w_win(series, 0.0), rel=1e-5)


def test_a_bot_cannot_stand_in_a_game_twice() -> None:
    """A bot meets no copy of itself."""
    with pytest.raises(ValueError, match="twice"):
        rate_game([NEWCOMER] * 3, [0], [1, 1])


def test_a_fold_is_the_games_one_by_one_and_bots_without_games_stay_newcomers() -> None:
    """So one command can rebuild all ratings from the results."""
    games = [Outcome(0, (0,), (1, 2)), Outcome(0, (2, 1), (0,)), Outcome(0, (0, 1, 2), ())]
    ratings = [NEWCOMER] * 4
    for game in games:
        for bot, rating in rate_game(ratings, game.winners, game.losers).items():
            ratings[bot] = rating
    assert fold(games, 4) == fold(iter(games), 4) == tuple(ratings)
    assert fold(games, 4)[3] == NEWCOMER
    assert fold([], 2) == (NEWCOMER, NEWCOMER)


def test_a_fold_finds_the_order_of_strength() -> None:
    """300 games of 4 seats among 6 bots whose chances are as their weights."""
    weights = [1, 2, 3, 5, 8, 13]
    rng = random.Random(1)
    games = []
    for _ in range(300):
        table = rng.sample(range(6), 4)
        winner = rng.choices(table, [weights[bot] for bot in table])[0]
        games.append(Outcome(0, (winner,), tuple(bot for bot in table if bot != winner)))
    ratings = fold(games, 6)
    assert sorted(range(6), key=lambda bot: ratings[bot].mu) == list(range(6))
    # weights are log-strengths e^s. Simulated: 11.1 mu for one unit of s, and the pool's mean does not drift
    assert ratings[5].mu - ratings[0].mu == pytest.approx(11.1 * math.log(13), rel=0.2)
    assert sum(rating.mu for rating in ratings) / 6 == pytest.approx(25, abs=1.0)


def test_an_estimate_is_mu_between_two_sigma() -> None:
    """The interval of 95 % of a normal distribution, rounded as usual."""
    games = [Outcome(0, (0,), (1, 2))]
    for skill, estimate in zip(fold(games, 3), rate(games, 3), strict=True):
        assert (estimate.low, estimate.value, estimate.high) == (
            skill.mu - 2 * skill.sigma,
            skill.mu,
            skill.mu + 2 * skill.sigma,
        )
