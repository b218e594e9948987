"""Define `Bot`, the data needed to build and start a bot, and its error.

BotError describes a problem to the bot's author."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from arena.escaping import escape_control
from arena.sandbox import Programs


@dataclass(frozen=True, slots=True)
class Bot:
    """The data needed to build and start one bot.

    name: unique among the bots of a run. path: of the file or the folder, absolute. argv: the command; the program is
    absolute, other words are as the author wrote them, relative to cwd; () for a language model. cwd: the working
    folder. build: the build command as the author wrote it, None without one. digest: of the bot's files, 64 hex
    digits, see digest.py. kit: the language of its kit, see bot_loader.py; None without one.
    """

    name: str
    path: Path
    argv: tuple[str, ...]
    cwd: Path
    build: tuple[str, ...] | None
    digest: str
    kit: str | None = None

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Self:
        """Return the bot that `to_json` wrote. Raises KeyError or TypeError for other fields."""
        path, cwd, argv = Path(fields["path"]), Path(fields["cwd"]), tuple(fields["argv"])
        build = tuple(fields["build"]) if fields["build"] else None
        return cls(**{**fields, "path": path, "cwd": cwd, "argv": argv, "build": build})

    def to_json(self) -> dict[str, Any]:
        """Return the fields as run.json stores them."""
        return {**asdict(self), "path": str(self.path), "cwd": str(self.cwd)}

    @property
    def is_model(self) -> bool:
        """Return whether a language model plays it, by `arena.models`: it is no program."""
        return not self.argv

    @property
    def command(self) -> str:
        """The command as text without this machine's folders: the bot's own files are relative to `cwd`."""
        if self.is_model:
            return "a language model"
        words = [os.path.relpath(word, self.cwd) if _is_below(word, self.cwd) else word for word in self.argv]
        program = words[0] if _is_below(self.argv[0], self.cwd) else os.path.basename(words[0])
        return " ".join([program, *words[1:]])


def relocate_bot(bot: Bot, source: Path, target: Path) -> Bot:
    """Return the bot with the paths after `source` is moved to `target`; unchanged if its path isn't in `source`."""
    if not bot.path.is_relative_to(source):
        return bot
    argv = tuple(str(target / Path(word).relative_to(source)) if _is_below(word, source) else word for word in bot.argv)
    path = target / bot.path.relative_to(source)
    return replace(bot, path=path, cwd=path, argv=argv)


def _is_below(word: str, folder: Path) -> bool:
    """Return whether a word names a file of that folder. The arena's own Python never counts as one."""
    return os.path.isabs(word) and Path(word).is_relative_to(folder) and word != Programs().python


class BotError(Exception):
    """A bot can't be used. The message has two lines, problem and fix; lines of a failed build may follow."""


def permission_advice(mode: str, path: str | Path) -> str:
    """Return advice on how to change a file's mode: a command, or a hint if the path is a link or unprintable."""
    text = str(path)
    if os.path.islink(path) or not text.isprintable():
        return f"Check where {escape_control(path)} points, then change the permissions by hand."
    return f"Allow it: chmod {mode} {shlex.quote(f'./{text}' if text.startswith('-') else text)}"


@contextmanager
def os_errors_as_bot_errors(path: Path) -> Iterator[None]:
    """Raise BotError, with advice, in place of an OSError in the context. path: of the bot."""
    try:
        yield
    except FileNotFoundError as error:
        raise BotError(
            f"{escape_control(path)} changed during reading: {escape_control(error.filename)} is gone.\nTry again."
        ) from None
    except PermissionError as error:
        raise BotError(
            f"{escape_control(error.filename)} can't be read: {error.strerror}.\n{permission_advice('-R u+rX', path)}"
        ) from None
    except OSError as error:
        raise BotError(
            f"{escape_control(path)} can't be read: {error.strerror}.\nCheck {escape_control(error.filename or path)}."
        ) from None
