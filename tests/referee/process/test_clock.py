"""Tests of the referee's clock, by scripted bots and a clock that moves only when one of them moves it.

CPU time and waits for a core are simulated (`Peer.burn`, `Peer.starve`). Source: docs/reference/protocol/clock.md.
"""

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena import referee
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import Box, CpuUsage, Exit, InProcessBox, InProcessSandbox, Program, SandboxError, Script, ScriptPeer
from tests.referee.scripted import STEP_S, WAIT_S, Answer, Clock, Request, bot, first, reply
from tests.sandbox.talk import until


def always_tax(_: ScriptPeer, request: Request) -> bytes:
    """Claim the duke each turn, so that all others are asked at once; else play the first move."""
    tax = {"action": "tax"}
    return reply(request, request["legal"].index(tax) if tax in request["legal"] else 0)


def take_times(clock: Clock, *seconds: float) -> Answer:
    """Take these times for the requests of a process, in turn, and no time for later ones."""

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] <= len(seconds) and seconds[request["id"] - 1]:
            clock.pass_by(peer, seconds[request["id"] - 1])
        return reply(request)

    return answer


def play(
    *scripts: Script,
    clock: Callable[[], float],
    limit_ms: int = 500,
    bank_ms: int = 10_000,
    own: bool = False,
    ponder: bool = False,
    freezes: bool = False,
    wrap: Callable[[int, InProcessBox], Box] = lambda _, box: box,
    games: int = 1,
    lives: int = 3,
    limits: Limits | None = None,
    timings: tuple[referee.Timing, ...] = (),
) -> referee.Record:
    """Play a match in which bot i sits in seat i."""
    names = tuple(f"bot{number}" for number in range(len(scripts)))
    sandbox = InProcessSandbox(dict(zip(names, scripts, strict=True)), reports_wait_time=own, can_freeze=freezes)
    spec = referee.MatchSpec(
        match=0,
        key=b"c" * 32,
        bots=names,
        seatings=(tuple(range(len(scripts))),) * games,
        settings=referee.MatchSettings(
            timing=referee.Timing(limit_ms, bank_ms, start_ms=10_000, own=own, ponder=ponder),
            limits=limits or Limits(),
            lives=lives,
        ),
        timings=timings,
    )

    def launch(number: int) -> Box:
        return wrap(number, sandbox.start(Program((names[number],), Path()), spec.settings.limits))

    try:
        record = play_match(spec, launch, clock, waited_ns=lambda: 0).record
    finally:
        assert all(box.stdin == box.stdout == box.stderr == -1 for box in sandbox.boxes), "a box is still open"
    referee.verify_record(record)
    return record


class FailingBox(Box):
    """A box that records the calls, or fails at the nth call of a method; then it can't be closed either."""

    def __init__(self, box: InProcessBox, calls: list[str], breaks: tuple[str, int] | None = None) -> None:
        self._box, self._calls, self._breaks = box, calls, breaks
        self._broken = False

    @property
    def stdin(self) -> int:  # type: ignore[override]
        return self._box.stdin

    @property
    def stdout(self) -> int:  # type: ignore[override]
        return self._box.stdout

    @property
    def stderr(self) -> int:  # type: ignore[override]
        return self._box.stderr

    def _note(self, call: str) -> None:
        self._calls.append(call)
        if self._breaks is not None and (call, self._calls.count(call)) == self._breaks:
            self._broken = True
            raise SandboxError(f"{call}: the daemon is gone")

    def exit(self) -> Exit | None:
        self._note("exit")
        return self._box.exit()

    def cpu_ns(self) -> int | None:
        self._note("cpu_ns")
        return self._box.cpu_ns()

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        self._note("cpu_usage")
        return self._box.cpu_usage()

    def freeze(self) -> None:
        self._note("freeze")
        self._box.freeze()

    def thaw(self) -> None:
        self._note("thaw")
        self._box.thaw()

    def close_stdin(self) -> None:
        self._box.close_stdin()

    def close(self) -> Exit:
        ended = self._box.close()
        if self._broken:
            raise SandboxError("the daemon is gone")
        return ended


