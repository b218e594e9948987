"""Define the faults and their consequences: one table, which logs, error lines, the web and the docs read.

The rows of limits (such as out_of_memory) are made from `arena.limits.LIMITS`; in their messages N stands for the
value, which a fault's detail contains. A bot causes a `Fault`; the arena or its host causes an `ArenaError`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from arena.limits import LIMITS

FREE_STRAYS = 20  # unsolicited lines between two requests that have no consequence


class ArenaError(Exception):
    """The arena or its host failed, and no bot can have caused it: the attempt at the match failed."""


class Consequence(StrEnum):
    """The consequence of a fault."""

    FREE = "free"  # the line is dropped
    LIFE = "life"  # a default move is played, and the bot loses one of its lives in the game
    FORFEIT = "forfeit"  # the bot is out of this game


@dataclass(frozen=True, slots=True)
class FaultRule:
    """A kind of fault: its consequence, a description (`message`, one line), and advice (`help`).

    `limit`: a limit's fault, so its detail contains the message with the limit's value. `is_consequence`: it follows
    from earlier faults, and isn't counted.
    """

    code: str
    consequence: Consequence
    message: str
    help: str
    limit: bool = False
    is_consequence: bool = False


_ROWS = (
    FaultRule("bad_utf8", Consequence.LIFE, "the line is not valid UTF-8", "write UTF-8 to standard output"),
    FaultRule(
        "bad_json",
        Consequence.LIFE,
        "the line is not JSON",
        "print nothing but replies to standard output; debug output goes to standard error",
    ),
    FaultRule("duplicate_key", Consequence.LIFE, "an object contains a key twice", "write each key once"),
    FaultRule(
        "bad_number", Consequence.LIFE, "a number is NaN, infinite or too long", "send finite numbers of ordinary size"
    ),
    FaultRule("too_deep", Consequence.LIFE, "the JSON is nested too deeply", "a reply needs three levels"),
    FaultRule("lone_surrogate", Consequence.LIFE, "a string contains half a surrogate pair", "send whole characters"),
    FaultRule("not_an_object", Consequence.LIFE, "the line is not a JSON object", 'reply {"id":ID,"choice":INDEX}'),
    FaultRule(
        "bad_reply",
        Consequence.LIFE,
        "the reply lacks its id, or doesn't have exactly one of move and choice",
        'reply {"id":ID,"move":{...}} or {"id":ID,"choice":INDEX}',
    ),
    FaultRule(
        "illegal_move", Consequence.LIFE, "the move is not in the list of legal moves", "send one element of legal"
    ),
    FaultRule(
        "wrong_id",
        Consequence.LIFE,
        "the reply has an id that was never asked",
        "copy the id of the request that you answer",
    ),
    FaultRule(
        "too_many_strays",
        Consequence.LIFE,
        f"over {FREE_STRAYS} lines since the last request answered no open one",
        "print nothing but one reply for each request; debug output goes to standard error",
    ),
    FaultRule(
        "timeout",
        Consequence.LIFE,
        "no reply came within the time per move and the time bank",
        "answer faster, and flush standard output after each line",
    ),
    FaultRule("late_reply", Consequence.FREE, "the reply to a request that had timed out", "answer faster"),
    FaultRule(
        "stray_line",
        Consequence.FREE,
        "a line that answers no open request",
        "send one line for each request, with its id",
    ),
    FaultRule(
        "bad_say",
        Consequence.FREE,
        "say is dropped, and the move counts",
        "send at most 4 statements as docs/reference/protocol/variants.md#talk shows, or leave say out",
    ),
    FaultRule(
        "line_too_long", Consequence.FORFEIT, "a line is over 64 KiB", "end each line with a newline; replies are short"
    ),
    *(
        FaultRule(limit.code, Consequence.FORFEIT, limit.message_of_any, limit.help, limit=True)
        for limit in LIMITS.values()
        if limit.code  # the others make calls fail, but end no program
    ),
    FaultRule("exited", Consequence.FORFEIT, "the process has ended", "read until standard input ends"),
    FaultRule("closed", Consequence.FORFEIT, "standard input or output was closed", "keep both open until input ends"),
    FaultRule(
        "start_failed",
        Consequence.FORFEIT,
        "the process did not start, or its hello didn't come in time or in form",
        'answer the hello line with {"type":"hello"}',
    ),
    FaultRule(
        "out_of_lives",
        Consequence.FORFEIT,
        "the game's lives are used up",
        "see the faults before this one",
        is_consequence=True,
    ),
    FaultRule(
        "retired",
        Consequence.FORFEIT,
        "too many forfeits in this match: the rest of it is forfeited",
        "see the others",
        is_consequence=True,
    ),
)
FAULTS = {row.code: row for row in _ROWS}


class Facts(NamedTuple):
    """Known facts about the cause of a fault, for advice; None if unknown. They aren't recorded.

    own_ms, cpu_ms: own time without an answer, and CPU time in it. stale: the id of an earlier request that a line
    answered meanwhile. exit_code, signal: how the process ended. unflushed: the answer came as soon as the bot's input
    was closed; unended: the output lacks a newline; late: the answer came later; waiting: it came after more input;
    behind: it came after the next request. reads: whether the bot read on after it had read the line without an answer.
    children: processes that it has started since its hello and that read its input.
    """

    own_ms: int | None = None
    cpu_ms: int | None = None
    stale: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    unflushed: bool | None = None
    unended: bool | None = None
    late: bool | None = None
    waiting: bool | None = None
    behind: bool | None = None
    reads: bool | None = None
    children: int | None = None

    def known(self) -> tuple[tuple[str, int], ...]:
        """Return (name, value) of each known fact."""
        return tuple((name, value) for name, value in self._asdict().items() if value is not None)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a bot.

    `bot` is an index into the match's bots; `step` is the index of the game's move, None without one; `got` is the
    faulty line, made safe to print; `used` is the move that was played instead, in notation, None if none was; `detail`
    adds to the rule's message; `count` is the number of occurrences, for faults that are only counted.
    """

    bot: int
    code: str
    step: int | None = None
    got: str | None = None
    used: str | None = None
    detail: str | None = None
    count: int = 1


class FaultSample(NamedTuple):
    """A request and its faulty reply.

    `bot` is an index into the match's bots; `code` is the fault's; `game` and `step` locate it, None for the hello.
    `sent` is the last line sent to the bot, `got` the faulty line (None: none came), both as raw bytes without the
    newline. `facts` are the known facts about the fault.
    """

    bot: int
    code: str
    game: int | None
    step: int | None
    sent: bytes
    got: bytes | None
    facts: Facts
