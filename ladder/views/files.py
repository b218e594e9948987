"""The files of a version, for its owner: as an archive."""

from ladder.store.database import find_bot, get_file, versions_of
from ladder.views.reader import Reader


def archive(reader: Reader, name: str, number: int) -> bytes | None:
    """Return a version's files as a tar, None if there is no such version, or it isn't the reader's to read."""
    bot = find_bot(reader.connection, name)
    if bot is None or not reader.viewer.may("read a version's files", bot.login):
        return None
    version = next((version for version in versions_of(reader.connection, bot.id) if version.number == number), None)
    return None if version is None else get_file(reader.connection, version.digest, version.file)