def banks(seen: list[bytes], game: int = 0) -> list[int]:
    return [m["clock"]["bank_ms"] for m in map(json.loads, seen) if m["type"] == "request" and m["game"] == game]


def codes(record: referee.Record, game: int = 0) -> list[str]:
    return [fault.code for fault in record.games[game].faults]


# --- free time and bank -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([0.5, 1.5, 2.5, 6.5], [10_000, 10_000, 9_000, 7_000, 1_000], id="what goes beyond the free time"),
        pytest.param([0.5 + 1 / 1024], [10_000, 9_999], id="a part of a millisecond is rounded down"),
        pytest.param([10.5 - 1 / 1024], [10_000, 0], id="to its end"),
    ],
)
def test_time_beyond_the_free_time_comes_from_the_bank(seconds: list[float], expected: list[int]) -> None:
    """Source: docs/reference/protocol/clock.md: each request shows the remaining bank."""
    clock = Clock()
    seen: list[bytes] = []
    record = play(bot(take_times(clock, *seconds), seen), bot(first), clock=clock)
    assert banks(seen)[: len(expected)] == expected
    assert codes(record) == []
    game = record.games[0]
    assert game.times[0] == round(seconds[0] * 1_000_000)
    assert sum(game.times) == round(sum(seconds) * 1_000_000)


def test_the_bank_is_full_again_in_the_next_game() -> None:
    """Source: docs/reference/protocol/clock.md: bank_ms for all requests of one game. No request timed out."""
    clock = Clock()
    seen: list[bytes] = []
    play(bot(take_times(clock, 4.5), seen), bot(first), clock=clock, games=2)
    assert banks(seen, 0)[:2] == [10_000, 6_000]
    assert set(banks(seen, 1)) == {10_000}


# --- time-outs --------------------------------------------------------------------------------------------------------


def test_a_timeout_empties_the_bank_for_the_rest_of_the_match() -> None:
    """Source: docs/reference/protocol/clock.md: after a timeout. The next deadline is that of the free time alone."""
    clock = Clock()
    seen: list[bytes] = []
    record = play(bot(take_times(clock, 10.501, 0.25, 0.501), seen), bot(first), clock=clock, games=2)
    assert codes(record) == ["timeout", "timeout"]
    assert record.games[0].faults[0].step == 0
    assert banks(seen, 0) == [10_000] + [0] * (len(banks(seen, 0)) - 1)
    assert set(banks(seen, 1)) == {0}
    assert record.games[0].times[0] == 10_500_000


def test_a_late_answer_is_reported_once() -> None:
    """Source: protocol/faults.md, `late_reply`: one answer is free; a second to the same request is a stray line.

    Whether the late line was there when the referee looked, or came a moment later, makes no difference.
    """
    for extra, expected in ((0, ["timeout"]), (1, ["timeout", "stray_line"]), (2, ["timeout", "stray_line"])):
        clock = Clock()
        seen: list[bytes] = []

        def answer(peer: ScriptPeer, request: Request, clock: Clock = clock, extra: int = extra) -> bytes:
            if request["id"] == 1:
                clock.pass_by(peer, 10.5 + 1 / 1024)
                return reply(request)
            if request["id"] == 2:
                return b'{"id":1,"choice":0}\n' * extra + reply(request)
            return reply(request)

        record = play(bot(answer, seen), bot(first), clock=clock)
        assert codes(record) == [json.loads(line)["code"] for line in seen if b'"type":"error"' in line] == expected
        assert [fault.count for fault in record.games[0].faults][1:] == [extra] * (extra > 0)


def test_the_deadline_is_absolute_whatever_is_printed_meanwhile() -> None:
    """Source: docs/reference/protocol/clock.md: output doesn't move it. A byte is sent every 125 ms, for all of 2 s."""
    clock = Clock()
    seen: list[bytes] = []

    def drips(peer: ScriptPeer, request: Request) -> bytes | None:
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


