"""Tests of the referee's clock, by scripted bots and a clock that moves only when one of them says so.

Sources: protocol/SPEC.md, "The clock"; DESIGN.md 3, "Clock". The last tests run by real time, with small limits.
"""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.referee import MatchSpec, Record, Timing, play_match, read, verify
from arena.sandbox import Box, FakeSandbox, Limits, Peer, Program, Script
from protocol.messages import Error, parse_to_bot

WAIT_S = 10.0  # only a failure takes this long

Request = dict[str, Any]
Answer = Callable[[Peer, Request], bytes | None]


class Clock:
    """A clock that stands still until a script moves it. All steps are sums of 2^-n, so that floats stay exact."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._readings = 0
        self._end = time.monotonic() + WAIT_S

    def __call__(self) -> float:
        assert time.monotonic() < self._end, "the match hangs"
        self._readings += 1
        return self._now

    def settle(self, peer: Peer) -> None:
        """Wait until the referee has sent all requests, started the clocks and taken in what was sent before.

        It reads the clock twice for each poll, and what is logged wakes it from one.
        """
        enough = self._readings + 6
        while self._readings < enough:
            peer.log(b".")

    def pass_by(self, peer: Peer, seconds: float) -> None:
        """Let so much time pass between what was sent before and what is sent after."""
        self.settle(peer)
        self._now += seconds


def bot(answer: Answer, seen: list[dict[str, Any]] | None = None) -> Script:
    """Make a bot that greets and sends what `answer` returns for each request; `seen` collects the messages."""

    def script(peer: Peer) -> None:
        for line in peer.lines():
            message = json.loads(line)
            if seen is not None:
                seen.append(message)
            if message["type"] == "hello":
                peer.send(b'{"type":"hello"}\n')
            elif message["type"] == "request":
                peer.send(answer(peer, message) or b"")

    return script


def reply(request: Request, choice: int = 0) -> bytes:
    return b'{"id":%d,"choice":%d}\n' % (request["id"], choice)


def first(_: Peer, request: Request) -> bytes:
    return reply(request)


def taxes(_: Peer, request: Request) -> bytes:
    """Claim the duke each turn, so that everybody else is asked at once; else the first move."""
    tax = {"action": "tax"}
    return reply(request, request["legal"].index(tax) if tax in request["legal"] else 0)


def takes(clock: Clock, *seconds: float) -> Answer:
    """Take so much time for the requests of a process, in turn, and none for the ones after them."""

    def answer(peer: Peer, request: Request) -> bytes:
        if request["id"] <= len(seconds) and seconds[request["id"] - 1]:
            clock.pass_by(peer, seconds[request["id"] - 1])
        return reply(request)

    return answer


def play(
    *scripts: Script,
    clock: Callable[[], float],
    limit_ms: int = 500,
    bank_ms: int = 10_000,
    games: int = 1,
    lives: int = 3,
) -> Record:
    """Play a match in which bot i sits in seat i."""
    names = tuple(f"bot{number}" for number in range(len(scripts)))
    sandbox = FakeSandbox(dict(zip(names, scripts, strict=True)))
    spec = MatchSpec(
        match=0,
        key=b"c" * 32,
        bots=names,
        seatings=(tuple(range(len(scripts))),) * games,
        timing=Timing(limit_ms, bank_ms, start_ms=10_000),
        lives=lives,
    )

    def launch(number: int) -> Box:
        return sandbox.start(Program((names[number],), Path()), Limits())

    record = read(play_match(spec, launch, clock).record)
    verify(record)
    return record


def banks(seen: list[dict[str, Any]], game: int = 0) -> list[int]:
    return [m["clock"]["bank_ms"] for m in seen if m["type"] == "request" and m["game"] == game]


def codes(record: Record, game: int = 0) -> list[str]:
    return [fault.code for fault in record.games[game].faults]


# --- free time and bank -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([0.25, 0.25, 0.5], [10_000, 10_000, 10_000, 10_000], id="free time costs nothing and isn't saved"),
        pytest.param([0.75, 0.5], [10_000, 9_750, 9_750], id="what goes beyond it is taken from the bank"),
        pytest.param([1.5, 2.5, 6.5], [10_000, 9_000, 7_000, 1_000], id="again and again"),
        pytest.param([0.5 + 1 / 1024], [10_000, 9_999], id="a part of a millisecond is rounded down"),
        pytest.param([10.5 - 1 / 1024], [10_000, 0], id="to its end"),
    ],
)
def test_time_beyond_the_free_time_comes_from_the_bank(seconds: list[float], expected: list[int]) -> None:
    """Source: SPEC.md, "The clock": each request shows what is left of the bank."""
    clock = Clock()
    seen: list[dict[str, Any]] = []
    record = play(bot(takes(clock, *seconds), seen), bot(first), clock=clock)
    assert banks(seen)[: len(expected)] == expected
    assert codes(record) == []
    game = record.games[0]
    assert game.times[0] == round(seconds[0] * 1_000_000)
    assert sum(game.times) == round(sum(seconds) * 1_000_000)


def test_the_bank_is_full_again_in_the_next_game() -> None:
    """Source: SPEC.md, "The clock": bank_ms for all requests of one game."""
    clock = Clock()
    seen: list[dict[str, Any]] = []
    play(bot(takes(clock, 4.5), seen), bot(first), clock=clock, games=2)
    assert banks(seen, 0)[:2] == [10_000, 6_000]
    assert set(banks(seen, 1)) == {10_000}


def test_the_requests_show_the_clock_that_the_match_has() -> None:
    """Source: SPEC.md, "Requests", `clock`. 1001 ms are no whole number of binary fractions of a second."""
    seen: list[dict[str, Any]] = []
    play(bot(first, seen), bot(first), clock=Clock(), limit_ms=7, bank_ms=1001)
    assert {(m["clock"]["limit_ms"], m["clock"]["bank_ms"]) for m in seen if m["type"] == "request"} == {(7, 1001)}
    assert (seen[0]["limits"]["limit_ms"], seen[0]["limits"]["bank_ms"]) == (7, 1001)


# --- time-outs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("late_ms", "expected"), [(-1, []), (1, ["timeout"])])
def test_an_answer_1_ms_late_is_late(late_ms: int, expected: list[str]) -> None:
    """Source: SPEC.md, "The clock": the whole line must have arrived limit and bank after the start."""
    clock = Clock()
    record = play(bot(takes(clock, 10.5 + late_ms / 1000)), bot(first), clock=clock)
    assert codes(record) == expected
    assert record.games[0].words[0] == "income"


def test_a_timeout_empties_the_bank_for_the_rest_of_the_game() -> None:
    """Source: SPEC.md, "The clock": after a timeout. The next deadline is that of the free time alone."""
    clock = Clock()
    seen: list[dict[str, Any]] = []
    record = play(bot(takes(clock, 10.501, 0.25, 0.501), seen), bot(first), clock=clock, games=2)
    assert codes(record) == ["timeout", "timeout"]
    assert record.games[0].faults[0].step == 0
    assert banks(seen, 0) == [10_000] + [0] * (len(banks(seen, 0)) - 1)
    assert set(banks(seen, 1)) == {10_000}
    assert record.games[0].times[0] == 10_500_000


def test_an_answer_that_is_read_after_its_deadline_has_come_late_once() -> None:
    """Source: SPEC.md, "Faults", `late_reply`: one answer is free; a second to the same request is a stray line.

    So whether the late line was there when the referee looked, or came a moment afterwards, makes no difference.
    """
    for extra, expected in ((0, ["timeout"]), (1, ["timeout", "stray_line"]), (2, ["timeout", "stray_line"])):
        clock = Clock()

        def answer(peer: Peer, request: Request, clock: Clock = clock, extra: int = extra) -> bytes:
            if request["id"] == 1:
                clock.pass_by(peer, 10.5 + 1 / 1024)
                return reply(request)
            if request["id"] == 2:
                return b'{"id":1,"choice":0}\n' * extra + reply(request)
            return reply(request)

        record = play(bot(answer), bot(first), clock=clock)
        assert codes(record) == expected
        assert [fault.count for fault in record.games[0].faults][1:] == [extra] * (extra > 0)


def test_the_deadline_is_absolute_whatever_is_printed_meanwhile() -> None:
    """Source: SPEC.md, "The clock": printing something doesn't move it. A byte every 125 ms, for the 2 s there are."""
    clock = Clock()
    seen: list[dict[str, Any]] = []

    def drips(peer: Peer, request: Request) -> bytes | None:
        if request["id"] > 1:
            return line[16:] * (request["id"] == 2) + reply(request)
        for place in range(16):
            clock.pass_by(peer, 0.125)
            peer.send(line[place : place + 1])
        return None

    line = b'{"id":1,"choice":0}\n'

    record = play(bot(drips, seen), bot(first), clock=clock, bank_ms=1500)
    assert codes(record) == ["timeout"]  # and the rest of the line, when it comes, is the late reply
    assert record.games[0].times[0] == 2_000_000
    assert banks(seen)[:2] == [1500, 0]


