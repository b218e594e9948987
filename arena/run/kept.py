"""The records that a run has kept, and what its bots wrote beside them.

A path is a record's file, or a folder: a run's, or one that holds records.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from arena.referee import Record, RecordError, read
from ladder.store import Logs


class KeptError(Exception):
    """Say in one line why a path gives no record, and what to name instead."""


def records_at(path: Path) -> list[Path]:
    """Return the files of the records at a path, in the order of their matches. Raises KeptError for none."""
    try:
        if path.is_dir():
            found = (path / "records" if (path / "records").is_dir() else path).glob("*.jsonl")
            files = sorted(found, key=lambda file: (len(file.name), file.name))  # numbers have six digits or more
            if not files:
                raise KeptError(f"{path} holds no records; name a run's folder or a record file")
            return files
        if path.exists():
            return [path]
    except OSError as problem:  # another user's folder, a name that is too long
        raise KeptError(f"{path}: {problem.strerror}; name a run's folder or a record file") from None
    raise KeptError(f"{path} doesn't exist; name a run's folder or a record file")


def records_in(path: Path, leave_out: Callable[[str], object]) -> Iterator[tuple[Record, Path]]:
    """Yield the records at a path with their files, in the order of their matches.

    At the end `leave_out` is told of each file that can't be read: which, and why. Raises KeptError if none can be.
    """
    trouble = []
    files = records_at(path)
    for file in files:
        try:
            yield record_at(file), file
        except KeptError as problem:
            trouble.append(str(problem))
    if len(trouble) == len(files):
        raise KeptError(trouble[0])
    for each in trouble:
        leave_out(each)


def record_at(file: Path) -> Record:
    """Return the record in a file. Raises KeptError for one that can't be read."""
    try:
        return read(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise KeptError(f"{file}: {problem.strerror}; name a run's folder or a record file") from None
    except UnicodeDecodeError:
        raise KeptError(f"{file}: this is no record: it isn't text") from None
    except (RecordError, RecursionError) as problem:
        raise KeptError(f"{file}: {problem}") from None


def logs_of(file: Path, record: Record) -> dict[str, list[bytes]]:
    """Return what the bots of a record wrote to standard error, by name; empty where no run's folder is around it."""
    folder = file.parent.parent / "logs"
    if file.parent.name != "records" or not folder.is_dir():
        return {}
    logs = Logs(folder)
    found: dict[str, list[bytes]] = {}
    for bot in record.header.bots:
        for log in logs.files(record.header.match, bot):
            try:
                found.setdefault(bot, []).append(log.read_bytes())
            except OSError:
                continue  # a log helps, and no more: the game can be told without it
    return found
