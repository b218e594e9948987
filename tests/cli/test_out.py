"""Lines for a terminal. Source: the docstring of arena/cli/out.py."""

import os
import pty
import subprocess
import sys
import termios

import pytest

from tests.place import ROOT

SAY = "import sys; from arena.cli.out import note; note(sys.argv[1])"


def on_terminal(text: str, columns: int) -> list[str]:
    """Return the lines of a note on a terminal of that width."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-P", "-c", SAY, text], env=environment, stderr=theirs, timeout=60, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    return shown.rstrip().split("\r\n")


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
    """No word is cut, and further lines stand further in."""
    assert on_terminal(text, 24) == lines


def test_a_pipe_gets_notes_whole() -> None:
    """Whoever greps them finds them."""
    ran = subprocess.run(
        [sys.executable, "-P", "-c", SAY, "a note " * 40 + "\x1b[2J"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "20"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stderr == "a note " * 40 + "\\x1b[2J\n"
