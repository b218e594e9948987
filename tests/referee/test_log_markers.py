"""Tests of log markers in standard error, which name game and turn. Source: arena/referee/log_markers.py."""

from arena.referee import lines_by_turn, list_own_lines, split_by_game

GAME_0 = b"--- turn 2 ---\nhm\n\n--- turn 2 ---\nso\n--- turn 5 ---\nno\n"
LOG = b"loading\n--- game 0 ---\n" + GAME_0 + b"--- game 1 ---\n--- game 2 ---\nwell\n--- turn 1 ---\nhalf a line"


def test_a_log_is_split_by_games() -> None:
    """Output before the first belongs to none; a game without output is listed."""
    assert split_by_game(LOG) == {None: b"loading\n", 0: GAME_0, 1: b"", 2: b"well\n--- turn 1 ---\nhalf a line"}
    assert split_by_game(b"") == {None: b""}


def test_a_game_is_split_by_turns() -> None:
    """A turn with two requests is one; empty lines are omitted."""
    assert lines_by_turn(GAME_0) == [(2, [b"hm", b"so"]), (5, [b"no"])]
    assert lines_by_turn(split_by_game(LOG)[2]) == [(0, [b"well"]), (1, [b"half a line"])]
    assert lines_by_turn(b"") == []


def test_a_bots_lines_are_all_but_markers() -> None:
    """A bot's line may begin like a marker, or contain one."""
    assert list_own_lines(LOG) == [b"loading", b"hm", b"so", b"no", b"well", b"half a line"]
    like = [b"--- my plan", b"--- game 7", b"-- game 7 ---", b"see --- turn 3 ---", b"--- turn 3 --- see", b"--- ---"]
    assert list_own_lines(b"\n".join([*like, b" ", b"--- turn 3 ---\r", b"--- turn 3 ---"])) == [
        *like,
        b"--- turn 3 ---\r",
    ]
