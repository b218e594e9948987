"""An executor whose workers may die. Source: the docstring of ladder/pool/executors.py.

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

from ladder.pool import (
    CallTimeoutError,
    LocalExecutor,
    RetryingJobs,
    WorkerCall,
    WorkerDiedError,
    WorkerMessage,
    assign_cores,
    drive_jobs,
    report_progress,
)

LIMIT_S = 60


@pytest.fixture
def workers() -> Iterator[LocalExecutor]:
    with LocalExecutor(2) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


def until(what: Callable[[], Any]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.002)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def outcome(future: "Future[Any]") -> Any:
    """Return a call's result, or the exception it ended with."""
    problem = future.exception(timeout=LIMIT_S)
    return future.result() if problem is None else problem


LOOPS = "import re; from ladder.pool import limit_time\nwith limit_time(0.2): re.match('(a*)*b', 'a' * 40)"


def test_a_call_that_takes_too_long_is_ended_even_in_a_loop_that_never_returns_to_python(
    workers: LocalExecutor,
) -> None:
    """The next call is answered by another worker."""
    assert isinstance(outcome(workers.submit(exec, LOOPS)), CallTimeoutError)
    assert outcome(workers.submit(operator.add, 2, 3)) == 5


def test_calls_run_in_processes_of_their_own_and_return_what_they_return(workers: LocalExecutor) -> None:
    """Two long-lived processes serve any number of calls."""
    pids = {outcome(workers.submit(os.getpid)) for _ in range(10)}
    assert os.getpid() not in pids
    assert pids <= set(workers.pids)
    assert 1 <= len(pids) <= 2
    assert outcome(workers.submit(operator.add, 2, 3)) == 5
    assert outcome(workers.submit(dict, [("a", 1)], b=2)) == {"a": 1, "b": 2}


