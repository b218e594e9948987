"""Tests of the preflight of a run. Source: the help of `arena run`, --skip-failing."""

import sys
import time
from pathlib import Path

from tests.cli_workspace import Place
from tests.timing import within

SILENT = """import json, sys
for line in sys.stdin:
    if json.loads(line)["type"] == "hello":
        print('{"type":"hello"}', flush=True)
"""
GAMES = ("--games", 4)
SMALL = (*GAMES, "--limit-ms", 500, "--bank-ms", 2000)


def test_all_bots_that_cannot_play_are_listed_before_a_game_is_played(place: Place) -> None:
    """The list has each bot's last output and advice; a silent bot is reported during the wait."""
    silent = place.bot("silent.py", SILENT)
    dies = place.bot("dies.py", "raise SystemExit('no weights')\n")
    ran = place.run("run", *place.bots(2), silent, dies, *SMALL, "--out", "out")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("silent sent no reply within 2 s of its hello") == 1
    for words in ("silent can't play: ", "dies can't play: ", "| no weights", "--skip-failing", "arena check"):
        assert words in ran.err
    assert not (place.folder / "out").exists()
    place.require_nothing_left()


def test_skipped_bots_are_reported_at_the_top_at_the_end_and_in_json(place: Place) -> None:
    """The others play as if the skipped bots had not been named, also in a resumed run."""
    dies = place.bot("dies.py", "raise SystemExit('no weights')\n")
    ran = place.run("run", *place.bots(2), dies, *SMALL, "--skip-failing", "--json", "--out", "out")
    assert ran.code == 0
    assert [row["bot"] for row in ran.json["skipped"]] == ["dies"]
    assert sorted(row["bot"] for row in ran.json["standings"]) == ["a", "b"]
    lines = ran.err.splitlines()
    assert "skipped: dies" in lines
    again = place.run("run", "--resume", "out")
    assert again.err.splitlines()[-1].startswith("skipped: dies: ")


def test_a_run_of_which_one_bot_is_left_is_refused(place: Place) -> None:
    dies = place.bot("dies.py", "raise SystemExit\n")
    ran = place.run("run", *place.bots(1), dies, "--skip-failing", "--out", "out")
    assert ran.code == 2
    assert "A game needs at least 2 bots, and 1 can play" in ran.err
    assert not (place.folder / "out").exists()


def test_a_silent_bot_in_a_run_with_long_limits_passes(place: Place) -> None:
    """It may be thinking: the preflight waits less long than the match would."""
    thinks = place.bot("thinks.py", SILENT)
    process = place.start("run", *place.bots(1), thinks, *GAMES, "--limit-ms", 60_000, "--out", "out")
    place.wait(lambda: (place.folder / "out").exists(), process=process)
    process.terminate()
    assert place.end(process).code == 130


def test_an_interrupted_preflight_ends_at_once(place: Place) -> None:
    mark = Path("said")
    silent = place.bot("silent.py", f"open({str(place.tmp / mark)!r}, 'w').close()\n" + SILENT)

    def ends() -> float:
        process = place.start("run", *place.bots(1), silent, *GAMES, "--limit-ms", 60_000, "--out", "out")
        place.wait(lambda: (place.tmp / mark).exists(), process=process)
        began = time.monotonic()
        process.terminate()
        assert place.end(process).code == 130
        (place.tmp / mark).unlink()
        return time.monotonic() - began

    within(3, ends)
    if sys.platform == "linux":
        place.require_nothing_left()
