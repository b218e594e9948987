"""Collect what all processes of a checked bot showed: times, memory, and lines on standard error."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median, quantiles

from arena.checks.bot_connection import BotConnection
from arena.checks.check_step import SHOWN_LINES, TRACEBACK, CheckStep
from arena.checks.host_check import Severity
from arena.checks.request_kinds import all_kinds
from arena.coup import PRESETS
from arena.referee import MatchSettings

_UNCALLED = b"coup_kit: the kit never calls "
_ALL = 100_000  # lines, more than are kept
_REFUSED = (b"Read-only file system", b"EROFS")  # errors of programs after a refused write
_METHODS = frozenset(kind.replace("_", "") for kind in all_kinds(tuple(PRESETS.values())))  # of kits, in lower case
_SEARCHED_LINES, _MAX_REFUSED = 200, 4  # at the end of standard error, to find lines about refused writes
_MIN_WAITS = 8  # of a kind, to judge their spread


@dataclass(slots=True)
class ProcessFindings:
    """What the processes of a bot showed so far.

    times: own time of each reply in s. waits: wall time of replies in s, by the kind of their request. peak_bytes:
    maximum of all processes, 0 if unknown. stderr_bytes: maximum of all processes, for each request. uncalled: messages
    of the kit about methods that it never calls. refused: the last lines about a write that was refused. traceback: the
    last lines of the first process that printed a traceback.
    """

    times: list[float] = field(default_factory=list)
    waits: dict[str, list[float]] = field(default_factory=dict)
    peak_bytes: int = 0
    stderr_bytes: int = 0
    uncalled: dict[bytes, None] = field(default_factory=dict)
    refused: tuple[bytes, ...] = ()
    traceback: tuple[bytes, ...] = ()

    def add(self, connection: BotConnection, kinds: Iterable[str]) -> None:
        """Add what a process showed; `kinds`: of its requests, in order."""
        self.times += connection.times
        for kind, wait in zip(kinds, connection.waits, strict=False):
            self.waits.setdefault(kind, []).append(wait)
        self.peak_bytes = max(self.peak_bytes, connection.box.peak_bytes() or 0)
        self.stderr_bytes = max(self.stderr_bytes, connection.stderr_bytes)
        self.uncalled |= dict.fromkeys(line for line in connection.stderr(_ALL) if line.startswith(_UNCALLED))
        searched_lines = connection.stderr(_SEARCHED_LINES)
        refused = [line for line in searched_lines if any(text in line for text in _REFUSED)]
        self.refused = (*self.refused, *refused)[-_MAX_REFUSED:]
        printed = connection.stderr()
        if TRACEBACK in printed and not self.traceback:
            self.traceback = printed

    def report_uncalled_methods(self) -> CheckStep:
        """Return a warning about the methods that are in `uncalled`.

        A method with a name of the kit has the wrong signature. Any other name is misspelt.
        """
        paths = (line.removeprefix(_UNCALLED).partition(b";")[0].decode(errors="replace") for line in self.uncalled)
        names = (path.rpartition(".")[2] for path in paths)
        hook = next((name for name in names if name.lower() in _METHODS), "")
        text = "a method isn't part of the kit"
        help = "spell method names as the kit does; otherwise the first legal move is played"
        if hook:
            text = f"the kit never calls {hook}, because of its parameters or its result"
            signature = "(game *Game) *Move" if hook[0].isupper() else "(Game game), which returns a Move"
            help = f"give it the kit's signature: {hook}{signature}"
        return CheckStep("methods", Severity.WARN, text, advice=help, stderr=tuple(self.uncalled)[:SHOWN_LINES])

    def report_times(self, hello_s: float, settings: MatchSettings) -> CheckStep:
        """Report response times and memory with their limits; `hello_s`: the time of the first process's hello.

        A warning if a kind of request takes a fixed time above the limit, or one reply of 100 exceeds it.
        """
        times, timing = sorted(self.times), settings.timing
        median_ms, high_ms = median(times) * 1000, times[int(0.99 * (len(times) - 1))] * 1000
        text = f"median {median_ms:.1f} ms, 99 of 100 within {high_ms:.1f} ms of {timing.limit_ms} ms"
        text += f"; hello after {hello_s * 1000:.0f} ms of {timing.start_ms} ms"
        if self.peak_bytes:
            text += f"; memory {math.ceil(self.peak_bytes / 2**20)} MB of {settings.limits.memory_mb} MB"
        if fixed_times := self._describe_fixed_times(max(timing.limit_ms, 2 * median_ms)):
            cause = "if the bot thinks until a fixed time, it counts in full on an idle machine"
            advice = f"{cause}: think for less than {timing.limit_ms} ms (clock.limit_ms)"
            return CheckStep("times", Severity.WARN, f"{fixed_times}; {text}", advice=advice)
        if high_ms <= timing.limit_ms:
            return CheckStep("times", Severity.OK, text)
        requests = timing.bank_ms / (high_ms - timing.limit_ms)
        advice = f"end each search within limit_ms: {requests:.0f} requests like the slowest use up a game's time bank"
        return CheckStep("times", Severity.WARN, text, advice=advice)

    def _describe_fixed_times(self, least_ms: float) -> str:
        """Return the first kind of request whose replies take about the same time, above `least_ms`; "" for none."""
        for kind, waits in self.waits.items():
            if len(waits) < _MIN_WAITS:
                continue
            low_s, middle_s, high_s = quantiles(waits, n=10)[::4]
            if middle_s * 1000 > least_ms and low_s > 0.9 * middle_s and high_s < 1.1 * middle_s:
                return f"the replies of the kind {kind} took {low_s:.2f} to {high_s:.2f} s of wall time"
        return ""
