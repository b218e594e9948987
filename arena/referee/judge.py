"""The judge: what a reply counts for and what it costs. Pure: no clock, no process, no chance, no record.

The judge says that a default move is played; the match, which knows the game, chooses that move.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

from arena.referee.faults import ending
from arena.referee.replies import Answered, Reply, TimedOut, Unreadable
from arena.referee.terms import WALL_FACTOR, Terms
from arena.sandbox import Limits
from protocol import Answer, show

_CPU_OUT = "the CPU time ran out"
_WALL_OUT = f"the wall time, {WALL_FACTOR} times the CPU time, ran out"


class Instead(Enum):
    """What is played where no legal move came."""

    DEFAULT = "default"
    FORFEIT = "forfeit"


class Account(NamedTuple):
    """What a bot has left in a game: lives, and its banks of wall time and CPU time, in s."""

    lives: int
    wall_bank: float
    cpu_bank: float


class Allowance(NamedTuple):
    """What a bot may use, by the match's terms: free time of each request, in s, and the limits of its process."""

    wall_limit: float
    cpu_limit: float
    by_cpu: bool
    limits: Limits


class Wrong(NamedTuple):
    """A fault of a reply: its code, what more is known, and the line that came (None: none did)."""

    code: str
    detail: str | None
    line: bytes | None


class Verdict(NamedTuple):
    """What counts: an index into the legal moves or what is played instead, the fault, and the account afterwards."""

    choice: int | Instead
    wrong: Wrong | None
    account: Account


Find = Callable[[dict[str, Any]], int | None]  # a reply's move -> its index in the legal moves, None if it is no move


def allowance(terms: Terms) -> Allowance:
    """Return what a bot may use by these terms."""
    free = terms.timing.limit_ms / 1000
    cpu = free if terms.timing.cpu else math.inf
    return Allowance(free * terms.timing.factor, cpu, terms.timing.cpu, terms.limits)


def new_account(terms: Terms) -> Account:
    """Return what a bot has at the start of a game."""
    bank = terms.timing.bank_ms / 1000
    return Account(terms.lives, bank * terms.timing.factor, bank if terms.timing.cpu else math.inf)


def verdict(reply: Reply, legal: int, find: Find, account: Account, allowed: Allowance) -> Verdict:
    """Return the verdict on a reply to a request with so many legal moves, among which `find` looks a move up."""
    if isinstance(reply, Answered):
        message, line, wall_s, cpu_ns = reply
        if wall_s > allowed.wall_limit or cpu_ns > allowed.cpu_limit * 1e9:
            account = _paid(account, wall_s, cpu_ns / 1e9, allowed)
        if not isinstance(message, Answer):
            return _charged(Wrong("illegal_move", None, line), account)
        index = message.choice if message.move is None else find(message.move)
        if index is not None and 0 <= index < legal:
            return Verdict(index, None, account)
        return _charged(Wrong("illegal_move", _out_of_range(message, legal), line), account)
    if isinstance(reply, Unreadable):
        account = _paid(account, reply.wall_s, reply.cpu_ns / 1e9, allowed)
        return _charged(Wrong(reply.problem.code, reply.problem.message, reply.line), account)
    if isinstance(reply, TimedOut):
        detail = (_CPU_OUT if reply.by_cpu else _WALL_OUT) if allowed.by_cpu else None
        empty = Account(account.lives, 0.0, 0.0 if allowed.by_cpu else math.inf)
        return _charged(Wrong("timeout", detail, None), empty)
    code, detail = ending(reply.code, reply.ended, allowed.limits)
    return Verdict(Instead.FORFEIT, Wrong(code, reply.detail or detail, None), account)


def _paid(account: Account, wall_s: float, cpu_s: float, allowed: Allowance) -> Account:
    """Take what an answer used beyond the free time out of the banks."""
    wall_limit, cpu_limit, _, _ = allowed
    lives, wall_bank, cpu_bank = account
    if wall_s > wall_limit:
        wall_bank = max(0.0, wall_bank - (wall_s - wall_limit))
    if cpu_s > cpu_limit:
        cpu_bank = max(0.0, cpu_bank - (cpu_s - cpu_limit))
    return Account(lives, wall_bank, cpu_bank)


def _charged(wrong: Wrong, account: Account) -> Verdict:
    """Take a life: with the last one the bot forfeits."""
    lives = account.lives - 1
    return Verdict(Instead.DEFAULT if lives > 0 else Instead.FORFEIT, wrong, account._replace(lives=lives))


def _out_of_range(message: Answer, legal: int) -> str | None:
    if message.move is not None:
        return None
    return f"choice {show(str(message.choice).encode(), 20)} is not one of 0 to {legal - 1}"
