"""Check the health of a ladder; back up, restore and export it.

`check_ladder` returns findings with advice.

A backup is a tar of ladder.toml, ladder.db (SQLite, at one moment), the published files of finals (final-NAME.txt) and
SHA256SUMS. The digests come last, so they are absent from a truncated file; `sha256sum -c` reads them. No process has
to stop. A restored ladder has the same key and deals; matches that were in progress are played again.

An export contains results.jsonl (one line a game, as `arena run` writes it; bots are versions: honest@3),
matches.csv, versions.csv, standings.csv and the audit log. Users are pseudonyms; their names, and chat lines, are
exported only on request. Times are seconds since 1970, UTC. Formula-like texts begin with an apostrophe. All files
show one moment, also while the ladder runs, and are streamed row by row.
"""

import csv
import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from arena.checks import Finding, Severity
from arena.escaping import escape_control, escape_csv_cell
from arena.formatting import format_count
from arena.run import cache_folder
from arena.sandbox import is_noexec
from ladder import store
from ladder.clock import DAY_S
from ladder.ladder import Ladder, count_expired, open_ladder, require_sandbox, resolve_database_url
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER
from ladder.settings import SETTINGS_FILE, LadderError, read_settings, with_database
from ladder.standings import STANDINGS_COLUMNS, make_standings_cells, rebuild_standings, view_standings
from ladder.tasks import MAX_CLOCK_SKEW_S
from ladder.users import UserSummary
from ladder.view_context import ViewContext

_DATABASE, _SUMS = "ladder.db", "SHA256SUMS"
_COMMITMENTS = "final-*.txt"  # published by finals
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupFile:
    """The path of a backup, and its size in bytes."""

    file: str
    bytes: int


def write_backup(ladder: Ladder, file: Path) -> int:
    """Write a backup to a new file; return its size in bytes. Raises LadderError, DatabaseError, OSError.

    Meanwhile the disk needs space for two copies of the database.
    """
    return write_database_backup(ladder.database, ladder.path, file)


def write_database_backup(database: store.Database, folder: Path, file: Path) -> int:
    """Do `write_backup` for a ladder's folder and its database, of any revision."""
    if os.path.lexists(file):
        raise LadderError(f"{file} exists, and isn't overwritten.\nName another file.")
    with tempfile.TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent) as scratch:
        copy, made = Path(scratch, _DATABASE), Path(scratch, "tar")
        store.clone_to_file(database, copy)
        sums = Path(scratch, _SUMS)
        named = {SETTINGS_FILE: folder / SETTINGS_FILE, _DATABASE: copy}
        named |= {path.name: path for path in sorted(folder.glob(_COMMITMENTS))}
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
            raise LadderError(f"{file} exists, and isn't overwritten.\nName another file.") from None
    _sync_folder(file.parent)
    return size


def restore_backup(file: Path, folder: Path, url: str | None = None) -> Ladder:
    """Restore a backup into a new folder and, if a URL is given, an empty database.

    Raises LadderError, also for a truncated or changed file; DatabaseError, OSError.
    """
    if any(os.path.lexists(folder / name) for name in (SETTINGS_FILE, _DATABASE)) or any(folder.glob(_COMMITMENTS)):
        raise LadderError(f"{folder} contains files of a ladder, and isn't overwritten.\nName a new folder.")
    was_there = folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix=".restore.", dir=folder) as scratch:
            commitments = _unpack(file, Path(scratch))
            with closing(store.Database(f"sqlite:///{Path(scratch, _DATABASE).absolute()}")) as copy:
                store.upgrade_schema(copy)  # it may be an older arena's
                copy.write(lambda connection: store.end_runners(connection, time.time()))
            settings = Path(scratch, SETTINGS_FILE)
            text = with_database(settings.read_text(encoding="utf-8-sig"), url or f"sqlite:///{_DATABASE}")
            settings.write_text(text, encoding="utf-8")
            if url is None:
                Path(scratch, _DATABASE).replace(folder / _DATABASE)
            else:
                with closing(store.Database(resolve_database_url(url, folder))) as target:
                    store.clone_from_file(Path(scratch, _DATABASE).absolute(), target)
            for name in commitments:
                Path(scratch, name).replace(folder / name)
            settings.replace(folder / SETTINGS_FILE)  # last: without it the folder is no ladder
    except BaseException:
        with suppress(OSError):
            for path in (folder / _DATABASE, *folder.glob(_COMMITMENTS)):
                path.unlink(missing_ok=True)
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


