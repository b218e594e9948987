"""Explain an example of a fault to the bot's author: request, answer, meaning and advice."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.checks import FaultContext, diagnose_fault
from arena.coup import Forfeit, parse_move
from arena.referee import FAULTS, Consequence, Facts, Fault, GameRecord, Record, legal_moves, read_record, split_by_game
from ladder.store import StoredFaultSample
from protocol.event_text import describe_move


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One fault. What a bot sent or wrote is as it came: escape it before printing.

    game: None where it isn't known any more. used: the move that was played instead, in words, None if none was.
    log: what the caller named the standard error that `stderr` is from: the process's own part, None without one.
    """

    match: int
    game: int | None
    code: str
    message: str
    advice: str
    sent: bytes
    received: bytes | None
    used: str | None
    log: str | None
    stderr: bytes


def make_fault_report(
    kept: StoredFaultSample,
    record: str | None,
    logs: Sequence[tuple[str, bytes]],
    sandbox: str,
    argv: tuple[str, ...],
    alone: bool,
) -> FaultReport:
    """Return the report of a stored fault sample, from the match's record, if any, and its (name, standard error).

    sandbox, argv, alone: as `FaultContext` has them. Raises ValueError where the record doesn't have the fault.
    """
    game, detail, used = kept.game, None, None
    if record is not None:
        found = read_record(record)
        played, fault = _fault(found, kept)
        game, detail = played.game, fault.detail
        if FAULTS[kept.code].consequence is Consequence.LIFE:
            used = _describe_default(fault.used, [found.header.bots[number] for number in played.seating])
    log, stderr = _stderr(logs, kept, game)
    what, do = diagnose_fault(
        FaultContext(kept.code, detail, kept.sent, kept.got, stderr, sandbox, argv, alone, Facts(**dict(kept.facts)))
    )
    return FaultReport(kept.match, game, kept.code, what, do, kept.sent, kept.got, used, log, stderr)


def _describe_default(used: str | None, names: Sequence[str]) -> str | None:
    """Return a move in words; `names` are the players' by seat."""
    move = parse_move(used) if used else Forfeit()
    return None if isinstance(move, Forfeit) else describe_move(legal_moves.move_payload(move), names)


def _fault(found: Record, kept: StoredFaultSample) -> tuple[GameRecord, Fault]:
    """Return the fault that an exchange belongs to, the first of its kind of its bot in the match, and its game."""
    bot = found.header.bots.index(kept.bot)
    for game in found.games:
        for fault in game.faults:
            if (fault.bot, fault.code) == (bot, kept.code):
                return game, fault
    raise ValueError(f"match {kept.match} has no fault {kept.code} of it")


def _stderr(logs: Sequence[tuple[str, bytes]], kept: StoredFaultSample, game: int | None) -> tuple[str | None, bytes]:
    """Return the log of the process that committed a fault, and what it wrote in that game."""
    for log, data in logs:
        games = split_by_game(data)
        if kept.code == "start_failed":
            if len(games) == 1:  # none began
                return log, data
        elif game is not None and game in games:
            return log, games[game]
    return (logs[0][0] if logs else None), b""
