"""A folder for one match, in a run's form: the record in records/, what bots wrote in logs/."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from arena.referee import Record, write
from ladder.store import Logs, record_name
from ladder.store import write as write_whole


class RecordFolder:
    """A new folder for one record; for its owner alone, since a record tells all cards."""

    def __init__(self, folder: Path) -> None:
        """Make the folder. Raises OSError, also if it exists."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        self.folder = folder

    def keep(self, record: Record, logs: Sequence[tuple[int, int, bytes]] = ()) -> Path:
        """Write the record, and logs of (bot, process, bytes); return the record's file. Raises OSError.

        A record that has grown by a game replaces the one before, whole.
        """
        (self.folder / "records").mkdir(exist_ok=True)
        (self.folder / "logs").mkdir(exist_ok=True)
        header = record.header
        kept = Logs(self.folder / "logs")
        for bot, process, data in logs:
            if data:
                kept.add(header.match, header.bots[bot], process, data)
        file = self.folder / "records" / record_name(header.match)
        write_whole(file, write(record))
        return file

    def discard(self) -> None:
        """Remove the folder if nothing was kept in it."""
        with suppress(OSError):
            self.folder.rmdir()
