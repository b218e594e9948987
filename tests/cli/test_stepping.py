"""Tests of stepping through games on a real pseudo-terminal."""

import os
import signal
import sys
import termios
from collections.abc import Iterator
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
    return [sys.executable, "-m", "arena.cli", "replay", str(file)]


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
    assert "another seat's knowledge" in screen.until("leave")
    screen.type("xs")
    assert "??" in screen.until("as bot0 saw it")
    screen.type("\x1b[F")
    screen.until(r"(wins|a draw) ")
    screen.type(" ")
    screen.type("q")
    assert screen.process.wait(30) == 0
    assert termios.tcgetattr(screen.line) == screen.before


def test_ctrl_c_leaves_the_terminal_as_it_was(screen: Screen) -> None:
    """Exit code 130, as for every command."""
    screen.until("paused")
    os.killpg(screen.process.pid, signal.SIGINT)
    assert screen.process.wait(30) == 130
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


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(command: list[str]) -> None:
    """TERM=dumb, as in an editor's shell."""
    made = Screen(command, TERM="dumb")
    try:
        assert "paused" not in made.until(r"(wins|a draw) ")
        assert made.process.wait(30) == 0
    finally:
        made.close()
