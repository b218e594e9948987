"""Lines for a terminal. Source: the docstring of arena/cli/console.py."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios

import pytest

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


def test_a_wide_table_loses_its_last_columns_and_keeps_a_row_a_bot() -> None:
    shown = plain(on_terminal("", 60, TABLE.replace("said", "s" * 40)))
    assert [line.split() for line in shown[2:5]] == [
        ["bot", "share", "sinate"],
        ["an", "honest", "one", "12.5%", "3"],
        ["b", "1%"],
    ]
    assert shown[5] == f"columns left out: {'s' * 40}"


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


EARLY = """
import os, sys
from arena.cli.console import stop_early

number, seconds = int(sys.argv[1]), float(sys.argv[2]) or None
try:
    with stop_early(seconds) as early:
        if number:
            print(early.describe_left(0.5)[-5:], early.describe_left() == "")
        while True:
            if number:
                os.kill(os.getpid(), number)
except KeyboardInterrupt:
    print(early.reason)
try:
    early.check()
except KeyboardInterrupt:
    sys.exit(early.exit_code)
"""


@each("number, seconds, reason", [(signal.SIGTERM, 0, "interrupted"), (signal.SIGINT, 60, "interrupted"), (0, 0.5, "")])
def test_a_long_command_ends_early_at_a_signal_or_after_its_time(number: int, seconds: float, reason: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", EARLY, str(int(number)), str(seconds)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.splitlines() == ([f" left {seconds == 0}", reason] if reason else ["the time is over"])
    assert (ran.returncode, ran.stderr) == (130 if reason else 0, "")


FULL = """
import errno
from arena.cli.console import exit_on_os_error
exit_on_os_error(OSError(errno.ENOSPC, "No space left on device", "kit.py", None, "full/kit.py"))
"""


def test_a_full_disk_is_named_by_the_file_that_has_no_space() -> None:
    """`shutil.copyfile` names the copied file first."""
    ran = subprocess.run([sys.executable, "-P", "-c", FULL], env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=-1)
    assert (ran.returncode, ran.stderr) == (1, b"arena: full/kit.py: No space left on device\n")
