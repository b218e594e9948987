"""Tests of one exchange of a poller: pipes without a process, and a clock whose readings the test sets."""

import fcntl
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from arena.referee import process
from arena.sandbox import Box, CpuUsage, Exit
from protocol import ParsedReply

WALL_S = 2.0
FLOOD_BYTES = 1024


class PipeBox(Box):
    """Three pipes; the test writes a bot's output. `exit` calls `ends`, which returns how the process ended."""

    def __init__(self) -> None:
        self.input, self.stdin = os.pipe()
        self.stdout, self.output = os.pipe()
        self.stderr, self.errors = os.pipe()
        for descriptor in (self.input, self.stdin, self.stdout, self.stderr):
            os.set_blocking(descriptor, False)
        self.ends: Callable[[], Exit | None] = lambda: None
        self.tasks: Callable[[], dict[int, CpuUsage]] = dict
        self.used_ns = 0

    def says(self, line: bytes) -> None:
        os.write(self.output, line)

    def exit(self) -> Exit | None:
        return self.ends()

    def cpu_ns(self) -> int | None:
        return self.used_ns

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        return self.tasks()

    def freeze(self) -> None:
        """Do nothing."""

    def thaw(self) -> None:
        """Do nothing."""

    def close_stdin(self) -> None:
        """Do nothing: the test closes all pipes."""

    def close(self) -> Exit:
        return self.ends() or Exit(0, None)


class Readings:
    """A clock at 1000 s. `on[n]` is called before the nth reading of an exchange, from 1.

    The first reading follows a look at the pipes, the second is when the line was sent, the third begins the wait.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.count = 0
        self.on: dict[int, Callable[[], None]] = {}

    def __call__(self) -> float:
        self.count += 1
        assert self.count < 10_000, "the exchange hangs"
        self.on.get(self.count, lambda: None)()
        return self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def box() -> Iterator[PipeBox]:
    made = PipeBox()
    yield made
    for descriptor in (made.input, made.stdin, made.stdout, made.output, made.stderr, made.errors):
        os.close(descriptor)


@pytest.fixture
def clock() -> Readings:
    return Readings()


@pytest.fixture
def seat(box: PipeBox) -> process.Seat:
    return process.Seat(box, FLOOD_BYTES)


@pytest.fixture
def poller(seat: process.Seat, clock: Readings) -> process.SeatPoller:
    return polling(clock, seat)


def polling(
    clock: Readings, *seats: process.Seat, own: bool = False, waited_ns: Callable[[], int] = lambda: 10**9
) -> process.SeatPoller:
    made = process.SeatPoller(clock, own, ponder=True, cores=1.0, waited_ns=waited_ns)
    for seat in seats:
        made.add(seat, own)
    return made


def exchange(poller: process.SeatPoller, seat: process.Seat, clock: Readings) -> process.Reply:
    clock.count = 0
    (reply,) = poller.exchange([(seat, seat.number + 1, b"{}\n", WALL_S)])
    return reply


def choice(index: int, number: int = 1) -> bytes:
    return b'{"id":%d,"choice":%d}\n' % (number, index)


def chosen(reply: process.Reply) -> int | None:
    assert isinstance(reply, process.ReplyReceived), reply
    assert isinstance(reply.message, ParsedReply)
    return reply.message.choice


@pytest.mark.parametrize(("late_s", "counts"), [(0.0, True), (0.001, False), (0.049, False), (0.0625, True)])
def test_an_answer_that_is_read_after_its_deadline_counts_only_if_the_referee_overslept(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings, late_s: float, counts: bool
) -> None:
    """The deadline itself is in time. A referee that wakes 50 ms late can't know when the answer came."""
    clock.on = {3: lambda: box.says(choice(1)), 4: lambda: clock.passes(WALL_S + late_s)}
    reply = exchange(poller, seat, clock)
    if counts:
        assert chosen(reply) == 1
    else:
        assert reply == process.TimedOut(WALL_S)


