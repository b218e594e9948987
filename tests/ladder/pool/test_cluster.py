"""Tests of the executor on a Dask cluster. Source: the docstring of ladder/pool/cluster.py.

The scheduler and the workers are the real programs, as separate processes. Calls are functions of the standard
library. tests/run/test_work_items_on_dask.py plays matches on a cluster.
"""

import importlib.util
import operator
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ladder.pool import ExecutorLostError, WorkerCall, WorkerDiedError, WorkerRejectedError
from ladder.pool.cluster import DaskExecutor, Tls
from tests.dask import Cluster

LIMIT_S = 60

pytestmark = pytest.mark.needs("dask", None if importlib.util.find_spec("distributed") else "it isn't installed")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Give a cluster of two workers for the tests that leave it whole."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    made.start_scheduler()
    for _ in range(2):
        made.start_worker()
    yield made
    made.close()


def executor_on(cluster: Cluster, admit: Any = os.getpid, **options: Any) -> DaskExecutor:
    return DaskExecutor(cluster.address, f"test {admit}", admit, **options)


def until(what: Any, limit_s: float = LIMIT_S) -> Any:
    deadline = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return found


def outcome_of(future: "Future[Any]") -> Any:
    """Return a call's result, or the exception it ended with."""
    problem = future.exception(LIMIT_S)
    return future.result() if problem is None else problem


def test_calls_run_as_they_do_on_one_machine(shared: Cluster) -> None:
    with executor_on(shared) as executor:
        until(lambda: executor.width() == 2)
        assert [outcome_of(executor.submit(operator.add, n, 1)) for n in range(4)] == [1, 2, 3, 4]
        assert outcome_of(executor.submit(dict, [("a", 1)], b=2)) == {"a": 1, "b": 2}
        assert isinstance(outcome_of(executor.submit(operator.truediv, 1, 0)), ZeroDivisionError)
        died = outcome_of(executor.submit(os._exit, 3))
        assert isinstance(died, WorkerDiedError)
        assert "ended with 3" in str(died)
        assert outcome_of(executor.submit(len, bytes(20 << 20))) == 20 << 20
        assert (executor.last_error(), executor.refused()) == (None, {})


def test_equal_calls_each_run(shared: Cluster, tmp_path: Path) -> None:
    """By default Dask answers the second call with the result of the first."""
    with executor_on(shared) as executor:
        made = [tmp_path / name for name in ("one", "two")]
        assert outcome_of(executor.submit(os.mkdir, str(made[0]))) is None
        assert isinstance(outcome_of(executor.submit(os.mkdir, str(made[0]))), FileExistsError)


def test_the_scheduler_imports_nothing_of_ours(shared: Cluster) -> None:
    """The scheduler unpickles what it forwards, and may run on a machine without the arena."""
    from distributed import Client

    with executor_on(shared, partial(operator.add, 1, 1)) as executor:
        assert outcome_of(executor.submit(operator.add, 2, 2)) == 4
        with Client(shared.address, set_as_default=False) as client:
            names = client.run_on_scheduler(eval, "list(__import__('sys').modules)")
    assert "distributed" in names
    assert [name for name in names if name.split(".")[0] in ("ladder", "arena")] == []


def test_cancelling_a_call_wakes_its_waiters(shared: Cluster) -> None:
    with executor_on(shared) as executor:
        until(executor.width)
        future = executor.submit(time.sleep, 0.5)
        assert future.cancel()
        assert wait([future], timeout=LIMIT_S).done == {future}
        assert outcome_of(executor.submit(operator.add, 1, 1)) == 2


def test_shutdown_waits_for_submitted_calls(shared: Cluster) -> None:
    with executor_on(shared) as executor:
        futures = [executor.submit(operator.add, n, n) for n in range(6)]
    assert [future.result(timeout=0) for future in futures] == [0, 2, 4, 6, 8, 10]
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(os.getpid)
    executor = executor_on(shared)
    future = executor.submit(time.sleep, 2)
    executor.shutdown(cancel_futures=True)
    assert future.cancelled()


