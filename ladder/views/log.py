"""What bots wrote to standard error in a match, for their owners."""

from dataclasses import dataclass

from ladder.store.database import find_version, get_log
from ladder.views.match import MatchLine
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class Log:
    """What one process wrote. version: its label; process: counted from 0 in the match."""

    version: str
    process: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Logs:
    """What the processes of a bot wrote, one after the other."""

    rows: tuple[Log, ...]


def logs(reader: Reader, line: MatchLine, bot: str) -> Logs | None:
    """Return what a bot (honest), or a version of it (honest@3), wrote in a match; None if it wasn't at its table.

    What isn't the reader's to read is left out.
    """
    seats = [seat for seat in line.seats if bot in (seat.label, seat.label.rpartition("@")[0])]
    rows = tuple(
        Log(seat.label, number, text)
        for seat in seats
        if reader.viewer.may("read a log", find_version(reader.connection, seat.version).login)
        for number, text in get_log(reader.connection, line.id, seat.version)
    )
    return Logs(rows) if seats else None
