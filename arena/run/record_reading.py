"""Find and read the records of a run and the bots' logs; run_folder.py writes them.

A path is a record file, a run's folder, or any other folder that contains records."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from arena.referee import GameResult, Record, RecordError, game_results, read_record
from arena.run.run_folder import FolderError, LogFolder


class RecordFileError(Exception):
    """A path contains no readable record; the message is one line with the reason and the fix."""


def find_record_files(path: Path) -> list[Path]:
    """Return the record files at a path; those of a run in order of match number, others of length and name.

    Raises RecordFileError if nothing is found, or the path can't be read.
    """
    try:
        if path.is_dir():
            folder = path / "records" if (path / "records").is_dir() else path
            # The longest names are last, because a match's number has six digits or more.
            files = sorted(folder.glob("*.jsonl"), key=lambda file: (len(file.name), file.name))
            if not files:
                is_run = (path / "run.json").exists()
                remedy = "Resume the run: no match has ended." if is_run else "Name a run's folder or a record file."
                raise RecordFileError(f"{path} contains no records.\n{remedy}")
            return files
        if path.exists():
            return [path]
    except OSError as problem:  # another user's folder, a name that is too long
        raise RecordFileError(f"{path}: {problem.strerror}; name a run's folder or a record file") from None
    raise RecordFileError(f"{path} doesn't exist.\nName a run's folder or a record file.")


def read_records(path: Path, on_unreadable: Callable[[str], object]) -> Iterator[tuple[Record, Path]]:
    """Yield the records at a path with their files, in the order of `find_record_files`.

    At the end `on_unreadable` gets "file: reason" of each unreadable file. Raises RecordFileError if none is readable.
    """
    problems = []
    files = find_record_files(path)
    for file in files:
        try:
            yield read_record_file(file), file
        except RecordFileError as problem:
            problems.append(str(problem))
    if len(problems) == len(files):
        raise RecordFileError(problems[0])
    for text in problems:
        on_unreadable(text)


def read_record_file(file: Path) -> Record:
    """Return the record in a file. Raises RecordFileError if it can't be read."""
    try:
        return read_record(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise RecordFileError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise RecordFileError(f"{file} isn't a valid record: it isn't text") from None
    except (RecordError, RecursionError) as problem:
        raise RecordFileError(f"{file}: {problem}") from None


def read_logs(file: Path, record: Record) -> dict[str, list[bytes]]:
    """Return each bot's logs (standard error) of a match by bot name, in order of its processes.

    file: of the record; {} if it isn't in a run's folder. Logs that can't be read are left out.
    """
    records = file.parent if file.parent.name else file.absolute().parent
    path = records.parent / "logs"
    if records.name != "records" or not path.is_dir():
        return {}
    folder = LogFolder(path)
    logs_by_bot: dict[str, list[bytes]] = {}
    for bot in record.header.bots:
        for log in folder.files(record.header.match, bot):
            with suppress(OSError):
                logs_by_bot.setdefault(bot, []).append(log.read_bytes())
    return logs_by_bot


def record_results(text: str) -> tuple[GameResult, ...]:
    """Return the results of the games of a record's text. Raises FolderError if it can't be read."""
    try:
        return game_results(read_record(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None
