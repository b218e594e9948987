"""Check a ladder as `arena ladder doctor` and the staff's page do: each finding has its advice.

A function for each part returns or yields its findings, in the order in which they are shown.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from arena.checks import Finding, Severity
from arena.escaping import escape_control, quote_path
from arena.formatting import format_count
from arena.run import cache_folder
from arena.sandbox import is_noexec
from ladder import store
from ladder.clock import DAY_S
from ladder.ladder import Ladder, count_expired, open_ladder, require_sandbox
from ladder.settings import LadderError, read_settings
from ladder.standings import rebuild_standings
from ladder.tasks import MAX_CLOCK_SKEW_S

_PATIENCE_S = 5.0  # for a database that doesn't answer
_MIN_FREE_BYTES = 500 << 20  # free on a disk: a day's matches, and space for boxes
_MAX_WAIT_S = 600.0  # a submission is checked within a minute; a table session with sixty takes five
_MIN_DEATHS = 3  # of workers, from which on a bot is suspected: fewer happen to any table
_MAX_SUSPECTS = 5  # that are named


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
            yield from _check_open_ladder(ladder, deep)
    except (LadderError, store.DatabaseError) as error:
        yield _make_database_finding(error, settings.database)


def _make_database_finding(error: Exception, url: str) -> Finding:
    """Return the finding for a database that can't be opened or read. url: as in ladder.toml."""
    problem = " ".join(str(error).splitlines())
    if isinstance(error.__cause__, store.SchemaError):
        problem, _, advice = problem.partition("; ")
    elif url.startswith("sqlite"):
        advice = "make its folder writable, or restore a backup: arena ladder restore FILE NEW-FOLDER"
    else:
        advice = "start PostgreSQL, or correct database in ladder.toml"
    return Finding("database", Severity.FAIL, problem, advice=advice)


def _check_open_ladder(ladder: Ladder, deep: bool) -> Iterator[Finding]:
    """Yield the findings about a reachable database and its machine; of a damaged database, only the damage."""
    database = ladder.database
    problems = store.find_corruption(database, deep)
    if problems:
        advice = "stop the runner, and restore the last backup into a new folder"
        yield Finding("integrity", Severity.FAIL, "; ".join(problems), advice=advice)
        return
    if database.sqlite is not None:
        yield Finding("integrity", Severity.OK, "the database file is intact")
    yield from _check_disks(ladder)
    yield _check_clock(ladder)
    yield _check_sandbox(ladder)
    yield from _check_runners(ladder)
    yield _check_submissions(ladder)
    yield _check_tables(ladder)
    yield _check_abandoned_matches(ladder)
    yield _check_worker_deaths(ladder)
    yield _check_retention(ladder)
    if deep:
        totals = _check_totals(ladder)
        yield totals
        if totals.severity is Severity.OK:  # there are no standings of wrong totals
            yield _recompute_standings(ladder)


def _check_disks(ladder: Ladder) -> Iterator[Finding]:
    """Yield the size of the database, then a finding for each place that the ladder writes to."""
    with ladder.database.read() as connection:
        size, games = store.database_size(connection)
    per_game = f", {size / games:.0f} bytes a game" if games else ""
    yield Finding("size", Severity.OK, f"{size / 1e6:.1f} MB, {format_count(games, 'game')}{per_game}")
    yield _check_ladder_disk(ladder.path, 2 * size if ladder.database.sqlite is not None else 0)
    yield _check_cache_disk()
    yield _check_box_disk("disk: temporary files", Path(tempfile.gettempdir()))


def _get_existing_cache() -> Path:
    """Return the folder of the cache of bots or, before it exists, the nearest one above it.

    Raises RuntimeError if the user has no home folder, as in some containers, OSError if the user can't read it.
    """
    return next(folder for folder in (cache_folder(), *cache_folder().parents) if folder.exists())


def hide_folders(ladder: Ladder, text: str) -> str:
    """Return a text for a page: names such as LADDER instead of the paths of this machine's folders."""
    names = {ladder.path.absolute(): "LADDER", Path(tempfile.gettempdir()): "TMPDIR"}
    with suppress(OSError, RuntimeError):
        names[_get_existing_cache().absolute()] = "ARENA_CACHE"
    public_text = text
    for folder in sorted(names, key=lambda folder: -len(str(folder))):
        if folder != Path("/"):
            pattern = rf"(?<![\w./-]){re.escape(str(folder))}(?![\w.-])"
            public_text = re.sub(pattern, names[folder], public_text)
    return public_text


def _check_ladder_disk(folder: Path, backup_bytes: int) -> Finding:
    """Check the disk of the ladder's folder. backup_bytes: that a backup needs on it for a moment."""
    check, free_bytes = "disk: ladder", shutil.disk_usage(folder).free
    text = _describe_free_space(free_bytes, folder)
    if free_bytes < _MIN_FREE_BYTES:
        return Finding(check, Severity.FAIL, text, advice="free space: remove old backups, or move the ladder")
    if free_bytes < backup_bytes:
        advice = "a backup needs space for the database twice: write it to another disk"
        return Finding(check, Severity.NOTE, text, advice=advice)
    return Finding(check, Severity.OK, text)


