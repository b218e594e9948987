"""Define the steps of a check of a bot, and the report of `arena check`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from arena.checks.fault_signs import FOREIGN
from arena.checks.host_check import Finding
from protocol import escape_bytes

TRACEBACK, _KIT = b"Traceback (most recent call last):", b"coup_kit: "
_FOREIGN = tuple(map(str.encode, FOREIGN))
_FRAME_STARTS = (b"  File ", b"    at ", b"\tat ", b"\t/")  # of Python, JavaScript, Java and Go
SHOWN_LINES = 8  # of standard error with a step
_LINE, _STDERR_LINE = 65_536, 1000  # maximum characters of a line in a view


@dataclass(frozen=True, slots=True)
class CheckStep(Finding):
    """One step of a check and its result; severity NOW means that the step is running.

    sent: the last line that the bot was sent; received: its faulty line; both raw, None without one. stderr: the last
    lines of its standard error; of a build the most informative lines. timings: a table, header row first. log: the
    whole output of a build. partial: whether the log contains more than `stderr`. lines: all that the process was sent.
    by_hand: the shell command that starts the bot without a box. Both are empty if the bot lacks its kit there, or if
    steps contain no paths of this machine.
    """

    number: int = 0
    sent: bytes | None = None
    received: bytes | None = None
    stderr: tuple[bytes, ...] = ()
    timings: tuple[tuple[str, ...], ...] = ()
    log: bytes = b""
    partial: bool = False
    lines: bytes = b""
    by_hand: str = ""

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
    """A step of a check as JSON and pages show it: unprintable characters of its texts are escaped."""

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


class StepFailedError(Exception):
    """A step failed. `code`: of the fault that broke the connection, if any."""

    def __init__(self, step: CheckStep, code: str | None = None) -> None:
        super().__init__(step.message)
        self.step = step
        self.code = code


def printable(text: str) -> str:
    """Return a text with unprintable characters escaped, line by line."""
    return "\n".join(escape_bytes(line.encode(errors="surrogateescape"), _LINE) for line in text.split("\n"))


def excerpt(stderr: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the few lines to show: from the kit's last error message on, else the last lines.

    Frames of the kit and of the language's runtime are left out, so that the author's own are shown. Of a Python
    traceback the end is shown, because it contains the author's own line.
    """
    kit_errors = [index for index, line in enumerate(stderr) if line.startswith(_KIT) and b" failed " in line]
    if not kit_errors:
        return tuple(_omit_foreign_frames(stderr)[-SHOWN_LINES:])
    lines = _omit_foreign_frames(stderr[kit_errors[-1] :])
    return (lines[0], *lines[1:][-SHOWN_LINES + 1 :]) if TRACEBACK in lines else tuple(lines[:SHOWN_LINES])


def _omit_foreign_frames(stderr: Sequence[bytes]) -> list[bytes]:
    """Return the lines without the frames of kits and runtimes, and without the lines of source below these."""
    own_lines: list[bytes] = []
    is_in_foreign_frame = False  # of Python, whose source follows the line that names the file
    for line in stderr:
        if line.startswith(_FRAME_STARTS) and any(name in line for name in _FOREIGN):
            if line.startswith(b"\t/") and own_lines:
                own_lines.pop()  # the function, in the line above its place
            is_in_foreign_frame = line.startswith(b"  File ")
            continue
        is_in_foreign_frame = is_in_foreign_frame and _is_source(line)
        if not is_in_foreign_frame:
            own_lines.append(line)
    return own_lines


def _is_source(line: bytes) -> bool:
    """Return whether a line of a traceback may be source code of Python."""
    return line.startswith(b"    ") and not line.lstrip().startswith(b"at ")
