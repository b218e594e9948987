"""Back up, restore, export and prune a ladder.

A backup is a tar of ladder.toml, ladder.db (SQLite, at one moment) and SHA256SUMS. The digests come last, so they are
absent from a truncated file; `sha256sum -c` reads them. No process has to stop. A restored ladder has the same key
and deals; matches that were in progress are played again.

An export contains results.jsonl (one line a game, as `arena run` writes it; bots are versions: honest@3),
matches.csv, versions.csv, standings.csv and the audit log. Users are pseudonyms; their names are exported only on
request. Times are seconds since 1970, UTC. Formula-like texts begin with an apostrophe. All files show one moment,
also while the ladder runs, and are streamed row by row.

Pruning limits how long unrated data is stored."""

import csv
import hashlib
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from arena.bots import escape_control, escape_csv_cell
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER
from ladder.service.ladder import Ladder, open_ladder, resolve_database_url
from ladder.service.settings import SETTINGS_FILE, LadderError, with_database
from ladder.store.database import (
    Database,
    all_results,
    clone_from_file,
    clone_to_file,
    end_runners,
    find_latest_snapshot,
    list_expired_matches,
    prepare_schema,
    prune_events,
    prune_records,
)
from ladder.views import STANDINGS_COLUMNS, ViewContext, make_export_queries, make_standings_cells, view_standings

_DATABASE, _SUMS = "ladder.db", "SHA256SUMS"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file that holds a ladder, and its size."""

    file: str
    bytes: int


def write_backup(ladder: Ladder, file: Path) -> int:
    """Write the ladder to a new file; return its size in bytes. Raises LadderError, DatabaseError, OSError.

    While it is made, the disk needs space for the database twice.
    """
    if os.path.lexists(file):
        raise LadderError(f"{file} is there already, and is not overwritten.\nName another file.")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as scratch:
        copy, made = Path(scratch, _DATABASE), Path(scratch, "tar")
        clone_to_file(ladder.database, copy)
        sums = Path(scratch, _SUMS)
        named = {SETTINGS_FILE: ladder.path / SETTINGS_FILE, _DATABASE: copy}
        sums.write_text("".join(f"{_digest(path)}  {name}\n" for name, path in named.items()), encoding="ascii")
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
            with tarfile.open(fileobj=out, mode="w") as tar:
                for name, path in {**named, _SUMS: sums}.items():
                    _add(tar, name, path)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        try:
            os.link(made, file)  # unlike a rename, it never takes the place of a file that came meanwhile
        except FileExistsError:
            raise LadderError(f"{file} is there already, and is not overwritten.\nName another file.") from None
    _sync_folder(file.parent)
    return size


def restore_backup(file: Path, folder: Path, url: str | None = None) -> Ladder:
    """Make a ladder of a backup: in a new folder, and in an empty database if a URL is given.

    Raises LadderError, also if the file was cut off or changed; DatabaseError, OSError.
    """
    if os.path.lexists(folder / SETTINGS_FILE) or os.path.lexists(folder / _DATABASE):
        raise LadderError(f"{folder} holds a ladder already, and is not overwritten.\nName a new folder.")
    was_there = folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".restore.", dir=folder) as scratch:
            _unpack(file, Path(scratch))
            with closing(Database(f"sqlite:///{Path(scratch, _DATABASE).absolute()}")) as copy:
                prepare_schema(copy)  # it may be an older arena's
                copy.write(lambda connection: end_runners(connection, time.time()))
            if url is None:
                url = f"sqlite:///{_DATABASE}"
                Path(scratch, _DATABASE).replace(folder / _DATABASE)
            else:
                with closing(Database(resolve_database_url(url, folder))) as target:
                    clone_from_file(Path(scratch, _DATABASE).absolute(), target)
            settings = with_database(Path(scratch, SETTINGS_FILE).read_text(encoding="utf-8"), url)
            (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")  # last: without it the folder is no ladder
            (folder / SETTINGS_FILE).chmod(0o600)
    except BaseException:
        with suppress(OSError):
            (folder / _DATABASE).unlink(missing_ok=True)
            if not was_there:
                shutil.rmtree(folder, ignore_errors=True)
        raise
    folder.chmod(0o700)
    return open_ladder(folder)


def _add(tar: tarfile.TarFile, name: str, path: Path) -> None:
    member = tarfile.TarInfo(name)
    member.mode = 0o600
    with path.open("rb") as data:
        member.size = os.fstat(data.fileno()).st_size
        member.mtime = int(os.fstat(data.fileno()).st_mtime)
        tar.addfile(member, data)


def _unpack(file: Path, folder: Path) -> None:
    """Write the files of a backup to a folder. Raises LadderError where they aren't what was backed up."""
    broken = LadderError(f"{file} is no whole backup: it was cut off, or changed.\nTake another one.")
    try:
        with tarfile.open(file, "r:") as tar:
            for name in (SETTINGS_FILE, _DATABASE, _SUMS):
                data = tar.extractfile(name)
                if data is None:
                    raise broken
                with data, open(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
                    shutil.copyfileobj(data, out, _CHUNK)
                    out.flush()
                    os.fsync(out.fileno())
    except (tarfile.TarError, KeyError, EOFError):
        raise broken from None
    sums = (folder / _SUMS).read_text(encoding="ascii", errors="replace")
    if sums != "".join(f"{_digest(folder / name)}  {name}\n" for name in (SETTINGS_FILE, _DATABASE)):
        raise broken


def _digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_AT_A_TIME = 1000  # rows in memory


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """The files that were written."""

    items: tuple[str, ...]


def export_ladder(ladder: Ladder, folder: Path, names: bool) -> list[Path]:
    """Write a ladder into a new or empty folder; return its files. Raises LadderError, OSError."""
    make_empty_folder(folder, "--out DIR")
    with ladder.reading(STAFF_VIEWER if names else PUBLIC_VIEWER) as context:
        return list(_files(context, folder, 0o600 if names else 0o666))


def make_empty_folder(folder: Path, option: str) -> None:
    """Make a folder, or take an empty one. Raises LadderError, which names the option that takes another, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{escape_control(folder)} isn't empty.\nName a new folder: {option}")


def _files(context: ViewContext, folder: Path, mode: int) -> Iterable[Path]:
    """Write the files one after the other."""
    results = folder / "results.jsonl"
    with _new(results, mode) as lines:
        lines.writelines(result.to_line() for result in all_results(context.connection))
    yield results
    for name, query in make_export_queries(context).items():
        with context.connection.execute(query, execution_options={"yield_per": _AT_A_TIME}) as rows:
            yield _file(folder / f"{name}.csv", list(rows.keys()), rows, mode)
    if find_latest_snapshot(context.connection) is not None:
        yield _file(
            folder / "standings.csv", STANDINGS_COLUMNS, map(make_standings_cells, view_standings(context).items), mode
        )


def _new(path: Path, mode: int) -> TextIO:
    """Open a new file, with names for its owner alone."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", newline="")


