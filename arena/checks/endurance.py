"""Measure what a process uses from request to request, and extrapolate at which request a limit comes.

A match of 12 games asks a seat 60 to 600 requests, so a process is certified only after that many."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import log, sqrt
from statistics import linear_regression, mean
from typing import NamedTuple

from arena.checks.bot_connection import BotConnection
from arena.referee import MatchSettings
from protocol import LINE_LIMIT

MATCH_REQUESTS = 700  # to one process; in recorded matches of 12 games a seat had 60 to 600
_GAME_REQUESTS = 50  # of a seat in a long game, over which the time bank is spread
_TIME_ROWS, _TIME_FACTOR = 5, 1.3  # of a third of the rows; the least growth from one third to the next
_CPU_MS, _OWN_MS = 5.0, 60.0  # the least growth; a busy machine hardly changes CPU time, and own time above 50 ms
_STEP = 10  # requests between two measurements
_WARM_UP = 0.15  # the share of the requests that isn't compared: runtimes grow at first
_HORIZON = 3 * MATCH_REQUESTS  # a limit that comes later isn't reported
_DEVIATIONS = 3.5  # of Kendall's rank correlation; without it, 12 to 30 % of simulated slow, steady bots failed


class Resource(NamedTuple):
    """A resource: its limit, the least growth that is reported, and the format of a value."""

    name: str
    limit: float
    least: float
    text: str


@dataclass(frozen=True, slots=True)
class Growth:
    """The steady growth of a resource from the first to the last value. `limit_at`: the request at its limit."""

    resource: Resource
    first_value: float
    last_value: float
    per_request: float
    limit_at: float

    @property
    def is_full(self) -> bool:
        """Return whether the resource is nearly used up."""
        return self.last_value > 0.9 * self.resource.limit

    @property
    def text(self) -> str:
        """The growth in words: "memory grew from 9 to 102 MB, by 1 MB a request"."""
        form, name = self.resource.text, self.resource.name
        first, last, step = (f"{value:.3g}" for value in (self.first_value, self.last_value, self.per_request))
        return f"{name} grew from {first} to {form.format(last)}, by {form.format(step)} a request"


@dataclass(slots=True)
class Endurance:
    """The measurements of one process.

    rows: the number of answered requests, and the value of each resource, None if it isn't known.
    """

    connection: BotConnection
    settings: MatchSettings
    rows: list[tuple[int, tuple[float | None, ...]]] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)  # so far, at each row

    def resources(self) -> tuple[Resource, ...]:
        """Return the resources, in the order of the values in a row."""
        limits = self.settings.limits
        return (
            Resource("memory", limits.memory_mb, 8, "{} MB"),
            Resource("processes and threads", limits.processes, 8, "{}"),
            Resource("open files", limits.open_files, 16, "{}"),
            Resource("the reply", LINE_LIMIT / 1000, 2, "{} KB"),
        )

    def measure(self) -> None:
        """Add a row if at least _STEP requests were answered since the last one."""
        times, box = self.connection.times, self.connection.box
        last_count = self.rows[-1][0] if self.rows else 0
        if len(times) < last_count + _STEP:
            return
        tasks = box.cpu_usage() or {}
        self.cpu_ms.append((box.cpu_ns() or 0) / 1e6)
        peak_bytes = box.peak_bytes()
        memory_mb = None if peak_bytes is None else peak_bytes / 2**20
        open_files = max(map(_count_open_files, tasks), default=0) or None
        reply_kb = len(self.connection.last_answer) / 1000
        self.rows.append((len(times), (memory_mb, len(tasks) or None, open_files, reply_kb)))

    def growths(self) -> Iterator[Growth]:
        """Yield the growth of each resource that has grown steadily since the warm-up, then of the time of a request.

        The time counts once: as CPU time or, if that hasn't grown, as own time.
        """
        rows = self.rows[int(len(self.rows) * _WARM_UP) :]
        for index, resource in enumerate(self.resources()):
            points = [(count, value) for count, values in rows if (value := values[index]) is not None]
            if len(points) >= 3 and _is_rising([value for _, value in points]):
                yield from _growth_over(resource, points)
        counts = [count for count, _ in self.rows]
        own_ms = [sum(self.connection.times[:count]) * 1000 for count in counts]
        growth = self._time_growth(counts, self.cpu_ms, _CPU_MS) or self._time_growth(counts, own_ms, _OWN_MS)
        if growth is not None:
            yield growth

    def _time_growth(self, counts: list[int], total_ms: list[float], least_ms: float) -> Growth | None:
        """Return the growth of the time of a request; `total_ms`: the sum of all times at each of `counts` requests.

        The time is extrapolated as a power of the number of requests, by the middle and the last third of the rows.
        None: there are too few rows, it hasn't grown from each third to the next, or by no more than `least_ms`.
        """
        thirds = _average_thirds(counts, total_ms)
        if thirds is None:
            return None
        (_, first_ms), (middle_count, middle_ms), (last_count, last_ms) = thirds
        is_growing = middle_ms > _TIME_FACTOR * first_ms and last_ms > _TIME_FACTOR * middle_ms
        if not is_growing or last_ms - first_ms <= least_ms:
            return None
        power = log(last_ms / middle_ms) / log(last_count / middle_count)
        limit_ms = self.settings.timing.limit_ms + self.settings.timing.bank_ms / _GAME_REQUESTS
        limit_at = max(counts[-1], last_count * (limit_ms / last_ms) ** (1 / power))
        resource = Resource("the time for a request", limit_ms, least_ms, "{} ms")
        return Growth(resource, first_ms, last_ms, (last_ms - middle_ms) / (last_count - middle_count), limit_at)

    def limits_ahead(self) -> list[Growth]:
        """Return the growths that come to their limits soon after the check, the first limit first."""
        return sorted(
            (growth for growth in self.growths() if growth.limit_at < _HORIZON), key=lambda growth: growth.limit_at
        )


def _average_thirds(counts: list[int], total_ms: list[float]) -> list[tuple[int, float]] | None:
    """Return (count in its middle, mean time of a request) of each third of the rows; None if there are too few rows.

    total_ms: the sum of all times at each of `counts` requests.
    """
    steps = zip(pairwise(total_ms), pairwise(counts), strict=True)
    request_ms = [(ms - earlier_ms) / (count - earlier) for (earlier_ms, ms), (earlier, count) in steps]
    third = len(request_ms) // 3
    if third < _TIME_ROWS:
        return None
    starts = (0, third, len(request_ms) - third)
    return [(counts[start + third // 2], mean(request_ms[start : start + third])) for start in starts]


def _growth_over(resource: Resource, points: Sequence[tuple[int, float]]) -> Iterator[Growth]:
    """Yield the growth over the points (request, value), if it is large enough, and continues in the last third."""
    (first_count, first), (last_count, last) = points[0], points[-1]
    slope = linear_regression(*zip(*points[-max(2, len(points) // 3) :], strict=True)).slope
    if last - first >= resource.least and 2 * slope > (last - first) / (last_count - first_count):
        yield Growth(resource, first, last, slope, last_count + max(0.0, resource.limit - last) / slope)


def _is_rising(values: Sequence[float]) -> bool:
    """Return whether the values never fall, or rise by more than chance: requests of a steady bot vary, too."""
    count = len(values)
    score = sum((first < second) - (first > second) for first, second in combinations(values, 2))
    return values == sorted(values) or score > _DEVIATIONS * sqrt(count * (count - 1) * (2 * count + 5) / 18)


def _count_open_files(task: int) -> int:
    """Return the number of a task's open files; 0 if it isn't known."""
    with suppress(OSError):
        return len(os.listdir(f"/proc/{task}/fd"))
    return 0
