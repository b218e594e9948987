"""What is wrong with a bot, said to its author; and text of a stranger's, made safe to show."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class BotError(Exception):
    """Say what is wrong with a bot and what to do about it, in two lines; a failed build's last lines may follow."""


def shown(text: str | Path) -> str:
    """Return text for a terminal: what can't be printed (control characters, undecodable bytes) stands as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


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
        raise BotError(
            f"{shown(error.filename)} can't be read: {error.strerror}.\nAllow it: chmod -R u+rX {shown(path)}"
        ) from None
    except OSError as error:
        raise BotError(f"{shown(path)} can't be read: {error.strerror} ({shown(error.filename or path)}).") from None
