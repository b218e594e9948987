"""Measure what a process uses from request to request, and extrapolate at which request a limit comes.

A match of 12 games asks a seat 60 to 600 requests, so a process is certified only after that many."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from math import sqrt
from statistics import linear_regression, median
from typing import NamedTuple

from arena.checks.bot_connection import BotConnection
from arena.referee import MatchSettings
from protocol import LINE_LIMIT

MATCH_REQUESTS = 700  # to one process; in recorded matches of 12 games a seat had 60 to 600
_GAME_REQUESTS = 50  # of a seat in a long game, over which the time bank is spread
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
    def text(self) -> str:
        """The growth in words: "memory grew from 9 to 102 MB, by 1 MB a request"."""
        form, name = self.resource.text, self.resource.name
        first, last, by = (f"{value:.3g}" for value in (self.first, self.last, self.by))
        return f"{name} grew from {first} to {form.format(last)}, by {form.format(by)} a request"


@dataclass(slots=True)
class Endurance:
    """The measurements of one process. rows: the number of answered requests, and the value of each resource."""

    connection: BotConnection
    settings: MatchSettings
    rows: list[tuple[int, tuple[float | None, ...]]] = field(default_factory=list)

    def resources(self) -> tuple[Resource, ...]:
        """Return the resources, in the order of the values in a row."""
        limits, timing = self.settings.limits, self.settings.timing
        return (
            Resource("memory", limits.memory_mb, 8, "{} MB"),
            Resource("processes and threads", limits.processes, 8, "{}"),
            Resource("open files", limits.open_files, 16, "{}"),
            Resource("the reply", LINE_LIMIT / 1000, 2, "{} KB"),
            Resource("the time for a request", timing.limit_ms + timing.bank_ms / _GAME_REQUESTS, 20, "{} ms"),
        )

    def measure(self) -> bool:
        """Add a row if enough requests were answered since the last one; return false."""
        times, box = self.connection.times, self.connection.box
        if len(times) < (self.rows[-1][0] if self.rows else 0) + _STEP:
            return False
        tasks = box.cpu_usage() or {}
        peak = box.peak_bytes()
        self.rows.append(
            (
                len(times),
                (
                    None if peak is None else peak / 2**20,
                    len(tasks) or None,
                    max(map(_open_files, tasks), default=0) or None,
                    len(self.connection.last) / 1000,
                    median(times[-_STEP:]) * 1000,
                ),
            )
        )
        return False

    def growths(self) -> Iterator[Growth]:
        """Yield the resources that have grown steadily since the warm-up."""
        rows = self.rows[int(len(self.rows) * _WARM_UP) :]
        for index, resource in enumerate(self.resources()):
            points = [(count, value) for count, values in rows if (value := values[index]) is not None]
            if len(points) < 3 or not _is_rising([value for _, value in points]):
                continue
            (begin, first), (end, last) = points[0], points[-1]
            by = linear_regression(*zip(*points[-max(2, len(points) // 3) :], strict=True)).slope
            if last - first >= resource.least and 2 * by > (last - first) / (end - begin):
                yield Growth(resource, first, last, by, end + max(0.0, resource.limit - last) / by)

    def limits_ahead(self) -> list[Growth]:
        """Return the growths that come to their limits soon after the check, the first limit first."""
        return sorted((each for each in self.growths() if each.limit_at < _HORIZON), key=lambda each: each.limit_at)


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
