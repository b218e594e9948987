"""One step of an examination: what was looked at, and what came of it."""

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a step ended. `told`: there is something to know, and nothing to mend."""

    OK = "ok"
    FAILED = "failed"
    TOLD = "told"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. Texts may hold what a bot wrote: whoever prints them escapes them first.

    `sent` is the last line that the bot was sent and `got` its faulty line, as they crossed the pipe, None where there
    is none. `stderr` are the last lines that it wrote to standard error. `help` is what to do. `rows` is a table, its
    head first.
    """

    number: int
    name: str
    outcome: Outcome
    detail: str
    sent: bytes | None = None
    got: bytes | None = None
    stderr: tuple[bytes, ...] = ()
    help: str | None = None
    rows: tuple[tuple[str, ...], ...] = ()
