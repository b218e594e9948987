"""Tests of a bot's faults and their cost: every row of `FAULTS`, in real matches of scripted bots.

A script runs in a thread behind real pipes (`InProcessSandbox`); the referee is real. Source:
docs/reference/protocol/faults.md.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from arena import coup, referee
from arena.limits import LIMITS, Limits
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessSandbox, Program, Script, ScriptPeer
from protocol.messages import Error, Hello, TurnRequest, parse_to_bot
from tests.referee.scripted import HELLO, WAIT_S, Answer, Clock, Request, bot, first, reply

KEY = b"k" * 32
LATE_S = 11.0  # more than the free time and the whole bank
GARBAGE = b"what?\n"


def follow(plan: dict[str, dict[str, Any]]) -> Answer:
    """Play the plan's move for a kind of request where it is legal, else the first move."""

    def answer(_: ScriptPeer, request: Request) -> bytes:
        move = plan.get(request["kind"])
        return reply(request, request["legal"].index(move) if move in request["legal"] else 0)

    return answer


def at(number: int, wrong: Answer, otherwise: Answer = first) -> Answer:
    """Answer one request, counted from 1 in each process, differently from all others."""
    return lambda peer, request: (wrong if request["id"] == number else otherwise)(peer, request)


def always(line: bytes) -> Answer:
    return lambda peer, request: line


def dies(peer: ScriptPeer, _: Request) -> None:
    peer.die(3)


def dies_after_a_mistake(peer: ScriptPeer, request: Request) -> bytes:
    return GARBAGE if request["id"] == 1 else peer.die(3)


@dataclass(frozen=True, slots=True)
class Played:
    result: referee.MatchResult
    record: referee.Record
    sandbox: InProcessSandbox

    def faults(self, game: int = 0) -> list[referee.Fault]:
        return list(self.record.games[game].faults)

    def codes(self, game: int = 0) -> list[str]:
        return [fault.code for fault in self.faults(game)]

    def words(self, game: int = 0) -> list[str]:
        return list(self.record.games[game].moves)


def play(
    *scripts: Script | None,
    games: int = 1,
    clock: Callable[[], float] | None = None,
    freezes: bool = False,
    key: bytes = KEY,
    **settings: Any,
) -> Played:
    """Play a match in which bot i sits in seat i. A script that is None is a program that doesn't exist."""
    names = tuple(f"bot{number}" for number in range(len(scripts)))
    programs = {name: script for name, script in zip(names, scripts, strict=True) if script is not None}
    sandbox = InProcessSandbox(programs, reports_wait_time=True, can_freeze=freezes)
    seatings = (tuple(range(len(scripts))),) * games
    spec = referee.MatchSpec(
        match=0, key=key, bots=names, seatings=seatings, settings=referee.MatchSettings(**settings)
    )

    def launch(number: int) -> Box:
        return sandbox.start(Program((names[number],), Path()), Limits())

    result = play_match(spec, launch, clock or time.monotonic)
    record = result.record
    referee.verify_record(record)
    assert all(box.stdin == box.stdout == box.stderr == -1 for box in sandbox.boxes), "a box is still open"
    return Played(result, record, sandbox)


def errors(seen: Sequence[bytes]) -> list[Error]:
    """Parse all lines sent to a bot by the protocol's models, and return the error lines."""
    return [message for message in map(parse_to_bot, seen) if isinstance(message, Error)]


# --- what costs a life ------------------------------------------------------------------------------------------------

