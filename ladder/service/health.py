"""Report a ladder's health as findings with advice, and as Prometheus metrics.

Metrics are numbers of the whole ladder, from its database, and of this runner. They are collected on request and
contain no text of a bot or a user."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from arena.bots import escape_control
from arena.checks import Finding, Severity
from arena.run import cache_folder
from arena.sandbox import is_noexec
from ladder.service.ladder import Ladder, open_ladder, require_sandbox
from ladder.service.maintenance import count_expired
from ladder.service.runner import MAX_CLOCK_SKEW_S, LadderRunner
from ladder.service.settings import LadderError, read_settings
from ladder.service.standings import rebuild_standings
from ladder.service.tasks import (
    AttemptFailed,
    CheckFinished,
    ClockBehind,
    DependencyLost,
    DependencyRestored,
    MatchFinished,
    RunnerUpdate,
    StandingsUpdated,
    VersionAutoDisabled,
    WorkerExcluded,
    WorkerRefused,
    event_kind,
)
from ladder.store.database import (
    NEWEST_REVISION,
    PLAYING,
    DatabaseError,
    abandoned_since,
    active_versions,
    count_ladder,
    count_pending_checks,
    count_session_states,
    count_worker_deaths,
    database_size,
    find_corruption,
    find_wrong_totals,
    has_process_ended,
    last_event_at,
    latest_timestamp,
    list_live_runners,
    list_runner_loads,
)

if TYPE_CHECKING:
    from prometheus_client.core import Metric


_PATIENCE_S = 5.0  # for a database that doesn't answer
_MIN_FREE_BYTES = 500 << 20  # free on a disk: a day's matches, and space for boxes
_MAX_WAIT_S = 600.0  # a submission is checked within a minute; a table session with sixty takes five
_MAX_DEATHS = 3  # of workers: fewer happen to any table
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Checkup:
    """The findings of a checkup."""

    items: tuple[Finding, ...]


def check_ladder(folder: Path, deep: bool = False) -> Iterator[Finding]:
    """Yield findings one by one. `deep` reads all results, too. Raises LadderError without a ladder.

    It only looks, but `deep` keeps the table that it computes. A database that is away is a finding, and the last one.
    """
    settings = read_settings(folder)
    yield Finding(
        "ladder.toml", Severity.OK, f"{len(settings.deadlines)} deadline{'s' * (len(settings.deadlines) != 1)}"
    )
    try:
        with closing(open_ladder(folder, _PATIENCE_S)) as ladder:
            yield Finding("database", Severity.OK, f"answers, revision {NEWEST_REVISION}")
            yield from _of_ladder(ladder, deep)
    except (LadderError, DatabaseError) as problem:
        yield Finding(
            "database", Severity.FAIL, " ".join(str(problem).splitlines()), advice=_start_it(settings.database)
        )


def _start_it(url: str) -> str:
    if url.startswith("sqlite"):
        return "make its folder writable, or restore a backup: arena ladder restore FILE NEW-FOLDER"
    return "start PostgreSQL, or fix the URL in ladder.toml"


def _of_ladder(ladder: Ladder, deep: bool) -> Iterator[Finding]:
    database = ladder.database
    broken = find_corruption(database, deep)
    if broken:
        yield Finding(
            "integrity",
            Severity.FAIL,
            "; ".join(broken),
            advice="stop the runner, and restore the last backup into a new folder",
        )
        return
    if database.sqlite is not None:
        yield Finding("integrity", Severity.OK, "the file is whole")
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
        size, games = database_size(connection)
    per_game = f", {size / games:.0f} bytes a game" if games else ""
    yield Finding("size", Severity.OK, f"{size / 1e6:.1f} MB, {games} games{per_game}")
    cache = cache_folder()
    while not cache.exists():
        cache = cache.parent
    places = {"ladder": ladder.path, "cache of bots": cache, "temporary files": Path(tempfile.gettempdir())}
    for what, place in places.items():
        free = shutil.disk_usage(place).free
        text = f"{free / 1e9:.1f} GB free below {place}" if free else f"full: nothing is free below {place}"
        if free < _MIN_FREE_BYTES:
            do = "set TMPDIR or ARENA_CACHE to a larger disk" if what != "ladder" else "remove old backups, or move it"
            yield Finding(f"disk: {what}", Severity.FAIL, text, advice=f"free space: {do}")
        elif what != "ladder" and is_noexec(str(place)):
            text = f"{place} is mounted noexec: compiled bots that play as plain processes can't be started there"
            yield Finding(f"disk: {what}", Severity.WARN, text, advice="set TMPDIR or ARENA_CACHE to another folder")
        elif what == "ladder" and ladder.database.sqlite is not None and free < 2 * size:
            yield Finding(
                f"disk: {what}", Severity.NOTE, text, advice="a backup needs twice the database: write it elsewhere"
            )
        else:
            yield Finding(f"disk: {what}", Severity.OK, text)


def _clock(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        ahead = latest_timestamp(connection) - ladder.clock()
        last = last_event_at(connection) - ladder.clock()
    if last <= MAX_CLOCK_SKEW_S < ahead:
        text = f"agrees with what was written last; what was written before is up to {ahead:.0f} seconds ahead of it"
        return Finding("clock", Severity.NOTE, text, advice="nothing, if this clock is right: one was ahead then")
    if ahead > MAX_CLOCK_SKEW_S:
        return Finding(
            "clock",
            Severity.FAIL,
            f"this machine's clock is {ahead:.0f} seconds behind the newest entry of the database",
            "timedatectl set-ntp true",
            "set it; deadlines and quotas go by it, results don't",
        )
    return Finding("clock", Severity.OK, "not behind what the database holds")


def _boxes(ladder: Ladder) -> Finding:
    choice = ladder.play.sandbox
    try:
        require_sandbox(ladder)
    except LadderError as problem:
        do = "see arena doctor; a runner whose matches are all played on a cluster needs none here"
        return Finding("sandbox", Severity.FAIL, " ".join(str(problem).splitlines()), advice=do)
    if not choice.isolates:
        return Finding("sandbox", Severity.NOTE, "bots are plain processes: for authors you trust")
    return Finding("sandbox", Severity.OK, f"{choice.name} works, also for untrusted bots")


def _runners(ladder: Ladder) -> Iterator[Finding]:
    with ladder.database.read() as connection:
        runners = list_runner_loads(connection)
    alive = [each for each in runners if not each.is_dead]
    if not alive:
        yield Finding("runner", Severity.NOTE, "none is running", f"arena ladder run {ladder.path}")
    for each in runners:
        runner = each.runner
        text = f"{runner.id[:8]}, process {runner.pid} at {escape_control(runner.host.split()[0])}, holds {each.leases}"
        if each.is_dead and alive:
            yield Finding(
                "runner", Severity.NOTE, f"{text}: it is dead", advice="another runner takes that back within seconds"
            )
        elif each.is_dead:
            level = Severity.FAIL if each.leases else Severity.NOTE
            yield Finding(
                "runner", level, f"{text}: it is dead", f"arena ladder run {ladder.path}", "start another: it continues"
            )
        elif each.is_dead is None:
            yield Finding("runner", Severity.NOTE, f"{text}: on another machine", advice="look there whether it lives")
        else:
            yield Finding("runner", Severity.OK, f"{text}, {runner.capacity} at a time")


def _queue(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        count, since = count_pending_checks(connection)
    waits = 0.0 if since is None else ladder.clock() - since
    text = f"{count} wait, the first for {waits / 60:.0f} minutes" if count else "none waits"
    if waits > _MAX_WAIT_S:
        return Finding("submissions", Severity.FAIL, text, f"arena ladder run {ladder.path}", "is a runner running?")
    return Finding("submissions", Severity.OK, text)


def _tables(ladder: Ladder) -> Finding:
    """Report how many tables for people there are."""
    with ladder.database.read() as connection:
        states, people = count_session_states(connection)
        played_here = any(not has_process_ended(runner) for runner in list_live_runners(connection, table_servers=True))
    count = sum(states.values())
    text = f"{count} open, at {states[PLAYING]} of them a match; people who have sat down: {people}"
    if not count:
        return Finding("tables", Severity.OK, "none is open")
    if not played_here:
        fix = f"arena ladder serve-tables {ladder.path}"
        return Finding(
            "tables", Severity.NOTE, f"{text}; no process plays them", fix, "arena ladder serve does it, too"
        )
    return Finding("tables", Severity.OK, text)


def _abandoned_matches(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        failures = abandoned_since(connection, ladder.clock() - 7 * _DAY_S)
    if not failures:
        return Finding("abandoned", Severity.OK, "no match in the last 7 days")
    last = failures[0]
    text = f"{len(failures)} matches in the last 7 days; the last, {last.match}: {escape_control(last.reason)}"
    return Finding(
        "abandoned", Severity.FAIL, text, advice="see arena doctor on the machine that failed; they don't rate"
    )


def _deaths(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        deaths = count_worker_deaths(connection, ladder.clock() - 7 * _DAY_S)
        counts = sorted((-deaths.get(each.id, 0), each.version_ref) for each in active_versions(connection))
    most = [f"{escape_control(version_ref)} ({-count})" for count, version_ref in counts if -count >= _MAX_DEATHS]
    if not most:
        return Finding(
            "workers", Severity.OK, f"no bot that plays sat at the tables of {_MAX_DEATHS} that died in 7 days"
        )
    text = f"in the last 7 days some died in matches of {', '.join(most[:5])}"
    return Finding("workers", Severity.FAIL, text, advice="look at their matches; to stop one: arena ladder disable")


def _retention(ladder: Ladder) -> Finding:
    old = count_expired(ladder)
    if not old.records and not old.logs:
        return Finding("retention", Severity.OK, "nothing is older than ladder.toml keeps it")
    text = f"records of {old.records} matches and logs of {old.logs} are older than ladder.toml keeps them"
    return Finding(
        "retention",
        Severity.NOTE,
        text,
        f"arena ladder doctor {ladder.path} --prune",
        "or wait: a runner removes them daily",
    )


def _sums(ladder: Ladder) -> Finding:
    with ladder.database.read() as connection:
        wrong = find_wrong_totals(connection)
    if wrong:
        text = f"{len(wrong)} matches, such as {wrong[0]}, have other sums than their games"
        return Finding("sums", Severity.FAIL, text, advice="the database was changed by hand: restore the last backup")
    return Finding("sums", Severity.OK, "each match's sums are those of its games")


def _table(ladder: Ladder) -> Finding:
    result = rebuild_standings(ladder)
    if result.first:
        return Finding("table", Severity.OK, "it was computed for the first time")
    if result.same is None:
        return Finding("table", Severity.NOTE, f"it was {result.news} matches behind the results; it was recomputed")
    if not result.same:
        text = f"it differed from a new one by {result.max_difference:.2g}, and was recomputed"
        return Finding(
            "table", Severity.FAIL, text, advice="report it to the arena's authors: both ways should give the same"
        )
    return Finding("table", Severity.OK, "as a new one from all results")


DEFAULT_HOST = "127.0.0.1"


class RunnerMetrics:
    """The Prometheus metrics of one runner; `hear` takes each event of the runner."""

    def __init__(self, service: LadderRunner) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self._ladder = service.ladder
        self._last = time.monotonic()
        self.registry = registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        self._commits = Summary("coup_commit_seconds", "Time to store a match.", registry=registry)
        self._ratings = Summary("coup_rating_seconds", "Time to compute the standings.", registry=registry)
        self._checks = Counter("coup_runner_checks", "Checks by this runner.", ["outcome"], registry=registry)
        self._events = Counter("coup_runner_events", "Other events of this runner.", ["event"], registry=registry)
        for outcome in ("accepted", "rejected"):
            self._checks.labels(outcome)
        for kind in (
            AttemptFailed,
            WorkerRefused,
            VersionAutoDisabled,
            WorkerExcluded,
            DependencyLost,
            DependencyRestored,
            ClockBehind,
        ):
            self._events.labels(event_kind(kind))
        self._rated = Gauge("coup_rated_games", "Games in the standings.", registry=registry)
        current = Gauge("coup_runner_current_task", "Tasks in progress on this runner.", ["task"], registry=registry)
        current.labels("check").set_function(lambda: sum(task.is_check for task in service.queue.doing))
        current.labels("match").set_function(lambda: sum(not task.is_check for task in service.queue.doing))
        capacity = Gauge("coup_runner_capacity", "Tasks that this runner does at the same time.", registry=registry)
        capacity.set_function(lambda: service.width)
        since = Gauge(
            "coup_runner_start_time_seconds", "Start of this runner, in seconds since 1970.", registry=registry
        )
        since.set_to_current_time()
        silent = Gauge("coup_runner_silent_seconds", "Seconds since the last event of this runner.", registry=registry)
        silent.set_function(lambda: time.monotonic() - self._last)

    def count(self, event: RunnerUpdate) -> None:
        """Count an event."""
        self._last = time.monotonic()
        match event:
            case MatchFinished(seconds=seconds):
                self._commits.observe(seconds)
            case StandingsUpdated(games, seconds):
                self._rated.set(games)
                self._ratings.observe(seconds)
            case CheckFinished(reason=reason):
                self._checks.labels("accepted" if reason is None else "rejected").inc()
            case (
                AttemptFailed()
                | WorkerRefused()
                | VersionAutoDisabled()
                | WorkerExcluded()
                | DependencyLost()
                | DependencyRestored()
                | ClockBehind()
            ):
                self._events.labels(event_kind(type(event))).inc()

    def collect(self) -> "Iterator[Metric]":
        """Yield the ladder's metrics, for prometheus_client; none while the database is unreachable."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        losses = self._ladder.database.losses
        yield CounterMetricFamily("coup_database_losses", "Losses of the connection to the database.", value=losses)
        try:
            counts = self._ladder.database.read_with_retry(count_ladder)
            states, people = self._ladder.database.read_with_retry(count_session_states)
        except (DatabaseError, LadderError):
            return
        ended = CounterMetricFamily("coup_matches", "Matches that have ended.", labels=["kind", "outcome"])
        waiting = GaugeMetricFamily("coup_queue", "Tasks that are queued or in progress.", labels=["kind", "state"])
        for (kind, end), count in sorted(counts.matches.items()):
            (waiting if end in ("queued", "leased") else ended).add_metric([kind, end], count)
        for state in ("queued", "checking"):
            label = "leased" if state == "checking" else state
            waiting.add_metric(["check", label], counts.versions.get(state, 0))
        yield ended
        yield waiting
        versions = GaugeMetricFamily("coup_versions", "Versions by the result of their check.", labels=["state"])
        for state in ("accepted", "rejected"):
            versions.add_metric([state], counts.versions.get(state, 0))
        yield versions
        played = sum(count for (_, end), count in counts.matches.items() if end == "played")
        games = played * self._ladder.play.match_games
        yield CounterMetricFamily("coup_games", "Games of played matches.", value=games)
        tables = GaugeMetricFamily("coup_tables", "User tables that are open or in a match.", labels=["state"])
        for state, count in states.items():
            tables.add_metric([state], count)
        yield tables
        yield GaugeMetricFamily("coup_table_people", "People at these tables.", value=people)
        yield CounterMetricFamily(
            "coup_failed_attempts", "Attempts that failed because of a machine.", value=counts.failed_attempts
        )


def parse_address(text: str) -> tuple[str, int]:
    """Return the address and the port of "9100" or "0.0.0.0:9100". Raises LadderError."""
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536 or (colon and not host):
        raise LadderError(f"--metrics {text!r} is no address.\nWrite a port, such as 9100, or ADDRESS:PORT.")
    return host.removeprefix("[").removesuffix("]") or DEFAULT_HOST, int(port)


@contextmanager
def serve_metrics(metrics: RunnerMetrics, text: str) -> Iterator[str]:
    """Serve the metrics over HTTP meanwhile; yield the URL. Raises LadderError."""
    from prometheus_client import start_http_server

    host, port = parse_address(text)
    try:
        server, thread = start_http_server(port, host, metrics.registry)
    except OSError as problem:
        raise LadderError(
            f"metrics can't be served at {host}:{port}: {problem.strerror}.\nName another port."
        ) from None
    try:
        yield f"http://{host}:{port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
