"""What is wrong with a bot, said to its author; and text of a stranger's, made safe for a terminal or a spreadsheet."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula


class BotError(Exception):
    """Say what is wrong with a bot and what to do about it, in two lines; lines of a failed build may follow."""


def shown(text: str | Path) -> str:
    """Return text for a terminal: what can't be printed (control characters, undecodable bytes) stands as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def cell(text: str) -> str:
    """Return text for a cell of a CSV file: a spreadsheet takes it for text, however it begins."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def allow(mode: str, path: str | Path) -> str:
    """Return a sentence that says how a file is allowed what it isn't: with a command only where none can mislead."""
    text = str(path)
    if os.path.islink(path) or not text.isprintable():
        return f"Allow it by hand, and look where {shown(path)} leads."
    return f"Allow it: chmod {mode} {shlex.quote(f'./{text}' if text.startswith('-') else text)}"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into BotError."""
    try:
        yield
    except FileNotFoundError as error:
        raise BotError(
            f"{shown(path)} changed while it was read: {shown(error.filename)} is gone.\nTry again."
        ) from None
    except PermissionError as error:
        raise BotError(f"{shown(error.filename)} can't be read: {error.strerror}.\n{allow('-R u+rX', path)}") from None
    except OSError as error:
        raise BotError(f"{shown(path)} can't be read: {error.strerror} ({shown(error.filename or path)}).") from None
