"""Tests of an executor whose workers may die. Source: the docstring of arena/workers/executors.py.

Calls are functions of the standard library, so that a worker can import them.
"""

import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from pathlib import Path
from typing import Any

import pytest

from arena.workers import (
    CallTimeoutError,
    LocalExecutor,
    RetryingJobs,
    WorkerCall,
    WorkerDiedError,
    WorkerMessages,
    assign_cores,
    drive_jobs,
    report_progress,
)
from tests.sandbox.talk import until

LIMIT_S = 60


@pytest.fixture
def workers() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def outcome_of(future: "Future[Any]") -> Any:
    """Return a call's result, or the exception it ended with."""
    problem = future.exception(timeout=LIMIT_S)
    return future.result() if problem is None else problem


LOOPS = "import re; from arena.workers import limit_time\nwith limit_time(0.2): re.match('(a*)*b', 'a' * 40)"


def test_a_call_that_takes_too_long_is_ended_even_in_a_loop_outside_of_python(workers: LocalExecutor) -> None:
    assert isinstance(outcome_of(workers.submit(exec, LOOPS)), CallTimeoutError)
    assert outcome_of(workers.submit(operator.add, 2, 3)) == 5


def test_calls_run_in_other_processes_and_return_their_results(workers: LocalExecutor) -> None:
    pids = {outcome_of(workers.submit(os.getpid)) for _ in range(10)}
    assert os.getpid() not in pids
    assert pids <= set(workers.pids)
    assert 1 <= len(pids) <= 2
    assert outcome_of(workers.submit(operator.add, 2, 3)) == 5
    assert outcome_of(workers.submit(dict, [("a", 1)], b=2)) == {"a": 1, "b": 2}


