"""Explain a fault sample to the bot's author: request, answer, meaning and advice."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena import referee
from arena.checks.fault_context import FaultContext
from arena.checks.mistakes import diagnose_fault
from arena.coup import Forfeit, parse_move
from protocol.event_text import describe_move


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One fault. `received` and `stderr` are the bot's raw output: escape them before printing.

    game: None if unknown. used: the move that was played instead, as text; None if none was. log: the name of the log
    of the faulty game, else of the first log; None without a log. stderr: the output during the faulty game, empty if
    no log has it.
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
    sample: referee.StoredFaultSample,
    record: referee.Record | None,
    logs: Sequence[tuple[str, bytes]],
    sandbox: str,
    argv: tuple[str, ...],
    alone: bool,
) -> FaultReport:
    """Return the report of a stored fault sample; without the match's record it has no `used`.

    logs: (name, standard error) of the bot's processes. sandbox, argv, alone: see `FaultContext`. Raises ValueError if
    the record doesn't contain the fault.
    """
    game, detail, substitute = sample.game, None, None
    if record is not None:
        faulty_game, fault = _get_fault(record, sample)
        game, detail = faulty_game.game, fault.detail
        if referee.FAULTS[sample.code].consequence is referee.Consequence.LIFE:
            names = [record.header.bots[bot] for bot in faulty_game.seating]
            substitute = _describe_substitute(fault.used, names)
    log, stderr = _find_stderr(logs, sample, game)
    facts = referee.Facts(**dict(sample.facts))
    context = FaultContext(sample.code, detail, sample.sent, sample.got, stderr, sandbox, argv, alone, facts)
    message, advice = diagnose_fault(context)
    return FaultReport(
        sample.match, game, sample.code, message, advice, sample.sent, sample.got, substitute, log, stderr
    )


def _describe_substitute(notation: str | None, names: Sequence[str]) -> str | None:
    """Describe the move played instead, in the notation of records; None for a forfeit. names: of players by seat."""
    move = parse_move(notation) if notation else Forfeit()
    return None if isinstance(move, Forfeit) else describe_move(referee.move_payload(move), names)


def _get_fault(record: referee.Record, sample: referee.StoredFaultSample) -> tuple[referee.GameRecord, referee.Fault]:
    """Return the game and the fault of a sample, the first with its bot and code in the match.

    Raises ValueError if the record has no such fault, or no such bot.
    """
    bot = record.header.bots.index(sample.bot)
    for game in record.games:
        for fault in game.faults:
            if (fault.bot, fault.code) == (bot, sample.code):
                return game, fault
    raise ValueError(f"match {sample.match} has no fault {sample.code} of this bot")


def _find_stderr(
    logs: Sequence[tuple[str, bytes]], sample: referee.StoredFaultSample, game: int | None
) -> tuple[str | None, bytes]:
    """Return the name of the log with the output of a fault's game, and that output.

    If no log has it, return the first log's name and b"", without logs None and b"". A process that failed to start has
    no game in its log. logs: (name, standard error) of each process. game: None if it isn't known.
    """
    for log, data in logs:
        output_by_game = referee.split_by_game(data)
        if sample.code == "start_failed":
            if len(output_by_game) == 1:
                return log, data
        elif game is not None and game in output_by_game:
            return log, output_by_game[game]
    return (logs[0][0] if logs else None), b""
