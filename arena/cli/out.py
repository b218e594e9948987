"""What the commands say, and how they end: notes and refusals on stderr, data on stdout."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click


def note(text: str) -> None:
    """Print a line for people on stderr."""
    click.echo(text, err=True)


def refuse(text: str) -> NoReturn:
    """Say what is wrong with the input, and exit with 2."""
    note(f"arena: {text}")
    sys.exit(2)


def fail(text: str) -> NoReturn:
    """Say what went wrong on this machine, and exit with 1."""
    note(f"arena: {text}")
    sys.exit(1)


def counted(number: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun: "1 match", "2 matches"."""
    return f"{number} {noun}{plural if number != 1 else ''}"


def told(problem: OSError) -> str:
    """Return what the system says, with the file that it says it of."""
    what = problem.strerror or str(problem)
    return what if problem.filename is None else f"{problem.filename}: {what}"


@contextmanager
def to_stdout(kept: Path | None = None) -> Iterator[None]:
    """Exit with 1 where standard output doesn't take what is printed: silently if its reader has gone."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if problem.errno == errno.EPIPE:
            sys.exit(1)
        where = "" if kept is None else f"; the results are in {kept}"
        fail(f"standard output can't be written: {told(problem)}{where}")
