"""Tests of the kernel's data about tasks, with real ones."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.sandbox import CpuUsage
from arena.sandbox.linux import processes

BURN_S = 0.05
READS = f"""
import json, os, time
from arena.sandbox.linux import processes


def read():
    readings.append(processes.read_cpu_usage([os.getpid()])[os.getpid()])


readings = []
read()
end = time.thread_time() + {BURN_S}
while time.thread_time() < end:
    pass
read()
time.sleep(0.001)
read()
for spent in readings:
    print(json.dumps(spent))
"""


@pytest.fixture(autouse=True)
def output(needs: Callable[[str, str | None], None]) -> None:
    needs("linux", None if processes.has_schedstat() else "this kernel has no data about tasks")


def test_a_thread_that_sleeps_is_counted_and_one_that_computes_is_not() -> None:
    """/proc/PID/status. In a process of one thread: threads of Python sleep while they wait for one another."""
    done = subprocess.run([sys.executable, "-c", READS], capture_output=True, text=True, check=True)
    first, second, third = (CpuUsage(*json.loads(line)) for line in done.stdout.splitlines())
    assert first.ready
    assert second.ready
    assert second.sleeps == first.sleeps
    assert third.sleeps == second.sleeps + 1
    assert second.ran_ns - first.ran_ns > BURN_S * 1e9 / 2, "the kernel adds it up once a tick"


def test_a_process_that_waits_for_its_input_is_not_ready() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        end = time.monotonic() + 60
        while processes.read_cpu_usage([process.pid])[process.pid].ready:
            assert time.monotonic() < end
        process.kill()


def test_a_task_that_has_ended_is_left_out() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not Path(f"/proc/{process.pid}").exists()
    assert processes.read_cpu_usage([process.pid]) == {}
