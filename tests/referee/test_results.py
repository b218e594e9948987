"""Tests of the lines of results.jsonl."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.referee import GameResult

RESULT = GameResult(
    match=3,
    game=1,
    seats=("honest", "Zoë", "b"),
    winner=2,
    reason="last_standing",
    survivors=(2,),
    eliminated=((1, 4), (0, 9)),
    turns=12,
    forfeits=(1,),
    faults=((1, "timeout", 2), (1, "out_of_lives", 1)),
)
LINE = (
    '{"match":3,"game":1,"seats":["honest","Zo\\u00eb","b"],"winner":2,"reason":"last_standing","survivors":[2],'
    '"eliminated":[[1,4],[0,9]],"turns":12,"forfeits":[1],"faults":[[1,"timeout",2],[1,"out_of_lives",1]]}\n'
)

numbers = st.integers(0, 10**6)
results = st.builds(
    GameResult,
    match=numbers,
    game=numbers,
    seats=st.lists(st.text(max_size=40), max_size=10).map(tuple),
    winner=st.none() | numbers,
    reason=st.text(max_size=20),
    survivors=st.lists(numbers, max_size=10).map(tuple),
    eliminated=st.lists(st.tuples(numbers, numbers), max_size=10).map(tuple),
    turns=numbers,
    forfeits=st.lists(numbers, max_size=10).map(tuple),
    faults=st.lists(st.tuples(numbers, st.text(max_size=20), numbers), max_size=10).map(tuple),
)


def test_a_line_has_all_of_a_game() -> None:
    assert RESULT.to_line() == LINE


@given(results)
def test_a_line_is_read_back_as_the_same_result(result: GameResult) -> None:
    line = result.to_line()
    assert GameResult.from_line(line) == result
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "7",
        "[" * 100_000,
        LINE.replace('"turns":12,', ""),
        LINE.replace('"turns":12,', '"turns":12,"cards":[],'),
    ],
    ids=["empty", "cut off", "list", "number", "deep", "lacks a field", "has one more"],
)
def test_invalid_lines_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"results\.jsonl|Expecting"):
        GameResult.from_line(line)


def test_a_result_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        RESULT.winner = 0  # type: ignore[misc]
    assert hash(RESULT) == hash(replace(RESULT))
    assert json.loads(LINE)["seats"] == list(RESULT.seats)


def test_a_game_is_worth_one_win_in_all() -> None:
    """A draw is shared. Source: docs/reference/protocol/process.md."""
    assert [RESULT.worth(seat) for seat in range(3)] == [0, 0, 1]
    drawn = replace(RESULT, winner=None, survivors=(0, 2))
    assert [drawn.worth(seat) for seat in range(3)] == [0.5, 0, 0.5]