@pytest.mark.parametrize(
    ("polled_s", "waited_s", "own_s"),
    [
        pytest.param(1 / 64, 0.0, 1 + 1 / 64, id="the answer came while it polled"),
        pytest.param(1 / 64, 1 / 128, 1 + 1 / 128, id="it got no core"),
        pytest.param(1 / 64, 4.0, 0.0, id="never less than nothing"),
    ],
)
def test_the_referees_wait_before_reading_an_answer_is_not_charged(
    box: PipeBox, seat: process.Seat, clock: Readings, polled_s: float, waited_s: float, own_s: float
) -> None:
    """With own time: the answer came while the referee was in its poll, and had no core to read it."""
    waits_ns = [10**9]
    poller = polling(clock, seat, own=True, waited_ns=lambda: waits_ns[0])

    def starves() -> None:
        clock.passes(polled_s)
        waits_ns[0] += round(waited_s * 1e9)

    clock.on = {4: lambda: clock.passes(1.0), 5: lambda: box.says(choice(1)), 6: starves}
    reply = exchange(poller, seat, clock)
    assert chosen(reply) == 1
    assert reply.own_s == pytest.approx(own_s)


def test_a_bots_wait_before_the_first_reading_is_not_charged(box: PipeBox, seat: process.Seat, clock: Readings) -> None:
    """With own time: it waited 3 s since the reading at the end of the line before, and this line has taken 1 s."""
    poller = polling(clock, seat, own=True)
    waits_s = iter([0, 0, 3, 3])
    box.tasks = lambda: {1: CpuUsage(0, next(waits_s) * 10**9)}
    clock.on = {4: lambda: clock.passes(1.0), 5: lambda: box.says(choice(1))}
    assert chosen(exchange(poller, seat, clock)) == 1
    clock.on = {4: lambda: clock.passes(1.0), 5: lambda: box.says(choice(1, 2)), 6: lambda: clock.passes(1 / 64)}
    reply = exchange(poller, seat, clock)
    assert chosen(reply) == 1
    assert reply.own_s == pytest.approx(1 / 64)


def test_the_referees_work_before_its_poll_is_not_charged(box: PipeBox, seat: process.Seat, clock: Readings) -> None:
    """With own time: the answer lay there for 250 ms, while another referee blocked the kernel's list of groups."""
    poller = polling(clock, seat, own=True)

    def is_busy() -> None:
        box.says(choice(1))
        clock.passes(0.25)

    clock.on = {4: lambda: clock.passes(1.0), 5: is_busy}
    reply = exchange(poller, seat, clock)
    assert chosen(reply) == 1
    assert reply.own_s == 1.0


def test_no_usage_is_read_for_answers_in_the_first_millisecond(clock: Readings) -> None:
    """Reading it has a cost, so bots that answer at once are charged wall time."""
    boxes = PipeBox(), PipeBox()
    seats = [process.Seat(box, FLOOD_BYTES) for box in boxes]
    for box in boxes:
        box.tasks = lambda: pytest.fail("the usage was read")
    clock.on = {3: lambda: boxes[0].says(choice(1)), 5: lambda: boxes[1].says(choice(2))}
    replies = polling(clock, *seats, own=True).exchange([(seat, 1, b"{}\n", WALL_S) for seat in seats])
    assert list(map(chosen, replies)) == [1, 2]


def test_an_answer_in_the_first_millisecond_is_charged_by_wall_time(
    box: PipeBox, seat: process.Seat, clock: Readings
) -> None:
    """docs/reference/protocol/clock.md: also if the referee waited for a core meanwhile."""
    waits_ns = iter([0, 10**9])
    clock.on = {3: lambda: box.says(choice(1)), 4: lambda: clock.passes(1 / 1024)}
    reply = exchange(polling(clock, seat, own=True, waited_ns=lambda: next(waits_ns)), seat, clock)
    assert isinstance(reply, process.ReplyReceived)
    assert reply.own_s == 1 / 1024