def _check_cache_disk() -> Finding:
    """Check the disk of the cache of bots."""
    check = "disk: cache of bots"
    try:
        folder = _get_existing_cache()
    except (OSError, RuntimeError) as error:
        text = f"the folder for bots can't be used: {error}"
        return Finding(check, Severity.FAIL, text, advice="set ARENA_CACHE to another folder")
    return _check_box_disk(check, folder)


def _check_box_disk(check: str, folder: Path) -> Finding:
    """Check a disk on which bots are unpacked and started. check: the name of the finding."""
    free_bytes = shutil.disk_usage(folder).free
    text = _describe_free_space(free_bytes, folder)
    if free_bytes < _MIN_FREE_BYTES:
        return Finding(check, Severity.FAIL, text, advice="free space: set TMPDIR or ARENA_CACHE to a larger disk")
    if is_noexec(str(folder)):
        text = f"{folder} is mounted noexec: compiled bots can't start there as plain processes"
        return Finding(check, Severity.WARN, text, advice="set TMPDIR or ARENA_CACHE to another folder")
    return Finding(check, Severity.OK, text)


def _describe_free_space(free_bytes: int, folder: Path) -> str:
    return f"{free_bytes / 1e9:.1f} GB free below {folder}" if free_bytes else f"no free space below {folder}"


def _check_clock(ladder: Ladder) -> Finding:
    """Compare this machine's clock with the newest times in the database, which other machines may have written."""
    with ladder.database.read() as connection:
        lag_s = store.latest_timestamp(connection) - ladder.clock()
        event_lag_s = store.last_event_at(connection) - ladder.clock()
    if event_lag_s <= MAX_CLOCK_SKEW_S < lag_s:
        text = f"agrees with the newest event; older entries are up to {lag_s:.0f} seconds ahead of it"
        advice = "none needed if this clock is right: another clock was ahead"
        return Finding("clock", Severity.NOTE, text, advice=advice)
    if lag_s > MAX_CLOCK_SKEW_S:
        text = f"this machine's clock is {lag_s:.0f} seconds behind the newest entry of the database"
        advice = "set the clock: deadlines and quotas depend on it"
        return Finding("clock", Severity.FAIL, text, "timedatectl set-ntp true", advice)
    return Finding("clock", Severity.OK, "not behind the database's entries")


def _check_sandbox(ladder: Ladder) -> Finding:
    """Test whether the ladder's sandbox works on this machine, and whether it isolates."""
    choice = ladder.play.sandbox
    try:
        require_sandbox(ladder)
    except LadderError as error:
        advice = "run arena doctor; a runner that uses a cluster needs no sandbox on this machine"
        return Finding("sandbox", Severity.FAIL, " ".join(str(error).splitlines()), advice=advice)
    if not choice.isolates:
        return Finding("sandbox", Severity.NOTE, "bots run as plain processes: only for authors that you trust")
    return Finding("sandbox", Severity.OK, f"{choice.name} works and isolates untrusted bots")


def _check_runners(ladder: Ladder) -> Iterator[Finding]:
    """Yield a finding for each stored runner; before them, one if no runner is alive."""
    with ladder.database.read() as connection:
        loads = store.list_runner_loads(connection)
    is_any_alive = not all(load.is_dead for load in loads)
    if not is_any_alive:
        yield Finding("runner", Severity.NOTE, "no runner is running", f"arena ladder run {quote_path(ladder.path)}")
    for load in loads:
        yield _check_runner(ladder, load, is_any_alive)


def _check_runner(ladder: Ladder, load: store.RunnerLoad, is_any_alive: bool) -> Finding:
    """Return the finding for a runner. is_any_alive: whether any runner is alive, or may be on another machine."""
    runner, host = load.runner, escape_control(load.runner.host.split()[0])
    text = f"{runner.id[:8]}, process {runner.pid} at {host}, tasks: {load.leases}"
    if load.is_dead and is_any_alive:
        advice = "another runner takes over its tasks within seconds"
        return Finding("runner", Severity.NOTE, f"{text}: ended", advice=advice)
    if load.is_dead:
        severity = Severity.FAIL if load.leases else Severity.NOTE
        advice = "start another runner: it takes over the tasks"
        return Finding("runner", severity, f"{text}: ended", f"arena ladder run {quote_path(ladder.path)}", advice)
    if load.is_dead is None:
        advice = "check on that machine that it is running"
        return Finding("runner", Severity.NOTE, f"{text}: on another machine", advice=advice)
    return Finding("runner", Severity.OK, f"{text}; it runs {runner.capacity} at a time")