def reporting_program(gate: Path, *words: object) -> str:
    """Return a program that reports progress, and waits for a file before it ends."""
    lines = ["import pathlib, time, arena.workers", *(f"arena.workers.report_progress({word!r})" for word in words)]
    return "\n".join([*lines, f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"])


def test_progress_of_a_call_arrives_before_its_end(workers: LocalExecutor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first, second = (workers.submit(exec, reporting_program(gate, name, 2, None)) for name in ("one", "two"))
    assert isinstance(first, WorkerCall)
    assert isinstance(second, WorkerCall)
    heard: list[object] = []
    until(lambda: heard.extend(first.take_messages()) or len(heard) == 3)
    assert heard == ["one", 2, None]
    gate.touch()
    assert (outcome_of(first), outcome_of(second), second.take_messages()) == (None, None, ["two", 2, None])
    assert first.take_messages() == []


def test_progress_outside_a_worker_is_ignored() -> None:
    report_progress("ignored")


def test_a_runner_yields_the_progress_of_its_jobs(workers: LocalExecutor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    events = drive_jobs(RetryingJobs([reporting_program(gate, "half", "more")]), exec, workers, lambda: 1, ())
    messages: list[object] = []
    for event in events:
        if isinstance(event, WorkerMessages):
            messages += event.messages
            assert event.job == reporting_program(gate, "half", "more")
        if len(messages) == 2:
            gate.touch()
    assert messages == ["half", "more"]


def test_an_exception_reaches_the_caller_and_its_worker_survives(workers: LocalExecutor) -> None:
    problem = outcome_of(workers.submit(operator.truediv, 1, 0))
    assert isinstance(problem, ZeroDivisionError)
    missing = outcome_of(workers.submit(os.listdir, "/nowhere"))
    assert isinstance(missing, FileNotFoundError)
    assert missing.filename == "/nowhere"
    before = set(workers.pids)
    assert outcome_of(workers.submit(operator.add, 1, 1)) == 2
    assert set(workers.pids) >= before


@pytest.mark.parametrize(
    "ending", [(os._exit, 3), (sys.exit, 0), (signal.raise_signal, signal.SIGKILL)], ids=["_exit", "exit", "kill"]
)
def test_a_worker_that_dies_costs_only_its_call(workers: LocalExecutor, ending: tuple[Callable[..., Any], int]) -> None:
    fn, argument = ending
    futures = [workers.submit(operator.add, n, n) for n in range(5)]
    dead = workers.submit(fn, argument)
    futures += [workers.submit(operator.add, n, n) for n in range(5, 10)]
    assert isinstance(outcome_of(dead), WorkerDiedError)
    assert [outcome_of(future) for future in futures] == [n + n for n in range(10)]


def test_a_worker_that_is_killed_during_a_call_costs_only_its_call(workers: LocalExecutor, tmp_path: Path) -> None:
    victim = outcome_of(workers.submit(os.getpid))
    began = [tmp_path / "one", tmp_path / "two"]
    text = "import time\nopen({!r}, 'w').close()\ntime.sleep(600)"
    running = [workers.submit(exec, text.format(str(path))) for path in began]
    until(lambda: all(path.exists() for path in began))
    os.kill(victim, signal.SIGKILL)
    done, _ = wait(running, timeout=LIMIT_S, return_when="FIRST_COMPLETED")
    assert len(done) == 1
    problem = outcome_of(done.pop())
    assert isinstance(problem, WorkerDiedError)
    assert "ended with -9" in str(problem)
    assert outcome_of(workers.submit(operator.add, 2, 2)) == 4
    assert victim not in workers.pids


@pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc")
def test_a_worker_killed_between_two_calls_is_replaced(workers: LocalExecutor) -> None:
    for _ in range(3):
        assert outcome_of(workers.submit(operator.add, 2, 2)) == 4
        killed = workers.pids
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(is_running, killed)))  # noqa: B023
        assert outcome_of(workers.submit(os.getpid)) not in killed


def test_pickling_errors_fail_only_their_call(workers: LocalExecutor) -> None:
    assert outcome_of(workers.submit(os.getpid)) in workers.pids
    assert isinstance(outcome_of(workers.submit(lambda: 1)), Exception)
    assert isinstance(outcome_of(workers.submit(operator.add, threading.Lock(), 1)), Exception)
    for what in ("__import__('threading').Lock()", "(_ for _ in ())"):
        problem = outcome_of(workers.submit(eval, what))
        assert isinstance(problem, RuntimeError)
        assert "can't be sent" in str(problem)
    assert isinstance(outcome_of(workers.submit(exec, "class Odd(Exception): pass\nraise Odd")), RuntimeError)
    assert outcome_of(workers.submit(operator.add, 2, 2)) == 4


UNREAD = "type('Word', (), {'__reduce__': lambda self: (int, ('no number',))})()"
SAY = f"import time, arena.workers; arena.workers.report_progress({UNREAD})"


@pytest.mark.parametrize(("call", "text"), [(exec, SAY), (exec, f"{SAY}; time.sleep(30)"), (eval, UNREAD)])
def test_unreadable_progress_or_results_end_the_worker(call: Callable[[str], object], text: str) -> None:
    """The rest of the pipe's content would otherwise answer the next call."""
    with LocalExecutor(1) as pool:
        unread = pool.submit(call, text)
        sums = [pool.submit(operator.add, n, n) for n in range(3)]
        problem = outcome_of(unread)
        assert isinstance(problem, WorkerDiedError)
        assert "no number" in str(problem)
        assert [outcome_of(future) for future in sums] == [0, 2, 4]


@pytest.mark.parametrize(
    ("jobs", "cores", "shares"),
    [
        (1, (0, 1, 2, 3), [(0, 1, 2, 3)]),
        (2, (0, 1, 2, 3), [(0, 2), (1, 3)]),
        (3, (0, 1, 2, 3), [(0, 3), (1,), (2,)]),
        (4, (0, 1, 2, 3), [(0,), (1,), (2,), (3,)]),
        (5, (4, 7), [(4,), (7,), (4,), (7,), (4,)]),
        (3, (5,), [(5,), (5,), (5,)]),
        (2, (), [(), ()]),
    ],
)
def test_cores_are_dealt_out_evenly(jobs: int, cores: tuple[int, ...], shares: list[tuple[int, ...]]) -> None:
    assert assign_cores(jobs, cores) == shares


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores can't be chosen")
@pytest.mark.parametrize("more", [0, 1])
def test_a_worker_runs_on_its_own_cores(more: int) -> None:
    cores = sorted(os.sched_getaffinity(0))
    jobs = len(cores) + more
    with LocalExecutor(jobs) as pool:
        began = [pool.submit(time.sleep, 0.2) for _ in range(jobs)]  # so that each call has a worker of its own
        shares = [pool.submit(os.sched_getaffinity, 0) for _ in range(jobs * 4)]
        wait(began, timeout=LIMIT_S)
        found = {tuple(sorted(outcome_of(share))) for share in shares}
        pids = pool.pids
        dealt = sorted(tuple(sorted(os.sched_getaffinity(pid))) for pid in pids)
    assert len(pids) == jobs
    assert dealt == sorted(assign_cores(jobs, cores))
    assert found <= set(dealt)


def test_each_worker_begins_with_the_initializer() -> None:
    with LocalExecutor(2, os.putenv, ("ARENA_TEST_BEGAN", "yes")) as pool:
        for _ in range(2):
            asked = [pool.submit(subprocess.getoutput, "sleep 0.1; echo $ARENA_TEST_BEGAN") for _ in range(4)]
            assert [outcome_of(future) for future in asked] == ["yes"] * 4
            assert isinstance(outcome_of(pool.submit(os._exit, 1)), WorkerDiedError)


def test_a_worker_that_cannot_start_counts_as_dead() -> None:
    with LocalExecutor(1, os.listdir, ("/nowhere",)) as pool:
        problem = outcome_of(pool.submit(os.getpid))
        assert isinstance(problem, WorkerDiedError)
        assert "the worker can't start: FileNotFoundError" in str(problem)
        assert pool.pids == ()


def test_shutdown_finishes_what_is_queued(workers: LocalExecutor) -> None:
    with LocalExecutor(2) as pool:
        futures = [pool.submit(operator.add, n, 1) for n in range(20)]
    assert [future.result(timeout=0) for future in futures] == list(range(1, 21))
    assert pool.pids == ()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(os.getpid)


def test_shutdown_during_a_call_leaves_no_process() -> None:
    pool = LocalExecutor(2)
    running = [pool.submit(time.sleep, LIMIT_S * 3) for _ in range(2)]
    waiting = [pool.submit(os.getpid) for _ in range(5)]
    until(lambda: all(future.running() for future in running) and len(pool.pids) == 2)
    pids = pool.pids
    began = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - began < LIMIT_S
    assert not any(map(is_alive, pids))
    assert pool.pids == ()
    for future in running:
        assert isinstance(future.exception(timeout=0), WorkerDiedError)
    for future in waiting:
        with pytest.raises(CancelledError):
            future.result(timeout=0)


def test_a_call_gets_system_exit_before_its_worker_is_killed(tmp_path: Path) -> None:
    done = tmp_path / "done"
    pool = LocalExecutor(1)
    began = tmp_path / "began"
    text = (
        f"import time\ntry:\n    open({str(began)!r}, 'w').close()\n    time.sleep(60)\n"
        f"finally:\n    open({str(done)!r}, 'w').close()"
    )
    pool.submit(exec, text)
    until(began.exists)
    pool.shutdown(cancel_futures=True)
    assert done.exists()


def test_a_lost_request_to_exit_is_repeated(tmp_path: Path) -> None:
    """Python drops an exception in a finalizer, so the worker would continue with its call forever."""
    began = tmp_path / "began"
    text = (
        "import time\nclass Slow:\n    def __del__(self):\n"
        f"        open({str(began)!r}, 'w').close()\n        time.sleep(1)\nSlow()\ntime.sleep(60)"
    )
    pool = LocalExecutor(1)
    future = pool.submit(exec, text)
    until(began.exists)
    pool.shutdown(cancel_futures=True)
    problem = future.exception(timeout=0)
    assert isinstance(problem, WorkerDiedError)
    assert "ended with 0" in str(problem), "it left by itself, it wasn't killed"


def test_a_call_that_ignores_the_request_to_exit_is_killed(tmp_path: Path) -> None:
    began = tmp_path / "began"
    text = (
        "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        f"open({str(began)!r}, 'w').close()\n"
    )
    pool = LocalExecutor(1, leave_s=0.5)
    future = pool.submit(exec, text + "time.sleep(600)")
    until(began.exists)
    pool.shutdown(cancel_futures=True)
    assert isinstance(future.exception(timeout=0), WorkerDiedError)


def test_shutdown_ends_although_a_future_stays_locked() -> None:
    """Ctrl-C in `Condition.__enter__` leaves its lock held, so the thread of the worker can't set the exception."""
    held = threading.Event()
    pool = LocalExecutor(1)
    future = pool.submit(time.sleep, LIMIT_S * 3)
    future.add_done_callback(lambda _: held.wait(LIMIT_S * 3))
    until(lambda: future.running() and pool.pids)
    pids = pool.pids
    began = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - began < LIMIT_S
    assert not any(map(is_alive, pids))
    held.set()


def test_shutdown_does_not_wait_for_the_thread_of_an_idle_worker() -> None:
    """The worker ends by itself; its thread, which can't set the result, doesn't notice."""
    held = threading.Event()
    pool = LocalExecutor(1, leave_s=LIMIT_S * 3)
    future = pool.submit(os.getpid)
    future.add_done_callback(lambda _: held.wait(LIMIT_S * 3))
    pid = future.result()
    began = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - began < LIMIT_S
    assert not is_alive(pid)
    held.set()


OWNER = """
import os, sys, time
from arena.workers import LocalExecutor
pool = LocalExecutor(2)
print(pool.submit(os.getpid).result(), pool.submit(os.getpid).result(), flush=True)
for _ in range(2):
    pool.submit(time.sleep, 60)
while len(pool.pids) < 2:
    time.sleep(0.01)
print(*pool.pids, flush=True)
time.sleep(60)
"""


@pytest.mark.needs("linux", None if sys.platform == "linux" else "elsewhere only process 1 adopts orphans")
def test_processes_left_by_killed_workers_are_reaped() -> None:
    """Each worker that is killed in a match leaves the zombies of its boxes."""
    script = """
import ctypes, os, signal, sys, time
from arena.workers import WorkerDiedError, LocalExecutor

ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
left = lambda: open(f"/proc/self/task/{os.getpid()}/children").read().split()
with LocalExecutor(1) as pool:
    for _ in range(3):
        problem = pool.submit(os.system, "setsid sleep 0.01 & kill -9 $PPID").exception()
        assert isinstance(problem, WorkerDiedError), problem
    assert left()
    while left():
        pool.submit(os.getpid).result()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=LIMIT_S)


@pytest.mark.needs("linux", None if sys.platform == "linux" else "elsewhere a worker ends when its call ends")
def test_workers_end_with_an_owner_that_is_killed() -> None:
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, "-c", OWNER], env=environment, stdout=subprocess.PIPE, text=True) as owner:
        owner.stdout.readline()
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert len(pids) == 2
        owner.kill()
        owner.wait(LIMIT_S)
    until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_workers_do_not_import_from_the_folder_they_are_started_in(tmp_path: Path) -> None:
    """That folder may contain a bot called queue.py or random.py."""
    for name in ("queue", "socket", "pickle", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    root = str(Path(__file__).parents[2])
    text = (
        "import os\nfrom arena.workers import LocalExecutor\n"
        "with LocalExecutor(1) as pool: print(pool.submit(os.getcwd).result())"
    )
    words = [sys.executable, "-P", "-c", text]
    env = {**os.environ, "PYTHONPATH": root}
    found = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=LIMIT_S)
    assert (found.stdout, found.stderr) == (f"{tmp_path}\n", "")
