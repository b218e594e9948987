"""One step of a bot's examination: a finding, with what crossed the pipe."""

from dataclasses import dataclass

from arena.examine.finding import Finding
from protocol import show

_LINE, _STDERR_LINE = 65_536, 1000  # characters of a line that a view has


@dataclass(frozen=True, slots=True)
class Step(Finding):
    """One step, which FAIL or OK ends, or NOTE: there is something to know, and nothing to mend; NOW hasn't ended.

    `sent` is the last line that the bot was sent and `got` its faulty line, as they crossed the pipe, None where there
    is none. `stderr` are the last lines that it wrote to standard error; of a build those that tell most. `rows` is a
    table, its head first. `log` is all that a build printed; `partial` tells that there is more in it than in `stderr`.
    """

    number: int = 0
    sent: bytes | None = None
    got: bytes | None = None
    stderr: tuple[bytes, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    log: bytes = b""
    partial: bool = False

    def view(self) -> "StepView":
        """Return what programs and pages are told of it."""
        return StepView(
            what=_printable(self.what),
            level=self.level,
            text=_printable(self.text),
            mend=_printable(self.mend),
            do=_printable(self.do),
            number=self.number,
            sent=None if self.sent is None else show(self.sent, _LINE),
            got=None if self.got is None else show(self.got, _LINE),
            stderr=tuple(show(line, _STDERR_LINE) for line in self.stderr),
            rows=self.rows,
        )


@dataclass(frozen=True, slots=True)
class StepView(Finding):
    """A step as it is told: what can't be printed stands as an escape."""

    number: int = 0
    sent: str | None = None
    got: str | None = None
    stderr: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Examined:
    """What an examination of a bot came to. ok: no step failed."""

    bot: str
    ok: bool
    steps: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class Examinations:
    """What `arena check` answers to programs; `check` is the version of this form."""

    check: int
    bots: tuple[Examined, ...]


def _printable(text: str) -> str:
    return "\n".join(show(line.encode(errors="surrogateescape"), _LINE) for line in text.split("\n"))
