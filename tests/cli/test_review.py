"""`arena review` as a bot's author uses it. Source: the help of the command, docs/local.md."""

import json
import shlex
from pathlib import Path

import pytest

from tests.place import Place


@pytest.fixture
def run(place: Place) -> Path:
    bots = ["sample:turtle", "sample:honest"]
    ran = place.run("run", *bots, "--games", 12, "--seed", 2, "--sandbox", "process", "--out", "out")
    assert ran.code == 0, ran.err
    return place.folder / "out"


def test_the_dearest_decisions_are_told_and_the_first_is_shown_by_the_command_that_is_printed(
    place: Place, run: Path
) -> None:
    ran = place.run("review", run, "--bot", "turtle")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("turtle lost ")
    words = shlex.split(ran.out.split("the first: arena ")[1].replace("\n", " "))
    shown = place.run(*words)
    assert shown.code == 0, shown.err
    assert "as turtle saw it" in shown.out
    told = json.loads(place.run("review", run, "--bot", "turtle", "--json").out)
    assert f"--game {told['costly'][0]['game']} " in ran.out


def test_what_cannot_be_looked_at_is_refused(place: Place, run: Path) -> None:
    for words, told in (
        ((run, "--bot", "nobody"), "there are honest, turtle"),
        ((place.folder / "nowhere", "--bot", "turtle"), "nowhere"),
    ):
        ran = place.run("review", *words)
        assert ran.code == 2, ran
        assert told in ran.err