LIFE: dict[str, bytes | None] = {
    "bad_utf8": b'{"id":1,"choice":0,"note":"\xff"}',
    "bad_json": b"income",
    "duplicate_key": b'{"id":1,"choice":0,"choice":1}',
    "bad_number": b'{"id":1,"choice":0,"sure":NaN}',
    "too_deep": b'{"id":1,"choice":0,"note":' + b"[" * 40 + b"]" * 40 + b"}",
    "lone_surrogate": b'{"id":1,"choice":0,"note":"\\ud800"}',
    "not_an_object": b"[1,0]",
    "bad_reply": b'{"id":1}',
    "illegal_move": b'{"id":1,"choice":99}',
    "wrong_id": b'{"id":2,"choice":0}',
    "timeout": None,  # no line at all
}
FREE = {"late_reply", "stray_line", "bad_say"}
LIMIT = {limit.code for limit in LIMITS.values()} - {"", "flood"}  # a process that a limit has ended
FORFEIT = {"line_too_long", "flood", "exited", "closed", "start_failed", "out_of_lives", "retired"} | LIMIT


def test_every_fault_has_a_test_and_the_consequence_that_was_agreed() -> None:
    agreed = {
        referee.Consequence.LIFE: {*LIFE, "too_many_strays"},
        referee.Consequence.FREE: FREE,
        referee.Consequence.FORFEIT: FORFEIT,
    }
    for consequence, codes in agreed.items():
        assert {rule.code for rule in referee.FAULTS.values() if rule.consequence is consequence} == codes
    assert all(code == rule.code and rule.message and rule.help for code, rule in referee.FAULTS.items())


def wrong_answer(code: str, clock: Clock) -> Answer:
    def late(peer: ScriptPeer, _: Request) -> None:
        clock.pass_by(peer, LATE_S)
        peer.log(b".")  # the referee may be in its poll

    line = LIFE[code]
    return late if line is None else always(line + b"\n")


@pytest.mark.parametrize("code", LIFE)
def test_a_reply_of_that_kind_costs_a_life_and_a_default_move_is_played(code: str) -> None:
    """Source: reference/protocol/faults.md: life; the bot learns what, what was played instead, and what is left."""
    clock = Clock()
    seen: list[bytes] = []
    played = play(bot(at(1, wrong_answer(code, clock)), seen), bot(first), clock=clock)
    (fault,) = played.faults()
    assert (fault.bot, fault.code, fault.step, fault.used, fault.count) == (0, code, 0, "income", 1)
    assert played.words()[0] == "income"
    (error,) = errors(seen)
    assert (error.id, error.code, error.lives) == (1, code, 2)
    assert error.used is not None
    assert error.used.model_dump() == {"action": "income"}
    assert referee.FAULTS[code].message in error.message
    assert referee.FAULTS[code].help in error.message
    if LIFE[code] is None:
        assert error.got is fault.got is None
    else:
        assert error.got is not None
        assert fault.got is not None
        assert error.got.startswith(fault.got[:20])
        assert error.got.isprintable()


def test_an_error_line_quotes_input_shortened_and_printable() -> None:
    """Source: docs/reference/protocol/messages.md#error: `got`. The record keeps more of it than the line does."""
    seen: list[bytes] = []
    played = play(bot(at(1, always(b"\x1b[2J" + b"x" * 5000 + b"\n")), seen), bot(first))
    (error,) = errors(seen)
    (fault,) = played.faults()
    assert error.got is not None
    assert fault.got is not None
    assert error.got.startswith("\\x1b[2J")
    assert error.got.endswith("(5004 bytes)")
    assert len(error.got) < 250
    assert fault.got == f"\\x1b[2J{'x' * 993}… (5004 bytes)"


def test_a_line_of_exactly_64_kib_is_an_ordinary_reply() -> None:
    """Source: docs/reference/protocol/messages.md#lines: at most 65,536 bytes without the newline."""
    line = b'{"id":1,"choice":0,"note":""}'
    padded = line.replace(b'""', b'"' + b"x" * (65_536 - len(line)) + b'"')
    assert len(padded) == 65_536
    assert play(bot(at(1, always(padded + b"\n"))), bot(first)).faults() == []


# --- the move that is played instead ----------------------------------------------------------------------------------

CLAIMS = {"duke": {"action": "tax"}, "captain": {"action": "steal", "target": 1}, "ambassador": {"action": "exchange"}}


