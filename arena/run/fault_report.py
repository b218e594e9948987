"""Explain a fault sample to the bot's author: request, answer, meaning and advice."""

from collections.abc import Sequence
from dataclasses import dataclass

from arena import referee
from arena.checks import FaultContext, diagnose_fault
from arena.coup import Forfeit, parse_move
from protocol.event_text import describe_move


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One fault. `received` and `stderr` are the bot's raw output: escape them before printing.

    game: None if unknown. used: the move that was played instead, as text; None if none was. log: the name of the log
    that `stderr`, the output during the faulty game, is from; None without a log.
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
    record: str | None,
    logs: Sequence[tuple[str, bytes]],
    sandbox: str,
    argv: tuple[str, ...],
    alone: bool,
) -> FaultReport:
    """Return the report of a stored fault sample. `record`: the text of the match's record, if there is one.

    logs: (name, standard error) of the bot's processes. sandbox, argv, alone: see `FaultContext`. Raises ValueError if
    the record doesn't contain the fault, RecordError if it can't be read.
    """
    game, detail, used = sample.game, None, None
    if record is not None:
        record_read = referee.read_record(record)
        played, fault = _find_fault(record_read, sample)
        game, detail = played.game, fault.detail
        if referee.FAULTS[sample.code].consequence is referee.Consequence.LIFE:
            used = _describe_default(fault.used, [record_read.header.bots[number] for number in played.seating])
    log, stderr = _find_stderr(logs, sample, game)
    what, do = diagnose_fault(
        FaultContext(
            sample.code,
            detail,
            sample.sent,
            sample.got,
            stderr,
            sandbox,
            argv,
            alone,
            referee.Facts(**dict(sample.facts)),
        )
    )
    return FaultReport(sample.match, game, sample.code, what, do, sample.sent, sample.got, used, log, stderr)


def _describe_default(used: str | None, names: Sequence[str]) -> str | None:
    """Describe the move played instead; None for a forfeit. `names`: the players' names by seat."""
    move = parse_move(used) if used else Forfeit()
    return None if isinstance(move, Forfeit) else describe_move(referee.move_payload(move), names)


def _find_fault(record: referee.Record, sample: referee.StoredFaultSample) -> tuple[referee.GameRecord, referee.Fault]:
    """Return the fault of a sample, the first with its bot and code in the match, and its game."""
    bot = record.header.bots.index(sample.bot)
    for game in record.games:
        for fault in game.faults:
            if (fault.bot, fault.code) == (bot, sample.code):
                return game, fault
    raise ValueError(f"match {sample.match} has no fault {sample.code} of this bot")


def _find_stderr(
    logs: Sequence[tuple[str, bytes]], sample: referee.StoredFaultSample, game: int | None
) -> tuple[str | None, bytes]:
    """Return the name of the faulty process's log, and its output in that game."""
    for log, data in logs:
        games = referee.split_by_game(data)
        if sample.code == "start_failed":
            if len(games) == 1:  # no game began
                return log, data
        elif game is not None and game in games:
            return log, games[game]
    return (logs[0][0] if logs else None), b""
