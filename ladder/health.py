"""Measure a ladder's health for probes and Prometheus: its database, runners, table servers and queue.

A `HealthMonitor` answers within ANSWER_S, also while the database doesn't: it reads in a thread and with a connection
of its own, and returns the last values if no new ones come. Metrics are collected on request and contain no text of a
bot or a user.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from prometheus_client.core import CollectorRegistry, CounterMetricFamily, GaugeMetricFamily, Metric
from sqlalchemy import Connection

from ladder import store
from ladder.ladder import Ladder
from ladder.settings import LadderError

ANSWER_S = 0.8  # Prometheus, proxies and containers wait a second or more
_FRESH_S = 0.5  # in which a reading is used again, so that many requests are one reading
DEFAULT_HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class LadderHealth:
    """A reading of a ladder. runners, table_servers: how many are alive. tables: open table sessions by state.

    problem: why the database can't be used, in one line; then the other values are those of the last reading.
    """

    problem: str | None = None
    runners: int = 0
    table_servers: int = 0
    counts: store.LadderCounts = field(default_factory=lambda: store.LadderCounts({}, {}, 0))
    tables: dict[str, int] = field(default_factory=dict)
    people: int = 0


class HealthMonitor:
    """A monitor of a ladder's health, which any thread may read.

    After half a minute without a reading, all runners on other machines count as alive.
    """

    def __init__(self, ladder: Ladder) -> None:
        self.ladder = ladder
        self.outdated: store.SchemaError | None = None  # set if another version upgraded the database: end this process
        self._database = store.Database(
            ladder.database.url, 0, application=ladder.database.application, pooled=False, check=store.require_revision
        )
        self._liveness = {tables: store.LivenessCheck(time.monotonic) for tables in (False, True)}
        self._lock = threading.Lock()
        self._last_health = LadderHealth()
        self._reading: Future[LadderHealth] | None = None
        self._started_at = 0.0  # of the reading, by the monotonic clock
        self._has_answer = threading.Event()  # whether the database has answered during this reading

    def health(self) -> LadderHealth:
        """Return a reading; if it has no result within ANSWER_S, the last result. Any thread may call this.

        The reading is made in a thread of its own, unless one is in progress or began less than _FRESH_S ago. If the
        database failed or is silent, the result says so as its `problem`. A schema that another version has upgraded
        also sets `outdated`.
        """
        with self._lock:
            is_old = time.monotonic() - self._started_at > _FRESH_S
            if self._reading is None or (is_old and self._reading.done()):
                self._reading, self._started_at = Future(), time.monotonic()
                self._has_answer.clear()
                # A daemon: a database that stopped in the middle of an answer must not keep this process alive.
                threading.Thread(target=self._read, args=(self._reading,), daemon=True).start()
            reading = self._reading
        problem = None
        try:
            self._last_health = reading.result(ANSWER_S)
        except TimeoutError:
            if not self._has_answer.is_set():  # else it is only slow
                problem = "the database doesn't answer"
        except store.DatabaseError as error:
            problem = str(error)
            self.outdated = error if isinstance(error, store.SchemaError) else None
        return self._last_health if problem is None else replace(self._last_health, problem=problem)

    def _read(self, reading: "Future[LadderHealth]") -> None:
        try:
            reading.set_result(self._database.read_with_retry(self._read_from))
        except BaseException as error:
            reading.set_exception(error)

    def _read_from(self, connection: Connection) -> LadderHealth:
        runners, servers = (self._count_live(connection, tables) for tables in (False, True))
        self._has_answer.set()
        counts, (tables, people) = store.count_ladder(connection), store.count_session_states(connection)
        return LadderHealth(runners=runners, table_servers=servers, counts=counts, tables=tables, people=people)

    def _count_live(self, connection: Connection, table_servers: bool) -> int:
        runners = store.list_live_runners(connection, table_servers)
        return len(runners) - len(self._liveness[table_servers].find_dead(runners))


class LadderMetrics:
    """The Prometheus metrics of a ladder, which all of its processes report alike: a collector."""

    def __init__(self, monitor: HealthMonitor) -> None:
        self._monitor = monitor

    def collect(self) -> Iterator[Metric]:
        """Yield the ladder's metrics, for prometheus_client."""
        ladder, health = self._monitor.ladder, self._monitor.health()
        yield GaugeMetricFamily("coup_database_up", "1 if the database answers, else 0.", value=health.problem is None)
        losses = ladder.database.losses
        yield CounterMetricFamily("coup_database_losses", "Losses of the connection to the database.", value=losses)
        yield GaugeMetricFamily("coup_live_runners", "Runners with a heartbeat.", value=health.runners)
        servers = health.table_servers
        yield GaugeMetricFamily("coup_live_table_servers", "Table servers with a heartbeat.", value=servers)
        yield from _make_task_metrics(health.counts)
        matches = sum(count for (_, outcome), count in health.counts.matches.items() if outcome == store.PLAYED)
        yield CounterMetricFamily("coup_games", "Games of played matches.", value=matches * ladder.play.match_games)
        tables = GaugeMetricFamily("coup_tables", "User tables that are open or in a match.", labels=["state"])
        for state, count in health.tables.items():
            tables.add_metric([state], count)
        yield tables
        yield GaugeMetricFamily("coup_table_people", "Users and guests at these tables.", value=health.people)
        failures = health.counts.failed_attempts
        yield CounterMetricFamily("coup_failed_attempts", "Attempts that failed because of a machine.", value=failures)


def _make_task_metrics(counts: store.LadderCounts) -> tuple[Metric, Metric, Metric]:
    """Return the metrics of ended matches, of the queue, and of checked versions, by kind and outcome or state."""
    ended_matches = CounterMetricFamily("coup_matches", "Matches that have ended.", labels=["kind", "outcome"])
    queue = GaugeMetricFamily("coup_queue", "Tasks that are queued or in progress.", labels=["kind", "state"])
    for (kind, state), count in sorted(counts.matches.items()):
        metric = queue if state in ("queued", "leased") else ended_matches
        metric.add_metric([kind, state], count)
    queue.add_metric(["check", "queued"], counts.versions.get("queued", 0))
    queue.add_metric(["check", "leased"], counts.versions.get("checking", 0))
    versions = GaugeMetricFamily("coup_versions", "Versions by the result of their check.", labels=["state"])
    for status in ("accepted", "rejected"):
        versions.add_metric([status], counts.versions.get(status, 0))
    return ended_matches, queue, versions


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port of an address such as "9100" or "0.0.0.0:9100".

    Raises LadderError if the text is no such address.
    """
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536 or (colon and not host):
        raise LadderError(f"--metrics {text!r} isn't a valid address.\nGive a port, such as 9100, or ADDRESS:PORT.")
    return host.removeprefix("[").removesuffix("]") or DEFAULT_HOST, int(port)


@contextmanager
def serve_metrics(registry: CollectorRegistry, text: str | None) -> Iterator[str | None]:
    """Serve metrics over HTTP during the context; yield the URL. text: see `parse_address`; None serves nothing.

    Raises LadderError if the address isn't valid or can't be opened.
    """
    from prometheus_client import start_http_server

    if text is None:
        yield None
        return
    host, port = parse_address(text)
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise LadderError(
            f"metrics can't be served at {host}:{port}: {error.strerror}.\nGive another port: --metrics PORT"
        ) from None
    try:
        yield f"http://{host}:{port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