def hand(key: bytes, seat: int = 0) -> list[coup.Role]:
    return list(coup.deal_game(coup.COUP, 2, coup.KeyedRng(key, 0)).hands[seat])


def claim(truthful: bool, key: bytes = KEY) -> dict[str, Any]:
    """Give an action whose role seat 0 holds in the first game of two, or doesn't."""
    return next(move for role, move in CLAIMS.items() if (coup.Role(role) in hand(key)) == truthful)


def fails_at(kind: str, plan: dict[str, dict[str, Any]]) -> Answer:
    """Follow the plan, answer the first request of a kind with garbage, and leave at the one after it."""
    failed = False

    def answer(peer: ScriptPeer, request: Request) -> bytes | None:
        nonlocal failed
        if failed:
            peer.die(0)
        if request["kind"] == kind:
            failed = True
            return GARBAGE
        return follow(plan)(peer, request)

    return answer


TAX = {"turn": {"action": "tax"}}
CHALLENGE = {"challenge": {"challenge": True}}


def test_the_card_that_is_lost_by_default_is_drawn_from_the_match_key() -> None:
    """The card comes from a labelled stream: the same key gives the same card, and all positions are equally likely."""
    places = []
    for number in range(12):
        key = bytes([number]) * 32
        plan = {"turn": claim(truthful=False, key=key)}
        words = set()
        for _ in range(2):
            played = play(bot(fails_at("lose", plan)), bot(follow(CHALLENGE)), key=key)
            words.add(played.faults()[0].used)
        (word,) = words
        cards = hand(key)
        assert word in {f"lose:{card.value}" for card in cards}
        if cards[0] != cards[1]:
            places.append(word == f"lose:{cards[0].value}")
    assert True in places
    assert False in places


def test_two_defaults_of_one_window_are_drawn_independently() -> None:
    """Both players of a duel draft by default at the same moment: a shared stream would pick the same position."""
    pairs = set()
    for number in range(12):
        played = play(
            bot(dies_after_a_mistake), bot(dies_after_a_mistake), key=bytes([number]) * 32, rules=coup.PRESETS["duel"]
        )
        pairs.add(tuple(fault.used for fault in played.faults()[:2]))
    assert all(used and used.startswith("pick:") for pair in pairs for used in pair)
    assert any(one != other for one, other in pairs)
    assert any(one == other for one, other in pairs)


# --- lives ------------------------------------------------------------------------------------------------------------


def test_the_third_fault_of_a_game_forfeits_it_and_no_error_line_comes() -> None:
    """Source: docs/reference/protocol/faults.md: three lives; the fault that takes the last one is not answered."""
    seen: list[bytes] = []
    played = play(bot(always(GARBAGE), seen), bot(first))
    assert [(fault.code, fault.used) for fault in played.faults()] == [
        ("bad_json", "income"),
        ("bad_json", "income"),
        ("bad_json", None),
        ("out_of_lives", "#"),
    ]
    assert [error.lives for error in errors(seen)] == [2, 1]
    game = played.record.games[0]
    assert (game.winner, game.reason, game.moves[-1]) == (1, "last_standing", "#")
    assert game.faults[-1].step == len(game.moves) - 1
    assert len(game.times) == len(game.moves)
    assert sum(map(len, played.result.times)) == played.result.requests == len(game.moves)


def test_lives_are_full_again_in_the_next_game() -> None:
    """Source: docs/reference/protocol/faults.md: one of the game's lives."""
    in_game: dict[int, int] = {}

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        in_game[request["game"]] = in_game.get(request["game"], 0) + 1
        return GARBAGE if in_game[request["game"]] <= 2 else first(peer, request)

    played = play(bot(answer), bot(first), games=3)
    assert [played.codes(game) for game in range(3)] == [["bad_json"] * 2] * 3
    assert len(played.sandbox.boxes) == 2


# --- what forfeits ----------------------------------------------------------------------------------------------------


