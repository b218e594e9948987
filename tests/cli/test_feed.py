"""`arena feed` as a bot's author uses it. Source: the help of the command, docs/howto/bots/use-bots-in-python.md."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_workspace import ANSWER, Place, bot_text


@pytest.fixture(scope="module")
def run(places: Callable[[], Place]) -> Path:
    """Return a run in which one bot crashes at its ninth request of each process; it stays unchanged."""
    place = places()
    bots = [place.bot("crash.py", bot_text("if n == 9: sys.exit(3)", ANSWER)), place.bot("good.py")]
    ran = place.run("run", *bots, "--games", 2, "--match-games", 2, "--sandbox", "process", "--out", "out")
    assert ran.code == 0, ran.err
    return place.folder / "out"


def test_a_crash_is_reproduced_outside_of_the_arena(place: Place, run: Path) -> None:
    lines = place.call("feed", run, "--game", 0, "--seat", "crash").out.splitlines()
    types = [json.loads(line)["type"] for line in lines]
    assert (types[:2], types[-1]) == (["hello", "game_start"], "request")
    assert json.loads(lines[-1])["id"] == 9
    handle = json.loads(lines[0])["match"]["your_handle"]
    assert place.call("feed", run, "--game", 0, "--seat", handle).out.splitlines() == lines
    again = place.run("feed", run, "--game", 0, "--seat", "crash", "--", "python3", run.with_name("crash.py"))
    assert (again.code, again.err) == (3, "")


def test_an_unknown_game_or_bot_is_refused(place: Place, run: Path) -> None:
    for words, output in (
        (("--seat", "unknown"), "unknown: the bots are "),
        (("--seat", "crash", "--game", 9), "has games 0 to 1"),
        (("--seat", "crash", "--match", 4), "has matches 0 to 0, but not 4"),
        (("--seat", 0), "for a seat number, add --game"),
        (("--seat", "good", "--", "no-such-program"), "program not found: no-such-program"),
    ):
        ran = place.call("feed", run, *words)
        assert ran.code == 2, ran
        assert output in ran.err


def test_one_record_is_read_and_a_named_match_alone(place: Place, run: Path) -> None:
    run = Path(shutil.copytree(run, place.folder / "out"))
    lines = place.call("feed", run, "--seat", "good").out
    (run / "records" / "000001.jsonl").write_text("no record")
    assert place.call("feed", run, "--seat", "good", "--match", 0).out == lines
    (run / "records" / "000001.jsonl").unlink()
    mine = (run / "records" / "000000.jsonl").rename(run / "records" / "mine.jsonl")
    assert place.call("feed", run, "--seat", "good", "--match", 0).out == lines
    shutil.copy(mine, mine.with_name("copy.jsonl"))
    assert "has 2 records of match 0: name one" in place.call("feed", run, "--seat", "good", "--match", 0).err
    words = "run sample:honest sample:counter --games 4 --match-games 2 --sandbox process --out two"
    assert place.run(*words.split()).code == 0
    assert "has matches 0 to 1: choose one with --match" in place.call("feed", place.folder / "two", "--seat", "a").err
