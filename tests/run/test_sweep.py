"""Tests that the next run removes the leftovers of a killed one, whatever sandbox either used.

They also check that this has no cost without leftovers, and that a run removes those of its own dead workers.
"""

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.sandbox.docker import OWNER_LABEL, Engine, get_engine
from arena.sandbox.linux import cgroup
from tests.cli_workspace import QUICK_BOT, Place
from tests.timing import within

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]
TINY = ("--games", 2, "--match-games", 2, "--jobs", 1)
ENDLESS = ("--games", 10_000, "--match-games", 2, "--jobs", 1)
MOMENT_S = 1.0  # unnoticeable at a start
HELLO_S = 5.0  # for an engine to say its version


@functools.cache
def sandbox_problem(name: str) -> str | None:
    """Test the sandbox in another process: a test box would make this one the reaper of the run that a test kills."""
    code = f"from arena.sandbox import unavailable_reason; print(unavailable_reason({name!r}) or '', end='')"
    return (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
        ).stdout
        or None
    )


@pytest.fixture
def docker(needs: Needs) -> Engine:
    needs("docker", sandbox_problem("docker"))
    return get_engine()


def owned_by(made: Engine, pids: set[int]) -> list[str]:
    """Return the containers, running or not, made by these processes."""
    found = made.call(made.api.containers, all=True, filters={"label": [OWNER_LABEL]})
    return [one["Id"] for one in found if int(one["Labels"][OWNER_LABEL].rpartition("/")[2].split(".")[0]) in pids]


def family(pid: int) -> set[int]:
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found |= {int(word) for word in (task / "children").read_text().split()}
        except OSError:  # the thread has just ended
            continue
    return found


@pytest.mark.parametrize("after", ["process", "docker"])
def test_a_killed_docker_run_leaves_no_container_after_the_next_run(
    place: Place, needs: Needs, docker: Engine, after: str
) -> None:
    """After kill -9 during matches a short run in any sandbox follows."""
    needs(after, sandbox_problem(after))
    slow = QUICK_BOT.replace("import sys,", "import sys, time,").replace(
        "  number =", "  time.sleep(0.2)\n        number ="
    )
    bots = [place.bot("slow.py", slow).name, *place.bots(1)]  # matches of seconds, so that containers are there
    process = place.start("run", *bots, *ENDLESS, "--sandbox", "docker", "--out", "killed")
    place.wait(lambda: owned_by(docker, family(process.pid) - {process.pid}), process=process)
    pids = family(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    place.end(process)
    place.wait(lambda: not place.processes())
    assert owned_by(docker, pids), "the kill left nothing to remove: this test shows nothing"
    ran = place.run("run", *bots, *TINY, "--sandbox", after, "--out", "next")
    assert ran.code == 0, ran.err
    assert owned_by(docker, pids) == []
    place.require_nothing_left()


def test_a_living_run_keeps_its_containers(place: Place, needs: Needs, docker: Engine) -> None:
    """A concurrent run in plain processes doesn't mistake them for those of a dead one."""
    process = place.start("run", *place.bots(2), *ENDLESS, "--sandbox", "docker", "--out", "lives")
    records = place.folder / "lives" / "records"
    place.wait((records / "000001.jsonl").exists, process=process)
    assert place.run("run", *place.bots(2), *TINY, "--out", "other").code == 0
    before = len(list(records.glob("*.jsonl")))
    place.wait(lambda: len(list(records.glob("*.jsonl"))) > before + 2, process=process)
    process.send_signal(signal.SIGTERM)
    ran = place.end(process)
    assert ran.code == 130
    assert " failed: " not in ran.err


@pytest.mark.parametrize("name", ["bubblewrap", "docker"])
def test_a_run_that_is_killed_in_a_build_leaves_nothing_after_the_next_run(
    place: Place, needs: Needs, name: str, request: pytest.FixtureRequest
) -> None:
    """A killed build leaves its folder, its temporary files, its groups, and a running container."""
    needs(name, sandbox_problem(name))
    place.bot("built/bot.toml", 'run = "python3 bot.py"\nbuild = ["sh", "-c", "sleep 100"]\n')
    place.bot("built/bot.py")
    process = place.start("run", "built", *place.bots(1), *TINY, "--sandbox", name, "--out", "killed")
    building = place.folder / "killed.building"
    pid = process.pid
    made = request.getfixturevalue("docker") if name == "docker" else None
    ours = (
        (lambda: owned_by(made, {pid})) if made is not None else (lambda: groups_of({pid}) or cgroup.cgroup_problem())
    )
    place.wait(lambda: (building / "bots").is_dir() and ours(), process=process)
    os.kill(pid, signal.SIGKILL)
    place.end(process)
    assert (building / "bots").is_dir(), "the kill left nothing to remove: this test shows nothing"
    ran = place.run("run", *place.bots(2), *TINY, "--out", "next")
    assert ran.code == 0, ran.err
    assert not building.exists()
    assert groups_of({pid}) == []
    assert made is None or owned_by(made, {pid}) == []
    place.require_nothing_left()


@pytest.mark.boxes
def test_a_running_build_keeps_its_folder(place: Place, needs: Needs) -> None:
    """A concurrent run doesn't mistake it for that of a dead one."""
    needs("bubblewrap", sandbox_problem("bubblewrap"))
    place.bot("built/bot.toml", 'run = "python3 bot.py"\nbuild = ["sh", "-c", "sleep 100"]\n')
    place.bot("built/bot.py")
    process = place.start("run", "built", *place.bots(1), *TINY, "--sandbox", "bubblewrap", "--out", "lives")
    built = place.folder / "lives.building" / "bots"
    place.wait(built.is_dir, process=process)
    assert place.run("run", *place.bots(2), *TINY, "--out", "other").code == 0
    assert built.is_dir()
    process.send_signal(signal.SIGTERM)
    assert place.end(process).code == 130
    assert not built.exists()


# --- what is left by a worker -----------------------------------------------------------------------------------------


def groups_of(pids: set[int]) -> list[str]:
    marks = tuple(f"arena.{pid}." for pid in pids)
    return [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names if name.startswith(marks)]


def test_the_rest_of_a_killed_worker_is_removed_at_the_end_of_its_run(
    place: Place, needs: Needs, docker: Engine
) -> None:
    """After kill -9 of a worker during a match the run continues with another worker."""
    needs("cgroup", cgroup.cgroup_problem())
    flags = ("--games", 12, "--match-games", 2, "--jobs", 1, "--sandbox", "docker", "--out", "out")
    process = place.start("run", *place.bots(2), *flags)
    place.wait((place.folder / "out" / "records" / "000001.jsonl").exists, process=process)

    def boxed() -> set[int]:
        workers = family(process.pid) - {process.pid}
        return workers if groups_of(workers) and owned_by(docker, workers) else set()

    workers = place.wait(boxed, process=process)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)
    ran = place.end(process)
    assert ran.code == 0, ran.err
    assert groups_of(workers) == []
    assert owned_by(docker, workers) == []
    place.require_nothing_left()