def stray(size: int) -> bytes:
    """Return a line of this many bytes that answers the first request again."""
    return b'{"id":1,"choice":0,"note":""}\n'.replace(b'""', b'"' + b"x" * (size - 30) + b'"')


def closes_stdout(peer: ScriptPeer, _: Request) -> None:
    peer.close_stdout()
    peer.wait()


def closes_stdin(peer: ScriptPeer, request: Request) -> None:
    peer.close_stdin()
    peer.send(first(peer, request))
    peer.wait()


def after_hello(answer: Answer) -> Script:
    return bot(at(1, answer))


def instead_of_hello(act: Callable[[ScriptPeer], object]) -> Script:
    def script(peer: ScriptPeer) -> None:
        peer.read_line()
        act(peer)
        peer.wait()

    return script


FORFEITS: dict[str, tuple[str, str | None, Script]] = {
    "a line without end": ("line_too_long", None, after_hello(always(b"x" * 65_537))),
    "a line too long, with its end": ("line_too_long", None, after_hello(always(b"x" * 65_537 + b"\n"))),
    "a flood of lines": (
        "flood",
        "over 1024 KB were sent between two requests",
        bot(at(2, always(stray(60_000) * 18))),
    ),
    "an exit": ("exited", "exited with code 3", after_hello(dies)),
    "a crash": ("exited", "killed by signal 11 (SIGSEGV)", after_hello(lambda peer, _: peer.die(signal=11))),
    "half a line": ("exited", "exited with code 0", after_hello(lambda peer, _: (peer.send(b'{"id"'), peer.die(0))[0])),
    "closed output": ("closed", None, after_hello(closes_stdout)),
    "closed input": ("closed", None, after_hello(closes_stdin)),
    "three faults": ("out_of_lives", None, bot(always(GARBAGE))),
    "an exit before hello": ("start_failed", "exited with code 3", instead_of_hello(lambda peer: peer.die(3))),
    "closed before hello": (
        "start_failed",
        "standard input or output was closed",
        instead_of_hello(ScriptPeer.close_stdout),
    ),
    "no hello": ("start_failed", "no hello", instead_of_hello(lambda peer: peer.send(b"Welcome!\n"))),
    "a flood before hello": (
        "start_failed",
        referee.FAULTS["line_too_long"].message,
        instead_of_hello(lambda peer: peer.send(b"x" * 70_000)),
    ),
}


@pytest.mark.parametrize("name", FORFEITS)
def test_a_forfeit_ends_the_process_and_a_new_one_plays_the_next_game(name: str) -> None:
    """Source: docs/reference/protocol/faults.md#forfeits: a new process without memory gets a hello and IDs from 1."""
    code, detail, misbehave = FORFEITS[name]
    starts = 0
    second: list[bytes] = []
    seen: list[bytes] = []

    def script(peer: ScriptPeer) -> None:
        nonlocal starts
        starts += 1
        if starts == 1:
            misbehave(peer)
        else:
            bot(first, second)(peer)

    played = play(script, bot(first, seen), games=2)
    fault = played.faults()[-1]
    assert (fault.bot, fault.code, fault.used) == (0, code, "#")
    assert (detail is None and fault.detail is None) or detail in (fault.detail or "")
    game = played.record.games[0]
    assert (game.winner, game.reason, game.survivors) == (1, "last_standing", (1,))
    assert game.moves[-1] == "#"
    assert referee.game_results(played.record)[0].forfeits == (0,)
    assert played.faults(1) == []
    assert starts == 2
    hello, start, request = [parse_to_bot(line) for line in second[:3]]
    assert (hello.type, start.type) == ("hello", "game_start")
    assert isinstance(request, TurnRequest)
    assert (request.id, request.game) == (1, 1)
    assert errors(seen) == []
    assert [bot for bot, _, _ in played.result.logs].count(0) == 2


# --- limits -----------------------------------------------------------------------------------------------------------

