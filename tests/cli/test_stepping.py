"""Tests of stepping through games on a real pseudo-terminal."""

import os
import re
import signal
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena.coup import PRESETS
from arena.referee import write
from tests.cli.screen import Screen
from tests.tell.games import random_game


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Return the command that replays a record of a random game of two."""
    file = tmp_path / "000000.jsonl"
    file.write_text(write(random_game(PRESETS["coup"], 2, seed=4)), encoding="utf-8")
    return ["replay", str(file)]


@pytest.fixture
def screen(command: list[str]) -> Iterator[Screen]:
    made = Screen(command)
    yield made
    made.close()


def test_keys_step_through_a_game_and_q_leaves_the_terminal_as_it_was(screen: Screen) -> None:
    """The keys are those of the page."""
    screen.until(r"turn 1 of \d+ · paused")
    screen.type("\x1b[B")
    screen.until(r"turn 2 of")
    screen.type("\x1b[A")
    screen.until(r"turn 1 of")
    screen.type("?")
    helped = screen.until("face up")
    assert "another seat's knowledge" in helped
    assert re.search(r"> +whose turn it is", helped), "signs are told beside the keys"
    screen.type("xs")
    assert "??" in screen.until("as bot0 saw it")
    screen.type("\x1b[F")
    screen.until(r"(wins|a draw) ")
    screen.type(" ")
    screen.type("q")
    assert screen.process.wait(60) == 0
    assert termios.tcgetattr(screen.line) == screen.before


def test_ctrl_c_leaves_the_terminal_as_it_was(screen: Screen) -> None:
    """Exit code 130, as for every command."""
    screen.until("paused")
    os.killpg(screen.process.pid, signal.SIGINT)
    assert screen.process.wait(60) == 130
    assert termios.tcgetattr(screen.line) == screen.before


@pytest.mark.parametrize(("columns", "rows"), [(20, 5), (200, 3), (40, 12)])
def test_a_small_terminal_gets_what_fits(command: list[str], columns: int, rows: int) -> None:
    """No line is longer than the terminal, and there are no more lines than it has."""
    made = Screen([*command, "--from", "5"], columns, rows)
    try:
        drawn = made.until("game 1 of 1").strip("\r\n").split("\n")
        assert len(drawn) <= rows
        assert max(len(line.rstrip("\r")) for line in drawn) <= columns
    finally:
        made.close()


def test_a_narrow_terminal_gets_whole_words(command: list[str]) -> None:
    """What each has, and how the game ended; the line of keys tells where more is said."""
    made = Screen(command, 26, 20)
    try:
        made.until("game 1 of 1")
        made.type("\x1b[F")
        drawn = made.until(r"game 1 of 1, turn \d+")
        assert "…" not in drawn
        assert re.search(r"bot\d wins after \d+ turns game 1 of 1, turn", " ".join(drawn.split()))
        made.type("?")
        assert "another seat's knowledge, or all cards" in " ".join(made.until("leave").split())
    finally:
        made.close()


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(command: list[str]) -> None:
    """TERM=dumb, as in an editor's shell."""
    made = Screen(command, TERM="dumb")
    try:
        assert "paused" not in made.until(r"(wins|a draw) ")
        assert made.process.wait(60) == 0
    finally:
        made.close()


def test_each_game_shows_the_bot_that_was_asked_for_whatever_its_seat(tmp_path: Path) -> None:
    """Another bot's cards aren't shown in its place, and a table without the picked seat shows all cards."""
    first, second = random_game(PRESETS["coup"], 3, seed=4), random_game(PRESETS["coup"], 2, seed=5)
    turned = replace(second.games[0], seating=(1, 0))
    (tmp_path / "000000.jsonl").write_text(write(first), encoding="utf-8")
    (tmp_path / "000001.jsonl").write_text(write(replace(second, games=(turned,))), encoding="utf-8")
    made = Screen(["replay", str(tmp_path), "--seat", "bot1"])
    try:
        made.until("match 0.*as bot1 saw it")
        made.type("j")
        made.until("match 0, game 0: coup, 2 seats, as bot1 saw it")
        made.type("kss")
        made.until("3 seats, all cards")
        made.type("sss")
        made.until("3 seats, as bot2 saw it")
        made.type("j")
        made.until("2 seats, all cards")
    finally:
        made.close()
