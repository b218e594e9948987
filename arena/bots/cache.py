"""Store the bots of a machine by the digest of their files: a worker gets no path of another machine.

    <digest>.<name>    a link to where the bot of that name stands; it plays from there
    <digest>           a folder from an archive
    <digest>-<file>    a folder that holds nothing but the bare file of an archive, executable: a digest of a bare file
                       covers its bytes alone

    new-..., gone-...  a copy that is being made or removed

A link also has the bot's name, because two bots of a run may have the same files and lie next to different ones.

A copy is locked (shared) while it is held, and `trim` removes only copies that it can lock alone. The folder's time of
change is when it was last held.
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

_MAKING = ("new-", "gone-")
_STALE_S = 3_600  # a copy is made or removed in seconds; what is older is a killed process's


class BotCache:
    """The bots in a folder of this machine. Any number of processes may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def link(self, bot: Bot) -> None:
        """Add a bot where it lies, without a copy. Raises OSError."""
        os.symlink(bot.path, self._link(bot.digest, bot.name))

    def put(self, bot: PortableBot, archive: IO[bytes]) -> None:
        """Add a bot from the archive of its files that `pack` made.

        Raises MissingProgramError if they aren't the files of its digest, ArchiveError if it is no such archive,
        OSError.
        """
        scratch = Path(tempfile.mkdtemp(prefix="new-", dir=self._folder))
        try:
            unpack(archive, scratch, MAX_BYTES, MAX_FILES, links_out=True)
            files = _files(bot, scratch)
            actual = digest_of(files, frozenset()) if files.exists() else f"no file {bot.file}"
            if actual != bot.digest:
                raise MissingProgramError(f'the archive of the bot "{bot.name}" holds {actual}, not {bot.digest}')
            if bot.file is not None:
                files.chmod(0o755)
            try:
                scratch.rename(self._copy(bot))
            except OSError:
                if not self._copy(bot).is_dir():  # else another process has put the same files there
                    raise
        finally:
            remove_tree(scratch)

    def place(self, bot: PortableBot) -> Path:
        """Return where a bot's files stand. Raises MissingProgramError, with the digest, if they aren't here."""
        link = self._link(bot.digest, bot.name)
        if link.is_symlink():
            return Path(os.readlink(link))
        files = _files(bot, self._copy(bot))
        if files.exists():
            return files
        raise _not_here(bot)

    @contextmanager
    def held(self, bot: PortableBot) -> Iterator[None]:
        """Keep a bot's files here for a while. Raises MissingProgramError, with the digest, if they aren't."""
        self.place(bot)
        if self._link(bot.digest, bot.name).is_symlink():
            yield
            return
        copy = self._copy(bot)
        try:
            descriptor = os.open(copy, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise _not_here(bot) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
            if not _is(copy, descriptor):  # another process removed the copy before it was locked
                raise _not_here(bot)
            os.utime(descriptor)
            yield
        finally:
            os.close(descriptor)

    def trim(self, most_bytes: int) -> None:
        """Remove copies, those first that were held longest ago, until the others take no more than `most_bytes`.

        One that is held stays. So does what another process makes or removes at the moment.
        """
        copies = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process has just removed it
                if path.is_symlink():
                    continue
                status = path.stat()
                if not path.name.startswith(_MAKING):
                    copies.append((status.st_mtime_ns, path, _size(path)))
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

    def _copy(self, bot: PortableBot) -> Path:
        return self._folder / (bot.digest if bot.file is None else f"{bot.digest}-{bot.file}")

    def _link(self, digest: str, name: str) -> Path:
        return self._folder / f"{digest}.{name}"


def _files(bot: PortableBot, folder: Path) -> Path:
    """Return the bot's own file or folder, of the folder that its archive was unpacked to."""
    return folder if bot.file is None else folder / bot.file


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def _size(folder: Path) -> int:
    return sum(os.lstat(os.path.join(where, name)).st_size for where, _, names in os.walk(folder) for name in names)


def _not_here(bot: PortableBot) -> MissingProgramError:
    return MissingProgramError(f'the bot "{bot.name}" isn\'t in the cache of this machine: {bot.digest}')
