"""What a runner tells Prometheus: numbers about the whole ladder, out of its database, and about this runner.

They are collected when somebody asks. No text of a bot or a person is among them.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ladder.service.news import (
    Behind,
    Benched,
    Event,
    Exam,
    Excluded,
    Lost,
    Match,
    Rated,
    Refused,
    Returned,
    Void,
)
from ladder.service.service import Service
from ladder.service.settings import LadderError
from ladder.store.database import DatabaseError, count_all, count_tables

if TYPE_CHECKING:
    from prometheus_client.core import Metric

LOCAL = "127.0.0.1"


class Metrics:
    """The numbers of one runner. Hand it all events of its service."""

    def __init__(self, service: Service) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self._ladder = service.ladder
        self._last = time.monotonic()
        self.registry = registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        self._commits = Summary("coup_commit_seconds", "To keep a match in the database.", registry=registry)
        self._folds = Summary("coup_fold_seconds", "To compute the table.", registry=registry)
        self._exams = Counter("coup_runner_exams", "Examinations of this runner.", ["outcome"], registry=registry)
        self._events = Counter("coup_runner_events", "What else this runner met.", ["event"], registry=registry)
        for outcome in ("fit", "unfit"):
            self._exams.labels(outcome)
        for kind in (Void, Refused, Benched, Excluded, Lost, Returned, Behind):
            self._events.labels(kind.__name__.lower())
        self._rated = Gauge("coup_rated_games", "Games that the table is of.", registry=registry)
        doing = Gauge("coup_runner_doing", "What this runner is doing now.", ["task"], registry=registry)
        doing.labels("exam").set_function(lambda: sum(task.exam for task in service.queue.doing))
        doing.labels("match").set_function(lambda: sum(not task.exam for task in service.queue.doing))
        width = Gauge("coup_runner_width", "Tasks that this runner may do at a time.", registry=registry)
        width.set_function(lambda: service.width)
        since = Gauge(
            "coup_runner_start_time_seconds", "When this runner began, in seconds since 1970.", registry=registry
        )
        since.set_to_current_time()
        silent = Gauge("coup_runner_silent_seconds", "Since this runner's last turn: some seconds.", registry=registry)
        silent.set_function(lambda: time.monotonic() - self._last)

    def hear(self, event: Event) -> None:
        """Count what happened."""
        self._last = time.monotonic()
        match event:
            case Match(seconds=seconds):
                self._commits.observe(seconds)
            case Rated(games, seconds):
                self._rated.set(games)
                self._folds.observe(seconds)
            case Exam(reason=reason):
                self._exams.labels("fit" if reason is None else "unfit").inc()
            case Void() | Refused() | Benched() | Excluded() | Lost() | Returned() | Behind():
                self._events.labels(type(event).__name__.lower()).inc()

    def collect(self) -> "Iterator[Metric]":
        """Yield the ladder's numbers; prometheus_client calls this. Where the database is away, they are missing."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        losses = self._ladder.database.losses
        yield CounterMetricFamily("coup_database_losses", "Times that the database was away.", value=losses)
        try:
            counts = self._ladder.database.look(count_all)
            states, people = self._ladder.database.look(count_tables)
        except (DatabaseError, LadderError):
            return
        ended = CounterMetricFamily("coup_matches", "Matches that have ended.", labels=["kind", "cause"])
        waiting = GaugeMetricFamily("coup_queue", "What waits or is being done.", labels=["kind", "state"])
        for (kind, end), count in sorted(counts.matches.items()):
            (waiting if end in ("queued", "leased") else ended).add_metric([kind, end], count)
        for state in ("queued", "examined"):
            label = "leased" if state == "examined" else state
            waiting.add_metric(["exam", label], counts.versions.get(state, 0))
        yield ended
        yield waiting
        versions = GaugeMetricFamily("coup_versions", "Versions by what their examination said.", labels=["state"])
        for state in ("fit", "unfit"):
            versions.add_metric([state], counts.versions.get(state, 0))
        yield versions
        played = sum(count for (_, end), count in counts.matches.items() if end == "played")
        games = played * self._ladder.play.match_games
        yield CounterMetricFamily("coup_games", "Games of the matches that were played.", value=games)
        tables = GaugeMetricFamily("coup_tables", "Tables for people that haven't closed.", labels=["state"])
        for state, count in states.items():
            tables.add_metric([state], count)
        yield tables
        yield GaugeMetricFamily("coup_table_people", "People who have sat down there.", value=people)
        yield CounterMetricFamily("coup_voids", "Attempts at matches that hosts failed.", value=counts.voids)


def address_of(text: str) -> tuple[str, int]:
    """Return the address and the port of "9100" or "0.0.0.0:9100". Raises LadderError."""
    host, colon, port = text.rpartition(":")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536 or (colon and not host):
        raise LadderError(f"--metrics {text!r} is no address.\nWrite a port, such as 9100, or ADDRESS:PORT.")
    return host.removeprefix("[").removesuffix("]") or LOCAL, int(port)


@contextmanager
def serving(metrics: Metrics, text: str) -> Iterator[str]:
    """Serve the numbers over HTTP meanwhile; give the URL. Raises LadderError."""
    from prometheus_client import start_http_server

    host, port = address_of(text)
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