SMALL = Limits(memory_mb=7, processes=8, cpu_s=9, file_size_mb=10, tmp_mb=11, open_files=12)
ENDED = "killed by signal 9 (SIGKILL)"
BY_LIMIT = {
    "memory_mb": ("out_of_memory", f"out of memory: 7 MB; {ENDED}"),
    "processes": ("too_many_processes", f"too many processes and threads: 8; {ENDED}"),
    "cpu_s": ("cpu_used_up", f"CPU time used up: 9 s; {ENDED}"),
    "file_size_mb": ("file_too_large", f"a file grew over 10 MB; {ENDED}"),
}


def test_every_limit_that_ends_a_process_is_a_fault() -> None:
    assert {code for code, _ in BY_LIMIT.values()} == LIMIT
    for field, (code, _) in BY_LIMIT.items():
        assert referee.FAULTS[code].message == LIMITS[field].message_of_any
        assert referee.FAULTS[code].help == LIMITS[field].help


@pytest.mark.parametrize("field", BY_LIMIT)
@pytest.mark.parametrize("frozen", [False, True])
def test_a_process_that_a_limit_ended_is_charged_with_that_limit(field: str, frozen: bool) -> None:
    """Source: docs/reference/protocol/faults.md: by its name and value, however it was killed; not with "exited"."""
    code, detail = BY_LIMIT[field]
    seen: list[bytes] = []
    played = play(
        bot(at(1, lambda peer, _: peer.die(signal=9, limit=field))), bot(first, seen), limits=SMALL, freezes=frozen
    )
    (fault,) = played.faults()
    assert (fault.bot, fault.code, fault.used, fault.detail) == (0, code, "#", detail)
    assert b"memory" not in b"".join(seen[1:])


def test_refusals_by_limits_are_reported_with_the_end_of_the_process() -> None:
    """Source: docs/reference/protocol/faults.md: a refused fork is counted; the end is the process's own."""
    counted = (("memory_mb", 1), ("processes", 3))
    played = play(bot(at(1, lambda peer, _: peer.die(1, counted=counted))), bot(first), limits=SMALL)
    (fault,) = played.faults()
    assert [sample.facts.known() for sample in played.result.fault_samples] == [(("exit_code", 1),)]
    assert fault.code == "exited"
    assert fault.detail == (
        "exited with code 1; processes killed at its limit of 7 MB of memory: 1; forks refused at its limit of 8: 3"
    )


def test_a_start_that_a_limit_ended_names_it() -> None:
    """Source: docs/reference/protocol/faults.md, `start_failed`: the reason."""
    (fault,) = play(
        instead_of_hello(lambda peer: peer.die(signal=9, limit="memory_mb")), bot(first), limits=SMALL
    ).faults()
    assert (fault.code, fault.detail) == ("start_failed", f"out of memory: 7 MB; {ENDED}")


def test_the_output_limit_is_the_matchs() -> None:
    """Source: SPEC.md, `limits.flood_bytes`: 1.5 KB in unsolicited lines exceed 1 KB."""
    seen: list[bytes] = []
    strays = at(2, lambda peer, request: stray(100) * 15 + first(peer, request))
    played = play(bot(strays, seen), bot(first), limits=Limits(output_kb=1))
    assert [(fault.code, fault.detail) for fault in played.faults() if fault.code != "stray_line"] == [
        ("flood", "over 1 KB were sent between two requests")
    ]
    hello = parse_to_bot(seen[0])
    assert isinstance(hello, Hello)
    assert hello.limits.flood_bytes == 1024
    assert {fault.code for fault in play(bot(strays), bot(first)).faults()} == {"stray_line"}


