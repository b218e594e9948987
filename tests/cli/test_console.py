"""Lines for a terminal. Source: the docstring of arena/cli/console.py."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

from arena.cli.console import stop_early
from tests.cases import each
from tests.cli_workspace import ROOT

SAY = "import sys; from arena.cli.console import print_note; print_note(sys.argv[1])"


def on_terminal(text: str, columns: int, program: str = SAY) -> list[str]:
    """Return the lines of a note, or of another program's output, on a terminal of that width."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    # The size is the terminal's, not the one in the environment of the tests.
    outside = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment = {**outside, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    subprocess.run(
        [sys.executable, "-P", "-c", program, text],
        env=environment,
        stdout=theirs,
        stderr=theirs,
        timeout=60,
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown.rstrip().split("\r\n")


TABLE = """
import sys
from rich.console import Group
from rich.text import Text
from arena.cli.console import Column, print_parts, make_table
numbers = [Column("win\\nshare", number=True), Column("assas-\\nsinate", number=True)]
columns = [Column("bot", min_width=10), *numbers, "said"]
rows = [["an honest one", "12.5%", Text("3", style="red"), "nothing"], ["b", "1%", "", "a word and some more of it"]]
print_parts(Group("before", make_table(columns, rows)), "after")
"""


def plain(lines: list[str]) -> list[str]:
    return [re.sub("\x1b.*?m", "", line).rstrip() for line in lines]


def test_a_table_that_does_not_fit_is_printed_row_by_row() -> None:
    assert plain(on_terminal("", 24, TABLE)) == [
        "before",
        *("bot an honest one", "  win share: 12.5%", "  assassinate: 3", "  said: nothing"),
        *("bot b", "  win share: 1%", "  said: a word and some", "  more of it"),
        "after",
    ]


def test_a_table_that_fits_stays_one() -> None:
    lines = plain(on_terminal("", 59, TABLE))
    assert lines[0] == "before"
    assert lines[2].split() == ["bot", "share", "sinate", "said"]
    assert lines[-2].split()[:3] == ["b", "1%", "a"]
    assert max(map(len, lines)) <= 59


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a line that is short", ["a line that is short"]),
        (
            "  not docker: no engine runs at /var/run/docker.sock",
            ["  not docker: no engine", "    runs at", "    /var/run/docker.sock"],
        ),
        ("one\n" + "x" * 40, ["one", "x" * 40]),
        ("--sandbox-of-a-name --another-of-such", ["--sandbox-of-a-name", "  --another-of-such"]),
    ],
)
def test_a_terminal_gets_notes_folded_at_blanks(text: str, lines: list[str]) -> None:
    assert on_terminal(text, 24) == lines


def test_a_pipe_gets_notes_whole() -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", SAY, "a note " * 40 + "\x1b[2J"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "20"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stderr == "a note " * 40 + "\\x1b[2J\n"


@each("number, seconds, code", [(signal.SIGTERM, None, 130), (signal.SIGINT, 60.0, 130), (None, 0.01, 0)])
def test_a_long_command_ends_early_at_a_signal_or_after_its_time(
    number: signal.Signals | None, seconds: float | None, code: int
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with suppress(KeyboardInterrupt), stop_early(seconds) as early:
        assert ("left" in early.describe_left(0.5), "left" in early.describe_left()) == (True, seconds is not None)
        while True:
            if number is not None:
                os.kill(os.getpid(), number)
    assert (early.exit_code, signal.getsignal(signal.SIGTERM)) == (code, before)
    with pytest.raises(KeyboardInterrupt):
        early.check()