def test_a_worker_that_refuses_gets_no_calls(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    cluster.start_scheduler()
    cluster.start_worker(cwd=tmp_path)
    with executor_on(cluster, partial(check_listed, "here")) as executor:
        reasons = until(executor.refused)
        assert list(reasons.values()) == ["there is no folder here"]
        assert executor.width() == 0
        assert "all 1 workers were refused" in str(executor.last_error())
        waiting = executor.submit(os.getcwd)
        (tmp_path / "good" / "here").mkdir()
        cluster.start_worker(cwd=tmp_path / "good")
        assert outcome_of(waiting) == str(tmp_path / "good")
        until(lambda: executor.width() == 1)
        found = [outcome_of(executor.submit(os.getcwd)) for _ in range(4)]
        assert found == [str(tmp_path / "good")] * 4
        assert executor.last_error() is None
        (tmp_path / "good" / "here").rmdir()
        refused = outcome_of(executor.submit(check_listed, "here"))
        assert isinstance(refused, WorkerRejectedError)
        until(lambda: len(executor.refused()) == 2)
        assert executor.width() == 0


def check_listed(name: str) -> None:
    """Raise where the working folder has no folder of this name."""
    if not os.path.isdir(name):
        raise WorkerRejectedError(f"there is no folder {name}")


def test_the_calls_of_a_killed_worker_run_again(cluster: Cluster, tmp_path: Path) -> None:
    cluster.start_scheduler()
    victim = cluster.start_worker()
    with executor_on(cluster) as executor:
        until(lambda: executor.width() == 1)
        pid = outcome_of(executor.submit(os.getpid))
        began = tmp_path / "began"
        call = executor.submit(exec, f"import os, time\nopen({str(began)!r}, 'x').close()\ntime.sleep(60)")
        until(began.exists)
        victim.kill()
        until(lambda: not os.path.exists(f"/proc/{pid}"))
        until(lambda: executor.width() == 0)
        cluster.start_worker()
        assert isinstance(outcome_of(call), FileExistsError), "it ran a second time"
        until(lambda: executor.width() == 1)


def test_progress_of_a_call_arrives_before_its_end_and_again_when_it_reruns(cluster: Cluster, tmp_path: Path) -> None:
    cluster.start_scheduler()
    with executor_on(cluster) as executor, executor_on(cluster) as other:
        for turn in range(2):
            gate = tmp_path / f"gate {turn}"
            program = (
                "import pathlib, time\nfrom ladder.pool import report_progress as say\nsay(('step', 1))\nsay(b'2')\n"
            )
            program += f"while not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.01)"
            victim = cluster.start_worker()
            until(lambda: executor.width() == other.width() == 1)
            call, silent = executor.submit(exec, program), other.submit(operator.add, 1, 1)
            assert isinstance(call, WorkerCall)
            assert isinstance(silent, WorkerCall)
            heard: list[object] = []
            until(lambda call=call, heard=heard: heard.extend(call.take_messages()) or len(heard) == 2)
            victim.kill()
            until(lambda: executor.width() == 0)
            cluster.start_worker()
            until(lambda call=call, heard=heard: heard.extend(call.take_messages()) or len(heard) == 4)
            assert heard == [("step", 1), b"2"] * 2
            gate.touch()
            assert (outcome_of(call), outcome_of(silent), silent.take_messages()) == (None, 2, [])
            if turn == 0:
                cluster.kill_scheduler()
                until(executor.last_error)
                cluster.start_scheduler()


def test_a_call_that_kills_its_workers_ends(cluster: Cluster) -> None:
    """Dask repeats a call that kills its worker four times by default."""
    cluster.start_scheduler(allowed_failures=0)
    cluster.start_worker()
    with executor_on(cluster) as executor:
        until(executor.width)
        died = outcome_of(executor.submit(exec, f"import os\nos.kill(os.getppid(), {int(signal.SIGKILL)})"))
        assert isinstance(died, WorkerDiedError)
        assert str(died) == "1 workers died while they ran this task"


def test_a_worker_that_gets_sigterm_ends_its_call_at_once(cluster: Cluster, tmp_path: Path) -> None:
    """SLURM and Kubernetes send SIGTERM; SystemExit in the call lets it clean up before it runs elsewhere."""
    cluster.start_scheduler()
    leaving = cluster.start_worker()
    with executor_on(cluster) as executor:
        until(executor.width)
        began, cleaned = tmp_path / "began", tmp_path / "cleaned"
        text = (
            f"import os, time\nif not os.path.exists({str(began)!r}):\n    open({str(began)!r}, 'x').close()\n"
            f"    try:\n        time.sleep(60)\n    finally:\n        open({str(cleaned)!r}, 'x').close()"
        )
        call = executor.submit(exec, text)
        until(began.exists)
        leaving.terminate()
        assert leaving.wait(LIMIT_S) == 0
        assert cleaned.exists()
        cluster.start_worker()
        assert outcome_of(call) is None


def test_calls_fail_with_their_scheduler_and_run_on_the_next_one(cluster: Cluster) -> None:
    scheduler = cluster.start_scheduler()
    worker = cluster.start_worker()
    with executor_on(cluster) as executor:
        until(executor.width)
        calls = [executor.submit(time.sleep, 60) for _ in range(2)]
        scheduler.kill()
        for call in calls:
            assert isinstance(outcome_of(call), ExecutorLostError)
        assert isinstance(outcome_of(executor.submit(os.getpid)), ExecutorLostError)
        until(lambda: executor.width() == 0)
        assert executor.last_error() == f"no Dask scheduler answers at {cluster.address}"
        worker.wait(LIMIT_S)
        cluster.start_scheduler()
        cluster.start_worker()
        until(lambda: executor.width() == 1)
        assert executor.last_error() is None
        assert outcome_of(executor.submit(operator.add, 1, 1)) == 2
        changes = executor.changes()
        assert [there for _, there in changes[:2]] == [True, False]
        assert changes[1][0] == f"no Dask scheduler answers at {cluster.address}"
        assert sum(there for _, there in changes) == 3, "a scheduler and two workers"
        assert executor.changes() == []


def test_waiting_for_a_scheduler_times_out(cluster: Cluster) -> None:
    with pytest.raises(ExecutorLostError, match=f"no Dask scheduler answers at {cluster.address}"):
        executor_on(cluster)
    scheduler = cluster.start_scheduler()
    with executor_on(cluster, patience_s=0.5) as executor:
        until(lambda: executor.last_error() == f"no worker has joined the scheduler at {cluster.address}")
        scheduler.kill()
        with pytest.raises(ExecutorLostError, match=r"answers at .* for 0 s"):
            until(lambda: executor.width() < 0)


def test_a_cluster_with_tls_refuses_clients_without_a_certificate(cluster: Cluster, tmp_path: Path) -> None:
    """The commands are those of docs/howto/operate/cluster.md."""
    made = cluster.make_certificates()
    tls = Tls(*made)
    cluster.start_scheduler(tls=True)
    cluster.start_worker()
    assert cluster.address.startswith("tls://")
    with executor_on(cluster, tls=tls) as executor:
        until(executor.width)
        assert outcome_of(executor.submit(operator.add, 1, 1)) == 2
    with pytest.raises(ExecutorLostError):
        executor_on(cluster)
    own = Cluster(tmp_path / "others")
    with pytest.raises(ExecutorLostError):
        executor_on(cluster, tls=Tls(*own.make_certificates()))


def test_importing_the_module_does_not_import_dask() -> None:
    code = "import sys, ladder.pool.cluster; print([name for name in ('dask', 'distributed') if name in sys.modules])"
    root = str(Path(__file__).parents[3])
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert found.stdout == "[]\n"