def test_the_hello_has_the_limits_of_the_match_and_its_clock() -> None:
    """Source: docs/reference/protocol/messages.md#hello."""
    seen: list[bytes] = []
    play(bot(first, seen), bot(first), limits=SMALL, timing=referee.Timing(5000, 6, 7000, own=True, ponder=True))
    hello = parse_to_bot(seen[0])
    assert isinstance(hello, Hello)
    shown = hello.limits
    assert (shown.limit_ms, shown.bank_ms, shown.start_ms, shown.clock, shown.ponder) == (5000, 6, 7000, "own", True)
    for field in ("memory_mb", "processes", "cpu_s", "cores", "file_size_mb", "tmp_mb", "open_files"):
        assert getattr(shown, field) == getattr(SMALL, field)
    assert shown.cores == 1.0


def test_a_program_that_is_not_there_forfeits_by_its_start() -> None:
    (fault,) = play(None, bot(first)).faults()
    assert (fault.code, fault.step, fault.used) == ("start_failed", 0, "#")
    assert "no such script" in (fault.detail or "")


def test_after_three_forfeits_the_rest_of_the_match_is_forfeited() -> None:
    """Source: docs/reference/protocol/faults.md, `retired`: without being started again."""
    starts = 0

    def script(peer: ScriptPeer) -> None:
        nonlocal starts
        starts += 1
        bot(dies)(peer)

    played = play(script, bot(first), games=6)
    assert [played.codes(game) for game in range(6)] == [["exited"]] * 3 + [["retired"]] * 3
    assert [played.words(game) for game in range(6)] == [["#"]] * 6
    assert starts == 3
    assert [log[:2] for log in played.result.logs] == [(0, 1), (0, 2), (0, 3), (1, 1)]
    assert played.result.times[0] == ()


def test_the_number_of_forfeits_that_retire_a_bot_is_the_matchs() -> None:
    """Source: SPEC.md, `limits.forfeits`."""
    played = play(None, bot(first), games=3, forfeits=1)
    assert [played.codes(game) for game in range(3)] == [["start_failed"], ["retired"], ["retired"]]


def test_a_bot_that_leaves_between_two_games_forfeits_the_next_one() -> None:
    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            message = json.loads(line)
            if message["type"] == "hello":
                peer.send(HELLO)
            elif message["type"] == "request":
                peer.send(first(peer, message))
            elif message["type"] == "game_over" and message["game"] == 0:
                peer.die(0)

    played = play(script, bot(first), games=3)
    assert [played.codes(game) for game in range(3)] == [[], ["exited"], []]


def test_forfeits_in_a_window_come_clockwise_and_the_other_answers_stand() -> None:
    """Source: protocol/faults.md#forfeits: after all answers have arrived; the answers of the others count."""
    played = play(bot(follow(TAX)), bot(dies), bot(follow(CHALLENGE)), bot(dies))
    assert played.words()[:4] == ["tax", "#", "!", "#"]
    assert played.words()[4] in ("show:duke", "decline")  # the challenge stands
    assert played.record.games[0].eliminated[:2] == ((1, 1), (3, 1))


# --- what is free -----------------------------------------------------------------------------------------------------


def test_stray_lines_are_dropped_and_reported_once_a_request() -> None:
    """Source: protocol/faults.md, free: with the next request, at most once a request; the record counts them."""
    seen: list[bytes] = []

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        strays = b'{"id":1,"choice":0}\n{"id":1,"move":{}}\n{"id":1}\n' if request["id"] in (2, 3) else b""
        return strays + first(peer, request)

    played = play(bot(answer, seen), bot(first))
    (fault,) = played.faults()
    assert (fault.code, fault.count, fault.step, fault.used) == ("stray_line", 6, None, None)
    assert fault.got == '{"id":1,"choice":0}'
    shown = errors(seen)
    assert [(error.id, error.code, error.used, error.lives) for error in shown] == [(None, "stray_line", None, 3)] * 2
    assert all(error.got == '{"id":1}' for error in shown)
    kinds = [json.loads(line)["type"] for line in seen[:8]]
    assert kinds == ["hello", "game_start", "request", "request", "error", "request", "error", "request"]


