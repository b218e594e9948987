"""Tests of the progress of a run, also where Ctrl-C came while a match was counted."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from arena.referee import GameResult, PlayedMatch
from arena.run import Progress
from arena.schedule import keyed_shuffle, plan_matches
from tests.ladder.store.memory import MemoryStore
from tests.run_standings import compute_run_standings

BOTS = ["ada", "bob", "cyd"]


def played(match: int) -> PlayedMatch:
    table = tuple(BOTS[(match + place) % 3] for place in range(2))
    games = (GameResult(match, game, table, 0, "last_standing", (0,), ((1, 5),), 5, (), ()) for game in range(2))
    return PlayedMatch(match, "", tuple(games))


def interrupted_at_line(number: int, call: Callable[[], Any]) -> bool:
    """Raise KeyboardInterrupt at this line number of the counting; return whether it has this many."""
    left = number

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith(("progress.py", "arena/run/standings.py")):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_match_is_counted_once_wherever_its_counting_is_interrupted() -> None:
    line = 1
    while True:
        store = MemoryStore()
        store.save(played(0))
        progress = Progress(plan_matches(3, 2, 30, 2, keyed_shuffle(bytes(32), "test")), BOTS, store, lambda: 0.0)
        store.save(played(1))
        store.save(played(2))
        cut = interrupted_at_line(line, progress.standings)
        games = [game for match in range(3) for game in store.results(match)]
        assert progress.standings() == compute_run_standings(BOTS, games), f"cut at line {line}"
        if not cut:
            assert line > 60
            break
        line += 1