def _unpack(file: Path, folder: Path) -> list[str]:
    """Write the files of a backup to a folder; return the published ones. Raises LadderError if digests differ."""
    broken = LadderError(f"{file} isn't a valid backup: it is truncated or was modified.\nRestore another backup.")
    try:
        with tarfile.open(file, "r:") as tar:
            commitments = [name for name in tar.getnames() if re.fullmatch(r"final-[A-Za-z0-9_-]+\.txt", name)]
            for name in (SETTINGS_FILE, _DATABASE, *commitments, _SUMS):
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
    if sums != "".join(f"{_digest(folder / name)}  {name}\n" for name in (SETTINGS_FILE, _DATABASE, *commitments)):
        raise broken
    return commitments


def _digest(path: Path) -> str:
    with path.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    """Create a folder, unless it exists and is empty. Raises OSError, and LadderError for any other folder.

    option: the command line option with which to name another one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{escape_control(folder)} isn't empty.\nName an empty folder: {option}")


def _files(context: ViewContext, folder: Path, mode: int) -> Iterable[Path]:
    """Write the files of an export one after the other; yield their paths."""
    results = folder / "results.jsonl"
    with _new(results, mode) as lines:
        lines.writelines(result.to_line() for result in store.all_results(context.connection))
    yield results
    logins = context.viewer.can_view(UserSummary, "login")
    for name, columns, rows in store.export_tables(context.connection, logins):
        yield _file(folder / f"{name}.csv", columns, rows, mode)
    if store.find_latest_snapshot(context.connection) is not None:
        yield _file(
            folder / "standings.csv", STANDINGS_COLUMNS, map(make_standings_cells, view_standings(context).items), mode
        )


def _new(path: Path, mode: int) -> TextIO:
    """Open a new CSV file; with user names, only its owner can read it."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", newline="")


def _file(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], mode: int) -> Path:
    with _new(path, mode) as out:
        write_csv(out, columns, rows)
    return path


