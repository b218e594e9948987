"""Tests of the executor on a Dask cluster. Source: the docstring of arena/workers/cluster.py.

The scheduler and the workers are the real programs, as separate processes. Calls are functions of the standard
library. tests/ladder/test_kills_on_dask.py plays matches on a cluster.
"""

import importlib.util
import operator
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.workers import ExecutorLostError, WorkerDiedError, WorkerRejectedError
from arena.workers.cluster import DaskExecutor, Tls
from tests.dask import Cluster
from tests.sandbox.talk import until

LIMIT_S = 120

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
            f"import os, time\nif not os.path.exists({str(began)!r}):\n"
            f"    try:\n        open({str(began)!r}, 'x').close()\n        time.sleep(60)\n"
            f"    finally:\n        open({str(cleaned)!r}, 'x').close()"
        )
        call = executor.submit(exec, text)
        until(began.exists)
        leaving.terminate()
        assert leaving.wait(LIMIT_S) == 0
        assert cleaned.exists()
        cluster.start_worker()
        assert outcome_of(call) is None


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
    code = "import sys, arena.workers.cluster; print([name for name in ('dask', 'distributed') if name in sys.modules])"
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": root}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, env=env)
    assert found.stdout == "[]\n"
