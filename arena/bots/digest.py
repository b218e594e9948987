"""What a bot's files were, as one SHA-256.

Of a bare file: of its bytes, as `sha256sum` prints it. Of a folder: of an entry for each file and link in it, in the
order of the paths' bytes:

    file|program NUL digest of the content NUL path NUL
    link NUL text NUL digest of the content if it leads to a file NUL path NUL

A program is a file that anybody may execute. Linked folders aren't entered. Pipes, sockets and empty folders don't
count, nor what `_UNHASHED` lists. Dependencies in the folder (node_modules, .venv) do, because they play.

So a bot must not write into its folder. A build does, hence the digest that counts is taken after all builds. To
resume, compare the digests that `load` returns with those recorded: if they are equal, what the build made is still
there.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.bots.bot import Bot
from arena.bots.errors import BotError, reading, shown

MAX_FILES = 10_000  # hashed in about a second; more is a folder given by mistake
MAX_BYTES = 1 << 30  # likewise: about a second of SHA-256

# What running or looking at a bot writes by itself: bytecode, Finder's notes; and what version control keeps.
_UNHASHED = frozenset({"__pycache__", ".git", ".hg", ".svn", ".DS_Store"})


def changed(bot: Bot) -> bool:
    """Tell whether the bot's files differ from its digest; files that are gone or can't be read do."""
    try:
        return digest_of(bot.path) != bot.digest
    except (OSError, BotError):
        return True


def check_unchanged(bots: Sequence[Bot]) -> None:
    """Raise BotError, naming the bot, if the files of one differ from its digest."""
    for bot in bots:
        if changed(bot):
            raise BotError(
                f'"{bot.name}" has changed since the run began: {shown(bot.path)}\n'
                "Start a new run. If the bot wrote there: its folder must stay as it is, its files belong in $TMPDIR."
            )


# --- digests ----------------------------------------------------------------------------------------------------------


def digest_of(path: Path) -> str:
    """Return the digest that the module's docstring defines. Raises OSError; BotError if there is too much to hash."""
    if not path.is_dir():
        return _content(path, _Budget(path))
    budget = _Budget(path)
    whole = hashlib.sha256()
    for name in files_of(path):
        # No path and no link contains NUL, and digests have one length: different folders never make the same bytes.
        parts = [_kind_and_content(path / name, budget), os.fsencode(name)]
        whole.update(b"\0".join(parts) + b"\0")
    return whole.hexdigest()


def files_of(folder: Path) -> list[str]:
    """List the files and links of a bot's folder by path relative to it, in the order of the paths' bytes.

    Linked folders are links. Pipes, sockets and devices don't count: no copy of a bot has them. Raises OSError;
    BotError for more than MAX_FILES.
    """

    def give_up(error: OSError) -> None:
        raise error

    found: list[str] = []
    for where, folders, names in os.walk(folder, onerror=give_up):
        folders[:] = [name for name in folders if name not in _UNHASHED]
        links = [name for name in folders if os.path.islink(os.path.join(where, name))]
        relative = os.path.relpath(where, folder)
        kept = [name for name in links + names if name not in _UNHASHED and _counts(os.path.join(where, name))]
        found += [os.path.normpath(os.path.join(relative, name)) for name in kept]
        if len(found) > MAX_FILES:
            raise _too_large(folder, f"more than {MAX_FILES} files")
    return sorted(found, key=os.fsencode)


def _counts(path: str) -> bool:
    mode = os.lstat(path).st_mode
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def is_program(mode: int) -> bool:
    """Tell whether a file of this mode may be executed, by whomever."""
    return bool(mode & 0o111)


def _kind_and_content(path: Path, budget: "_Budget") -> bytes:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        content = _content(path, budget) if path.is_file() else ""
        return b"link\0" + os.fsencode(os.readlink(path)) + b"\0" + content.encode()
    return (b"program\0" if is_program(mode) else b"file\0") + _content(path, budget).encode()


class _Budget:
    """Count the bytes hashed for one bot, against MAX_BYTES."""

    def __init__(self, bot: Path) -> None:
        self._bot = bot
        self._left = MAX_BYTES

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large(self._bot, f"more than {MAX_BYTES >> 30} GiB")


def _content(path: Path, budget: _Budget) -> str:
    with path.open("rb") as file:
        budget.spend(os.fstat(file.fileno()).st_size)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _too_large(bot: Path, what: str) -> BotError:
    return BotError(
        f"{shown(bot)} holds {what}, too much for a bot.\nMove data and environments that it doesn't need out of it."
    )


def digested(bot: Bot) -> Bot:
    """Return the bot with the digest of its files as they are now. Raises BotError."""
    with reading(bot.path):
        return replace(bot, digest=digest_of(bot.path))
