"""Marks in standard error: in which game, and in which turn, a line was written. Source: arena/referee/seat.py."""

from arena.referee import lines_by_turn, list_own_lines, split_by_game

GAME_0 = b"--- turn 2 ---\nhm\n\n--- turn 2 ---\nso\n--- turn 5 ---\nno\n"
LOG = b"loading\n--- game 0 ---\n" + GAME_0 + b"--- game 1 ---\n--- game 2 ---\nwell\n--- turn 1 ---\nhalf a line"


def test_a_log_is_told_game_by_game() -> None:
    """What came before the first belongs to none; a game in which nothing was written is one."""
    assert split_by_game(LOG) == {None: b"loading\n", 0: GAME_0, 1: b"", 2: b"well\n--- turn 1 ---\nhalf a line"}
    assert split_by_game(b"") == {None: b""}


def test_a_game_is_told_turn_by_turn() -> None:
    """A turn in which a bot was asked twice is one, and empty lines are left out."""
    assert lines_by_turn(GAME_0) == [(2, [b"hm", b"so"]), (5, [b"no"])]
    assert lines_by_turn(split_by_game(LOG)[2]) == [(0, [b"well"]), (1, [b"half a line"])]
    assert lines_by_turn(b"") == []


def test_a_bots_lines_are_all_but_marks() -> None:
    """Also those that begin like a mark, or hold one."""
    assert list_own_lines(LOG) == [b"loading", b"hm", b"so", b"no", b"well", b"half a line"]
    like = [b"--- my plan", b"--- game 7", b"-- game 7 ---", b"see --- turn 3 ---", b"--- turn 3 --- see", b"--- ---"]
    assert list_own_lines(b"\n".join([*like, b" ", b"--- turn 3 ---\r", b"--- turn 3 ---"])) == [
        *like,
        b"--- turn 3 ---\r",
    ]
