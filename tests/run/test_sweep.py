"""What a run that was killed leaves is removed by the next one, whatever sandbox either was in.

Source: issue 4: nothing may leak; `sweep_all`. Also that asking for it costs those nothing who
have no Docker, and little those who have.
"""

import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arena.sandbox.docker import ASK_S, OWNER, Engine, engine, left_behind, owner
from tests.place import Place

Needs = Callable[[str, str | None], None]

ROOT = Path(__file__).parents[2]
TINY = ("--games", 2, "--match-games", 2, "--seed", 3, "--jobs", 1)
ENDLESS = ("--games", 10_000, "--match-games", 2, "--seed", 3, "--jobs", 2)
BOOT, NAMESPACE = owner().split("/")[1:3]
DEAD = "/".join((*owner().split("/")[:3], "1", "0"))  # process 1 didn't start at tick 0 of another life


@functools.cache
def why_not(name: str) -> str | None:
    """Ask in a process of its own: a trial box would make this one the reaper of the run that a test kills."""
    code = f"from arena.sandbox import why_not; print(why_not({name!r}) or '', end='')"
    return (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
        ).stdout
        or None
    )


@pytest.fixture
def docker(needs: Needs) -> Engine:
    needs("docker", why_not("docker"))
    return engine()


def owned_by(made: Engine, pids: set[int]) -> list[str]:
    """Return the containers, running or not, that these processes made."""
    found = made.call(made.api.containers, all=True, filters={"label": [OWNER]})
    return [one["Id"] for one in found if int(one["Labels"][OWNER].split("/")[3]) in pids]


def family(pid: int) -> set[int]:
    """Return a process and its children."""
    found = {pid}
    for task in Path(f"/proc/{pid}/task").glob("*"):
        try:
            found |= {int(word) for word in (task / "children").read_text().split()}
        except OSError:  # the thread has just ended
            continue
    return found


@pytest.mark.parametrize("after", ["process", "bubblewrap", "docker"])
def test_a_killed_docker_run_leaves_no_container_after_the_next_run(
    place: Place, needs: Needs, docker: Engine, after: str
) -> None:
    """kill -9 of a run whose matches are being played; then a short run in any sandbox."""
    needs(after, why_not(after))
    bots = place.bots(2)
    process = place.start("run", *bots, *ENDLESS, "--sandbox", "docker", "--out", "killed")
    place.wait((place.folder / "killed" / "records" / "000001.jsonl").exists, process=process)
    pids = family(process.pid)
    place.wait(lambda: owned_by(docker, pids), process=process)
    os.kill(process.pid, signal.SIGKILL)
    place.end(process)
    place.wait(lambda: not place.processes(), 10)
    assert owned_by(docker, pids), "the kill left nothing to remove: this test shows nothing"
    ran = place.run("run", *bots, *TINY, "--sandbox", after, "--out", "next")
    assert ran.code == 0, ran.err
    assert owned_by(docker, pids) == []
    place.demand_nothing_left()


def test_a_living_run_keeps_its_containers(place: Place, needs: Needs, docker: Engine) -> None:
    """Two runs at a time: one in plain processes doesn't take the other's containers for a dead one's."""
    process = place.start("run", *place.bots(2), *ENDLESS, "--sandbox", "docker", "--out", "lives")
    records = place.folder / "lives" / "records"
    place.wait((records / "000001.jsonl").exists, process=process)
    assert place.run("run", *place.bots(2), *TINY, "--out", "other").code == 0
    before = len(list(records.glob("*.jsonl")))
    place.wait(lambda: len(list(records.glob("*.jsonl"))) > before + 2, process=process)
    process.send_signal(signal.SIGTERM)
    ran = place.end(process)
    assert ran.code == 130
    assert "is void" not in ran.err


# --- what asking costs ------------------------------------------------------------------------------------------------

CLEAN_UP = """
import sys, time
from arena.run import clean_up
from arena.sandbox import Choice
began = time.monotonic()
clean_up(Choice("process"))
print(time.monotonic() - began, "docker" in sys.modules)
"""


def clean_up(host: str) -> tuple[float, bool]:
    """Return how long a start's cleaning up takes, in s, and whether it imported the docker package."""
    done = subprocess.run(
        [sys.executable, "-c", CLEAN_UP],
        env={**os.environ, "DOCKER_HOST": host, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seconds, imported = done.stdout.split()
    return float(seconds), imported == "True"


@pytest.mark.parametrize("host", ["unix:///nowhere/docker.sock", "tcp://127.0.0.1:9", "ssh://nobody@localhost", "odd"])
def test_a_start_without_docker_neither_imports_nor_waits_for_it(host: str) -> None:
    """Source: DESIGN: a run in plain processes needs no Docker client."""
    seconds, imported = clean_up(host)
    assert not imported
    assert seconds < ASK_S


def test_where_nothing_is_left_the_docker_package_is_not_imported(docker: Engine) -> None:
    """The engine is asked by hand."""
    docker.sweep()
    assert not clean_up(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"))[1]


class Answering:
    """A socket that says the same to everybody, or nothing."""

    def __init__(self, path: Path, answers: list[bytes]) -> None:
        self.path = path
        self.done = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(8)
        self.thread = threading.Thread(target=self._serve, args=(answers,))
        self.thread.start()

    def _serve(self, answers: list[bytes]) -> None:
        for answer in answers:
            try:
                door, _ = self.listener.accept()
            except OSError:
                return
            with door:
                door.recv(65536)
                if answer == b"":
                    self.done.wait(60)
                else:
                    door.sendall(answer)

    def close(self) -> None:
        self.done.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(60)


@pytest.fixture
def answering(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Give a maker of engines; a socket's path may have 107 bytes, so it is a relative one."""
    monkeypatch.chdir(tmp_path)
    made: list[Answering] = []

    def make(*answers: bytes) -> str:
        made.append(Answering(Path(f"sock{len(made)}"), list(answers)))
        return str(made[-1].path)

    yield make
    for one in made:
        one.close()


def said(found: object) -> bytes:
    return b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + json.dumps(found).encode()


def test_what_an_engine_holds_is_left_behind_if_its_owner_is_dead(answering: Callable[..., str]) -> None:
    """Containers and volumes; those of the living, and of other hosts, aren't."""

    def labelled(name: str) -> dict[str, object]:
        return {"Id": "1", "Labels": {OWNER: name}}

    none = said({"Volumes": None})
    assert left_behind(answering(said([labelled(DEAD)]), none))
    assert left_behind(answering(said([]), said({"Volumes": [labelled(DEAD)]})))
    assert not left_behind(answering(said([]), none))
    elsewhere = "/".join(("another-host", BOOT, NAMESPACE, "1", "0"))
    assert not left_behind(answering(said([labelled(owner()), labelled(elsewhere)]), none))


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.0 500 Oops\r\n\r\n[]", b"hello", said({"message": "no"}), said([{"Id": 1}]), said([{"Labels": None}])],
)
def test_an_odd_answer_is_nobodys_leftover(answering: Callable[..., str], answer: bytes) -> None:
    """Whatever listens there, a run in plain processes begins."""
    assert not left_behind(answering(answer, answer))


def test_an_engine_that_hangs_costs_a_moment(answering: Callable[..., str]) -> None:
    """It takes the question and says nothing."""
    began = time.monotonic()
    assert not left_behind(answering(b""), timeout_s=0.2)
    assert time.monotonic() - began < ASK_S