def test_unsolicited_lines_do_not_move_the_deadline() -> None:
    """Source: docs/reference/protocol/clock.md."""
    clock = Clock()

    def talks(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] == 1:
            return reply(request)
        while True:
            clock.pass_by(peer, 0.125)
            peer.send(b'{"id":1,"choice":0}\n')

    record = play(bot(talks), bot(first), clock=clock, bank_ms=1500, lives=1)
    (fault, *_) = record.games[0].faults
    assert (fault.code, record.games[0].times[fault.step or 0]) == ("timeout", 2_000_000)
    assert fault.detail == "a line came for request 1, which had been answered or had timed out"


def test_a_late_hello_fails_the_start() -> None:
    """Source: docs/reference/protocol/clock.md: start_ms from the hello line to the bot's."""
    for seconds, expected in ((9.999, []), (10.001, ["start_failed"])):
        clock = Clock()
        greeted = threading.Event()

        def slow(
            peer: ScriptPeer, clock: Clock = clock, greeted: threading.Event = greeted, seconds: float = seconds
        ) -> None:
            peer.read_line()
            assert greeted.wait(WAIT_S)
            clock.pass_by(peer, seconds)
            peer.send(b'{"type":"hello"}\n')
            bot(first)(peer)

        def quick(peer: ScriptPeer, greeted: threading.Event = greeted) -> None:
            peer.read_line()
            peer.send(b'{"type":"hello"}\n')
            greeted.set()
            bot(first)(peer)

        record = play(slow, quick, clock=clock)
        assert codes(record) == expected
        assert [fault.detail for fault in record.games[0].faults] == ["no hello within 10000 ms"] * len(expected)


# --- windows ----------------------------------------------------------------------------------------------------------


def test_one_slow_seat_does_not_charge_the_others() -> None:
    """Source: protocol/clock.md: each has its own. Seat 1 answers at once, seat 2 after 1.5 s, seat 3 after 3 s."""
    clock = Clock()
    answered = [threading.Event() for _ in range(4)]
    seen: list[list[bytes]] = [[] for _ in range(4)]

    def after(seat: int, seconds: float) -> Answer:
        def answer(peer: ScriptPeer, request: Request) -> bytes | None:
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
        bot(always_tax, seen[0]),
        bot(after(1, 0), seen[1]),
        bot(after(2, 1.5), seen[2]),
        bot(after(3, 1.5), seen[3]),
        clock=clock,
    )
    assert [banks(lines)[1] for lines in seen] == [10_000, 10_000, 9_000, 7_500]
    assert record.games[0].times[:4] == (0, 0, 1_500_000, 3_000_000)
    assert codes(record) == []


@pytest.mark.parametrize("own", [False, True])
def test_a_slow_neighbour_moves_no_deadline(own: bool) -> None:
    """Source: protocol/clock.md: the deadline is absolute. Seat 1 is 2 s late, while seat 2 may still think."""
    clock = Clock()
    in_time, answered = threading.Event(), threading.Event()

    def late(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] == 1:
            assert in_time.wait(WAIT_S)  # or seat 2, too, would be late as the clock moves
        if request["id"] in (1, 3):  # the challenges of the taxes; the first empties the bank
            allowed_ms = request["clock"]["limit_ms"] + request["clock"]["bank_ms"]
            clock.pass_by(peer, allowed_ms / 1000 + 1 / 64)
        if request["id"] == 3:
            clock.pass_by(peer, 2.0)
            peer.send(reply(request))
            clock.settle(peer)
            answered.set()
            return None
        return reply(request)

    def slow(peer: ScriptPeer, request: Request) -> None:
        if request["id"] == 3:
            assert answered.wait(WAIT_S)
        peer.send(reply(request))
        in_time.set()

    record = play(bot(always_tax), bot(late), bot(slow), clock=clock, own=own)
    assert [(fault.bot, fault.code) for fault in record.games[0].faults] == [(1, "timeout"), (1, "timeout")]


