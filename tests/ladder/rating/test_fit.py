"""How strong bots are, from all games of a run at once."""

import random

import pytest

from ladder.rating import Outcome, Strength, fit

WEIGHTS = (1, 2, 3, 5, 8, 13)


def games(matches: int, seed: int = 1) -> list[Outcome]:
    """Return games of 4 seats among bots whose chances to win are as their weights, twelve games a match."""
    chance = random.Random(seed)
    found = []
    for match in range(matches):
        table = chance.sample(range(len(WEIGHTS)), 4)
        for winner in chance.choices(table, [WEIGHTS[bot] for bot in table], k=12):
            found.append(Outcome(match, (winner,), tuple(bot for bot in table if bot != winner)))
    return found


def figures(found: Strength) -> list[float]:
    """Return all numbers of a strength."""
    assert found.adjusted is not None
    assert found.share is not None
    estimates = (found.rating, found.adjusted)
    numbers = [number for each in estimates for number in (each.value, each.low, each.high) if number is not None]
    return [*numbers, *found.ranks, found.share]


def test_the_order_of_the_games_changes_nothing() -> None:
    """Within a match, and of matches among one another."""
    played = games(40)
    shuffled = played[:]
    random.Random(2).shuffle(shuffled)
    for one, other in zip(fit(played, 6), fit(shuffled, 6), strict=True):
        assert figures(one) == pytest.approx(figures(other), abs=1e-9)


def test_six_bots_stand_in_the_order_of_their_weights() -> None:
    """By rating and by share, and the weakest isn't held for the best."""
    found = fit(games(200), 6)
    ratings = [strength.rating.value for strength in found]
    assert ratings == sorted(ratings)
    assert sum(ratings) / 6 == pytest.approx(25)
    assert found[0].ranks[0] > found[5].ranks[1]


def test_a_bot_without_a_game_has_a_newcomers_rating_and_no_interval() -> None:
    """Nothing is known of it: it may have any rank."""
    found = fit(games(40), 7)[6]
    assert (found.rating.value, found.rating.low, found.ranks, found.adjusted, found.share) == (
        pytest.approx(25),
        None,
        (1, 7),
        None,
        None,
    )


def test_games_of_a_match_have_one_table() -> None:
    """Else matches would be no clusters."""
    with pytest.raises(ValueError, match="one table is allowed"):
        fit([Outcome(0, (0,), (1,)), Outcome(0, (0,), (2,))], 3)