@pytest.mark.parametrize("name", ["process", "bubblewrap"])
def test_groups_of_the_dead_are_swept_at_the_end_of_a_run(place: Place, needs: Needs, name: str) -> None:
    """A group of a dead process, as a killed worker leaves it, is made while the last matches are played.

    It is made late, since the start of any other run on this machine removes it, too.
    """
    needs(name, sandbox_problem(name))
    problem = cgroup.cgroup_problem()
    needs("cgroup", None if problem is None else str(problem))
    groups = cgroup.hierarchy()
    assert groups is not None
    flags = ("--games", 20, "--match-games", 2, "--jobs", 1, "--sandbox", name, "--out", "out")
    process = place.start("run", *place.bots(2), *flags)
    place.wait((place.folder / "out" / "records" / "000002.jsonl").exists, process=process)
    namespace = os.stat("/proc/self/ns/pid").st_ino
    left = groups.unified / f"arena.{os.getpid()}.1.{namespace}.abcdef"  # this process began later
    left.mkdir()
    try:
        assert place.end(process).code == 0
        assert not left.exists()
    finally:
        if left.exists():
            left.rmdir()


# --- what it costs ----------------------------------------------------------------------------------------------------

CLEAN_UP = """
import sys, time
from arena.run import remove_leftovers
from arena.sandbox import SandboxChoice
began = time.monotonic()
remove_leftovers(SandboxChoice("process"))
print(time.monotonic() - began, "docker" in sys.modules)
"""


def clean_up(host: str, tmp: Path) -> tuple[float, bool]:
    """Return the seconds that the cleanup of a start takes, and whether it imported the docker package."""
    done = subprocess.run(
        [sys.executable, "-c", CLEAN_UP],
        env={**os.environ, "DOCKER_HOST": host, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seconds, imported = done.stdout.split()
    return float(seconds), imported == "True"


def leave_scratch_folder(tmp: Path) -> Path:
    """Make a leftover of a killed run: a scratch folder without a lock."""
    folder = tmp / "arena-run-0123456789abcdef"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "ssh://unknown@localhost", "odd"])
def test_a_start_without_docker_neither_imports_nor_waits_for_it(tmp_path: Path, host: str) -> None:
    def begins() -> float:
        seconds, imported = clean_up(host, tmp_path)
        assert not imported
        return seconds

    within(MOMENT_S, begins)


def test_where_nothing_is_left_no_engine_is_asked(tmp_path: Path, docker: Engine) -> None:
    """Importing the docker package alone takes longer than all else at a start."""
    assert not clean_up(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"), tmp_path)[1]


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "odd"])
def test_after_a_killed_run_an_engine_is_looked_for_once(tmp_path: Path, host: str) -> None:
    """Without one the start continues, and the next one has nothing to look for."""
    dead = leave_scratch_folder(tmp_path)
    assert clean_up(host, tmp_path)[1]
    assert not dead.exists()
    assert not clean_up(host, tmp_path)[1]


def test_after_a_killed_run_an_engine_that_hangs_costs_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the request and never responds: a start waits once, as long as for an engine that it needs."""
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as peer:
        peer.bind("sock")  # a socket's path may have 107 bytes, so it is a relative one
        peer.listen(8)

        def begins() -> float:
            return clean_up(f"unix://{tmp_path}/sock", tmp_path)[0]

        def begins_after_a_killed_run() -> float:
            leave_scratch_folder(tmp_path)
            return begins()

        within(2 * HELLO_S, begins_after_a_killed_run)
        within(MOMENT_S, begins)


class FixedResponse:
    """A socket with the same response to every request."""

    def __init__(self, path: Path, answer: bytes) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.thread = threading.Thread(target=self._serve, args=(answer,))
        self.thread.start()

    def _serve(self, answer: bytes) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = self.listener.accept()
                with peer:
                    peer.recv(65536)
                    peer.sendall(answer)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(60)


def said(found: object) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(found).encode()


@pytest.mark.parametrize("answer", [b"HTTP/1.0 500 Oops\r\n\r\n[]", b"hello", said([{"Labels": None}])])
def test_an_unexpected_response_does_not_prevent_a_run(tmp_path: Path, answer: bytes) -> None:
    """Whatever program listens there, a run in plain processes starts."""
    leave_scratch_folder(tmp_path)
    one = FixedResponse(tmp_path / "sock", answer)
    try:
        assert clean_up(f"unix://{tmp_path}/sock", tmp_path)[1]
    finally:
        one.close()
