"""Tests of the read models, which fold results. A win is worth 1; a draw gives each of its k survivors 1/k."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from arena.referee import GameResult
from arena.run import HeadToHead, RunStanding, RunStandings, StandingsCounter
from tests.run_standings import compute_run_standings


def result(match: int, game: int, seats: str, survivors: Sequence[int], **more: Any) -> GameResult:
    """Return a game; bots are letters, survivors seats."""
    fields: dict[str, Any] = {
        "winner": survivors[0] if len(survivors) == 1 else None,
        "reason": "last_standing",
        "eliminated": (),
        "turns": 9,
        "forfeits": (),
        "faults": (),
        **more,
    }
    return GameResult(match, game, tuple(seats), survivors=tuple(survivors), **fields)


def standings_of(bots: str, *results: GameResult) -> RunStandings:
    return compute_run_standings(list(bots), results)


def rows(found: RunStandings) -> dict[str, RunStanding]:
    return {row.bot: row for row in found.rows}


def mu(row: RunStanding) -> float:
    return row.rating.value


def test_the_winner_takes_all() -> None:
    found = standings_of("abc", result(0, 0, "abc", [1]))
    counts = {row.bot: (row.wins, row.win_rate, row.games, row.matches) for row in found.rows}
    assert counts == {"a": (0, 0, 1, 1), "b": (1, 1, 1, 1), "c": (0, 0, 1, 1)}
    assert (found.games, found.matches, found.draws) == (1, 1, 0)


@pytest.mark.parametrize(("survivors", "share"), [([0, 1], 1 / 2), ([0, 1, 2], 1 / 3), ([0, 1, 2, 3], 1 / 4)])
def test_a_draw_gives_each_survivor_its_share_of_one_win(survivors: list[int], share: float) -> None:
    whole = standings_of("abcd", result(0, 0, "abcd", survivors))
    found = rows(whole)
    for seat, bot in enumerate("abcd"):
        assert found[bot].wins == pytest.approx(share if seat in survivors else 0)
    assert whole.draws == 1
    assert sum(row.wins for row in found.values()) == pytest.approx(1)


def test_survivors_of_a_draw_have_equal_ratings() -> None:
    found = rows(standings_of("abc", result(0, 0, "abc", [0, 1])))
    assert mu(found["a"]) == pytest.approx(mu(found["b"]))
    assert mu(found["a"]) > mu(found["c"])


def test_a_game_that_all_forfeit_at_once_is_a_draw_without_winners() -> None:
    """It has no survivors; it counts as a game, and win rates stay numbers."""
    found = standings_of("ab", result(0, 0, "ab", []))
    assert found.draws == 1
    assert [row.wins for row in found.rows] == [0, 0]
    assert mu(found.rows[0]) == pytest.approx(mu(found.rows[1]))


def test_a_game_is_counted_once() -> None:
    once = result(0, 0, "ab", [0], faults=((1, "timeout", 2),), forfeits=(1,))
    assert standings_of("ab", once, once, result(0, 0, "ab", [1])) == standings_of("ab", once)
    assert standings_of("ab", once, once).games == 1


def test_the_order_of_delivery_changes_nothing() -> None:
    """A run with another --jobs has the same standings to the last bit."""
    chance = random.Random(5)
    lines = []
    for match in range(20):
        table = chance.sample("abcd", 3)
        lines += [
            result(match, game, "".join(chance.sample(table, 3)), chance.choice([[0], [1], [0, 1], [0, 1, 2]]))
            for game in range(9)
        ]
    boards = []
    for _ in range(3):
        boards.append(standings_of("abcd", *lines))
        chance.shuffle(lines)
    assert boards[0] == boards[1] == boards[2]


def test_standings_are_in_order_of_rating() -> None:
    """Bots without a game are included, with a newcomer's rating and no certain rank."""
    lines = [result(match, 0, "abc", [1 if match % 3 else 2]) for match in range(9)]
    found = standings_of("abcd", *lines)
    assert [row.position for row in found.rows] == [1, 2, 3, 4]
    assert list(map(mu, found.rows)) == sorted(map(mu, found.rows), reverse=True)
    assert found.rows[0].bot == "b"
    newcomer = rows(found)["d"]
    assert newcomer.games == newcomer.matches == newcomer.wins == 0
    assert newcomer.rank_range == (1, 4)
    assert newcomer.win_rate_adjusted is newcomer.win_rate is None


