"""Compute one SHA-256 of all files of a bot.

Of a bare file: of its bytes, as `sha256sum` prints it. Of a folder: of an entry for each file and link in it, in the
order of the paths' bytes:

    file|program NUL digest of the content NUL path NUL
    link NUL text NUL path NUL

A program is a file that anybody may execute. What a link leads to is no part of the bot: a box shows it only if it lies
in the folder, and there it has an entry of its own. Pipes, sockets and empty folders don't count, nor what
EXCLUDED_NAMES lists, which no box shows. Dependencies in the folder (node_modules, .venv) do, because they play.

Names are counted while they are listed, and bytes while they are read: a file of /proc has more than its size says.

So a bot must not write into its folder. A build does: so the digest that counts is taken after all builds. To
resume, compare the digests that `load` returns with those recorded: if they are equal, what the build made is still
there.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.bots.bot import Bot, BotError, escape_control, os_errors_as_bot_errors
from arena.sandbox import EXCLUDED_NAMES

MAX_FILES = 10_000  # hashed in about a second; more is a folder given by mistake
MAX_BYTES = 1 << 30  # likewise: about a second of SHA-256
_READ_BYTES = 1 << 20  # at once


def is_changed(bot: Bot, left_out: frozenset[str] = EXCLUDED_NAMES) -> bool:
    """Return whether the bot's files differ from its digest; files that are gone or can't be read do.

    `left_out`: as for `digest_of`.
    """
    try:
        return digest_of(bot.path, left_out) != bot.digest
    except (OSError, BotError):
        return True


def require_unchanged(bots: Sequence[Bot]) -> None:
    """Raise BotError, naming the bot, if the files of one differ from its digest."""
    for bot in bots:
        if is_changed(bot):
            raise BotError(
                f'"{bot.name}" has changed since the run began: {escape_control(bot.path)}\n'
                "Start a new run. If the bot wrote there: its folder must stay as it is, its files belong in $TMPDIR."
            )


# --- digests ----------------------------------------------------------------------------------------------------------


def digest_of(path: Path, left_out: frozenset[str] = EXCLUDED_NAMES) -> str:
    """Return the digest that the module's docstring defines. Raises OSError; BotError if there is too much to hash.

    `left_out` has the names of what doesn't count. Of what an archive held, all counts: `pack` has left out the rest.
    """
    if not path.is_dir():
        return _content(path, _Budget(path))
    budget = _Budget(path)
    whole = hashlib.sha256()
    for name in files_of(path, left_out):
        # No path and no link contains NUL, and digests have one length: different folders never make the same bytes.
        parts = [_kind_and_content(path / name, budget), os.fsencode(name)]
        whole.update(b"\0".join(parts) + b"\0")
    return whole.hexdigest()


def files_of(folder: Path, left_out: frozenset[str] = EXCLUDED_NAMES) -> list[str]:
    """List the files and links of a bot's folder by path relative to it, in the order of the paths' bytes.

    Linked folders are links. Pipes, sockets and devices don't count: no copy of a bot has them. Raises OSError;
    BotError for more than MAX_FILES, folders and all else included.
    """
    paths: list[str] = []
    waiting = [""]
    seen = 0
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.name in left_out:
                    continue
                seen += 1
                if seen > MAX_FILES:
                    raise _too_large(folder, f"more than {MAX_FILES} files")
                name = os.path.join(below, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(name)
                elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    paths.append(name)
    return sorted(paths, key=os.fsencode)


def size_of(folder: Path) -> int:
    """Return the bytes of a folder's own files: what its digest covers. Raises BotError if there are too many."""
    return sum((folder / name).lstat().st_size for name in files_of(folder))


def is_program(mode: int) -> bool:
    """Return whether a file of this mode may be executed by any user."""
    return bool(mode & 0o111)


def _kind_and_content(path: Path, budget: "_Budget") -> bytes:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return b"link\0" + os.fsencode(os.readlink(path))
    return (b"program\0" if is_program(mode) else b"file\0") + _content(path, budget, os.O_NOFOLLOW).encode()


class _Budget:
    """Count the bytes hashed for one bot, against MAX_BYTES."""

    def __init__(self, bot: Path) -> None:
        self._bot = bot
        self._left = MAX_BYTES

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise _too_large(self._bot, f"more than {MAX_BYTES >> 30} GiB")


def _content(path: Path, budget: _Budget, flags: int = 0) -> str:
    """Return the digest of a regular file's bytes."""
    digest = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BotError(
                f"{escape_control(path)} is no ordinary file any more.\nLeave the bot's files alone while they are "
                "read."
            )
        budget.spend(status.st_size)
        left = status.st_size
        while piece := file.read(_READ_BYTES):
            left -= len(piece)
            if left < 0:
                raise BotError(
                    f"{escape_control(path)} has more bytes than its size says.\n"
                    "A bot's files must be ordinary ones, which stay as they are while they are read."
                )
            digest.update(piece)
    return digest.hexdigest()


def _too_large(bot: Path, what: str) -> BotError:
    return BotError(
        f"{escape_control(bot)} holds {what}, too much for a bot.\nMove data and environments that it doesn't need "
        "out of it."
    )


def with_digest(bot: Bot) -> Bot:
    """Return the bot with the digest of its files as they are now. Raises BotError."""
    with os_errors_as_bot_errors(bot.path):
        return replace(bot, digest=digest_of(bot.path))
