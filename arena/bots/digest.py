"""Compute one SHA-256 of all files of a bot.

For a bare file it is the digest of its bytes, as `sha256sum` prints it. For a folder it is the digest of one entry for
each file and link, in the order of the paths' bytes:

    file|program NUL digest of the content NUL path NUL
    link NUL text NUL path NUL

A program is a file that any user may execute. The target of a link isn't part of the bot: a box shows it only if it is
in the folder, where it has its own entry. Pipes, sockets and empty folders don't count, nor names in EXCLUDED_NAMES,
which no box shows. Dependencies in the folder (node_modules, .venv) count.

Names are counted while they are listed, and bytes while they are read, because files of /proc have a wrong size.

A bot must not write into its folder, because that changes its digest. Builds do write there, so the digest of a run is
computed after all builds. A resumed run compares the files with this digest.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from arena.bots.bot import Bot, BotError, os_errors_as_bot_errors
from arena.escaping import escape_control
from arena.sandbox import EXCLUDED_NAMES

MAX_FILES = 10_000  # hashed in about a second; a folder with more was named by mistake
MAX_BYTES = 1 << 30  # also about a second of SHA-256
_READ_BYTES = 1 << 20  # at once


def is_changed(bot: Bot, excluded_names: frozenset[str] = EXCLUDED_NAMES) -> bool:
    """Return whether the bot's files differ from its digest, or are missing or unreadable.

    `excluded_names`: as for `digest_of`.
    """
    try:
        return digest_of(bot.path, excluded_names) != bot.digest
    except (OSError, BotError):
        return True


def require_unchanged(bots: Sequence[Bot]) -> None:
    """Raise BotError, which names the bot, if a bot's files differ from its digest."""
    for bot in bots:
        if is_changed(bot):
            raise BotError(
                f'"{bot.name}" has changed since the run began: {escape_control(bot.path)}\n'
                "Start a new run. If the bot wrote into its folder, change it to write to $TMPDIR."
            )


# --- digests ----------------------------------------------------------------------------------------------------------


def digest_of(path: Path, excluded_names: frozenset[str] = EXCLUDED_NAMES) -> str:
    """Return the digest that the module's docstring defines.

    `excluded_names`: names that don't count. Pass an empty set for an unpacked archive: `pack` has omitted them. Raises
    OSError if a file can't be read; BotError if there is too much to hash.
    """
    if not path.is_dir():
        return _hash_file(path, _Budget(path))
    budget = _Budget(path)
    folder_digest = hashlib.sha256()
    for name in files_of(path, excluded_names):
        # Paths and links contain no NUL, and digests have a fixed length: different folders never give equal bytes.
        parts = [_entry_head(path / name, budget), os.fsencode(name)]
        folder_digest.update(b"\0".join(parts) + b"\0")
    return folder_digest.hexdigest()


def files_of(folder: Path, excluded_names: frozenset[str] = EXCLUDED_NAMES) -> list[str]:
    """List the files and links of a bot's folder by path relative to it, in the order of the paths' bytes.

    Links to folders are listed as links. Pipes, sockets and devices are omitted. Raises OSError if a folder can't be
    read; BotError for more than MAX_FILES entries of any kind.
    """
    paths: list[str] = []
    folders_left = [""]
    count = 0
    while folders_left:
        parent = folders_left.pop()
        with os.scandir(folder / parent) as entries:
            for entry in entries:
                if entry.name in excluded_names:
                    continue
                count += 1
                if count > MAX_FILES:
                    raise _too_large_error(folder, f"more than {MAX_FILES} files")
                path = os.path.join(parent, entry.name)
                if entry.is_dir(follow_symlinks=False):
                    folders_left.append(path)
                elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                    paths.append(path)
    return sorted(paths, key=os.fsencode)


def size_of(folder: Path) -> int:
    """Return the total size in bytes of the files that a folder's digest covers.

    Raises OSError and BotError like `files_of`.
    """
    return sum((folder / name).lstat().st_size for name in files_of(folder))


def is_program(mode: int) -> bool:
    """Return whether a file of this mode may be executed by any user."""
    return bool(mode & 0o111)


def _entry_head(path: Path, budget: "_Budget") -> bytes:
    """Return the kind of a file or a link, and the digest of the file's content or the link's text."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return b"link\0" + os.fsencode(os.readlink(path))
    return (b"program\0" if is_program(mode) else b"file\0") + _hash_file(path, budget, os.O_NOFOLLOW).encode()


class _Budget:
    """Count the bytes hashed for one bot, against MAX_BYTES."""

    def __init__(self, bot: Path) -> None:
        self._bot = bot
        self._bytes_left = MAX_BYTES

    def spend(self, size: int) -> None:
        """Count this many bytes. Raises BotError if that is too much."""
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise _too_large_error(self._bot, f"more than {MAX_BYTES >> 30} GiB")


def _hash_file(path: Path, budget: _Budget, flags: int = 0) -> str:
    """Return the SHA-256 of a regular file's bytes, as hex digits. flags: to open it with, added to the usual ones.

    Raises BotError if it isn't a regular file, grows meanwhile, or exceeds the budget; OSError if it can't be read.
    """
    digest = hashlib.sha256()
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | flags), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise BotError(
                f"{escape_control(path)} isn't an ordinary file any more.\nDon't change files while the arena "
                "reads them."
            )
        budget.spend(status.st_size)
        bytes_left = status.st_size
        while piece := file.read(_READ_BYTES):
            bytes_left -= len(piece)
            if bytes_left < 0:
                raise BotError(
                    f"{escape_control(path)} has more bytes than its reported size.\n"
                    "Use ordinary files, and don't change them while the arena reads them."
                )
            digest.update(piece)
    return digest.hexdigest()


def _too_large_error(bot: Path, content: str) -> BotError:
    return BotError(
        f"{escape_control(bot)} contains {content}, too much for a bot.\n"
        "Move files and environments that the bot doesn't need out of the folder."
    )


def with_digest(bot: Bot) -> Bot:
    """Return the bot with the current digest of its files. Raises BotError if the files can't be read."""
    with os_errors_as_bot_errors(bot.path):
        return replace(bot, digest=digest_of(bot.path))
