"""Ratings: the star graph against independent mathematics, and the win share's interval against simulation."""

import math
import random
from fractions import Fraction
from statistics import NormalDist

import pytest

from ladder.rating import (
    NEWCOMER,
    MatchShare,
    Outcome,
    Rating,
    WinnerTakeAll,
    fold,
    rate,
    student_t_quantile,
    win_share,
)

USUAL = WinnerTakeAll(beta=25 / 6, tau=25 / 300)  # TrueSkill's usual settings, for the published figures
STILL = WinnerTakeAll(tau=0.0)
STANDARD = WinnerTakeAll()

# Means of the order statistics of n standard normals, largest first (Harter 1961).
ORDER = {2: (0.56419,), 4: (1.02938, 0.29701), 6: (1.26721, 0.64176, 0.20155)}


def test_four_newcomers_get_the_published_ratings() -> None:
    """research: winner (32.66, 6.38), losers (22.45, 7.28) with TrueSkill's usual settings."""
    after = rate([NEWCOMER] * 4, [2], [0, 1, 3], USUAL)
    assert (round(after[2].mu, 2), round(after[2].sigma, 2)) == (32.66, 6.38)
    for loser in (0, 1, 3):
        assert (round(after[loser].mu, 2), round(after[loser].sigma, 2)) == (22.45, 7.28)


@pytest.mark.parametrize("environment", [USUAL, STILL, STANDARD], ids=["usual", "still", "standard"])
@pytest.mark.parametrize(
    ("winner", "loser"),
    [
        (NEWCOMER, NEWCOMER),
        (Rating(31.0, 1.5), Rating(22.0, 7.0)),
        (Rating(10.0, 2.0), Rating(40.0, 3.0)),
        (Rating(60.0, 0.8), Rating(0.0, 0.9)),
    ],
)
def test_two_seats_follow_the_closed_formula(environment: WinnerTakeAll, winner: Rating, loser: Rating) -> None:
    """Herbrich, Minka, Graepel 2007: mu +- sigma^2/c v, sigma^2 (1 - sigma^2/c^2 w), c^2 = 2 beta^2 + both sigma^2."""
    normal = NormalDist()
    won, lost = (rating.sigma**2 + environment.tau**2 for rating in (winner, loser))
    c = math.sqrt(2 * environment.beta**2 + won + lost)
    t = (winner.mu - loser.mu) / c
    v = normal.pdf(t) / normal.cdf(t)
    w = v * (v + t)
    after = rate({7: winner, 3: loser}, [7], [3], environment)
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
    after = rate([NEWCOMER] * seats, range(survivors), range(survivors, seats), STILL)
    for bot, rating in after.items():
        assert rating.mu == pytest.approx(NEWCOMER.mu + (rise if bot < survivors else -fall), abs=0.03 * rise)
        assert rating.sigma < NEWCOMER.sigma


@pytest.mark.parametrize(("winners", "losers"), [(1, 3), (1, 5), (1, 9), (2, 4), (5, 5)])
def test_equal_bots_with_equal_results_stay_equal(winners: int, losers: int) -> None:
    """The chain of ties gives three equal losers three different mu (trueskill issue 13); the star must not."""
    after = rate([NEWCOMER] * (winners + losers), range(winners), range(winners, winners + losers))
    for group in (range(winners), range(winners, winners + losers)):
        for value in ("mu", "sigma"):
            values = [getattr(after[bot], value) for bot in group]
            assert max(values) - min(values) < 1e-5


def test_the_order_in_which_losers_are_listed_does_not_matter() -> None:
    """A game's result is a set of losers."""
    ratings = [Rating(20.0 + 3 * bot, 8.0 - bot) for bot in range(6)]
    one = rate(ratings, [1], [0, 2, 3, 4, 5])
    other = rate(ratings, [1], [5, 3, 0, 4, 2])
    for bot in range(6):
        assert one[bot].mu == pytest.approx(other[bot].mu, abs=1e-5)
        assert one[bot].sigma == pytest.approx(other[bot].sigma, abs=1e-5)


def test_losers_learn_less_than_the_winner() -> None:
    """research: with ties the losers' sigma drops more than the winner's; in the star it is the other way round."""
    after = rate([NEWCOMER] * 4, [0], [1, 2, 3])
    assert after[0].sigma < after[1].sigma < NEWCOMER.sigma


