"""One step of a bot's examination: a finding, with what crossed the pipe."""

import json
from dataclasses import asdict, dataclass

from arena.examine.finding import Finding, Level
from protocol import show

_OLDER = {"name": "what", "outcome": "level", "detail": "text", "help": "do"}  # what the oldest ladders call a field
_LINE, _STDERR_LINE = 65_536, 1000  # characters of a line that a view has
_OLDER_LEVELS = {"failed": "fail", "told": "note"}


@dataclass(frozen=True, slots=True)
class Step(Finding):
    """One step, which FAIL or OK ends, or NOTE: there is something to know, and nothing to mend.

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

    def to_text(self) -> str:
        """Return the step as JSON in ASCII; bytes that aren't UTF-8 are half surrogates in it."""
        fields = asdict(self)
        fields |= {name: None if fields[name] is None else _text(fields[name]) for name in ("sent", "got")}
        fields |= {"stderr": [_text(line) for line in self.stderr], "log": _text(self.log)}
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> "Step":
        """Return the step that `to_text` wrote. Raises ValueError for any other text."""
        try:
            fields = {_OLDER.get(name, name): value for name, value in json.loads(text).items()}
            fields |= {name: None if fields[name] is None else _bytes(fields[name]) for name in ("sent", "got")}
            fields["level"] = Level(_OLDER_LEVELS.get(fields["level"], fields["level"]))
            fields["do"] = fields["do"] or ""
            fields["stderr"] = tuple(_bytes(line) for line in fields["stderr"])
            fields["log"] = _bytes(fields.get("log", ""))  # older ladders have none
            fields["rows"] = tuple(tuple(row) for row in fields["rows"])
            return cls(**fields)
        except (AttributeError, KeyError, TypeError, RecursionError) as problem:
            raise ValueError(f"no step: {problem!r}") from None


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


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
