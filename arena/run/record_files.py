"""Find the records of a run and the bots' logs, and compute the results of a match from its record.

A path is a record's file, or a folder: a run's, or any that contains records. Results have the form that the ladder
counts."""

from collections.abc import Callable, Iterator
from pathlib import Path

from arena.referee import FAULTS, Consequence, GameRecord, Record, RecordError, read_record
from ladder.results import GameResult
from ladder.store import FolderError, LogFolder


class RecordFileError(Exception):
    """A path leads to no record; the message says in one line why, and what to name instead."""


def find_record_files(path: Path) -> list[Path]:
    """Return the files of the records at a path, in the order of their matches. Raises RecordFileError for none."""
    try:
        if path.is_dir():
            found = (path / "records" if (path / "records").is_dir() else path).glob("*.jsonl")
            files = sorted(found, key=lambda file: (len(file.name), file.name))  # numbers have six digits or more
            if not files:
                raise RecordFileError(f"{path} holds no records; name a run's folder or a record file")
            return files
        if path.exists():
            return [path]
    except OSError as problem:  # another user's folder, a name that is too long
        raise RecordFileError(f"{path}: {problem.strerror}; name a run's folder or a record file") from None
    raise RecordFileError(f"{path} doesn't exist; name a run's folder or a record file")


def read_records(path: Path, leave_out: Callable[[str], object]) -> Iterator[tuple[Record, Path]]:
    """Yield the records at a path with their files, in the order of their matches.

    At the end `leave_out` is called with each file that can't be read, and the reason. Raises RecordFileError if none
    can be.
    """
    unreadable = []
    files = find_record_files(path)
    for file in files:
        try:
            yield read_record_file(file), file
        except RecordFileError as problem:
            unreadable.append(str(problem))
    if len(unreadable) == len(files):
        raise RecordFileError(unreadable[0])
    for each in unreadable:
        leave_out(each)


def read_record_file(file: Path) -> Record:
    """Return the record in a file. Raises RecordFileError for one that can't be read."""
    try:
        return read_record(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise RecordFileError(f"{file}: {problem.strerror}; name a run's folder or a record file") from None
    except UnicodeDecodeError:
        raise RecordFileError(f"{file}: this is no record: it isn't text") from None
    except (RecordError, RecursionError) as problem:
        raise RecordFileError(f"{file}: {problem}") from None


def read_logs(file: Path, record: Record) -> dict[str, list[bytes]]:
    """Return what the bots of a record wrote to standard error, by name; empty where no run's folder is around it."""
    folder = file.parent.parent / "logs"
    if file.parent.name != "records" or not folder.is_dir():
        return {}
    logs = LogFolder(folder)
    found: dict[str, list[bytes]] = {}
    for bot in record.header.bots:
        for log in logs.files(record.header.match, bot):
            try:
                found.setdefault(bot, []).append(log.read_bytes())
            except OSError:
                continue  # a log helps, and no more: the game can be shown without it
    return found


def game_results(record: Record) -> tuple[GameResult, ...]:
    """Return the result of each game, in the order of play. Seats are named by their bots."""
    return tuple(_result(record, game) for game in record.games)


def record_results(text: str) -> tuple[GameResult, ...]:
    """Return the results of the games of a record's text. Raises FolderError if it can't be read."""
    try:
        return game_results(read_record(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None


def _result(record: Record, game: GameRecord) -> GameResult:
    return GameResult(
        match=record.header.match,
        game=game.game,
        seats=tuple(record.header.bots[bot] for bot in game.seating),
        winner=game.winner,
        reason=game.reason,
        survivors=game.survivors,
        eliminated=tuple(game.eliminated),
        turns=game.turns,
        forfeits=_forfeits(game),
        faults=tuple((game.seating.index(fault.bot), fault.code, fault.count) for fault in game.faults),
    )


def _forfeits(game: GameRecord) -> tuple[int, ...]:
    return tuple(
        sorted(
            game.seating.index(fault.bot)
            for fault in game.faults
            if FAULTS[fault.code].consequence is Consequence.FORFEIT
        )
    )