def _file(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], mode: int) -> Path:
    with _new(path, mode) as out:
        write_csv(out, columns, rows)
    return path


def write_csv(out: object, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV below the names of their columns."""
    writer = csv.writer(out, lineterminator="\n")  # type: ignore[arg-type]  # whatever has `write`
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return escape_csv_cell(value.encode(errors="backslashreplace").decode()) if isinstance(value, str) else value


_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class PruneResult:
    """How many matches' records and logs were removed, since their time was over."""

    records: int
    logs: int


def prune_expired(ladder: Ladder) -> PruneResult:
    """Remove what is older than ladder.toml says. Raises DatabaseError."""
    prune_events(ladder.database, ladder.clock() - ladder.last_settings.retention.events_days * _DAY_S)
    return PruneResult(*prune_records(ladder.database, *_times(ladder)))


def count_expired(ladder: Ladder) -> PruneResult:
    """Return what pruning now would remove."""
    times = _times(ladder)
    with_records, with_logs = ladder.database.read_with_retry(
        lambda connection: list_expired_matches(connection, *times)
    )
    return PruneResult(len(with_records), len(with_logs))


def _times(ladder: Ladder) -> tuple[float, float]:
    settings, now = ladder.last_settings.retention, ladder.clock()
    return now - settings.records_days * _DAY_S, now - settings.logs_days * _DAY_S
