"""An example of a fault for whoever wrote the bot: what was asked and answered, what it means, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.advice import Evidence, advice
from arena.referee import FAULTS, Consequence, Fault, by_game, read
from ladder.store import KeptExchange

__all__ = ["Example", "example"]


@dataclass(frozen=True, slots=True)
class Example:
    """One fault. What a bot sent or wrote is as it came: whoever prints it escapes it first.

    game: None where it isn't known any more. used: the move that was played instead, in notation, None if none was.
    log: what the caller named the standard error that `stderr` is from: the process's own part, None if there is none.
    """

    match: int
    game: int | None
    code: str
    what: str
    do: str
    sent: bytes
    got: bytes | None
    used: str | None
    log: str | None
    stderr: bytes


def example(
    kept: KeptExchange,
    record: str | None,
    logs: Sequence[tuple[str, bytes]],
    sandbox: str,
    argv: tuple[str, ...],
    alone: bool,
) -> Example:
    """Return what a kept exchange tells, by the match's record, if there is one, and its (name, standard error).

    sandbox, argv, alone: as `Evidence` has them. Raises ValueError where the record doesn't have the fault.
    """
    game, fault = (kept.game, None) if record is None else _fault(record, kept)
    log, stderr = _stderr(logs, kept, game)
    detail = None if fault is None else fault.detail
    what, do = advice(Evidence(kept.code, detail, kept.sent, kept.got, stderr, sandbox, argv, alone))
    used = fault.used if fault is not None and FAULTS[kept.code].consequence is Consequence.LIFE else None
    return Example(kept.match, game, kept.code, what, do, kept.sent, kept.got, used or None, log, stderr)


def _fault(record: str, kept: KeptExchange) -> tuple[int, Fault]:
    """Return the game and the fault that an exchange belongs to: the first of its kind of its bot in the match."""
    found = read(record)
    bot = found.header.bots.index(kept.bot)
    for game in found.games:
        for fault in game.faults:
            if (fault.bot, fault.code) == (bot, kept.code):
                return game.game, fault
    raise ValueError(f"match {kept.match} has no fault {kept.code} of it")


def _stderr(logs: Sequence[tuple[str, bytes]], kept: KeptExchange, game: int | None) -> tuple[str | None, bytes]:
    """Return the log of the process that committed a fault, and what it wrote in that game."""
    for log, data in logs:
        games = by_game(data)
        if kept.code == "start_failed":
            if len(games) == 1:  # none began
                return log, data
        elif game is not None and game in games:
            return log, games[game]
    return (logs[0][0] if logs else None), b""