def test_lines_that_answer_nothing_do_not_move_the_deadline_either() -> None:
    """Source: SPEC.md, "The clock"."""
    clock = Clock()

    def talks(peer: Peer, request: Request) -> None:
        while True:
            clock.pass_by(peer, 0.125)
            peer.send(b'{"id":0,"choice":0}\n')

    record = play(bot(talks), bot(first), clock=clock, lives=1)
    assert codes(record)[:1] == ["timeout"]
    assert record.games[0].times == [10_500_000]


def test_a_late_hello_is_none() -> None:
    """Source: SPEC.md, "The clock": start_ms from the hello line to the bot's."""
    for seconds, expected in ((9.999, []), (10.001, ["start_failed"])):
        clock = Clock()
        greeted = threading.Event()

        def slow(
            peer: Peer, clock: Clock = clock, greeted: threading.Event = greeted, seconds: float = seconds
        ) -> None:
            peer.read_line()
            assert greeted.wait(WAIT_S)
            clock.pass_by(peer, seconds)
            peer.send(b'{"type":"hello"}\n')
            bot(first)(peer)

        def quick(peer: Peer, greeted: threading.Event = greeted) -> None:
            peer.read_line()
            peer.send(b'{"type":"hello"}\n')
            greeted.set()
            bot(first)(peer)

        assert codes(play(slow, quick, clock=clock)) == expected


