"""Judge a reply: whether it counts, and what it costs. Pure: no clock, no process, no chance, no record.

The judge says that a default move is played; the match, which knows the game, chooses that move.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from arena.referee.faults import Facts, exit_fault
from arena.referee.seat import MalformedLine, ProcessExited, Reply, ReplyReceived, TimedOut
from arena.referee.settings import Timing
from arena.sandbox import Limits
from protocol import ParsedReply, escape_bytes


class SubstitutedMove(Enum):
    """What is played where no legal move came."""

    DEFAULT = "default"
    FORFEIT = "forfeit"


class PlayerBudget(NamedTuple):
    """What a bot has left in a game: lives, and its bank of own time, in s."""

    lives: int
    bank_s: float


class RequestBudget(NamedTuple):
    """What a bot may use: free time of each request, in s (infinite: no clock), and the limits of its process."""

    free_s: float
    limits: Limits


class FaultVerdict(NamedTuple):
    """A fault of a reply: its code, what more is known, in words and as facts, and the line that came (None: none)."""

    code: str
    detail: str | None
    line: bytes | None
    facts: Facts = Facts()


# What counts: an index into the legal moves or what is played instead, the fault, and the account afterwards.
Verdict = tuple[int | SubstitutedMove, FaultVerdict | None, PlayerBudget]
Find = Callable[[dict[str, Any]], int | None]  # a reply's move -> its index in the legal moves, None if it is no move


def make_request_budget(timing: Timing, limits: Limits) -> RequestBudget:
    """Return what a bot may use by these times and limits."""
    return RequestBudget(timing.limit_ms / 1000 if timing.timed else math.inf, limits)


def new_player_budget(lives: int, timing: Timing, drained: bool = False) -> PlayerBudget:
    """Return what a bot has at the start of a game; a bank that a timeout has emptied stays empty."""
    return PlayerBudget(lives, 0.0 if drained else timing.bank_ms / 1000)


def judge_reply(reply: Reply, legal: int, find: Find, account: PlayerBudget, allowed: RequestBudget) -> Verdict:
    """Return the verdict on a reply to a request with `legal` moves, among which `find` looks a move up."""
    if isinstance(reply, ReplyReceived):
        message, line, own_s = reply
        if own_s > allowed.free_s:
            account = _paid(account, own_s, allowed)
        if not isinstance(message, ParsedReply):
            return _charged(FaultVerdict("illegal_move", None, line), account)
        index = message.choice if message.move is None else find(message.move)
        if index is not None and 0 <= index < legal:
            return index, None, account
        return _charged(FaultVerdict("illegal_move", _out_of_range(message, legal), line), account)
    if isinstance(reply, MalformedLine):
        account = _paid(account, reply.own_s, allowed)
        return _charged(FaultVerdict(reply.problem.code, reply.problem.message, reply.line), account)
    if isinstance(reply, TimedOut):
        facts = facts_of(reply)
        return _charged(
            FaultVerdict("timeout", describe_time_use(facts), None, facts), PlayerBudget(account.lives, 0.0)
        )
    code, detail = exit_fault(reply.code, reply.ended, allowed.limits)
    return SubstitutedMove.FORFEIT, FaultVerdict(code, reply.detail or detail, None, facts_of(reply)), account


def facts_of(reply: Reply) -> Facts:
    """Return the facts that a missing or unreadable reply gives about its cause."""
    match reply:
        case TimedOut(own_s, cpu_s, stale):
            return Facts(round(own_s * 1000), None if cpu_s is None else round(cpu_s * 1000), stale)
        case ProcessExited(hello=hello) if hello is not None:
            return facts_of(hello)
        case ProcessExited(ended=ended) if ended is not None:
            return Facts(exit_code=ended.code, signal=ended.signal)
    return Facts()


def describe_time_use(facts: Facts) -> str | None:
    """Return what the bot did with its time, as far as it is known."""
    known = []
    if facts.stale is not None:
        known.append(f"a line came for request {facts.stale}, which had been answered or had timed out")
    if facts.cpu_ms is not None:
        known.append(f"in {facts.own_ms} ms it computed for {facts.cpu_ms} ms")
    return "; ".join(known) or None


def _paid(account: PlayerBudget, own_s: float, allowed: RequestBudget) -> PlayerBudget:
    """Take what an answer used beyond the free time out of the bank."""
    over_s = max(0.0, own_s - allowed.free_s)
    return account._replace(bank_s=max(0.0, account.bank_s - over_s))


def _charged(wrong: FaultVerdict, account: PlayerBudget) -> Verdict:
    """Take a life: with the last one the bot forfeits."""
    lives = account.lives - 1
    return SubstitutedMove.DEFAULT if lives > 0 else SubstitutedMove.FORFEIT, wrong, account._replace(lives=lives)


def _out_of_range(message: ParsedReply, legal: int) -> str | None:
    if message.move is not None:
        return None
    return f"choice {escape_bytes(str(message.choice).encode(), 20)} is not one of 0 to {legal - 1}"
