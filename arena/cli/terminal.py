"""Print lines to a player's terminal, and read tokens from the terminal or a pipe.

Printed lines are never redrawn, so any terminal works. Input is a sequence of tokens: a word of a line, "enter" for
an empty line, or "eof" for the end of input."""

import os
import sys
from collections import deque

import click

from arena.bots import escape_control
from arena.cli.console import terminal_columns, wrap_line

MAX_COLUMNS = 80  # columns; longer lines are hard to read


class GameTerminal:
    """A player's terminal: prints text and reads words."""

    def __init__(self) -> None:
        self._words: deque[str] = deque()
        self._styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._plain = not _encodes("·")
        self._typed = sys.stdin.isatty()  # a terminal echoes typed words and the end of their line
        self.closed = False  # standard output was closed: nothing more can be shown

    @property
    def columns(self) -> int:
        """Return the maximum width of printed lines, 20 to MAX_COLUMNS."""
        return max(20, min(terminal_columns(), MAX_COLUMNS))

    def say(self, text: str = "", bold: bool = False, dim: bool = False, indent: int = 0) -> None:
        """Print lines, wrapped at blanks, each indented by `indent` columns; control characters are escaped."""
        for line in text.split("\n"):
            line = " " * indent + escape_control(line)
            if self._plain:
                line = line.replace("·", "-").replace("…", "...")
            line = wrap_line(line, self.columns)
            self._print(click.style(line, bold=bold or None, dim=dim or None) if self._styled else line)

    def prompt(self, text: str) -> None:
        """Print a prompt, without a line break after it."""
        self._print(text, end="")

    def token(self) -> str:
        """Return the next word of a line, "enter" for an empty line, "eof" at the end of the input."""
        while not self._words:
            line = _read_line()
            if not line:
                return "eof"
            self._words += line.split() or ["enter"]
        return self._words.popleft()

    def line(self) -> str:
        """Return the unread words of the current line, else the next line, stripped; "" at the end of the input."""
        typed = " ".join(self._words) or _read_line().strip()
        self._words.clear()
        return typed

    def discard_line(self) -> None:
        """Discard the unread words of the current line."""
        self._words.clear()

    def echo(self, text: str) -> None:
        """Print the chosen option after the prompt. Empty text only ends the line, where no terminal has echoed it."""
        if text or not self._typed:
            self._print(text)

    def _print(self, text: str, end: str = "\n") -> None:
        try:
            sys.stdout.write(text + end)
            sys.stdout.flush()
        except OSError:  # the terminal was closed
            if not self.closed:
                self.closed = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end


def _read_line() -> str:
    """Return the next line of standard input, "" at its end."""
    try:
        return sys.stdin.readline()
    except OSError:  # the terminal was closed
        return ""


def _encodes(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
