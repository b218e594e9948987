"""A person's screen: lines that are printed, and keys that are read, or words of lines where there is no terminal.

Nothing is drawn over, so that any terminal will do, and a pipe. What a person gives is a token: the name of a key, or a
word of a line. "eof" is the end of input, and the terminal that was closed; "again": the question must be shown again.
"""

import os
import sys
from collections import deque

import click

from arena.bots import shown
from arena.cli.keys import Keys
from arena.cli.out import fold_line, width

EASY = 80  # columns; longer lines are hard to read


class Screen:
    """What a person sees, and gives. `read` is None where standard input is no terminal."""

    def __init__(self, read: Keys | None) -> None:
        self._read = read
        self._words: deque[str] = deque()
        self._styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._plain = not _encodes("·")
        self._asked_at = 0  # how wide the screen was at the last prompt
        self.gone = False  # nobody sees what is printed

    @property
    def columns(self) -> int:
        """Return how wide lines may be."""
        return max(20, min(width(), EASY))

    def say(self, text: str = "", bold: bool = False, dim: bool = False, indent: int = 0) -> None:
        """Print lines, folded at blanks."""
        for line in text.split("\n"):
            line = " " * indent + shown(line)
            if self._plain:
                line = line.replace("·", "-").replace("…", "...")
            line = fold_line(line, self.columns)
            self._print(click.style(line, bold=bold or None, dim=dim or None) if self._styled else line)

    def prompt(self, text: str) -> None:
        """Print what a person is to answer, and forget what was typed before it was asked."""
        if self._read is not None:
            self._read.forget()
            self._asked_at = self.columns
        self._print(text, end="")

    def token(self) -> str:
        """Return the next key, or the next word of a line: "enter" for an empty one."""
        while self._read is not None:
            key = self._read()
            if key != "resize":
                return key or ""
            if self.columns == self._asked_at:  # the command was stopped, and goes on
                return "again"
            self._asked_at = self.columns
        while not self._words:
            line = sys.stdin.readline()
            if not line:
                return "eof"
            self._words += line.split() or ["enter"]
        return self._words.popleft()

    def line(self) -> str:
        """Return what is typed until Enter, or the rest of a line; "" where Esc takes it back."""
        if self._read is None:
            typed = " ".join(self._words)
            self._words.clear()
            return typed
        typed = ""
        while (key := self.token()) not in ("enter", "eof", "escape"):
            letter = " " if key == "space" else key if len(key) == 1 else ""
            typed = typed[:-1] if key == "backspace" else typed + letter
            self._print("\b \b" if key == "backspace" else letter, end="")
        self.echo("")
        return "" if key == "escape" else typed

    def echo(self, text: str) -> None:
        """Print what was chosen, after the prompt."""
        self._print(text)

    def _print(self, text: str, end: str = "\n") -> None:
        try:
            sys.stdout.write(text + end)
            sys.stdout.flush()
        except OSError:  # the terminal was closed
            if not self.gone:
                self.gone = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end


def _encodes(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
