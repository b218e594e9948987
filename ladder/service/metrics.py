"""What a runner tells Prometheus: numbers about the whole ladder, out of its database, and about this runner.

They are collected when somebody asks. No text of a bot or a person is among them.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ladder.service.service import Benched, Exam, Excluded, Match, Rated, Refused, Service, Void
from ladder.service.settings import LadderError
from ladder.store.database import DatabaseError, count_all

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from ladder.service.service import Event

LOCAL = "127.0.0.1"


class Metrics:
    """The numbers of one runner. Hand it all events of its service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._since = time.time()
        self._last = time.monotonic()
        self._commits: tuple[int, float] = (0, 0.0)  # how many, and their seconds in all
        self._folds: tuple[int, float] = (0, 0.0)
        self._exams = {"fit": 0, "unfit": 0}
        self._events = {"void": 0, "refused": 0, "benched": 0, "excluded": 0}
        self._rated = 0

    def hear(self, event: "Event") -> None:
        """Count what happened."""
        self._last = time.monotonic()
        match event:
            case Match(seconds=seconds):
                self._commits = (self._commits[0] + 1, self._commits[1] + seconds)
            case Rated(games, seconds):
                self._rated = games
                self._folds = (self._folds[0] + 1, self._folds[1] + seconds)
            case Exam(reason=reason):
                self._exams["fit" if reason is None else "unfit"] += 1
            case Void():
                self._events["void"] += 1
            case Refused():
                self._events["refused"] += 1
            case Benched():
                self._events["benched"] += 1
            case Excluded():
                self._events["excluded"] += 1

    def collect(self) -> "Iterator[Metric]":
        """Yield all numbers; prometheus_client calls this. Where the database is away, its numbers are missing."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily

        yield from self._of_ladder()
        for name, about, (count, seconds) in (
            ("coup_commit_seconds", "To keep a match in the database.", self._commits),
            ("coup_fold_seconds", "To compute the table.", self._folds),
        ):
            yield SummaryMetricFamily(name, about, count, seconds)
        exams = CounterMetricFamily("coup_runner_exams", "Examinations of this runner.", labels=["outcome"])
        for outcome, count in self._exams.items():
            exams.add_metric([outcome], count)
        yield exams
        events = CounterMetricFamily("coup_runner_events", "What else this runner met.", labels=["event"])
        for name, count in self._events.items():
            events.add_metric([name], count)
        yield events
        doing = self._service.queue.doing
        busy = GaugeMetricFamily("coup_runner_doing", "What this runner is doing now.", labels=["task"])
        busy.add_metric(["exam"], sum(task.exam for task in doing))
        busy.add_metric(["match"], sum(not task.exam for task in doing))
        yield busy
        for name, about, value in (
            ("coup_rated_games", "Games that the table is of.", self._rated),
            ("coup_runner_width", "Tasks that this runner may do at a time.", self._service.width),
            ("coup_runner_start_time_seconds", "When this runner began, in seconds since 1970.", self._since),
            (
                "coup_runner_silent_seconds",
                "Since this runner's last turn: some seconds.",
                time.monotonic() - self._last,
            ),
        ):
            yield GaugeMetricFamily(name, about, value=value)

    def _of_ladder(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        try:
            counts = self._service.ladder.database.look(count_all)
        except (DatabaseError, LadderError):
            return
        ended = CounterMetricFamily("coup_matches", "Matches that have ended.", labels=["kind", "cause"])
        waiting = GaugeMetricFamily("coup_queue", "What waits or is being done.", labels=["kind", "state"])
        for (kind, end), count in sorted(counts.matches.items()):
            (waiting if end in ("queued", "leased") else ended).add_metric([kind, end], count)
        for state in ("queued", "examined"):
            told = "leased" if state == "examined" else state
            waiting.add_metric(["exam", told], counts.versions.get(state, 0))
        yield ended
        yield waiting
        versions = GaugeMetricFamily("coup_versions", "Versions by what their examination said.", labels=["state"])
        for state in ("fit", "unfit"):
            versions.add_metric([state], counts.versions.get(state, 0))
        yield versions
        played = sum(count for (_, end), count in counts.matches.items() if end == "played")
        games = played * self._service.ladder.play.match_games
        yield CounterMetricFamily("coup_games", "Games of the matches that were played.", value=games)
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
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(metrics)
    host, port = address_of(text)
    try:
        server, thread = start_http_server(port, host, registry)
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