@pytest.mark.parametrize("sent", [0, -1, 2, 41])
def test_a_reply_with_an_id_that_was_never_asked_is_answered_at_once(sent: int) -> None:
    """Source: docs/reference/protocol/faults.md, `wrong_id`. The clock doesn't move, so the referee didn't wait."""
    seen: list[bytes] = []
    played = play(bot(at(1, always(b'{"id":%d,"choice":0}\n' % sent)), seen), bot(first))
    (fault,) = played.faults()
    assert (fault.code, fault.detail) == ("wrong_id", f"sent {sent}, asked 1")
    (error,) = errors(seen)
    assert f"sent {sent}, asked 1" in error.message


@pytest.mark.parametrize(
    ("count", "expected"),
    [(20, ["stray_line"]), (21, ["too_many_strays", "stray_line"]), (41, ["too_many_strays", "stray_line"])],
)
@pytest.mark.parametrize("asked", [True, False], ids=["while it is asked", "while it isn't"])
def test_twenty_unsolicited_lines_between_two_requests_are_free(count: int, expected: list[str], asked: bool) -> None:
    """Source: protocol/faults.md, `too_many_strays`. One more costs a life; the request's own answer is then late."""

    def answer(_: ScriptPeer, request: Request) -> bytes:
        strays = b'{"id":1,"choice":0}\n' + b'{"id":1,"choice":1}\n' * (count - 1)
        if asked:
            return strays * (request["id"] == 2) + reply(request)
        return reply(request) + strays * (request["id"] == 1)

    played = play(bot(answer), bot(first))
    assert played.codes() == expected
    costly = [fault for fault in played.faults() if fault.code == "too_many_strays"]
    assert [(fault.step, fault.got) for fault in costly] == [(2, '{"id":1,"choice":0}')] * (count > 20)
    assert played.faults()[-1].count == count


def test_every_line_without_an_open_request_is_stray() -> None:
    """Source: docs/reference/protocol/faults.md."""
    clock = Clock()
    said = threading.Event()

    def talks(peer: ScriptPeer, request: Request) -> None:
        peer.send(first(peer, request) + b"nothing is asked\n\xff\n[]\n" + first(peer, request))
        said.set()

    def other(peer: ScriptPeer, request: Request) -> bytes:
        assert said.wait(WAIT_S)
        clock.settle(peer)
        return first(peer, request)

    played = play(bot(at(1, talks)), bot(at(1, other)), clock=clock)
    assert [(fault.code, fault.count) for fault in played.faults()] == [("stray_line", 4)]
    assert played.result.startup_s == 0.0


# --- what the others see ----------------------------------------------------------------------------------------------


def seen_by_others(subject: Answer, clock: Clock | None = None, lives: int = 3) -> list[list[bytes]]:
    lines: list[list[bytes]] = [[], []]
    play(bot(subject), bot(first, lines[0]), bot(first, lines[1]), clock=clock, lives=lives)
    return lines


@pytest.mark.parametrize("code", LIFE)
def test_a_default_move_looks_to_the_others_like_one_that_was_chosen(code: str) -> None:
    """Source: docs/reference/protocol/faults.md: faults of others are invisible. Byte for byte."""
    clock = Clock()
    assert seen_by_others(at(1, wrong_answer(code, clock)), clock) == seen_by_others(first)


def test_the_others_see_a_forfeit_without_its_reason() -> None:
    """Source: protocol/faults.md#forfeits. Byte for byte the same for every cause; one life."""
    causes: list[Answer] = [dies, closes_stdout, always(b"x" * 70_000), always(GARBAGE)]
    views = [seen_by_others(at(1, cause), lives=1) for cause in causes]
    assert all(view == views[0] for view in views)
    assert all(b'"event":"forfeit","seat":0' in b"".join(lines) for lines in views[0])


# --- names ------------------------------------------------------------------------------------------------------------


