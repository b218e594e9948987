"""Judge a reply: whether its move counts, and what it costs. Pure: no clock, process, randomness or record.

A verdict can require a default move; the match, which knows the game, chooses that move.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from arena.limits import LIMITS, Limits
from arena.referee.budget import PlayerBudget, RequestBudget
from arena.referee.faults import FAULTS, Consequence, Facts
from arena.referee.process.seat import MalformedLine, ProcessExited, Reply, ReplyReceived, TimedOut
from arena.sandbox import Exit
from protocol import ParsedReply, escape_bytes


class SubstitutedMove(Enum):
    """The substitute for a missing legal move."""

    DEFAULT = "default"
    FORFEIT = "forfeit"


class FaultVerdict(NamedTuple):
    """A fault of a reply: its code, a detail, the line that came (None: none), and known facts."""

    code: str
    detail: str | None
    line: bytes | None
    facts: Facts = Facts()


# (index of the legal move, or its substitute; the fault, if any; the budget afterwards)
Verdict = tuple[int | SubstitutedMove, FaultVerdict | None, PlayerBudget]
FindMove = Callable[[dict[str, Any]], int | None]  # a reply's move -> its index in the legal moves, None if not legal


def judge_reply(
    reply: Reply, move_count: int, find_move: FindMove, budget: PlayerBudget, allowed: RequestBudget
) -> Verdict:
    """Return the verdict on a reply to a request with `move_count` legal moves."""
    if not isinstance(reply, ReplyReceived):
        return _judge_missing(reply, budget, allowed)
    message, line, own_s = reply
    if own_s > allowed.free_s:  # else the same budget would be made again, for each request
        budget = budget.charge(own_s, allowed.free_s)
    assert isinstance(message, ParsedReply), "only a hello is answered by a greeting"
    index = message.choice if message.move is None else find_move(message.move)
    if index is not None and 0 <= index < move_count:
        return index, None, budget
    return _apply_consequence(FaultVerdict("illegal_move", _out_of_range_detail(message, move_count), line), budget)


def _judge_missing(
    reply: MalformedLine | TimedOut | ProcessExited, budget: PlayerBudget, allowed: RequestBudget
) -> Verdict:
    """Return the verdict on a request without a well-formed reply in time."""
    if isinstance(reply, MalformedLine):
        fault = FaultVerdict(reply.problem.code, reply.problem.message, reply.line)
        return _apply_consequence(fault, budget.charge(reply.own_s, allowed.free_s))
    if isinstance(reply, TimedOut):
        facts = facts_of(reply)
        fault = FaultVerdict("timeout", describe_time_use(facts), None, facts)
        return _apply_consequence(fault, PlayerBudget(budget.lives, 0.0))
    code, detail = exit_fault(reply.code, reply.ended, allowed.limits)
    return _apply_consequence(FaultVerdict(code, reply.detail or detail, None, facts_of(reply)), budget)


def facts_of(reply: Reply) -> Facts:
    """Return the facts that are known about why a reply is missing."""
    match reply:
        case TimedOut(own_s, cpu_s, stale):
            return Facts(round(own_s * 1000), None if cpu_s is None else round(cpu_s * 1000), stale)
        case ProcessExited(hello=hello) if hello is not None:
            return facts_of(hello)
        case ProcessExited(ended=ended) if ended is not None:
            return Facts(exit_code=ended.code, signal=ended.signal)
    return Facts()


def describe_time_use(facts: Facts) -> str | None:
    """Return where the time went until a timeout, in words; None if no fact about it is known."""
    clauses = []
    if facts.stale is not None:
        clauses.append(f"a line came for request {facts.stale}, which had been answered or had timed out")
    if facts.cpu_ms is not None:
        clauses.append(f"in {facts.own_ms} ms it computed for {facts.cpu_ms} ms")
    return "; ".join(clauses) or None


def _apply_consequence(fault: FaultVerdict, budget: PlayerBudget) -> Verdict:
    """Return the verdict on a fault by its row of FAULTS: a forfeit, or the loss of a life.

    A lost life costs a default move; the last one costs a forfeit.
    """
    if FAULTS[fault.code].consequence is Consequence.FORFEIT:
        return SubstitutedMove.FORFEIT, fault, budget
    lives = budget.lives - 1
    return SubstitutedMove.DEFAULT if lives > 0 else SubstitutedMove.FORFEIT, fault, budget._replace(lives=lives)


def _out_of_range_detail(message: ParsedReply, move_count: int) -> str | None:
    """Return what is wrong with the choice of a reply; None for a reply with a move."""
    if message.move is not None:
        return None
    return f"choice {escape_bytes(str(message.choice).encode(), 20)} is not one of 0 to {move_count - 1}"


def exit_fault(code: str, process_exit: Exit | None, limits: Limits) -> tuple[str, str | None]:
    """Return (code, detail) of the fault of a process that is gone, whose fault was `code` until now.

    process_exit: None if the process isn't known to have ended. If a limit ended it, the limit's code replaces
    "exited". Only "exited", with a known exit, and too much output have a detail; else it is None.
    """
    if code == LIMITS["output_kb"].code:
        return code, LIMITS["output_kb"].exceeded(limits)
    if code != "exited" or process_exit is None:
        return code, None
    if process_exit.limit is None:
        return code, process_exit.describe(limits)
    limit = LIMITS[process_exit.limit]
    return limit.code, f"{limit.exceeded(limits)}; {process_exit.describe(limits)}"
