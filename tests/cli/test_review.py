"""`arena review` as a bot's author uses it. Source: the help of the command, docs/howto/bots/use-bots-in-python.md."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_workspace import Place


@pytest.fixture(scope="module")
def run(places: Callable[[], Place]) -> Path:
    place = places()
    bots = ["sample:turtle", "sample:honest"]
    ran = place.run("run", *bots, "--games", 12, "--seed", 2, "--sandbox", "process", "--out", "out")
    assert ran.code == 0, ran.err
    return place.folder / "out"


def test_the_most_costly_decisions_are_listed_with_a_command_that_shows_the_first(place: Place, run: Path) -> None:
    ran = place.run("review", run, "--bot", "turtle")
    assert ran.code == 0, ran.err
    assert ran.out.startswith("turtle lost ")
    words = shlex.split(ran.out.split("the first: arena ")[1].replace("\n", " "))
    shown = place.call(*words)
    assert shown.code == 0, shown.err
    assert "as turtle saw it" in shown.out
    output = place.call("review", run, "--bot", "turtle", "--json").json
    assert f"--game {output['costly_decisions'][0]['game']} " in ran.out


def test_another_bot_chooses_the_better_moves(place: Place, run: Path) -> None:
    ran = place.run("review", run, "--bot", "turtle", "--judge", "sample:honest")
    assert ran.code == 0, ran.err
    assert "those that honest would make" in " ".join(ran.out.split())
    ran = place.call("review", run, "--bot", "turtle", "--judge", "nowhere.py")
    assert (ran.code, "nowhere.py doesn't exist" in ran.err) == (2, True)


def test_the_page_of_a_review_has_the_reviewed_games_in_the_bots_view(place: Place, run: Path) -> None:
    ran = place.run("review", run, "--bot", "turtle", "--max-games", 3, "--html", "lost.html", "--json")
    assert ran.code == 0, ran.err
    assert "3 games in lost.html: open it in a browser. It contains only what turtle could know" in ran.err
    written = (place.folder / "lost.html").read_text()
    data = {name: json.loads(text) for name, text in re.findall(r'json" id="(\w+)">(.*?)</script>', written)}
    assert data["review"] == json.loads(ran.out)
    assert data["review"]["caution"].startswith("The better moves are those that strategist would make")
    held = [(match["match"], game["game"]) for match in data["matches"]["matches"] for game in match["games"]]
    assert held == [(curve["match"], curve["game"]) for curve in data["review"]["curves"]]
    ran = place.call("review", run, "--bot", "turtle", "--max-games", 241, "--html", "lost.html")
    assert (ran.code, "has space for 240 games" in ran.err) == (2, True)
    ran = place.call("review", run, "--bot", "turtle", "--max-games", 1, "--html", "no/lost.html")
    assert (ran.code, "turtle lost" in ran.out, "name another file" in ran.err) == (1, True, True), ran


def test_a_review_that_ends_before_its_first_game_writes_no_page(place: Place, run: Path) -> None:
    judge = place.bot("judge.py", "import os, signal\nos.kill(os.getppid(), signal.SIGINT)\n")
    ran = place.run("review", run, "--bot", "turtle", "--jobs", 1, "--judge", judge, "--html", "lost.html")
    assert ran.code == 130, ran.err
    assert "turtle lost was reviewed: lost.html isn't written" in ran.err


def test_a_review_of_an_unknown_bot_is_refused(place: Place, run: Path) -> None:
    ran = place.call("review", run, "--bot", "unknown")
    assert (ran.code, 'has no bot "unknown"; its bots are honest, turtle' in ran.err) == (2, True), ran


def test_an_edited_bot_is_asked_again_and_its_other_choices_are_listed(place: Place) -> None:
    """The same bot chooses the same; one that takes the last move, otherwise; one that ends, not at all."""
    first = place.bot("mybot.py")
    ran = place.run("run", first, "sample:honest", "--games", 2, "--seed", 2, "--sandbox", "process", "--out", "out")
    assert ran.code == 0, ran.err
    same = json.loads(place.run("replay", "out", "--what-if", first, "--json").out)
    assert (same["items"], same["requests"] > 5) == ([], True)
    text = first.read_text()
    edited = place.bot("edited.py", text.replace("% moves", "% moves\n    choice = moves - 1"))
    assert edited.read_text() != text
    ran = place.run("replay", "out", "--what-if", edited, "--seat", "mybot", "--game", 1)
    assert ran.code == 0, ran.err
    assert "it chooses differently at " in ran.out
    assert {line.split()[1] for line in ran.out.splitlines()[3:]} == {"1"}
    ends = place.bot("ends.py", "import sys\nsys.exit(3)\n")
    ran = place.run("replay", "out", "--what-if", ends, "--seat", "mybot")
    assert "without a valid reply" in ran.out
    assert "ends ended with 3" in ran.err


def test_bots_that_cannot_be_asked_are_refused(place: Place, run: Path) -> None:
    other = place.bot("other.py")
    for words, output in (
        (("--what-if", other), "other plays in none of these games"),
        (("--what-if", place.folder / "nowhere.py"), "nowhere.py"),
        (("--what-if", other, "--seat", "turtle", "--from", 3), "--what-if can't be combined"),
    ):
        ran = place.call("replay", run, *words)
        assert ran.code == 2, ran
        assert output in ran.err
