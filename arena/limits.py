"""Define the limits of a program from its start to its end: one `LimitRule` for each field of `Limits`.

Flags, TOML files, the hello line, faults and the doctor read the rules from `LIMITS`. This module must not know how a
sandbox enforces a limit.
"""

import signal
from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class LimitRule:
    """One limit: its range, names and messages. In `message` and `counted`, {} stands for the value with its unit.

    field: the name in `Limits`, in TOML files and, with - for _, of the flag. default, minimum, maximum: in `unit`;
    below the minimum no program starts, above the maximum is a typing error, or more than a kernel accepts.
    description: the flag's help.
    wire, wire_unit: the name in hello.limits, and the number of its units in one of `unit`.
    code: the fault of a program that the limit has ended; "" if the limit only makes calls fail.
    message, help: one line each on that fault. signal: the signal by which the kernel enforces only this limit.
    counted: the message of events that the kernel counts whenever the limit takes effect, even if the program survives;
    "" if it counts none.
    """

    default: float
    minimum: float
    maximum: float
    unit: str
    description: str
    code: str = ""
    message: str = ""
    help: str = ""
    signal: int | None = None
    counted: str = ""
    field: str = ""
    wire: str = ""
    wire_unit: int = 1

    @property
    def flag(self) -> str:
        """The option that sets the limit: --memory-mb."""
        return "--" + self.field.replace("_", "-")

    def exceeded(self, limits: "Limits") -> str:
        """Return the message with the limit's value: "out of memory: 256 MB"."""
        return self.message.format(self._amount(f"{self.value(limits):g}"))

    @property
    def message_of_any(self) -> str:
        """The message for any value: "out of memory: N MB"."""
        return self.message.format(self._amount("N"))

    def count_message(self, limits: "Limits", count: int) -> str:
        """Return the message of counted events: "forks refused at its limit of 64: 3"."""
        return f"{self.counted.format(self._amount(f'{self.value(limits):g}'))}: {count}"

    def value(self, limits: "Limits") -> float:
        """Return the limit's value in its unit."""
        value: float = getattr(limits, self.field)
        return value

    @property
    def allowed(self) -> str:
        """The accepted values: "a whole number from 16 to 1,048,576"."""
        number = "a whole number" if isinstance(self.default, int) else "a number"
        return f"{number} from {self.minimum:g} to {self.maximum:,.12g}"

    def accepted(self, value: object) -> float | None:
        """Return a value converted to the limit's type, None if it isn't accepted."""
        value_type = type(self.default)
        if isinstance(value, bool) or not isinstance(value, int | value_type):
            return None
        return value_type(value) if self.minimum <= value <= self.maximum else None  # NaN is in no range

    def _amount(self, number: str) -> str:
        return f"{number} {self.unit}".rstrip()


def _limit(default: Any, minimum: float, maximum: float, unit: str, description: str, **effects: Any) -> Any:
    """Return a field of `Limits` with its rule; effects: the other fields of `LimitRule`."""
    return field(default=default, metadata={"rule": LimitRule(default, minimum, maximum, unit, description, **effects)})


_MAX_MB = 1_048_576


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a program and all its descendants, from its start to its end; core dumps are always off.

    Lower limits of the arena's own process also apply to the program.
    """

    memory_mb: int = _limit(
        256,  # node and a JVM play in 100
        16,  # Python alone needs 10
        _MAX_MB,
        "MB",
        "Memory of a bot, including files in /tmp.",
        code="out_of_memory",
        message="out of memory: {}",
        help="use less memory; files in /tmp count, too",
        counted="processes killed at its limit of {} of memory",
    )
    processes: int = _limit(
        64,  # threads count; a JVM has 30
        1,
        32_768,  # Linux' default maximum of process ids
        "",
        "Processes and threads of a bot.",
        code="too_many_processes",
        message="too many processes and threads: {}",
        help="start fewer, and wait for those that have ended",
        counted="forks refused at its limit of {}",
    )
    cpu_s: int = _limit(
        1200,  # never reached within the clocks: 24 games with 60 requests of 500 ms and the whole bank
        1,
        1_000_000,
        "s",
        "CPU seconds of a bot per match.",
        code="cpu_used_up",
        message="CPU time used up: {}",
        help="compute less: CPU time counts for the whole match",
        signal=signal.SIGXCPU,
    )
    cores: float = _limit(
        1.0,  # so that threads give no advantage
        0.05,  # 5 ms of every 100: less stops a program for longer than a request's free time
        1_024,
        "",
        "Cores of a bot.",
    )
    file_size_mb: int = _limit(
        64,  # stops a runaway log before the disk is full; no sample bot writes files
        1,
        _MAX_MB,
        "MB",
        "Maximum size of each file that a bot writes.",
        code="file_too_large",
        message="a file grew over {}",
        help="write smaller files",
        signal=signal.SIGXFSZ,
    )
    tmp_mb: int = _limit(
        16,  # also isolate's default
        1,
        _MAX_MB,
        "MB",
        "Size of a bot's /tmp.",
    )
    open_files: int = _limit(
        256,  # a JVM or node opens below 100; isolate allows 64, macOS gives a user 256
        16,  # an interpreter needs some to start
        _MAX_MB,
        "",
        "Open files of a bot.",
    )
    output_kb: int = _limit(
        1024,  # between two requests; a reply has under 200 bytes
        64,  # one line may have 64
        _MAX_MB,
        "KB",
        "Output of a bot between two requests.",
        code="flood",
        message="over {} were sent between two requests",
        help="send one line for each request",
        wire="flood_bytes",
        wire_unit=1024,
    )

    def on_wire(self) -> dict[str, float]:
        """Return the values by their names and in their units in hello.limits."""
        return {rule.wire: rule.value(self) * rule.wire_unit for rule in LIMITS.values()}


_RULES: dict[str, LimitRule] = {limit.name: limit.metadata["rule"] for limit in fields(Limits)}
LIMITS = {name: replace(rule, field=name, wire=rule.wire or name) for name, rule in _RULES.items()}