def speaking(gate: Path, *words: object) -> str:
    """Return a program that says words, and waits for a file before it ends."""
    lines = ["import pathlib, time, ladder.pool", *(f"ladder.pool.report_progress({word!r})" for word in words)]
    return "\n".join([*lines, f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"])


def test_what_a_call_says_is_heard_before_it_ends(workers: LocalExecutor, tmp_path: Path) -> None:
    """In order, once, and by its own future; the result is as without it."""
    gate = tmp_path / "gate"
    first, second = (workers.submit(exec, speaking(gate, name, 2, None)) for name in ("one", "two"))
    assert isinstance(first, WorkerCall)
    assert isinstance(second, WorkerCall)
    heard: list[object] = []
    until(lambda: heard.extend(first.words()) or len(heard) == 3)
    assert heard == ["one", 2, None]
    gate.touch()
    assert (outcome(first), outcome(second), second.words()) == (None, None, ["two", 2, None])
    assert first.words() == []


def test_what_is_said_by_no_worker_is_heard_by_nobody() -> None:
    report_progress("nobody listens")


def test_a_runner_yields_what_its_jobs_say_while_they_last(workers: LocalExecutor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    events = drive_jobs(RetryingJobs([speaking(gate, "half", "more")]), exec, workers, lambda: 1, ())
    words: list[object] = []
    for event in events:
        if isinstance(event, WorkerMessage):
            words += event.words
            assert event.job == speaking(gate, "half", "more")
        if len(words) == 2:
            gate.touch()
    assert words == ["half", "more"]


def test_an_exception_travels_to_the_caller_and_costs_no_worker(workers: LocalExecutor) -> None:
    """It keeps its type and its words; the worker goes on with the next call."""
    problem = outcome(workers.submit(operator.truediv, 1, 0))
    assert isinstance(problem, ZeroDivisionError)
    missing = outcome(workers.submit(os.listdir, "/nowhere"))
    assert isinstance(missing, FileNotFoundError)
    assert missing.filename == "/nowhere"
    before = set(workers.pids)
    assert outcome(workers.submit(operator.add, 1, 1)) == 2
    assert set(workers.pids) >= before


@pytest.mark.parametrize(
    "ending", [(os._exit, 3), (sys.exit, 0), (signal.raise_signal, signal.SIGKILL)], ids=["_exit", "exit", "kill"]
)
def test_a_worker_that_dies_costs_only_its_call(workers: LocalExecutor, ending: tuple[Callable[..., Any], int]) -> None:
    """The call says that its worker died; another worker takes its place for the calls behind it."""
    fn, argument = ending
    futures = [workers.submit(operator.add, n, n) for n in range(5)]
    dead = workers.submit(fn, argument)
    futures += [workers.submit(operator.add, n, n) for n in range(5, 10)]
    assert isinstance(outcome(dead), WorkerDiedError)
    assert [outcome(future) for future in futures] == [n + n for n in range(10)]


def test_a_worker_that_is_killed_during_a_call_costs_only_its_call(workers: LocalExecutor, tmp_path: Path) -> None:
    """kill -9 from outside, as by the kernel when memory is short."""
    victim = outcome(workers.submit(os.getpid))
    began = [tmp_path / "one", tmp_path / "two"]
    text = "import time\nopen({!r}, 'w').close()\ntime.sleep(600)"
    running = [workers.submit(exec, text.format(str(path))) for path in began]
    until(lambda: all(path.exists() for path in began))
    os.kill(victim, signal.SIGKILL)
    done, _ = wait(running, timeout=LIMIT_S, return_when="FIRST_COMPLETED")
    assert len(done) == 1
    problem = outcome(done.pop())
    assert isinstance(problem, WorkerDiedError)
    assert "ended with -9" in str(problem)
    assert outcome(workers.submit(operator.add, 2, 2)) == 4
    assert victim not in workers.pids


@pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc")
def test_a_worker_that_was_killed_between_two_calls_costs_none(workers: LocalExecutor) -> None:
    """It is replaced before the next call is handed out."""
    for _ in range(3):
        assert outcome(workers.submit(operator.add, 2, 2)) == 4
        killed = workers.pids
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(is_running, killed)))  # noqa: B023
        assert outcome(workers.submit(os.getpid)) not in killed


def test_what_cannot_be_pickled_is_an_exception_of_the_call_alone(workers: LocalExecutor) -> None:
    """A function, an argument, a result and an exception that can't cross; the worker stays."""
    assert outcome(workers.submit(os.getpid)) in workers.pids
    assert isinstance(outcome(workers.submit(lambda: 1)), Exception)
    assert isinstance(outcome(workers.submit(operator.add, threading.Lock(), 1)), Exception)
    for what in ("threading.Lock()", "(_ for _ in ())"):
        problem = outcome(workers.submit(eval, f"__import__('threading') and {what.replace('threading.', THREADING)}"))
        assert isinstance(problem, RuntimeError)
        assert "can't be sent" in str(problem)
    assert isinstance(outcome(workers.submit(exec, "class Odd(Exception): pass\nraise Odd")), RuntimeError)
    assert outcome(workers.submit(operator.add, 2, 2)) == 4


UNREAD = "type('Word', (), {'__reduce__': lambda self: (int, ('no number',))})()"
SAY = f"import time, ladder.pool; ladder.pool.report_progress({UNREAD})"


@pytest.mark.parametrize(("call", "text"), [(exec, SAY), (exec, f"{SAY}; time.sleep(30)"), (eval, UNREAD)])
def test_a_word_or_a_result_that_cannot_be_read_ends_its_worker_and_the_next_calls_get_their_own_answers(
    call: Callable[[str], object], text: str
) -> None:
    """Also in the middle of a call: what the pipe still holds would answer the next one."""
    with LocalExecutor(1) as pool:
        unread = pool.submit(call, text)
        sums = [pool.submit(operator.add, n, n) for n in range(3)]
        problem = outcome(unread)
        assert isinstance(problem, WorkerDiedError)
        assert "no number" in str(problem)
        assert [outcome(future) for future in sums] == [0, 2, 4]


THREADING = "__import__('threading')."


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
    """Each core has a worker, each worker a core; more workers than cores share them; () where none can be chosen."""
    assert assign_cores(jobs, cores) == shares


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="cores can't be chosen")
@pytest.mark.parametrize("more", [0, 1])
def test_a_worker_runs_on_its_own_cores(more: int) -> None:
    """As many workers as cores, and one more."""
    cores = sorted(os.sched_getaffinity(0))
    jobs = len(cores) + more
    with LocalExecutor(jobs) as pool:
        began = [pool.submit(time.sleep, 0.2) for _ in range(jobs)]  # so that each call has a worker of its own
        shares = [pool.submit(os.sched_getaffinity, 0) for _ in range(jobs * 4)]
        wait(began, timeout=LIMIT_S)
        found = {tuple(sorted(outcome(share))) for share in shares}
        pids = pool.pids
        dealt = sorted(tuple(sorted(os.sched_getaffinity(pid))) for pid in pids)
    assert len(pids) == jobs
    assert dealt == sorted(assign_cores(jobs, cores))
    assert found <= set(dealt)


