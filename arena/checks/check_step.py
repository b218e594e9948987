"""Define the steps of a check of a bot, and the report of `arena check`."""

from dataclasses import dataclass
from typing import Literal

from arena.checks.host import Finding
from protocol import escape_bytes

_LINE, _STDERR_LINE = 65_536, 1000  # maximum characters of a line in a view


@dataclass(frozen=True, slots=True)
class CheckStep(Finding):
    """One step of a check and its result; severity NOW means that the step is running.

    sent: the last line that the bot was sent; received: its faulty line; both raw, None without one. stderr: the last
    lines of its standard error; of a build the most informative lines. timings: a table, header row first. log: the
    whole output of a build. partial: whether the log contains more than `stderr`.
    """

    number: int = 0
    sent: bytes | None = None
    received: bytes | None = None
    stderr: tuple[bytes, ...] = ()
    timings: tuple[tuple[str, ...], ...] = ()
    log: bytes = b""
    partial: bool = False

    def view(self) -> "CheckStepView":
        """Return the step with escaped texts, for JSON and pages."""
        return CheckStepView(
            check=printable(self.check),
            severity=self.severity,
            message=printable(self.message),
            fix_command=printable(self.fix_command),
            advice=printable(self.advice),
            number=self.number,
            sent=None if self.sent is None else escape_bytes(self.sent, _LINE),
            received=None if self.received is None else escape_bytes(self.received, _LINE),
            stderr=tuple(escape_bytes(line, _STDERR_LINE) for line in self.stderr),
            timings=self.timings,
        )


@dataclass(frozen=True, slots=True)
class CheckStepView(Finding):
    """A step whose texts have all unprintable characters escaped."""

    number: int = 0
    sent: str | None = None
    received: str | None = None
    stderr: tuple[str, ...] = ()
    timings: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check of a bot. passed: no step failed."""

    bot: str
    passed: bool
    steps: tuple[CheckStepView, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of `arena check --json`."""

    version: Literal[1]
    bots: tuple[CheckResult, ...]


def printable(text: str) -> str:
    return "\n".join(escape_bytes(line.encode(errors="surrogateescape"), _LINE) for line in text.split("\n"))
