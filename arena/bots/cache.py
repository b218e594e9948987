"""Store the bots of a machine by the digest of their files, so that workers need no paths of other machines.

    <digest>.<name>    a link to the files of a local bot, which plays from there
    <digest>           a folder from an archive
    <digest>-<file>    a folder with only the bare file of an archive, made executable, because the digest of a bare
                       file covers only its bytes

    new-..., gone-...  a copy that is being made or removed

A link's name contains the bot's name, because two bots of a run may have equal files next to different ones.

A copy has a shared lock while it is held, and `trim` removes only copies that it can lock exclusively. The folder's
mtime is when it was last held.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from arena.bots.archive import MissingProgramError, PortableBot, unpack
from arena.bots.bot import Bot
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of
from arena.sandbox import lock_folder, remove_tree

_TEMPORARY_PREFIXES = ("new-", "gone-")
_STALE_S = 3_600  # older ones were left by killed processes: a copy takes seconds


class BotCache:
    """A cache of bots in a folder of this machine, which several processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def link(self, bot: Bot) -> None:
        """Add a bot by a link to its files, without a copy. Raises OSError."""
        os.symlink(bot.path, self._link_path(bot.digest, bot.name))

    def put(self, bot: PortableBot, archive: IO[bytes]) -> None:
        """Add a bot from the archive of its files that `pack` made.

        Raises MissingProgramError if the files have another digest, ArchiveError for an invalid archive, OSError.
        """
        scratch = Path(tempfile.mkdtemp(prefix="new-", dir=self._folder))
        try:
            unpack(archive, scratch, MAX_BYTES, MAX_FILES, links_out=True)
            files = _bot_path(bot, scratch)
            actual = digest_of(files, frozenset()) if files.exists() else f"no file {bot.file}"
            if actual != bot.digest:
                raise MissingProgramError(f'the archive of the bot "{bot.name}" holds {actual}, not {bot.digest}')
            if bot.file is not None:
                files.chmod(0o755)
            try:
                scratch.rename(self._copy_path(bot))
            except OSError:
                if not self._copy_path(bot).is_dir():  # else another process has put the same files there
                    raise
        finally:
            remove_tree(scratch)

    def place(self, bot: PortableBot) -> Path:
        """Return the path of a bot's file or folder. Raises MissingProgramError, with the digest, if it isn't here."""
        link = self._link_path(bot.digest, bot.name)
        if link.is_symlink():
            return Path(os.readlink(link))
        files = _bot_path(bot, self._copy_path(bot))
        if files.exists():
            return files
        raise _missing_error(bot)

    @contextmanager
    def held(self, bot: PortableBot) -> Iterator[None]:
        """Keep a bot's files from being removed in the context. Raises MissingProgramError if they aren't here."""
        self.place(bot)
        if self._link_path(bot.digest, bot.name).is_symlink():
            yield
            return
        copy = self._copy_path(bot)
        try:
            descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise _missing_error(bot) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if not _is_same_file(copy, descriptor):  # another process removed the copy before it was locked
                raise _missing_error(bot)
            os.utime(descriptor)
            yield
        finally:
            os.close(descriptor)

    def trim(self, most_bytes: int) -> None:
        """Remove the least recently held copies until the rest has at most `most_bytes`.

        Copies that are held stay, and so do folders that another process is making or removing.
        """
        copies = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process has just removed it
                if path.is_symlink():
                    continue
                status = path.stat()
                if not path.name.startswith(_TEMPORARY_PREFIXES):
                    copies.append((status.st_mtime_ns, path, _size_of(path)))
                elif time.time() - status.st_mtime > _STALE_S:
                    remove_tree(path)
        left = sum(size for _, _, size in copies)
        for _, path, size in sorted(copies):
            if left <= most_bytes:
                return
            lock = lock_folder(path)
            if lock is not None:
                with suppress(OSError):
                    grave = path.rename(Path(tempfile.mkdtemp(prefix="gone-", dir=self._folder)) / path.name)
                    remove_tree(grave.parent)
                    left -= size
                os.close(lock)

    def _copy_path(self, bot: PortableBot) -> Path:
        return self._folder / (bot.digest if bot.file is None else f"{bot.digest}-{bot.file}")

    def _link_path(self, digest: str, name: str) -> Path:
        return self._folder / f"{digest}.{name}"


def _bot_path(bot: PortableBot, folder: Path) -> Path:
    """Return the path of the bot in the folder to which its archive was unpacked."""
    return folder if bot.file is None else folder / bot.file


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _size_of(folder: Path) -> int:
    return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)


def _missing_error(bot: PortableBot) -> MissingProgramError:
    return MissingProgramError(f'the bot "{bot.name}" isn\'t in the cache of this machine: {bot.digest}')
