"""Collect what all processes of a checked bot showed: times, memory, and lines on standard error."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median as median_of
from statistics import quantiles

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
        refused = [line for line in connection.stderr(200) if any(words in line for words in _REFUSED)]
        self.refused = (*self.refused, *refused)[-4:]
        printed = connection.stderr()
        if TRACEBACK in printed and not self.traceback:
            self.traceback = printed

    def report_uncalled_methods(self) -> CheckStep:
        """Report methods with misspelt names, which the bot's kit lists on standard error."""
        names = [line.removeprefix(_UNCALLED).partition(b";")[0].rpartition(b".")[2].decode() for line in self.uncalled]
        hooks = [name for name in names if name.lower() in _METHODS]
        what = "a method isn't part of the kit"
        help = "spell method names as the kit does; otherwise the first legal move is played"
        if hooks:
            what = f"the kit never calls {hooks[0]}, because of its parameters or its result"
            form = "(game *Game) *Move" if hooks[0][0].isupper() else "(Game game), which returns a Move"
            help = f"give it the kit's signature: {hooks[0]}{form}"
        return CheckStep("methods", Severity.WARN, what, advice=help, stderr=tuple(self.uncalled)[:SHOWN_LINES])

    def report_times(self, hello_s: float, settings: MatchSettings) -> CheckStep:
        """Report response times and memory with their limits; `hello_s`: the time of the first process's hello."""
        times, timing = sorted(self.times), settings.timing
        median, high = median_of(times) * 1000, times[int(0.99 * (len(times) - 1))] * 1000
        text = f"median {median:.1f} ms, 99 of 100 within {high:.1f} ms of {timing.limit_ms} ms"
        text += f"; hello after {hello_s * 1000:.0f} ms of {timing.start_ms} ms"
        if self.peak_bytes:
            text += f"; memory {math.ceil(self.peak_bytes / 2**20)} MB of {settings.limits.memory_mb} MB"
        for kind, waits in self.waits.items():
            low, usual, late = quantiles(waits, n=10)[::4] if len(waits) >= _MIN_WAITS else (0, 0, 0)
            if usual * 1000 > max(timing.limit_ms, 2 * median) and low > 0.9 * usual and late < 1.1 * usual:
                text = f"the replies of the kind {kind} took {low:.2f} to {late:.2f} s of wall time; {text}"
                help = (
                    "if the bot thinks until a fixed time, it counts in full on an idle machine: think for less than "
                )
                return CheckStep("times", Severity.WARN, text, advice=f"{help}{timing.limit_ms} ms (clock.limit_ms)")
        if high <= timing.limit_ms:
            return CheckStep("times", Severity.OK, text)
        requests_left = timing.bank_ms / (high - timing.limit_ms)
        help = (
            f"end each search within limit_ms: {requests_left:.0f} requests like the slowest use up a game's time bank"
        )
        return CheckStep("times", Severity.WARN, text, advice=help)