@pytest.mark.parametrize(("kind", "order"), [("challenge", (3, 2, 1)), ("block", (2, 3, 1))])
def test_the_order_of_arrival_never_decides(kind: str, order: tuple[int, ...]) -> None:
    """Of the seats that challenge (or block), the next clockwise counts, whichever is fastest.

    Seat 1 passes; seats 2 and 3 don't. In whatever order their answers arrive, seat 2's counts.
    """
    clock = Clock()
    answered = {seat: threading.Event() for seat in order}
    before = dict(zip(order[1:], order, strict=False))
    action = {"challenge": {"action": "tax"}, "block": {"action": "foreign_aid"}}[kind]
    stand_up = {"challenge": {"challenge": True}, "block": {"block": "duke"}}[kind]
    events: list[dict[str, Any]] = []

    def actor(_: ScriptPeer, request: Request) -> bytes:
        events.extend(request["events"])
        return reply(request, request["legal"].index(action) if action in request["legal"] else 0)

    def in_order(seat: int) -> Answer:
        def answer(peer: ScriptPeer, request: Request) -> bytes | None:
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
    assert record.games[0].moves[1:4] == ("-", word, word)
    assert next(event["seat"] for event in events if event["event"] == kind) == 2


# --- own time ---------------------------------------------------------------------------------------------------------


def spend_time(clock: Clock, wall_s: float, cpu_s: float = 0.0, waited_s: float = 0.0) -> Answer:
    """Take this wall time for the first request, with these parts of computing and of waiting for a core."""

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.pass_by(peer, 1 / 128)
            clock.settle(peer)  # the meter's first reading
            peer.burn(cpu_s)
            peer.starve(waited_s)
            clock.pass_by(peer, wall_s - 1 / 128)
        return reply(request)

    return answer


@pytest.mark.parametrize(
    ("wall_s", "cpu_s", "waited_s", "cores", "own_s"),
    [
        pytest.param(2.5, 0.25, 2.25, 1.0, 0.25, id="what it waited is the host's"),
        pytest.param(2.5, 0.25, 0.0, 1.0, 2.5, id="what it slept is its own"),
        pytest.param(2.5, 2.0, 2.25, 1.0, 2.0, id="threads that keep one another waiting compute meanwhile"),
        pytest.param(2.5, 2.0, 2.25, 2.0, 1.0, id="on two cores at once"),
        pytest.param(2.5, 3.0, 0.0, 1.0, 3.0, id="more cores than it may use"),
        pytest.param(2.5, 0.0, 4.0, 1.0, 0.0, id="never less than nothing"),
    ],
)
def test_time_without_a_core_is_not_charged(
    wall_s: float, cpu_s: float, waited_s: float, cores: float, own_s: float
) -> None:
    """Source: docs/reference/protocol/clock.md, own time."""
    clock = Clock()
    seen: list[bytes] = []
    record = play(
        bot(spend_time(clock, wall_s, cpu_s, waited_s), seen),
        bot(first),
        clock=clock,
        own=True,
        limits=Limits(cores=cores),
    )
    assert codes(record) == []
    assert record.games[0].times[0] == round(own_s * 1_000_000)
    assert banks(seen)[1] == 10_000 - max(0, round(own_s * 1000) - 500)


