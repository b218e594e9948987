"""Tests of a bot's own time, from readings that the tests set. Source: the docstring of the clock."""

from pathlib import Path
from typing import cast

import pytest

from arena.referee.process import Meter, RunQueueClock
from arena.sandbox import Box, CpuUsage, SandboxError

MARKED_AT = 0.001
SCHEDSTAT = Path("/proc/thread-self/schedstat")


class ReadBox:
    """A box that reports what a test has set: the CPU time, and the usage of its task 1."""

    def __init__(self) -> None:
        self.cpu_s = 0.0
        self.task = CpuUsage(0, 0)

    def cpu_ns(self) -> int:
        return int(self.cpu_s * 1e9)

    def cpu_usage(self) -> dict[int, CpuUsage]:
        return {1: self.task}


def usage(ran_s: float, waited_s: float, sleeps: int = 0, ready: bool = False) -> CpuUsage:
    return CpuUsage(int(ran_s * 1e9), int(waited_s * 1e9), sleeps, ready)


def start(box: ReadBox, first: CpuUsage, cores: float = 1.0, reports: bool = True) -> Meter:
    """Return the meter of a line of one second that was sent at 0, after its first reading."""
    meter = Meter(cast(Box, box), reports, freezes=False, cores=cores)
    meter.start(0.0, 1.0)
    box.task = first
    meter.mark(MARKED_AT)
    return meter


def test_a_wait_for_a_core_is_not_charged_and_the_time_is_read_again_soon() -> None:
    box = ReadBox()
    meter = start(box, usage(0, 0))
    assert meter.check_time(0.5, 0)
    assert meter.look_at == 1.0
    box.task = usage(0.5, 1.5)
    assert meter.check_time(2.0, 0)
    assert meter.own_s == 0.5
    assert meter.look_at == pytest.approx(2.005)


def test_a_ready_task_that_has_not_slept_waited_whenever_it_did_not_run() -> None:
    """The kernel has not added the wait yet. A task that slept meanwhile is charged."""
    for sleeps, own_s in ((3, 0.4 + MARKED_AT), (4, 2.0)):
        box = ReadBox()
        meter = start(box, usage(0.1, 0, 3, ready=True))
        box.task = usage(0.5, 0, sleeps, ready=True)
        meter.read(2.0, 0)
        assert meter.own_s == pytest.approx(own_s)


def test_out_of_time_a_ready_bot_is_measured_again_until_it_has_run() -> None:
    box = ReadBox()
    meter = start(box, usage(0, 0))
    box.task = usage(0.1, 0, 1, ready=True)
    assert meter.check_time(2.0, 0)
    assert meter.look_at == pytest.approx(2.005)
    assert meter.check_time(2.01, 0)
    box.task = usage(0.101, 0, 1, ready=True)
    assert not meter.check_time(2.02, 0)
    box.task = usage(0.101, 0, 2, ready=False)
    meter = start(box, box.task)
    assert not meter.check_time(1.0, 0)


def test_a_task_that_ran_and_waited_equally_long_has_moved() -> None:
    box = ReadBox()
    meter = start(box, usage(0, 0))
    box.task = usage(0.1, 0, 1, ready=True)
    assert meter.check_time(2.0, 0)
    box.task = usage(0.101, 0.001, 1, ready=True)
    assert not meter.check_time(2.01, 0)


def test_a_bot_that_had_time_left_is_measured_twice_when_it_is_over() -> None:
    box = ReadBox()
    meter = start(box, usage(0, 0))
    for now, task in ((1.2, usage(0.5, 0.5, 1)), (2.0, usage(0.5, 0.5, 2, ready=True))):
        box.task = task
        assert meter.check_time(now, 0)
    box.task = usage(0.6, 0.5, 2, ready=True)
    assert not meter.check_time(2.02, 0)


@pytest.mark.parametrize("reading", ["cpu_ns", "cpu_usage"])
def test_a_sandbox_that_reports_no_time_of_the_bot_ends_the_match(reading: str) -> None:
    class SilentBox(ReadBox):
        def cpu_ns(self) -> int:
            return cast(int, None) if reading == "cpu_ns" else 0

        def cpu_usage(self) -> dict[int, CpuUsage]:
            return cast(dict[int, CpuUsage], None) if reading == "cpu_usage" else {}

    with pytest.raises(SandboxError, match="which this match's clock needs"):
        start(SilentBox(), usage(0, 0))


def test_waiting_does_not_hide_the_cpu_time_of_other_threads() -> None:
    box = ReadBox()
    box.cpu_s = 1.0
    meter = start(box, usage(0, 0), cores=2.0)
    box.cpu_s, box.task = 4.0, usage(0, 2.0)
    assert not meter.check_time(2.0, 0)
    assert meter.own_s == pytest.approx(1.5)


@pytest.mark.parametrize("reports", [True, False])
def test_the_time_in_which_an_answer_lay_unread_is_not_charged(reports: bool) -> None:
    meter = start(ReadBox(), usage(0, 0), reports=reports)
    meter.read(0.75, int(0.25e9))
    assert meter.own_s == 0.5


def test_a_host_that_makes_a_bot_wait_for_very_long_is_stalled() -> None:
    box = ReadBox()
    meter = start(box, usage(0, 0))
    box.task = usage(0.1, 9.5)
    assert meter.check_time(10.0, 0)
    box.task = usage(0.1, 10.0)
    with pytest.raises(SandboxError, match=r"waiting for a core: 10\.1 s"):
        meter.check_time(10.1, 0)


@pytest.mark.skipif(not SCHEDSTAT.exists(), reason="the kernel doesn't count waits")
def test_the_referees_wait_is_that_of_its_thread_until_the_clock_is_closed() -> None:
    def counted_ns() -> int:
        return int(SCHEDSTAT.read_text().split()[1])

    clock = RunQueueClock()
    assert counted_ns() <= clock() <= counted_ns()
    clock.close()
    assert clock() == 0