def test_survivors_of_a_draw_are_not_compared_with_each_other() -> None:
    """Design section 5. Compared as equals, the far better survivor would fall towards the other; it must not fall."""
    ratings = [Rating(40.0, 4.0), Rating(20.0, 4.0), Rating(25.0, 4.0)]
    after = rate(ratings, [0, 1], [2], STILL)
    assert after[0].mu > ratings[0].mu
    assert after[1].mu > ratings[1].mu
    assert after[2].mu < ratings[2].mu


@pytest.mark.parametrize(("winners", "losers"), [((0, 1, 2), ()), ((), (0, 1, 2)), ((0,), ()), ((), ())])
def test_a_game_that_compares_nobody_changes_nothing(winners: tuple[int, ...], losers: tuple[int, ...]) -> None:
    """Turn limit with all alive, or all forfeited: not even tau is added."""
    ratings = [Rating(30.0, 1.0), NEWCOMER, Rating(12.0, 3.0)]
    after = rate(ratings, winners, losers)
    assert after == {bot: ratings[bot] for bot in (*winners, *losers)}


def test_tau_keeps_sigma_from_vanishing() -> None:
    """sigma^2 grows by tau^2 before each game; a result that was certain then adds nothing."""
    after = rate([Rating(2000.0, 0.5), Rating(0.0, 0.5)], [0], [1])
    assert after[0].mu == 2000.0
    assert after[0].sigma == pytest.approx(math.hypot(0.5, STANDARD.tau))


@pytest.mark.parametrize("gap", [100.0, 500.0, 700.0, 711.0, 1000.0, 10_000.0, 1_000_000.0])
def test_an_upset_of_any_size_is_rated(gap: float) -> None:
    """The package raises FloatingPointError beyond 38 sigma; a fold must not stop there."""
    sigma = 3.0
    share = sigma**2 / (2 * (sigma**2 + STILL.beta**2))
    after = rate([Rating(0.0, sigma), Rating(gap, sigma)], [0], [1], STILL)
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
        rate([NEWCOMER] * 3, [0], [1, 1])


def test_a_fold_is_the_games_one_by_one_and_bots_without_games_stay_newcomers() -> None:
    """Design section 5: every rating is a fold over the results."""
    games = [Outcome((0,), (1, 2)), Outcome((2, 1), (0,)), Outcome((0, 1, 2), ())]
    ratings = [NEWCOMER] * 4
    for game in games:
        for bot, rating in rate(ratings, game.winners, game.losers).items():
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
        games.append(Outcome((winner,), tuple(bot for bot in table if bot != winner)))
    ratings = fold(games, 6)
    assert sorted(range(6), key=lambda bot: ratings[bot].mu) == list(range(6))
    # weights are log-strengths e^s; research: 11.1 mu for one unit of s, and the pool's mean does not drift
    assert ratings[5].mu - ratings[0].mu == pytest.approx(11.1 * math.log(13), rel=0.2)
    assert sum(rating.mu for rating in ratings) / 6 == pytest.approx(25, abs=1.0)


@pytest.mark.parametrize(
    ("df", "t"),
    [
        (1, 12.7062),
        (2, 4.30265),
        (5, 2.57058),
        (6, 2.44691),
        (9, 2.26216),
        (10, 2.22814),
        (19, 2.09302),
        (29, 2.04523),
        (30, 2.04227),
        (49, 2.00958),
        (100, 1.98397),
        (1000, 1.96234),
    ],
)
def test_the_t_quantile_is_that_of_the_tables(df: int, t: float) -> None:
    """Any table of Student's t, two-sided 95 %."""
    assert student_t_quantile(0.975, df) == pytest.approx(t, abs=5e-5)
    assert student_t_quantile(0.025, df) == -student_t_quantile(0.975, df)


@pytest.mark.parametrize(("probability", "df", "t"), [(0.5, 9, 0.0), (0.9, 7, 1.41492), (0.995, 12, 3.05454)])
def test_the_t_quantile_knows_other_levels(probability: float, df: int, t: float) -> None:
    """Any table of Student's t."""
    assert student_t_quantile(probability, df) == pytest.approx(t, abs=5e-5)


