"""The records that a run has kept, and what its bots wrote beside them.

A path is a record's file, or a folder: a run's, or one that holds records.
"""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

from arena.referee import Record, RecordError, read, verify
from arena.run.results import game_results
from ladder.store import Logs


class KeptError(Exception):
    """Say in one line why a path gives no record, and what to name instead."""


def records_at(path: Path) -> list[Path]:
    """Return the files of the records at a path, in the order of their matches. Raises KeptError for none."""
    try:
        if path.is_dir():
            files = sorted((path / "records" if (path / "records").is_dir() else path).glob("*.jsonl"))
            if not files:
                raise KeptError(f"{path} holds no records; name a run's folder or a record file")
            return files
        if path.exists():
            return [path]
    except OSError as problem:  # another user's folder, a name that is too long
        raise KeptError(f"{path}: {problem.strerror}; name a run's folder or a record file") from None
    raise KeptError(f"{path} doesn't exist; name a run's folder or a record file")


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was replayed: every move was legal, every event and result the same. faults: which no replay can show."""

    records: int
    games: int
    faults: int


def replay_all(path: Path) -> Replayed:
    """Replay the records at a path, and hold the folder's results.jsonl against them.

    Raises KeptError where there is no whole record, RecordError where the engine plays it otherwise.
    """
    files = records_at(path)
    games = faults = 0
    lines = sha256()
    for file in files:
        try:
            record = record_at(file)
        except KeptError as problem:
            raise KeptError(f"{problem}; only a whole record can be verified") from None
        try:
            verify(record)
        except RecordError as problem:
            raise RecordError(f"{file}: {problem}") from None
        games += len(record.games)
        faults += sum(len(game.faults) for game in record.games)
        lines.update("".join(result.to_line() for result in game_results(record)).encode())
    listed = path / "results.jsonl"
    if path.is_dir() and listed.is_file() and _digest(listed) != lines.digest():
        again = f"arena run --resume {shlex.quote(str(path))}"
        raise RecordError(f"{listed} is not what the records say; {again} writes it anew")
    return Replayed(len(files), games, faults)


def _digest(file: Path) -> bytes:
    with file.open("rb") as opened:
        return file_digest(opened, "sha256").digest()


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
