"""Measure what a process uses from request to request, and extrapolate at which request a limit comes.

A match of 12 games asks a seat 60 to 600 requests, so a process is certified only after that many."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from math import log, sqrt
from statistics import linear_regression, mean, quantiles
from typing import NamedTuple

from arena.checks.bot_connection import BotConnection
from arena.referee import MatchSettings
from protocol import LINE_LIMIT

MATCH_REQUESTS = 700  # to one process; in recorded matches of 12 games a seat had 60 to 600
_GAME_REQUESTS = 50  # of a seat in a long game, over which the time bank is spread
_MIN_TIMES = 12  # of a kind of request, without the warm-up
_TIME_FACTOR = 1.6  # by which the time grows at least; without it, 5 % of slow bots failed on a machine 20 % slower
_CPU_ROWS, _CPU_FACTOR, _CPU_MS = 5, 1.3, 5.0  # of a third; the growth to the next third, and over all
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
    """The steady growth of a resource. `limit_at`: the request at which its limit comes."""

    resource: Resource
    first: float
    last: float
    by: float
    limit_at: float

    @property
    def is_full(self) -> bool:
        """Return whether the resource is nearly used up."""
        return self.last > 0.9 * self.resource.limit

    @property
    def text(self) -> str:
        """The growth in words: "memory grew from 9 to 102 MB, by 1 MB a request"."""
        form, name = self.resource.text, self.resource.name
        first, last, by = (f"{value:.3g}" for value in (self.first, self.last, self.by))
        return f"{name} grew from {first} to {form.format(last)}, by {form.format(by)} a request"


@dataclass(slots=True)
class Endurance:
    """The measurements of one process. rows: the number of answered requests, and the value of each resource.

    kinds: the kind of each answered request.
    """

    connection: BotConnection
    settings: MatchSettings
    kinds: Sequence[str]
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

    def measure(self) -> bool:
        """Add a row if enough requests were answered since the last one; return false."""
        times, box = self.connection.times, self.connection.box
        if len(times) < (self.rows[-1][0] if self.rows else 0) + _STEP:
            return False
        tasks = box.cpu_usage() or {}
        self.cpu_ms.append((box.cpu_ns() or 0) / 1e6)
        peak = box.peak_bytes()
        self.rows.append(
            (
                len(times),
                (
                    None if peak is None else peak / 2**20,
                    len(tasks) or None,
                    max(map(_open_files, tasks), default=0) or None,
                    len(self.connection.last) / 1000,
                ),
            )
        )
        return False

    def growths(self) -> Iterator[Growth]:
        """Yield the resources, and the times of kinds of request, that have grown steadily since the warm-up."""
        rows = self.rows[int(len(self.rows) * _WARM_UP) :]
        for index, resource in enumerate(self.resources()):
            points = [(count, value) for count, values in rows if (value := values[index]) is not None]
            if len(points) >= 3 and _is_rising([value for _, value in points]):
                yield from _growth_of(resource, points)
        times, timing = self.connection.times, self.settings.timing
        for kind in sorted(set(self.kinds)):
            asked = [(number, times[number] * 1000) for number, each in enumerate(self.kinds) if each == kind]
            points = asked[int(len(asked) * _WARM_UP) :]
            if len(points) >= _MIN_TIMES and _is_rising(values := [value for _, value in points]) and _climbs(values):
                bank_ms = timing.bank_ms / (_GAME_REQUESTS * len(asked) / len(self.kinds))
                limit = timing.limit_ms + bank_ms
                yield from _growth_of(
                    Resource(f"the time for a request of the kind {kind}", limit, 20, "{} ms"), points
                )

        yield from self._cpu_growth()

    def _cpu_growth(self) -> Iterator[Growth]:
        """Yield the growth of the CPU time of a request, which other programs of a busy machine hardly change.

        It is extrapolated as a power of the number of requests: going through all earlier events takes the square.
        """
        counts = [count for count, _ in self.rows]
        spent = [(b - a) / (n - m) for (a, b), (m, n) in zip(pairwise(self.cpu_ms), pairwise(counts), strict=True)]
        third = len(spent) // 3
        if third < _CPU_ROWS:
            return
        first, middle, last = (mean(spent[place : place + third]) for place in (0, third, len(spent) - third))
        limit = self.settings.timing.limit_ms + self.settings.timing.bank_ms / _GAME_REQUESTS
        if middle > _CPU_FACTOR * first and last > _CPU_FACTOR * middle and last - first > _CPU_MS:
            before, now = counts[third + third // 2], counts[len(spent) - third + third // 2]
            power, by = log(last / middle) / log(now / before), (last - middle) / (now - before)
            limit_at = max(counts[-1], now * (limit / last) ** (1 / power))
            yield Growth(Resource("the CPU time of a request", limit, _CPU_MS, "{} ms"), first, last, by, limit_at)

    def limits_ahead(self) -> list[Growth]:
        """Return the growths that come to their limits soon after the check, the first limit first."""
        return sorted((each for each in self.growths() if each.limit_at < _HORIZON), key=lambda each: each.limit_at)


def _growth_of(resource: Resource, points: Sequence[tuple[int, float]]) -> Iterator[Growth]:
    """Yield the growth over the points (request, value), if it is large enough, and continues in the last third."""
    (begin, first), (end, last) = points[0], points[-1]
    by = linear_regression(*zip(*points[-max(2, len(points) // 3) :], strict=True)).slope
    if last - first >= resource.least and 2 * by > (last - first) / (end - begin):
        yield Growth(resource, first, last, by, end + max(0.0, resource.limit - last) / by)


def _climbs(values: Sequence[float]) -> bool:
    """Return whether three quarters of each third are above the median of the third before, and the last far above.

    A busier machine, or times that rise within each game, don't look like that.
    """
    third = len(values) // 3
    parts = [quantiles(values[place : place + third]) for place in (0, third, len(values) - third)]
    rises = all(after[0] > before[1] for before, after in pairwise(parts))
    return rises and parts[-1][1] > _TIME_FACTOR * parts[0][1]


def _is_rising(values: Sequence[float]) -> bool:
    """Return whether the values never fall, or rise by more than chance: requests of a steady bot vary, too."""
    count = len(values)
    score = sum((first < second) - (first > second) for first, second in combinations(values, 2))
    return values == sorted(values) or score > _DEVIATIONS * sqrt(count * (count - 1) * (2 * count + 5) / 18)


def _open_files(task: int) -> int:
    """Return the number of a task's open files; 0 if it isn't known."""
    with suppress(OSError):
        return len(os.listdir(f"/proc/{task}/fd"))
    return 0
