"""The bots that a machine has, by the digest of their files: what a worker is told of a bot is no path.

    <digest>.<name>    a link to where the bot of that name stands; it plays from there
    <digest>           a folder from an archive
    <digest>-<file>    a folder that holds nothing but the bare file of an archive, executable: a digest of a bare file
                       covers its bytes alone

A link has the bot's name besides, because two bots of a run may have the same files and stand beside different ones.
"""

import os
import tempfile
from pathlib import Path
from typing import IO

from arena.bots.archive import unpack
from arena.bots.bot import Bot
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of
from arena.bots.portable import NotHereError, PortableBot
from arena.sandbox import remove_tree

__all__ = ["BotCache"]


class BotCache:
    """The bots in a folder of this machine. Any number of processes may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def link(self, bot: Bot) -> None:
        """Take in a bot where it stands, without a copy. Raises OSError."""
        os.symlink(bot.path, self._link(bot.digest, bot.name))

    def put(self, bot: PortableBot, archive: IO[bytes]) -> None:
        """Take in a bot from the archive of its files that `pack` made.

        Raises NotHereError if they aren't the files of its digest, ArchiveError if it is no such archive, OSError.
        """
        beside = Path(tempfile.mkdtemp(prefix="new-", dir=self._folder))
        try:
            unpack(archive, beside, MAX_BYTES, MAX_FILES, links_out=True)
            files = _files(bot, beside)
            found = digest_of(files) if files.exists() else f"no file {bot.file}"
            if found != bot.digest:
                raise NotHereError(f'the archive of the bot "{bot.name}" holds {found}, not {bot.digest}')
            if bot.file is not None:
                files.chmod(0o755)
            try:
                beside.rename(self._copy(bot))
            except OSError:
                if not self._copy(bot).is_dir():  # else another process has put the same files there
                    raise
        finally:
            remove_tree(beside)

    def place(self, bot: PortableBot) -> Path:
        """Return where a bot's files stand. Raises NotHereError, with the digest, if they aren't here."""
        link = self._link(bot.digest, bot.name)
        if link.is_symlink():
            return Path(os.readlink(link))
        files = _files(bot, self._copy(bot))
        if files.exists():
            return files
        raise NotHereError(f'the bot "{bot.name}" isn\'t in the cache of this machine: {bot.digest}')

    def _copy(self, bot: PortableBot) -> Path:
        return self._folder / (bot.digest if bot.file is None else f"{bot.digest}-{bot.file}")

    def _link(self, digest: str, name: str) -> Path:
        return self._folder / f"{digest}.{name}"


def _files(bot: PortableBot, folder: Path) -> Path:
    """Return the bot's own file or folder, of the folder that its archive was unpacked to."""
    return folder if bot.file is None else folder / bot.file
