"""What was played is kept as a run keeps it: the record in records/, what bots wrote in logs/."""

from collections.abc import Sequence
from pathlib import Path

from arena.referee import Record, write
from ladder.store import Logs
from ladder.store import write as write_whole

__all__ = ["keep"]


def keep(folder: Path, record: Record, logs: Sequence[tuple[int, int, bytes]] = ()) -> Path:
    """Write a record, and logs of (bot, process, bytes), into a folder; return the record's file.

    A record that has grown by a game replaces the one before, whole. The folder is made where it isn't, for its owner
    alone: a record tells all cards. Raises OSError.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "records").mkdir(exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    header = record.header
    kept = Logs(folder / "logs")
    for bot, process, data in logs:
        if data:
            kept.add(header.match, header.bots[bot], process, data)
    file = folder / "records" / f"{header.match:06d}.jsonl"
    write_whole(file, write(record))
    return file