def test_each_worker_begins_with_the_initializer() -> None:
    """Before its first call, and so does the one that takes a dead one's place."""
    with LocalExecutor(2, os.putenv, ("ARENA_TEST_BEGAN", "yes")) as pool:
        for _ in range(2):
            asked = [pool.submit(subprocess.getoutput, "sleep 0.1; echo $ARENA_TEST_BEGAN") for _ in range(4)]
            assert [outcome(future) for future in asked] == ["yes"] * 4
            assert isinstance(outcome(pool.submit(os._exit, 1)), WorkerDiedError)


def test_a_worker_that_cannot_begin_counts_as_dead() -> None:
    """Its call says why; no worker is left over."""
    with LocalExecutor(1, os.listdir, ("/nowhere",)) as pool:
        problem = outcome(pool.submit(os.getpid))
        assert isinstance(problem, WorkerDiedError)
        assert "it can't begin: FileNotFoundError" in str(problem)
        assert pool.pids == ()


def test_shutdown_finishes_what_is_queued(workers: LocalExecutor) -> None:
    """So that `with LocalExecutor(2) as pool` returns with all its calls done, also those that no worker had begun."""
    with LocalExecutor(2) as pool:
        futures = [pool.submit(operator.add, n, 1) for n in range(20)]
    assert [future.result(timeout=0) for future in futures] == list(range(1, 21))
    assert pool.pids == ()
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(os.getpid)


def test_shutdown_during_a_call_leaves_no_process() -> None:
    """With cancel_futures: what runs ends at once as a death, what waits is cancelled."""
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


def test_a_call_is_asked_to_leave_before_its_worker_is_killed(tmp_path: Path) -> None:
    """SystemExit in the call, so that what it started can be ended: here a finally writes a file."""
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


def test_a_request_to_leave_is_repeated_where_it_was_lost(tmp_path: Path) -> None:
    """Python drops an exception in a finalizer; the worker would go on with its call for ever."""
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


def test_a_call_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    """After a while."""
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


OWNER = """
import os, sys, time
from ladder.pool import LocalExecutor
pool = LocalExecutor(2)
print(pool.submit(os.getpid).result(), pool.submit(os.getpid).result(), flush=True)
for _ in range(2):
    pool.submit(time.sleep, 60)
while len(pool.pids) < 2:
    time.sleep(0.01)
print(*pool.pids, flush=True)
time.sleep(60)
"""


@pytest.mark.needs("linux", None if sys.platform == "linux" else "elsewhere nobody adopts orphans but process 1")
def test_what_killed_workers_left_is_reaped() -> None:
    """Where the owner adopts it: each worker killed in a match left the zombies of its boxes."""
    script = """
import ctypes, os, signal, sys, time
from ladder.pool import WorkerDiedError, LocalExecutor

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
    """kill -9 of the owner, both workers being in a call."""
    root = str(Path(__file__).parents[3])
    environment = {**os.environ, "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, "-c", OWNER], env=environment, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        owner.stdout.readline()
        pids = [int(word) for word in owner.stdout.readline().split()]
        assert len(pids) == 2
        owner.kill()
        owner.wait(LIMIT_S)
    until(lambda: not any(is_running(pid) for pid in pids))


def is_running(pid: int) -> bool:
    """Return whether a process is more than a zombie that nobody has reaped yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_workers_do_not_import_from_the_folder_they_are_started_in(tmp_path: Path) -> None:
    """A bot called queue.py or random.py lies in the folder where arena is run."""
    for name in ("queue", "socket", "pickle", "random"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong one')\n")
    root = str(Path(__file__).parents[3])
    text = (
        "import os\nfrom ladder.pool import LocalExecutor\n"
        "with LocalExecutor(1) as pool: print(pool.submit(os.getcwd).result())"
    )
    found = subprocess.run(
        [sys.executable, "-P", "-c", text],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert (found.stdout, found.stderr) == (f"{tmp_path}\n", "")