def test_bots_of_equal_rating_are_ordered_by_name() -> None:
    assert [row.bot for row in standings_of("cab").rows] == ["a", "b", "c"]


def test_head_to_head_counts_the_games_at_a_common_table() -> None:
    """`head_to_head[a][b]` has the wins of a and of b where both sat; a third bot's wins count in `games` only."""
    found = standings_of(
        "abcd",
        result(0, 0, "abc", [0]),
        result(0, 1, "abc", [2]),
        result(1, 0, "bad", [1]),
        result(1, 1, "bad", [0, 1]),
    ).head_to_head
    assert found["a"]["b"] == HeadToHead(wins=2.5, losses=0.5, games=4, matches=2)
    assert found["b"]["a"] == HeadToHead(wins=0.5, losses=2.5, games=4, matches=2)
    assert found["a"]["c"] == HeadToHead(wins=1, losses=1, games=2, matches=1)
    assert "d" not in found["c"], "they never met"
    assert "a" not in found["a"]


def test_head_to_head_is_the_win_rate_among_games_that_either_won() -> None:
    """Games of one match share their table, so the minimum is ten matches."""
    third = [result(0, game, "abc", [2]) for game in range(50)]
    nine = [result(match, game, "abc", [match % 3]) for match in range(9) for game in (100, 101)]
    assert standings_of("abc", *third, *nine).head_to_head["a"]["b"].win_rate is None
    found = standings_of("abc", *third, *nine, result(9, 0, "abc", [0])).head_to_head
    assert found["a"]["b"].win_rate == pytest.approx(7 / 13)
    assert found["b"]["a"].win_rate == pytest.approx(6 / 13)
    drawn = standings_of("abc", *(result(match, 0, "abc", [2]) for match in range(10))).head_to_head["a"]["b"]
    assert (drawn.matches, drawn.win_rate) == (10, None), "neither ever won"


def test_the_wins_of_each_seat_are_counted() -> None:
    """A draw is shared; a game without survivors is a win of no seat."""
    found = standings_of("abc", result(0, 0, "abc", [0]), result(0, 1, "bca", [0, 2]), result(0, 2, "cab", []))
    assert found.seats == pytest.approx((1.5, 0, 0.5))
    assert standings_of("abc").seats == ()


def test_faults_and_forfeits_are_counted_for_the_bot_in_the_seat() -> None:
    """Results name seats; a bot changes its seat from game to game."""
    found = rows(
        standings_of(
            "ab",
            result(0, 0, "ab", [0], faults=((1, "timeout", 2), (1, "illegal_move", 1)), forfeits=(1,)),
            result(0, 1, "ba", [1], faults=((0, "timeout", 1), (1, "stray_line", 4)), forfeits=(0,)),
        )
    )
    assert found["a"].faults_by_code == {"stray_line": 4}
    assert found["b"].faults_by_code == {"illegal_move": 1, "timeout": 3}
    assert (found["a"].forfeits, found["b"].forfeits) == (0, 2)


def test_interim_standings_show_win_rates() -> None:
    tally = StandingsCounter(["b", "a"])
    assert tally.win_rates() == [("a", 0, 0.0), ("b", 0, 0.0)]
    tally.add([result(0, 0, "ab", [1]), result(0, 1, "ab", [0, 1])])
    assert tally.win_rates() == [("b", 2, 0.75), ("a", 2, 0.25)]