# --- windows ----------------------------------------------------------------------------------------------------------


def test_one_slow_seat_does_not_charge_the_others() -> None:
    """Source: SPEC.md, "The clock": each has its own. Seat 1 answers at once, seat 2 after 1.5 s, seat 3 after 3 s."""
    clock = Clock()
    answered = [threading.Event() for _ in range(4)]
    seen: list[list[dict[str, Any]]] = [[] for _ in range(4)]

    def after(seat: int, seconds: float) -> Answer:
        def answer(peer: Peer, request: Request) -> bytes | None:
            if request["id"] > 1:
                return reply(request)
            if seconds:
                assert answered[seat - 1].wait(WAIT_S)
                clock.pass_by(peer, seconds)
            peer.send(reply(request))
            answered[seat].set()
            return None

        return answer

    record = play(
        bot(taxes, seen[0]),
        bot(after(1, 0), seen[1]),
        bot(after(2, 1.5), seen[2]),
        bot(after(3, 1.5), seen[3]),
        clock=clock,
    )
    assert [banks(lines)[1] for lines in seen] == [10_000, 10_000, 9_000, 7_500]
    assert record.games[0].times[:4] == [0, 0, 1_500_000, 3_000_000]
    assert codes(record) == []


def test_one_seat_that_times_out_does_not_charge_the_others() -> None:
    """Source: SPEC.md, "The clock"; the seat that answered in the same window keeps its bank and its lives."""
    clock = Clock()
    answered = threading.Event()
    seen: list[list[dict[str, Any]]] = [[], [], []]

    def quick(peer: Peer, request: Request) -> None:
        peer.send(reply(request))
        answered.set()

    def silent(peer: Peer, request: Request) -> bytes | None:
        if request["id"] > 1:
            return reply(request)
        assert answered.wait(WAIT_S)
        clock.pass_by(peer, 11.0)
        peer.log(b"I have slept")  # wakes the referee from its poll
        return None

    record = play(bot(taxes, seen[0]), bot(quick, seen[1]), bot(silent, seen[2]), clock=clock)
    assert [(fault.bot, fault.code) for fault in record.games[0].faults] == [(2, "timeout")]
    assert [banks(lines)[1] for lines in seen] == [10_000, 10_000, 0]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1)])