def test_opponents_are_handles_drawn_for_the_match() -> None:
    """Source: reference/protocol/hidden-information.md: no bot's name is in any line; handles stay for all games."""
    orders = set()
    for number in range(3):
        seen: list[bytes] = []
        played = play(bot(first, seen), bot(first), bot(first), games=2, key=bytes([number]) * 32)
        assert not any(name.encode() in line for name in played.record.header.bots for line in seen)
        handles = played.record.header.handles
        orders.add(handles)
        hello = parse_to_bot(seen[0])
        assert isinstance(hello, Hello)
        assert (hello.match.your_handle, hello.match.handles) == (handles[0], ("A", "B", "C"))
        starts = [json.loads(line) for line in seen if b'"game_start"' in line]
        assert [tuple(start["players"]) for start in starts] == [handles] * 2
    assert len(orders) > 1


def test_open_names_give_each_bot_its_own_name() -> None:
    seen: list[bytes] = []
    play(bot(first, seen), bot(first), open_names=True)
    hello = parse_to_bot(seen[0])
    assert isinstance(hello, Hello)
    assert (hello.match.your_handle, hello.match.handles) == ("bot0", ("bot0", "bot1"))
    assert json.loads(seen[1])["players"] == ["bot0", "bot1"]


# --- ours, not theirs -------------------------------------------------------------------------------------------------


def test_strays_are_counted_and_reported_for_each_game() -> None:
    """Source: verdict.Fault, `count`; a report in one game is independent of the next."""
    seen: list[bytes] = []
    games: set[int] = set()

    def strays(_: ScriptPeer, request: Request) -> bytes:
        fresh = request["game"] not in games
        games.add(request["game"])
        return reply(request) + b'{"id":999999,"choice":0}\n' * fresh

    played = play(bot(strays, seen), bot(first), games=3)
    assert [[fault.count for fault in played.faults(game)] for game in range(3)] == [[1]] * 3
    assert [error.code for error in errors(seen)] == ["stray_line"] * 3


def test_the_last_winner_starts_the_next_game_where_the_rules_say_so() -> None:
    """Seats change, so the winner is found by its bot."""
    rules = coup.from_dict({**coup.to_dict(coup.COUP), "first_player": "last_winner"})
    played = play(bot(first), bot(first), bot(first), games=6, rules=rules)
    games = played.record.games
    assert {game.winner for game in games} - {None, 0}, "another than the first seat wins"
    for before, game in pairwise(games):
        assert next(referee.replay_game(played.record.header, game)).before.board.actor == (before.winner or 0)


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_the_first_fault_sample_of_each_kind_is_kept_byte_for_byte() -> None:
    seen: list[bytes] = []
    lines = {2: b"one", 3: b'{"id":3}', 5: b"two"}

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        return lines[request["id"]] + b"\n" if request["id"] in lines else reply(request)

    played = play(bot(answer, seen), bot(first), lives=9)
    requests = {request["id"]: line for line in seen if (request := json.loads(line))["type"] == "request"}
    kept = {exchange.code: exchange for exchange in played.result.fault_samples}
    assert list(kept) == ["bad_json", "bad_reply"]
    assert (kept["bad_json"].sent + b"\n", kept["bad_json"].got) == (requests[2], b"one")
    assert (kept["bad_reply"].sent + b"\n", kept["bad_reply"].got) == (requests[3], lines[3])
    faults = {fault.code: fault for fault in reversed(played.faults())}
    for code, exchange in kept.items():
        assert (exchange.bot, exchange.game, exchange.step) == (0, 0, faults[code].step)


def test_a_hello_that_failed_is_kept_with_the_line_that_asked_for_it() -> None:
    """docs/reference/protocol/process.md#start-and-end: the first line is the hello."""
    seen: list[bytes] = []

    def script(peer: ScriptPeer) -> None:
        seen.append(peer.read_line())
        peer.send(GARBAGE)
        peer.wait()

    played = play(script, bot(first))
    first_kept = played.result.fault_samples[0]
    assert (first_kept.code, first_kept.game, first_kept.step) == ("start_failed", None, None)
    assert (first_kept.sent + b"\n", first_kept.got) == (seen[0], GARBAGE.strip())