@pytest.mark.parametrize(
    ("sleeps", "ready", "late"),
    [
        pytest.param(0, True, False, id="it never sleeps"),
        pytest.param(1, True, True, id="it slept"),
        pytest.param(1, False, True, id="it sleeps"),
        pytest.param(0, False, True, id="it went to sleep just now"),
    ],
)
def test_time_stolen_by_a_hypervisor_is_not_charged(sleeps: int, ready: bool, late: bool) -> None:
    """No counter shows it as a wait: 250 ms were computed in 3 s, of which 1 s is free."""
    clock = Clock()

    def computes(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.pass_by(peer, 1 / 128)
            clock.settle(peer)
            peer.burn(0.25)
            for _ in range(12):
                peer.sleeps, peer.ready = peer.sleeps + sleeps, ready
                clock.pass_by(peer, 0.25)
            clock.settle(peer)
        return reply(request)

    def script(peer: ScriptPeer) -> None:
        peer.ready = True  # before it is asked: an answer that takes over 1 ms of real time has its first reading then
        bot(computes)(peer)

    record = play(script, bot(first), clock=clock, own=True, limit_ms=1000, bank_ms=0)
    assert ("timeout" in codes(record)) == late


def test_tasks_that_sleep_in_turns_gain_nothing() -> None:
    """Each is ready when it is read, and asleep at the next reading."""
    clock = Clock()

    def late(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.pass_by(peer, 2.5)
            clock.settle(peer)
        return reply(request)

    class InTurns(FailingBox):
        turn = 0

        def cpu_usage(self) -> dict[int, CpuUsage] | None:
            self.turn += 1
            return {
                task: CpuUsage(0, 0, sleeps=(self.turn + task) // 2, ready=(self.turn + task) % 2 == 0)
                for task in (0, 1)
            }

    record = play(bot(late), bot(first), clock=clock, own=True, bank_ms=0, wrap=lambda _, box: InTurns(box, []))
    assert "timeout" in codes(record)


def test_a_bot_that_only_waited_is_not_out_of_time() -> None:
    """Its deadline moves by the time that it waited, repeatedly."""
    clock = Clock()

    def starved(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            for _ in range(8):
                clock.pass_by(peer, 3.0)
                peer.starve(2.875)
        return reply(request)

    record = play(bot(starved), bot(first), clock=clock, own=True, bank_ms=5000)
    assert codes(record) == []
    assert record.games[0].times[0] <= 8 * 125_000 + 3_000_000, "all but what came before the first reading"


def test_a_timeout_states_how_long_the_bot_computed() -> None:
    """Its author thus knows whether it is too slow, or waits."""
    clock = Clock()
    record = play(bot(spend_time(clock, 10.5 + 1 / 64, cpu_s=0.125)), bot(first), clock=clock, own=True)
    (fault,) = record.games[0].faults
    assert (fault.code, fault.detail) == ("timeout", "in 10500 ms it computed for 125 ms")


def test_a_host_that_keeps_a_bot_waiting_for_ever_voids_the_match() -> None:
    """Source: docs/reference/protocol/clock.md: ten times what the request may cost, and no more."""
    clock = Clock()

    def waits(peer: ScriptPeer, request: Request) -> None:
        peer.ready = True
        while True:
            clock.pass_by(peer, 0.5)

    with pytest.raises(referee.ArenaError, match="the host kept a bot waiting for a core: 10"):
        play(bot(waits), bot(first), clock=clock, own=True, bank_ms=500)


@pytest.mark.parametrize(("cores", "stretch"), [(1.0, 10), (4.0, 40), (0.25, 40)])
def test_a_bot_can_not_stretch_its_own_time_until_the_match_is_void(cores: float, stretch: int) -> None:
    """Threads on several cores delay one another, and pauses use a part of a core: neither is the host's fault.

    Here a tenth of a time just below the limit is its own.
    """
    clock = Clock()

    def stretched(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.pass_by(peer, 1 / 128)
            clock.settle(peer)
            for _ in range(stretch - 1):
                peer.starve(0.9765625)
                clock.pass_by(peer, 1.0)
        return reply(request)

    record = play(bot(stretched), bot(first), clock=clock, own=True, bank_ms=500, limits=Limits(cores=cores))
    assert codes(record) == []


@pytest.mark.parametrize("method", ["cpu_ns", "cpu_usage"])
def test_unknown_waits_void_a_match_with_own_time(method: str) -> None:
    """Source: Box.cpu_ns and Box.cpu_usage: None where the kernel doesn't report it, which is the host's fault."""
    clock = Clock()

    class Blind(FailingBox):
        def cpu_ns(self) -> int | None:
            return None if method == "cpu_ns" else 0

        def cpu_usage(self) -> dict[int, CpuUsage] | None:
            return None

    with pytest.raises(referee.ArenaError, match="doesn't report"):
        play(bot(spend_time(clock, 1.0)), bot(first), clock=clock, own=True, wrap=lambda _, box: Blind(box, []))


# --- waiting bots ----------------------------------------------------------------------------------------------------


class FreezeLog(FailingBox):
    """A box that records freezing and thawing under its number."""

    def __init__(self, box: InProcessBox, calls: list[str], number: int) -> None:
        super().__init__(box, calls)
        self._number = number

    def _note(self, call: str) -> None:
        pass

    def freeze(self) -> None:
        self._box.freeze()
        self._calls.append(f"freeze {self._number}")

    def thaw(self) -> None:
        self._calls.append(f"thaw {self._number}")
        self._box.thaw()


def play_frozen(calls: list[str], *scripts: Script, own: bool = True) -> referee.Record:
    """Play by the time of day in boxes that record their freezing."""
    return play(
        *scripts, clock=time.monotonic, own=own, freezes=True, wrap=lambda number, box: FreezeLog(box, calls, number)
    )


def frozen(calls: list[str], number: int) -> bool:
    """Return whether a box is frozen according to the last record."""
    return next((call for call in reversed(calls) if call.endswith(f" {number}")), "") == f"freeze {number}"


@pytest.mark.parametrize("own", [False, True])
def test_a_bot_is_frozen_while_others_think_and_thawed_for_its_request(own: bool) -> None:
    """Source: docs/reference/protocol/process.md, between requests: in this order, at each request, and only then."""
    calls: list[str] = []
    ran: list[str] = []

    def goes_on(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] > 3:  # the first are turns, and the other bot's follow them
            return reply(request)
        ran.append("answers")
        before = calls.count("freeze 0")
        peer.send(reply(request))
        until(lambda: calls.count("freeze 0") > before)
        peer.burn(0)  # stops here
        ran.append("continues")
        return None

    def looks(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] <= 3:
            until(lambda: frozen(calls, 0))
            assert ran[-1] == "answers", "it ran on another seat's turn"
        return reply(request)

    record = play(
        bot(goes_on),
        bot(looks),
        clock=Clock(),
        own=own,
        freezes=True,
        wrap=lambda number, box: FreezeLog(box, calls, number),
    )
    assert codes(record) == []
    for number in (0, 1):
        of_one = [call.split()[0] for call in calls if call.endswith(f" {number}")]
        assert of_one == ["freeze", "thaw"] * (len(of_one) // 2), "by turns, and at last so that it can leave"
    assert ran == ["answers", "continues"] * 3


def test_output_of_another_bot_does_not_prevent_freezing() -> None:
    """One of two colluding bots writes to standard error, so that the referee's poll never times out."""
    calls: list[str] = []

    def talks(peer: ScriptPeer, request: Request) -> bytes:
        end = time.monotonic() + WAIT_S
        while not frozen(calls, 0):
            assert time.monotonic() < end, "it was never frozen"
            peer.log(b".")
        return reply(request)

    record = play_frozen(calls, bot(first), bot(talks))
    assert codes(record) == []


def test_a_bot_that_answers_first_is_frozen_while_others_think() -> None:
    """In a window all are asked at once; here the third waits for the second, long after the first look."""
    calls: list[str] = []

    def slow(peer: ScriptPeer, request: Request) -> bytes:
        if request["kind"] == "challenge":
            until(lambda: frozen(calls, 0))
        return reply(request)

    def slower(peer: ScriptPeer, request: Request) -> bytes:
        if request["kind"] == "challenge":
            until(lambda: frozen(calls, 1))
        return reply(request)

    record = play_frozen(calls, bot(always_tax), bot(slow), bot(slower))
    assert codes(record) == []


@pytest.mark.parametrize("leaves", [ScriptPeer.close_stdout, lambda peer: peer.send(b"x" * 100_000)])
def test_a_bot_that_closes_its_output_is_frozen_while_others_think(leaves: Callable[[ScriptPeer], None]) -> None:
    """Otherwise it would use their time; it isn't asked again until they have answered."""
    calls: list[str] = []

    def breaks_off(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["kind"] != "challenge":
            return reply(request)
        leaves(peer)
        return peer.wait()

    def slow(peer: ScriptPeer, request: Request) -> bytes:
        if request["kind"] == "challenge" and request["id"] == 1:
            until(lambda: frozen(calls, 1))
        return reply(request)

    record = play_frozen(calls, bot(always_tax), bot(breaks_off), bot(slow))
    assert {fault.bot for fault in record.games[0].faults} == {1}


def test_living_bots_are_frozen_while_another_is_restarted() -> None:
    """A start may take seconds."""
    calls: list[str] = []
    starts: list[bool] = []

    def wrap(number: int, box: InProcessBox) -> Box:
        if number == 1:
            starts.append(frozen(calls, 0))
        return FreezeLog(box, calls, number)

    def dies(peer: ScriptPeer, request: Request) -> None:
        peer.die(3)

    play(bot(first), bot(dies), clock=time.monotonic, freezes=True, games=3, wrap=wrap)
    assert starts == [False, True, True]


def test_living_bots_are_frozen_while_the_process_of_one_that_forfeits_ends() -> None:
    """An end may take seconds. The last to answer in a window isn't frozen before."""
    calls: list[str] = []
    ends: list[bool] = []
    wrong_was_read = threading.Event()

    class Watched(FreezeLog):
        def freeze(self) -> None:
            super().freeze()
            if self._number == 1 and asked == ["challenge"]:
                wrong_was_read.set()

        def close(self) -> Exit:
            if self._number == 1:
                ends.append(frozen(calls, 2))
            return super().close()

    asked: list[str] = []

    def wrong(peer: ScriptPeer, request: Request) -> bytes:
        asked.append(request["kind"])
        return b"no JSON\n"

    def last(peer: ScriptPeer, request: Request) -> bytes:
        assert request["id"] > 1 or wrong_was_read.wait(WAIT_S)
        return reply(request)

    play(
        bot(always_tax),
        bot(wrong),
        bot(last),
        clock=time.monotonic,
        freezes=True,
        lives=1,
        wrap=lambda number, box: Watched(box, calls, number),
    )
    assert ends == [True]


def test_no_bot_is_frozen_where_pondering_is_allowed() -> None:
    """Also if it timed out. Source: docs/reference/protocol/process.md, between requests."""
    clock = Clock()
    calls: list[str] = []

    def answer(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] > 1:
            return reply(request)
        clock.pass_by(peer, 10.5 + 1 / 1024)
        return None

    record = play(
        bot(answer), bot(first), clock=clock, ponder=True, freezes=True, wrap=lambda _, box: FailingBox(box, calls)
    )
    assert codes(record) == ["timeout"]
    assert set(calls) <= {"exit"}


def test_a_bot_that_timed_out_is_frozen_too_and_answers_late_for_free() -> None:
    """Source: docs/reference/protocol/faults.md, `late_reply`: it continues where it was at its next request."""
    clock = Clock()

    def answer(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] == 1:
            clock.pass_by(peer, 10.5 + 1 / 1024)
            clock.settle(peer)  # stops here
        return reply(request)

    record = play(bot(answer), bot(first), clock=clock, freezes=True)
    assert codes(record) == ["timeout"]


def test_a_frozen_bot_that_was_leaving_is_found_dead_when_it_is_next_asked() -> None:
    """It ends right after its answer, so perhaps only once it is thawed."""
    calls: list[str] = []

    def leaves(peer: ScriptPeer, request: Request) -> None:
        before = calls.count("freeze 0")
        peer.send(reply(request))
        until(lambda: calls.count("freeze 0") > before)
        peer.burn(0)
        peer.die(3)

    def waits(peer: ScriptPeer, request: Request) -> bytes:
        until(lambda: frozen(calls, 0))
        return reply(request)

    record = play_frozen(calls, bot(leaves), bot(waits), own=False)
    (fault,) = record.games[0].faults
    assert (fault.code, fault.detail) == ("exited", "exited with code 3")


# --- ours, not theirs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("breaks", [("exit", 1), ("cpu_usage", 1), ("freeze", 3), ("thaw", 2)])
def test_a_sandbox_that_breaks_in_mid_game_voids_the_match(breaks: tuple[str, int]) -> None:
    """Source: Box: SandboxError by signs that the program can't cause. All boxes are closed."""

    calls: list[str] = []

    def silent(peer: ScriptPeer, request: Request) -> bytes | None:
        return reply(request) if breaks[0] not in ("exit", "cpu_usage") or request["id"] < 3 else None

    def waits(peer: ScriptPeer, request: Request) -> bytes:
        until(lambda: breaks[0] not in ("freeze", "thaw") or calls.count("freeze") > calls.count("thaw"))
        return reply(request)

    with pytest.raises(referee.ArenaError, match="the daemon is gone"):
        play(
            bot(silent),
            bot(waits),
            clock=Clock(),
            own=True,
            freezes=True,
            wrap=lambda number, box: FailingBox(box, calls if number == 0 else [], breaks if number == 0 else None),
        )


@pytest.mark.parametrize(("seconds", "void"), [(4.0, False), (6.0, True)])
def test_a_host_that_stands_still_voids_the_match(seconds: float, void: bool) -> None:
    """Only signals that the table's bots can't cause void a match. The answer is there afterwards."""
    clock = Clock()

    def stands(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.stand_still(peer, seconds)
        return reply(request)

    if void:
        with pytest.raises(referee.ArenaError, match="the host stood still for 6 s"):
            play(bot(stands), bot(first), clock=clock)
    else:
        assert codes(play(bot(stands), bot(first), clock=clock)) == []


# --- times of one bot -------------------------------------------------------------------------------------------------

UNTIMED = referee.Timing(limit_ms=referee.UNTIMED_MS)


def test_a_player_without_a_clock_does_not_change_the_others_clocks() -> None:
    clock = Clock()
    record = play(
        bot(take_times(clock, 3 * 5 * STEP_S)),
        bot(take_times(clock, 10.501)),
        clock=clock,
        timings=(UNTIMED, referee.Timing()),
    )
    assert [(fault.bot, fault.code) for fault in record.games[0].faults] == [(1, "timeout")]
    assert record.games[0].times[0] == 60_000_000


def test_each_bot_gets_its_times_and_has_its_bank() -> None:
    clock = Clock()
    seen: list[bytes] = []
    others: list[bytes] = []
    timings = (referee.Timing(250, 1001, 3000), referee.Timing())
    play(bot(take_times(clock, 0.5), seen), bot(take_times(clock, 1.0), others), clock=clock, timings=timings)
    output = [
        {name: message["limits"][name] for name in ("limit_ms", "bank_ms", "start_ms")}
        for message in map(json.loads, (seen[0], others[0]))
    ]
    assert output == [
        {"limit_ms": 250, "bank_ms": 1001, "start_ms": 3000},
        {"limit_ms": 500, "bank_ms": 10_000, "start_ms": 10_000},
    ]
    assert banks(seen)[:2] == [1001, 751]  # which are no whole numbers of binary fractions of a second
    assert banks(others)[:2] == [10_000, 9500]
    assert {message["clock"]["limit_ms"] for message in map(json.loads, seen) if message["type"] == "request"} == {250}


def test_a_host_that_stands_still_while_only_a_person_thinks_voids_nothing() -> None:
    """Examples are a closed laptop, or a command stopped by Ctrl-Z."""
    clock = Clock()

    def stands(peer: ScriptPeer, request: Request) -> bytes:
        if request["id"] == 1:
            clock.stand_still(peer, 6.0)
        return reply(request)

    assert codes(play(bot(stands), bot(first), clock=clock, timings=(UNTIMED, referee.Timing()))) == []


def test_one_bot_may_be_charged_wall_time_where_the_others_are_charged_their_own() -> None:
    """A person's box doesn't report the time for which it waited."""
    clock = Clock()
    seen: tuple[list[bytes], list[bytes]] = ([], [])
    scripts = [bot(spend_time(clock, 1.0, waited_s=1.0), each) for each in seen]
    play(*scripts, clock=clock, own=True, timings=(referee.Timing(own=False), referee.Timing(own=True)))
    assert [banks(each)[1] for each in seen] == [9500, 10_000]
    assert [json.loads(each[0])["limits"]["clock"] for each in seen] == ["wall", "own"]


def test_pondering_is_allowed_to_all_bots_of_a_match_or_to_none() -> None:
    timings = (referee.Timing(ponder=True), referee.Timing())
    with pytest.raises(ValueError, match="may ponder, or none"):
        play(bot(first), bot(first), clock=Clock(), timings=timings)