@pytest.mark.parametrize(("cpu_s", "counts"), [(WALL_S, True), (WALL_S + 1 / 1024, False)])
def test_a_bot_that_computed_for_too_long_is_late_whenever_the_referee_reads(
    box: PipeBox, seat: process.Seat, clock: Readings, cpu_s: float, counts: bool
) -> None:
    def computes() -> None:
        box.says(choice(1))
        box.used_ns = round(cpu_s * 1e9)

    clock.on = {5: computes, 6: lambda: clock.passes(WALL_S + 0.0625)}
    reply = exchange(polling(clock, seat, own=True), seat, clock)
    assert isinstance(reply, process.ReplyReceived) == counts


@pytest.mark.parametrize(("late_s", "counts"), [(0.0, False), (0.03125, False), (0.0625, True)])
def test_a_late_referee_reads_the_pipe_before_a_timeout(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings, late_s: float, counts: bool
) -> None:
    """The deadline has passed before the poll is entered: up to 50 ms are the bot's, more are the referee's."""

    def sleeps() -> None:
        box.says(choice(1))
        clock.passes(WALL_S + late_s)

    clock.on = {3: sleeps}
    reply = exchange(poller, seat, clock)
    if counts:
        assert chosen(reply) == 1
        box.says(choice(1))
        clock.on = {3: lambda: box.says(choice(0, 2))}
        assert chosen(exchange(poller, seat, clock)) == 0
        assert seat.stray_count == 1, "a second answer is free only to a request that timed out"
    else:
        assert reply == process.TimedOut(WALL_S)


def test_only_silent_seats_time_out_after_a_late_wake(clock: Readings) -> None:
    """With one deadline for two seats, the referee wakes 30 ms after it."""
    boxes = PipeBox(), PipeBox()
    seats = [process.Seat(box, FLOOD_BYTES) for box in boxes]
    poller = polling(clock, *seats)
    clock.on = {3: lambda: boxes[0].says(choice(1)), 5: lambda: clock.passes(WALL_S + 0.03125)}
    first, second = poller.exchange([(seat, 1, b"{}\n", WALL_S) for seat in seats])
    assert chosen(first) == 1
    assert second == process.TimedOut(WALL_S)


def test_the_first_answer_ends_the_charge_of_a_line(clock: Readings) -> None:
    """A seat that writes again 1 s later, while another one thinks, is charged until its answer."""
    boxes = PipeBox(), PipeBox()
    seats = [process.Seat(box, FLOOD_BYTES) for box in boxes]
    poller = polling(clock, *seats, own=True)

    def writes_again() -> None:
        clock.passes(1.0)
        boxes[0].says(b"again\n")

    clock.on = {5: lambda: boxes[0].says(choice(1)), 8: writes_again, 11: lambda: boxes[1].says(choice(2))}
    first, second = poller.exchange([(seat, 1, b"{}\n", WALL_S) for seat in seats])
    assert (chosen(first), chosen(second)) == (1, 2)
    assert isinstance(first, process.ReplyReceived)
    assert first.own_s < 0.5


