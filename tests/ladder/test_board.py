"""The read model: a fold over results. Source: DESIGN.md, section 5: winner takes all, a draw gives each of k 1/k."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from ladder.board import Duel, Standing, Tally


def result(match: int, game: int, seats: str, survivors: Sequence[int], **more: Any) -> dict[str, Any]:
    """Return a line of results.jsonl; bots are letters, survivors seats."""
    return {
        "match": match,
        "game": game,
        "seats": list(seats),
        "winner": survivors[0] if len(survivors) == 1 else None,
        "survivors": list(survivors),
        "eliminated": [],
        "turns": 9,
        "forfeits": [],
        "faults": [],
        **more,
    }


def tally(bots: str, *results: dict[str, Any]) -> Tally:
    counted = Tally(list(bots))
    for line in results:
        counted.add(line)
    return counted


def rows(counted: Tally) -> dict[str, Standing]:
    return {row.bot: row for row in counted.board().standings}


def test_the_winner_takes_all() -> None:
    """There is no second place."""
    board = tally("abc", result(0, 0, "abc", [1])).board()
    found = {row.bot: (row.wins, row.win_share, row.games, row.matches) for row in board.standings}
    assert found == {"a": (0, 0, 1, 1), "b": (1, 1, 1, 1), "c": (0, 0, 1, 1)}
    assert (board.games, board.matches, board.draws) == (1, 1, 0)


@pytest.mark.parametrize(("survivors", "share"), [([0, 1], 1 / 2), ([0, 1, 2], 1 / 3), ([0, 1, 2, 3], 1 / 4)])
def test_a_draw_gives_each_survivor_its_share_of_one_win(survivors: list[int], share: float) -> None:
    """1/k to each of k, and nothing to those who were out."""
    counted = tally("abcd", result(0, 0, "abcd", survivors))
    found = rows(counted)
    for seat, bot in enumerate("abcd"):
        assert found[bot].wins == pytest.approx(share if seat in survivors else 0)
    assert counted.board().draws == 1
    assert sum(row.wins for row in found.values()) == pytest.approx(1)


def test_survivors_of_a_draw_are_not_compared_with_one_another() -> None:
    """They have the same rating, above that of who was out."""
    found = rows(tally("abc", result(0, 0, "abc", [0, 1])))
    assert found["a"].mu == pytest.approx(found["b"].mu)
    assert found["a"].mu > found["c"].mu


def test_a_game_that_all_forfeit_at_once_is_a_draw_that_nobody_wins() -> None:
    """It has no survivors; it is a game, and shares stay numbers."""
    board = tally("ab", result(0, 0, "ab", [])).board()
    assert board.draws == 1
    assert [row.wins for row in board.standings] == [0, 0]
    assert board.standings[0].mu == pytest.approx(board.standings[1].mu)


def test_a_game_is_counted_once() -> None:
    """Whatever is delivered twice, also with another content, changes nothing."""
    counted = tally("ab", result(0, 0, "ab", [0], faults=[[1, "timeout", 2]], forfeits=[1]))
    before = counted.board()
    counted.add(result(0, 0, "ab", [0], faults=[[1, "timeout", 2]], forfeits=[1]))
    counted.add(result(0, 0, "ab", [1]))
    assert counted.board() == before
    assert counted.games == 1


def test_the_order_of_delivery_changes_nothing() -> None:
    """Ratings are folded in match order: a run with other --jobs has the same standings."""
    chance = random.Random(5)
    lines = [
        result(match, game, "".join(chance.sample("abcd", 3)), [chance.randrange(3)])
        for match in range(20)
        for game in range(3)
    ]
    boards = []
    for _ in range(3):
        boards.append(tally("abcd", *lines).board())
        chance.shuffle(lines)
    assert boards[0] == boards[1] == boards[2]


def test_standings_are_sorted_by_rating_and_ranked_from_one() -> None:
    """Bots without a game are there too, with a newcomer's rating."""
    lines = [result(match, 0, "abc", [1 if match % 3 else 2]) for match in range(9)]
    board = tally("abcd", *lines).board()
    assert [row.rank for row in board.standings] == [1, 2, 3, 4]
    assert [row.mu for row in board.standings] == sorted((row.mu for row in board.standings), reverse=True)
    assert board.standings[0].bot == "b"
    newcomer = next(row for row in board.standings if row.bot == "d")
    assert (newcomer.games, newcomer.matches, newcomer.wins, newcomer.low, newcomer.high) == (0, 0, 0, None, None)
    assert newcomer.mu == pytest.approx(25)


def test_bots_of_one_rating_stand_by_name() -> None:
    """So that equal runs print equal tables."""
    assert [row.bot for row in tally("cab").board().standings] == ["a", "b", "c"]


def test_no_interval_below_ten_matches() -> None:
    """A match is one observation; many games in few matches are few observations."""
    nine = [result(match, game, "ab", [game % 2]) for match in range(9) for game in range(10)]
    assert all(row.low is row.high is None for row in tally("ab", *nine).board().standings)
    ten = [*nine, *(result(9, game, "ab", [game % 2]) for game in range(10))]
    for row in tally("ab", *ten).board().standings:
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low < row.win_share < row.high <= 1


def test_duels_count_the_games_at_a_common_table() -> None:
    """`duels[a][b]` is a's wins and b's wins where both sat; a third bot's wins are in `games` alone."""
    board = tally(
        "abcd",
        result(0, 0, "abc", [0]),
        result(0, 1, "abc", [2]),
        result(1, 0, "bad", [1]),
        result(1, 1, "bad", [0, 1]),
    ).board()
    assert board.duels["a"]["b"] == Duel(wins=2.5, losses=0.5, games=4)
    assert board.duels["b"]["a"] == Duel(wins=0.5, losses=2.5, games=4)
    assert board.duels["a"]["c"] == Duel(wins=1, losses=1, games=2)
    assert "d" not in board.duels["c"], "they never met"
    assert "a" not in board.duels["a"]


def test_faults_and_forfeits_belong_to_who_sat_there() -> None:
    """Results name seats; a bot changes its seat from game to game."""
    counted = tally(
        "ab",
        result(0, 0, "ab", [0], faults=[[1, "timeout", 2], [1, "illegal_move", 1]], forfeits=[1]),
        result(0, 1, "ba", [1], faults=[[0, "timeout", 1], [1, "stray_line", 4]], forfeits=[0]),
    )
    found = rows(counted)
    assert found["a"].faults == {"stray_line": 4}
    assert found["b"].faults == {"illegal_move": 1, "timeout": 3}
    assert (found["a"].forfeits, found["b"].forfeits) == (0, 2)


def test_shares_are_what_the_live_table_shows() -> None:
    """(bot, games, win share), best first, also before the first game."""
    assert tally("ba").shares() == [("a", 0, 0.0), ("b", 0, 0.0)]
    counted = tally("ab", result(0, 0, "ab", [1]), result(0, 1, "ab", [0, 1]))
    assert counted.shares() == [("b", 2, 0.75), ("a", 2, 0.25)]
