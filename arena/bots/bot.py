"""Define a bot as a value with all that its start needs, its errors, and the escaping of untrusted text.

An error describes to the author what is wrong with the bot. Untrusted text is made safe for a terminal or a
spreadsheet."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Bot:
    """What it takes to build and start one bot.

    name: unique among the bots of a run. path: of the file or the folder, absolute. argv: what starts it; the program
    is absolute, other words are as the author wrote them, relative to cwd. cwd: its folder. build: what builds it, as
    the author wrote it, None if there is nothing to build. digest: of its files, 64 hex digits, see digest.py.
    kit: the language of the kit that it asks for, see kit.py.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str
    kit: str | None = None

    @property
    def command(self) -> str:
        """The command in words, without a folder of this machine: what is the bot's own stands as in its folder."""
        program, *rest = (os.path.relpath(w, self.cwd) if _is_below(w, self.cwd) else w for w in self.argv)
        return " ".join([program if _is_below(self.argv[0], self.cwd) else os.path.basename(program), *rest])


def relocate_bot(bot: Bot, source: Path, target: Path) -> Bot:
    """Return the bot as it is after the folder `source` was moved to `target`; one that lies elsewhere as it was."""
    if not bot.path.is_relative_to(source):
        return bot
    argv = tuple(str(target / Path(word).relative_to(source)) if _is_below(word, source) else word for word in bot.argv)
    path = target / bot.path.relative_to(source)
    return replace(bot, path=path, cwd=path, argv=argv)


def _is_below(word: str, folder: Path) -> bool:
    return os.path.isabs(word) and Path(word).is_relative_to(folder)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes a text that begins so for a formula


class BotError(Exception):
    """A bot can't be used. The message has two lines, cause and remedy; lines of a failed build may follow."""


def escape_control(text: str | Path) -> str:
    """Return text for a terminal: what can't be printed (control characters, undecodable bytes) stands as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def escape_csv_cell(text: str) -> str:
    """Return text for a cell of a CSV file: a spreadsheet takes it for text, however it begins."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def permission_advice(mode: str, path: str | Path) -> str:
    """Return a sentence that says how a file is allowed what it isn't: with a command only where none can mislead."""
    text = str(path)
    if os.path.islink(path) or not text.isprintable():
        return f"Allow it by hand, and look where {escape_control(path)} leads."
    return f"Allow it: chmod {mode} {shlex.quote(f'./{text}' if text.startswith('-') else text)}"


@contextmanager
def os_errors_as_bot_errors(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into BotError."""
    try:
        yield
    except FileNotFoundError as error:
        raise BotError(
            f"{escape_control(path)} changed while it was read: {escape_control(error.filename)} is gone.\nTry again."
        ) from None
    except PermissionError as error:
        raise BotError(
            f"{escape_control(error.filename)} can't be read: {error.strerror}.\n{permission_advice('-R u+rX', path)}"
        ) from None
    except OSError as error:
        raise BotError(
            f"{escape_control(path)} can't be read: {error.strerror} ({escape_control(error.filename or path)})."
        ) from None