def test_a_line_sent_unasked_is_not_the_answer(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    """SPEC.md: it is dropped, even if it has the number of the next request. Twenty lines are free."""
    box.says(choice(1) * 20)
    clock.on = {3: lambda: box.says(choice(2))}
    assert chosen(exchange(poller, seat, clock)) == 2
    assert seat.take_strays() == (20, choice(1).strip())
    assert seat.take_strays() == (0, b"")


def test_an_answer_in_the_pipe_of_a_process_that_has_died_counts(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    """It was sent before the end; the next request finds the process dead."""

    def dies() -> Exit:
        if not seat.number or seat.answer is None:
            box.says(choice(1))
        box.ends = lambda: Exit(3, None)
        return Exit(3, None)

    box.ends = dies
    clock.on = {number: lambda: clock.passes(0.0625) for number in range(4, 20)}
    assert chosen(exchange(poller, seat, clock)) == 1
    assert exchange(poller, seat, clock) == process.ProcessExited("exited", Exit(3, None))


def test_an_answer_before_the_output_was_closed_counts(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    read, box.output = os.dup(box.output), box.output  # the fixture closes the one, the bot the other

    def closes() -> None:
        box.says(choice(1))
        os.close(box.output)
        box.output = read

    clock.on = {3: closes}
    assert chosen(exchange(poller, seat, clock)) == 1


@pytest.mark.parametrize(("pieces", "chosen_index"), [((b'{"id":1,"choice":1}', b"\n"), 1), ((b"x", choice(1)), None)])
def test_a_line_that_comes_in_pieces_is_one_line(
    box: PipeBox,
    poller: process.SeatPoller,
    seat: process.Seat,
    clock: Readings,
    pieces: tuple[bytes, bytes],
    chosen_index: int | None,
) -> None:
    clock.on = {3: lambda: box.says(pieces[0]), 5: lambda: box.says(pieces[1])}
    reply = exchange(poller, seat, clock)
    assert (chosen(reply) if isinstance(reply, process.ReplyReceived) else None) == chosen_index
    clock.on = {3: lambda: box.says(choice(0, 2))}
    assert chosen(exchange(poller, seat, clock)) == 0
    assert seat.stray_count == 0


def test_the_end_of_standard_error_is_kept(box: PipeBox, poller: process.SeatPoller, seat: process.Seat) -> None:
    """It shows the author why the bot died, and the referee isn't polling when it ends a process."""
    size = 1024
    if sys.platform == "linux":  # a bot may enlarge its pipe
        size = fcntl.fcntl(box.errors, fcntl.F_SETPIPE_SZ, 2**18)
    os.write(box.errors, b"KeyError: 'duke'\n".rjust(size))
    poller.remove(seat)
    assert seat.capture.render().endswith(b" KeyError: 'duke'\n")


def test_what_a_bot_wrote_before_a_request_is_above_its_log_marker(box: PipeBox, seat: process.Seat) -> None:
    for number in range(3):
        seat.set_marker(f"--- turn {number} ---")
        os.write(box.errors, b"%d\n" % number)
        if number != 1:  # then the referee hasn't read it before the next request
            seat.receive_stderr()
    assert seat.capture.render() == b"--- turn 0 ---\n0\n--- turn 1 ---\n1\n--- turn 2 ---\n2\n"


def test_standard_error_of_a_dead_process_is_read_before_its_fault_is_reported(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    """A seat whose output was closed is removed; its standard error is read once more. Its end may come later."""
    seat.leave("closed")

    looks = 0

    def ends() -> Exit | None:
        nonlocal looks
        looks += 1
        if looks == 3:
            os.write(box.errors, b"bye\n")
        return Exit(1, None) if looks >= 3 else None

    box.ends = ends
    assert exchange(poller, seat, clock) == process.ProcessExited("exited", Exit(1, None))
    assert seat.capture.render() == b"bye\n"


def test_the_output_limit_counts_from_each_request(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    """SPEC.md: this many bytes between two requests. Exactly this many are allowed, one more is a flood."""
    box.says(b"x" * (FLOOD_BYTES - 1) + b"\n")
    for number in (1, 2, 3, 4):
        line = choice(0, number) + b"x" * (FLOOD_BYTES - len(choice(0, number)) - 1) + b"\n"
        clock.on = {3: lambda line=line + b"x" * (number == 4): box.says(line)}  # type: ignore[misc]
        assert chosen(exchange(poller, seat, clock)) == 0
        assert seat.gone_code == ("flood" if number == 4 else None)


def test_a_flood_of_unsolicited_lines_is_a_flood(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    """Over 20 of them would cost only a life."""
    box.says(b"x" * 50 + b"\n" * FLOOD_BYTES)
    assert exchange(poller, seat, clock) == process.ProcessExited("flood")


def test_a_line_that_the_pipe_can_not_hold_is_sent_as_the_bot_reads(
    box: PipeBox, poller: process.SeatPoller, seat: process.Seat, clock: Readings
) -> None:
    read = bytearray()

    def reads() -> None:
        if len(read) < 300_000:
            with suppress(BlockingIOError):
                read.extend(os.read(box.input, 65_536))
            box.says(choice(1) * (len(read) == 300_000))

    clock.on = dict.fromkeys(range(3, 100), reads)
    (reply,) = poller.exchange([(seat, 1, b"x" * 300_000, WALL_S)])
    assert chosen(reply) == 1