def _check_submissions(ladder: Ladder) -> Finding:
    """Count the submissions that wait for their check. It fails if the oldest waits for longer than _MAX_WAIT_S."""
    with ladder.database.read() as connection:
        count, submitted_at = store.count_pending_checks(connection)
    wait_s = 0.0 if submitted_at is None else ladder.clock() - submitted_at
    text = f"{count} pending, the oldest for {wait_s / 60:.0f} min" if count else "none is pending"
    if wait_s > _MAX_WAIT_S:
        command = f"arena ladder run {quote_path(ladder.path)}"
        return Finding("submissions", Severity.FAIL, text, command, "start a runner")
    return Finding("submissions", Severity.OK, text)


def _check_tables(ladder: Ladder) -> Finding:
    """Count the open table sessions, and note it if no table server of this machine plays them."""
    with ladder.database.read() as connection:
        states, people = store.count_session_states(connection)
        has_server = any(
            not store.has_process_ended(runner) for runner in store.list_live_runners(connection, table_servers=True)
        )
    count = sum(states.values())
    if not count:
        return Finding("tables", Severity.OK, "none is open")
    text = f"{count} open, {states[store.PLAYING]} of them in a match; players: {people}"
    if not has_server:
        text, command = f"{text}; no table server is running", f"arena ladder serve-tables {quote_path(ladder.path)}"
        return Finding("tables", Severity.NOTE, text, command, "arena ladder serve also starts a table server")
    return Finding("tables", Severity.OK, text)


def _check_abandoned_matches(ladder: Ladder) -> Finding:
    """Count the matches that were abandoned in the last 7 days; with any, the finding fails and names the latest."""
    with ladder.database.read() as connection:
        failures = store.abandoned_since(connection, ladder.clock() - 7 * DAY_S)
    if not failures:
        return Finding("abandoned", Severity.OK, "no match in the last 7 days")
    latest = failures[0]
    text = f"{len(failures)} in the last 7 days; the latest is match {latest.match}: {escape_control(latest.reason)}"
    advice = "run arena doctor on the machine that failed; abandoned matches don't count"
    return Finding("abandoned", Severity.FAIL, text, advice=advice)


def _check_worker_deaths(ladder: Ladder) -> Finding:
    """Name active bots in whose matches at least _MIN_DEATHS workers died in the last 7 days, the worst first."""
    with ladder.database.read() as connection:
        deaths = store.count_worker_deaths(connection, ladder.clock() - 7 * DAY_S)
        versions = store.active_versions(connection)
    suspects = [version for version in versions if deaths.get(version.id, 0) >= _MIN_DEATHS]
    if not suspects:
        text = f"no active bot was in the matches of {_MIN_DEATHS} workers that died in the last 7 days"
        return Finding("workers", Severity.OK, text)
    suspects.sort(key=lambda version: (-deaths[version.id], version.version_ref))
    bots = [f"{escape_control(suspect.version_ref)} ({deaths[suspect.id]})" for suspect in suspects[:_MAX_SUSPECTS]]
    text = f"in the last 7 days workers died in matches of {', '.join(bots)}"
    advice = "inspect the matches of these bots, or disable one: arena ladder disable"
    return Finding("workers", Severity.FAIL, text, advice=advice)


def _check_retention(ladder: Ladder) -> Finding:
    """Note records and logs that have expired and are still stored."""
    expired = count_expired(ladder)
    if not expired.records and not expired.logs:
        return Finding("retention", Severity.OK, "no records or logs have expired")
    text = f"records of {format_count(expired.records, 'match', 'es')} and logs of {expired.logs} have expired"
    command = f"arena ladder doctor {quote_path(ladder.path)} --prune"
    return Finding("retention", Severity.NOTE, text, command, "or wait: a runner removes them daily")


def _check_totals(ladder: Ladder) -> Finding:
    """Compare the stored totals of each match with its games; reads all results."""
    with ladder.database.read() as connection:
        matches = store.find_wrong_totals(connection)
    if matches:
        text = f"totals differ from the games in {format_count(len(matches), 'match', 'es')}, such as {matches[0]}"
        return Finding("sums", Severity.FAIL, text, advice="the database was changed by hand: restore the last backup")
    return Finding("sums", Severity.OK, "each match's totals agree with its games")


def _recompute_standings(ladder: Ladder) -> Finding:
    """Compute the standings from all results, store them, and compare them with the stored ones."""
    result = rebuild_standings(ladder)
    if result.first:
        return Finding("table", Severity.OK, "computed for the first time")
    if result.same is None:
        return Finding("table", Severity.NOTE, f"recomputed: {_describe_other_data(result.news)}")
    if not result.same:
        text = f"recomputed: it differed by up to {result.max_difference:.2g}"
        advice = "report this bug: both computations must give the same standings"
        return Finding("table", Severity.FAIL, text, advice=advice)
    return Finding("table", Severity.OK, "the same as recomputed from all results")


def _describe_other_data(new_matches: int) -> str:
    """Return of which other data the stored standings were. new_matches: negative if they had more matches."""
    matches = format_count(abs(new_matches), "match", "es")
    if new_matches > 0:
        return f"it lacked {matches}"
    return f"it had {matches} more, void since then" if new_matches else "other versions were active"