def write_csv(out: object, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a header with the names of the columns, then the rows, as CSV."""
    writer = csv.writer(out, lineterminator="\n")  # type: ignore[arg-type]  # whatever has `write`
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return escape_csv_cell(value.encode(errors="backslashreplace").decode()) if isinstance(value, str) else value


_PATIENCE_S = 5.0  # for a database that doesn't answer


_MIN_FREE_BYTES = 500 << 20  # free on a disk: a day's matches, and space for boxes


_MAX_WAIT_S = 600.0  # a submission is checked within a minute; a table session with sixty takes five


_MAX_DEATHS = 3  # of workers: fewer happen to any table


@dataclass(frozen=True, slots=True)
class Checkup:
    """The findings of a checkup."""

    items: tuple[Finding, ...]


def check_ladder(folder: Path, deep: bool = False) -> Iterator[Finding]:
    """Yield findings about a ladder's health. deep: the standings are also recomputed from all results.

    Nothing is changed, except that `deep` stores the recomputed standings. An unreachable database is the last finding.
    Raises LadderError if the folder isn't a ladder.
    """
    settings = read_settings(folder)
    yield Finding("ladder.toml", Severity.OK, format_count(len(settings.deadlines), "deadline"))
    try:
        with closing(open_ladder(folder, _PATIENCE_S)) as ladder:
            yield Finding("database", Severity.OK, f"reachable, revision {store.NEWEST_REVISION}")
            yield from _of_ladder(ladder, deep)
    except (LadderError, store.DatabaseError) as error:
        text, advice = " ".join(str(error).splitlines()), _start_it(settings.database)
        if isinstance(error.__cause__, store.SchemaError):
            text, _, advice = text.partition("; ")
        yield Finding("database", Severity.FAIL, text, advice=advice)


def _start_it(url: str) -> str:
    if url.startswith("sqlite"):
        return "make its folder writable, or restore a backup: arena ladder restore FILE NEW-FOLDER"
    return "start PostgreSQL, or correct database in ladder.toml"


def _of_ladder(ladder: Ladder, deep: bool) -> Iterator[Finding]:
    database = ladder.database
    broken = store.find_corruption(database, deep)
    if broken:
        yield Finding(
            "integrity",
            Severity.FAIL,
            "; ".join(broken),
            advice="stop the runner, and restore the last backup into a new folder",
        )
        return
    if database.sqlite is not None:
        yield Finding("integrity", Severity.OK, "the database file is intact")
    yield from _disks(ladder)
    yield _clock(ladder)
    yield _boxes(ladder)
    yield from _runners(ladder)
    yield _queue(ladder)
    yield _tables(ladder)
    yield _abandoned_matches(ladder)
    yield _deaths(ladder)
    yield _retention(ladder)
    if deep:
        sums = _sums(ladder)
        yield sums
        if sums.severity is Severity.OK:  # of wrong sums there is no table
            yield _table(ladder)


def _disks(ladder: Ladder) -> Iterator[Finding]:
    with ladder.database.read() as connection:
        size, games = store.database_size(connection)
    per_game = f", {size / games:.0f} bytes a game" if games else ""
    yield Finding("size", Severity.OK, f"{size / 1e6:.1f} MB, {format_count(games, 'game')}{per_game}")
    cache = cache_folder()
    while not cache.exists():
        cache = cache.parent
    places = {"ladder": ladder.path, "cache of bots": cache, "temporary files": Path(tempfile.gettempdir())}
    for what, place in places.items():
        free = shutil.disk_usage(place).free
        text = f"{free / 1e9:.1f} GB free below {place}" if free else f"no free space below {place}"
        if free < _MIN_FREE_BYTES:
            do = (
                "set TMPDIR or ARENA_CACHE to a larger disk"
                if what != "ladder"
                else "remove old backups, or move the ladder"
            )
            yield Finding(f"disk: {what}", Severity.FAIL, text, advice=f"free space: {do}")
        elif what != "ladder" and is_noexec(str(place)):
            text = f"{place} is mounted noexec: compiled bots can't start there as plain processes"
            yield Finding(f"disk: {what}", Severity.WARN, text, advice="set TMPDIR or ARENA_CACHE to another folder")
        elif what == "ladder" and ladder.database.sqlite is not None and free < 2 * size:
            yield Finding(
                f"disk: {what}",
                Severity.NOTE,
                text,
                advice="a backup needs space for the database twice: write it to another disk",
            )
        else:
            yield Finding(f"disk: {what}", Severity.OK, text)


def _clock(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        ahead = store.latest_timestamp(connection) - ladder.clock()
        last = store.last_event_at(connection) - ladder.clock()
    if last <= MAX_CLOCK_SKEW_S < ahead:
        text = f"agrees with the newest event; older entries are up to {ahead:.0f} seconds ahead of it"
        return Finding(
            "clock", Severity.NOTE, text, advice="none needed if this clock is right: another clock was ahead"
        )
    if ahead > MAX_CLOCK_SKEW_S:
        return Finding(
            "clock",
            Severity.FAIL,
            f"this machine's clock is {ahead:.0f} seconds behind the newest entry of the database",
            "timedatectl set-ntp true",
            "set the clock: deadlines and quotas depend on it",
        )
    return Finding("clock", Severity.OK, "not behind the database's entries")


def _boxes(ladder: Ladder) -> Finding:
    choice = ladder.play.sandbox
    try:
        require_sandbox(ladder)
    except LadderError as error:
        do = "run arena doctor; a runner that uses a cluster needs no sandbox on this machine"
        return Finding("sandbox", Severity.FAIL, " ".join(str(error).splitlines()), advice=do)
    if not choice.isolates:
        return Finding("sandbox", Severity.NOTE, "bots run as plain processes: only for authors that you trust")
    return Finding("sandbox", Severity.OK, f"{choice.name} works and isolates untrusted bots")


def _runners(ladder: Ladder) -> Iterator[Finding]:
    with ladder.database.read() as connection:
        runners = store.list_runner_loads(connection)
    alive = [each for each in runners if not each.is_dead]
    if not alive:
        yield Finding("runner", Severity.NOTE, "no runner is running", f"arena ladder run {ladder.path}")
    for each in runners:
        runner = each.runner
        text = (
            f"{runner.id[:8]}, process {runner.pid} at {escape_control(runner.host.split()[0])}, tasks: {each.leases}"
        )
        if each.is_dead and alive:
            yield Finding(
                "runner", Severity.NOTE, f"{text}: ended", advice="another runner takes over its tasks within seconds"
            )
        elif each.is_dead:
            level = Severity.FAIL if each.leases else Severity.NOTE
            yield Finding(
                "runner",
                level,
                f"{text}: ended",
                f"arena ladder run {ladder.path}",
                "start another runner: it takes over the tasks",
            )
        elif each.is_dead is None:
            yield Finding(
                "runner",
                Severity.NOTE,
                f"{text}: on another machine",
                advice="check on that machine that it is running",
            )
        else:
            yield Finding("runner", Severity.OK, f"{text}; it runs {runner.capacity} at a time")


def _queue(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        count, since = store.count_pending_checks(connection)
    waits = 0.0 if since is None else ladder.clock() - since
    text = f"{count} pending, the oldest for {waits / 60:.0f} min" if count else "none is pending"
    if waits > _MAX_WAIT_S:
        return Finding("submissions", Severity.FAIL, text, f"arena ladder run {ladder.path}", "start a runner")
    return Finding("submissions", Severity.OK, text)


def _tables(ladder: Ladder) -> Finding:
    """Report the number of open table sessions."""
    with ladder.database.read() as connection:
        states, people = store.count_session_states(connection)
        played_here = any(
            not store.has_process_ended(runner) for runner in store.list_live_runners(connection, table_servers=True)
        )
    count = sum(states.values())
    text = f"{count} open, {states[store.PLAYING]} of them in a match; players: {people}"
    if not count:
        return Finding("tables", Severity.OK, "none is open")
    if not played_here:
        fix = f"arena ladder serve-tables {ladder.path}"
        return Finding(
            "tables",
            Severity.NOTE,
            f"{text}; no table server is running",
            fix,
            "arena ladder serve also starts a table server",
        )
    return Finding("tables", Severity.OK, text)


def _abandoned_matches(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        failures = store.abandoned_since(connection, ladder.clock() - 7 * DAY_S)
    if not failures:
        return Finding("abandoned", Severity.OK, "no match in the last 7 days")
    last = failures[0]
    text = f"{len(failures)} in the last 7 days; the latest is match {last.match}: {escape_control(last.reason)}"
    return Finding(
        "abandoned",
        Severity.FAIL,
        text,
        advice="run arena doctor on the machine that failed; abandoned matches don't count",
    )


def _deaths(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        deaths = store.count_worker_deaths(connection, ladder.clock() - 7 * DAY_S)
        counts = sorted((-deaths.get(each.id, 0), each.version_ref) for each in store.active_versions(connection))
    most = [f"{escape_control(version_ref)} ({-count})" for count, version_ref in counts if -count >= _MAX_DEATHS]
    if not most:
        return Finding(
            "workers",
            Severity.OK,
            f"no active bot was in the matches of {_MAX_DEATHS} workers that died in the last 7 days",
        )
    text = f"in the last 7 days workers died in matches of {', '.join(most[:5])}"
    return Finding(
        "workers", Severity.FAIL, text, advice="inspect the matches of these bots, or disable one: arena ladder disable"
    )


def _retention(ladder: Ladder) -> Finding:
    old = count_expired(ladder)
    if not old.records and not old.logs:
        return Finding("retention", Severity.OK, "no records or logs have expired")
    text = f"records of {format_count(old.records, 'match', 'es')} and logs of {old.logs} have expired"
    return Finding(
        "retention",
        Severity.NOTE,
        text,
        f"arena ladder doctor {ladder.path} --prune",
        "or wait: a runner removes them daily",
    )


def _sums(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        wrong = store.find_wrong_totals(connection)
    if wrong:
        text = f"totals differ from the games in {format_count(len(wrong), 'match', 'es')}, such as {wrong[0]}"
        return Finding("sums", Severity.FAIL, text, advice="the database was changed by hand: restore the last backup")
    return Finding("sums", Severity.OK, "each match's totals agree with its games")


def _table(ladder: Ladder) -> Finding:
    result = rebuild_standings(ladder)
    if result.first:
        return Finding("table", Severity.OK, "computed for the first time")
    if result.same is None:
        return Finding("table", Severity.NOTE, f"recomputed: it lacked {format_count(result.news, 'match', 'es')}")
    if not result.same:
        text = f"recomputed: it differed by up to {result.max_difference:.2g}"
        return Finding(
            "table", Severity.FAIL, text, advice="report this bug: both computations must give the same standings"
        )
    return Finding("table", Severity.OK, "the same as recomputed from all results")