@pytest.mark.parametrize(("probability", "df"), [(0.0, 9), (1.0, 9), (0.975, 0)])
def test_the_t_quantile_refuses_what_has_none(probability: float, df: int) -> None:
    """Outside (0, 1) or without a degree of freedom there is no quantile."""
    with pytest.raises(ValueError, match="allowed"):
        student_t_quantile(probability, df)


def test_a_share_counts_parts_of_wins() -> None:
    """Design section 5: a draw gives each of its k survivors 1/k of a win."""
    share = win_share([MatchShare(Fraction(1, 3), 2), MatchShare(Fraction(5, 3), 2)])
    assert share.value == 0.5


@pytest.mark.parametrize(("matches", "has_interval"), [(1, False), (9, False), (10, True)])
def test_there_is_no_interval_under_ten_matches(matches: int, has_interval: bool) -> None:
    """The variance between fewer matches is too uncertain."""
    share = win_share([MatchShare(6, 24)] * matches)
    assert share.value == 0.25
    assert (share.low is not None, share.high is not None) == (has_interval, has_interval)


def interval(wins: list[int]) -> tuple[float, float]:
    """The interval for matches of 24 games."""
    share = win_share([MatchShare(won, 24) for won in wins])
    assert share.low is not None
    assert share.high is not None
    assert 0 <= share.low <= share.value <= share.high <= 1
    return share.low, share.high


def test_equal_matches_give_the_interval_of_independent_games() -> None:
    """Wilson 1927: the ends are the chances from which 60 of 240 is 1.96 standard deviations away."""
    for end in interval([6] * 10):
        assert abs(end - 0.25) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / 240), rel=1e-6)


def test_unequal_matches_widen_the_interval() -> None:
    """All or nothing in each match: 240 games say no more than 10."""
    low, high = interval([24, 0] * 5)
    # deff = 10/9 * 24, t = 2.262: Wilson with 9 games and t
    ratio = 2.262157**2 / 9
    half = math.sqrt(ratio / 4 + ratio**2 / 4) / (1 + ratio)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


@pytest.mark.parametrize(("wins", "edge"), [(0, 0.0), (24, 1.0)])
def test_all_or_nothing_has_an_interval_on_one_side(wins: int, edge: float) -> None:
    """No variance to estimate: as for independent games, with Student's t."""
    low, high = interval([wins] * 10)
    assert edge in (low, high)
    assert high - low == pytest.approx(2.262157**2 / (240 + 2.262157**2), abs=1e-6)


def test_the_interval_of_nothing_is_that_of_almost_nothing() -> None:
    """One win in 240 games must not give a narrower interval than none."""
    none, one = interval([0] * 10)[1], interval([1] + [0] * 9)[1]
    assert none < one < 2 * none


@pytest.mark.parametrize("match", [MatchShare(0, 0), MatchShare(-1, 24), MatchShare(25, 24), MatchShare(math.nan, 24)])
def test_an_impossible_match_is_refused(match: MatchShare) -> None:
    """Wins are from 0 to games, and a match has games."""
    with pytest.raises(ValueError, match="allowed"):
        win_share([MatchShare(6, 24)] * 10 + [match])


def test_no_matches_have_no_share() -> None:
    """0 of 0 is not a share."""
    with pytest.raises(ValueError, match="at least one"):
        win_share([])


@pytest.mark.parametrize("matches", [10, 20, 50])
@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.2])
def test_the_interval_covers_the_truth_about_95_times_in_100(matches: int, correlation: float) -> None:
    """Share .25, 24 games a match, match shares constant or beta-distributed. Plain Wilson covers 60 % at .2."""
    share, repeats = 0.25, 300
    rng = random.Random(f"{matches}/{correlation}")
    covered = 0
    for _ in range(repeats):
        wins = []
        for _ in range(matches):
            size = 1 / correlation - 1 if correlation else 0.0
            chance = rng.betavariate(share * size, (1 - share) * size) if size else share
            wins.append(sum(rng.random() < chance for _ in range(24)))
        low, high = interval(wins)
        covered += low <= share <= high
    # standard error .013
    assert 0.91 <= covered / repeats <= 0.99
