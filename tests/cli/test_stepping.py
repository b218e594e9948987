"""Tests of stepping through games on a real pseudo-terminal."""

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.coup import PRESETS
from arena.referee import write
from tests.tell.games import random_game


class Screen:
    """A process on a terminal of its own, and what it has drawn last."""

    def __init__(self, command: list[str], columns: int = 90, rows: int = 24, **environment: str) -> None:
        self.master, line = os.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(line)
        self.process = subprocess.Popen(
            command,
            stdin=line,
            stdout=line,
            stderr=line,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm", **environment},
        )
        self.line = line
        self.text = ""

    def until(self, pattern: str) -> str:
        """Read until what was drawn since the last call holds the pattern, and return that."""
        end = time.monotonic() + 60
        self.text = ""
        while not re.search(pattern, self.text):
            assert time.monotonic() < end, f"no {pattern!r} in {self.text!r}"
            if select.select([self.master], [], [], 0.2)[0]:
                try:
                    data = os.read(self.master, 65536)
                except OSError:
                    data = b""
                assert data, f"it ended without {pattern!r}: {self.text!r}"
                self.text += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", data.decode(errors="replace"))
        return self.text

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.line)
        os.close(self.master)


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
