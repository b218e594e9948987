"""What a match gives."""

from dataclasses import dataclass

from arena.referee.exchange import Exchange
from arena.referee.record import Record


@dataclass(frozen=True, slots=True)
class MatchResult:
    """A complete match: its record, and the standard error of each process as (bot, number, bytes).

    `exchanges` has the first faulty exchange of each bot and kind of fault, in the order in which they came. `times`
    has for each bot what its requests took, in microseconds, as the record has them. `peaks` has for each bot the most
    memory, in bytes, that a process of it has had; None where the sandbox doesn't tell.
    """

    record: Record
    logs: tuple[tuple[int, int, bytes], ...]
    exchanges: tuple[Exchange, ...]
    times: tuple[tuple[int, ...], ...]
    peaks: tuple[int | None, ...]
    requests: int
    startup_s: float
