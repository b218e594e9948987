"""What one line costs its bot: wall time and CPU time, and when the process is frozen.

Nothing samples CPU time. What a line cost is the difference of two readings. A process can't use what is left of its
CPU time in less than that over `cores` of wall time, so `look_at` is when a reading is next worth its cost.
"""

import math

from arena.sandbox import Box, SandboxError

_LEAST_STEP_S = 0.001  # between two readings of CPU time; the poll knows no less


class Meter:
    """The meter of one bot process.

    `asked_at`, `deadline`, `look_at` and `spent_at` are readings of the table's clock, in s; `cpu_used` is in ns and
    stays 0 unless CPU time is charged. `spent`: the CPU time ran out, at `spent_at`. `settled`: no line is being
    charged.
    """

    __slots__ = (
        "_box",
        "_charges_cpu",
        "_cores",
        "_freezes",
        "_frozen",
        "_mark",
        "asked_at",
        "cpu_limit",
        "cpu_used",
        "deadline",
        "look_at",
        "settled",
        "spent",
        "spent_at",
    )

    def __init__(self, box: Box, charges_cpu: bool, freezes: bool, cores: float) -> None:
        self._box = box
        self._charges_cpu = charges_cpu
        self._freezes = freezes
        self._cores = cores
        self.cpu_limit = math.inf
        self._frozen = False
        self._mark = 0  # the last reading; the first line pays for the start of the process
        self.asked_at = self.deadline = self.look_at = self.spent_at = 0.0
        self.cpu_used = 0
        self.settled = True
        self.spent = False

    def start(self, now: float, wall_s: float, cpu_s: float) -> None:
        """Begin to charge a line that may cost so much."""
        self.settled = self.spent = False
        self.cpu_used = 0
        self.asked_at = now
        self.deadline = now + wall_s
        self.cpu_limit = cpu_s * 1e9
        self.look_at = min(self.deadline, now + cpu_s / self._cores)

    def settle(self) -> None:
        """End the line: read its CPU time, or else stop the process, so that it uses no more."""
        self.settled = True
        if self._charges_cpu:
            reading = self._read()
            self.cpu_used = reading - self._mark
            self._mark = reading
        elif self._freezes:
            self.freeze()

    def has_time(self, now: float) -> bool:
        """Tell whether the line may cost more, and if so set when to look again."""
        if self.deadline <= now:
            return False
        if self.look_at <= now:  # its CPU time may have run out
            self.cpu_used = self._read() - self._mark
            left = (self.cpu_limit - self.cpu_used) / 1e9
            if left < 0:
                self.spent = True
                self.spent_at = now
                return False
            self.look_at = min(self.deadline, now + max(_LEAST_STEP_S, left / self._cores))
        return True

    def forget(self) -> None:
        """Charge nothing of what was used until now."""
        self._mark = self._read()

    def thaw(self) -> None:
        """Let the process run; nothing if it does."""
        if self._frozen:
            self._frozen = False
            self._box.thaw()

    def freeze(self) -> None:
        """Stop the process; nothing if it is stopped, or may ponder."""
        if self._freezes and not self._frozen:
            self._frozen = True
            self._box.freeze()

    def _read(self) -> int:
        reading = self._box.cpu_ns()
        if reading is None:
            raise SandboxError("the sandbox doesn't account CPU time, which this match's clock needs")
        return reading