@pytest.mark.parametrize("kind", ["challenge", "block"])
def test_the_order_of_arrival_never_decides(kind: str, order: tuple[int, ...]) -> None:
    """Source: DESIGN.md 2: of those who challenge (or block), the next clockwise counts, whoever is fastest.

    Seat 1 lets it stand; seats 2 and 3 don't. Whatever order their answers come in, seat 2's counts.
    """
    clock = Clock()
    answered = {seat: threading.Event() for seat in order}
    before = dict(zip(order[1:], order, strict=False))
    action = {"challenge": {"action": "tax"}, "block": {"action": "foreign_aid"}}[kind]
    stand_up = {"challenge": {"challenge": True}, "block": {"block": "duke"}}[kind]
    events: list[dict[str, Any]] = []

    def actor(_: Peer, request: Request) -> bytes:
        events.extend(request["events"])
        return reply(request, request["legal"].index(action) if action in request["legal"] else 0)

    def in_order(seat: int) -> Answer:
        def answer(peer: Peer, request: Request) -> bytes | None:
            if request["id"] > 1:
                return reply(request)
            assert request["kind"] == kind
            if seat in before:
                assert answered[before[seat]].wait(WAIT_S)
                clock.settle(peer)
            peer.send(reply(request, 0 if seat == 1 else request["legal"].index(stand_up)))
            answered[seat].set()
            return None

        return answer

    record = play(bot(actor), bot(in_order(1)), bot(in_order(2)), bot(in_order(3)), clock=clock)
    word = {"challenge": "!", "block": "block:duke"}[kind]
    assert record.games[0].words[1:4] == ["-", word, word]
    assert next(event["seat"] for event in events if event["event"] == kind) == 2


# --- real time --------------------------------------------------------------------------------------------------------


def test_a_silent_bot_costs_its_limits_and_no_more() -> None:
    """Source: SPEC.md, "The clock": limit and bank, then twice the limit, by the real clock."""
    began = time.monotonic()
    seen: list[dict[str, Any]] = []
    record = play(bot(lambda peer, request: None, seen), bot(first), clock=time.monotonic, limit_ms=20, bank_ms=100)
    seconds = time.monotonic() - began
    game = record.games[0]
    faults = [fault for fault in game.faults if fault.bot == 0]  # on a busy machine the other may be late, too
    assert [fault.code for fault in faults] == ["timeout"] * 3 + ["out_of_lives"]
    assert [game.times[fault.step or 0] for fault in faults[:3]] == [120_000, 20_000, 20_000]
    assert 0.16 <= seconds < 5
    errors = [parse_to_bot(json.dumps(m)) for m in seen if m["type"] == "error"]
    assert [(error.code, error.lives) for error in errors if isinstance(error, Error)] == [
        ("timeout", 2),
        ("timeout", 1),
    ]


def test_a_bot_that_drips_for_ever_is_timed_out_by_the_real_clock() -> None:
    """Source: SPEC.md, "The clock": as above, without a script that moves the clock."""

    def drips(peer: Peer, _: Request) -> None:
        pause = threading.Event()
        while True:
            peer.send(b" ")
            pause.wait(0.005)  # being slow is what this bot is about

    began = time.monotonic()
    record = play(bot(drips), bot(first), clock=time.monotonic, limit_ms=100, bank_ms=0, lives=1)
    assert codes(record) == ["timeout", "out_of_lives"]
    assert 0.1 <= time.monotonic() - began < 5
