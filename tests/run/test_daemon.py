"""Tests of a Docker daemon that dies, restarts or hangs while matches are played.

It voids the match within 30 s, and the match is played again. The daemon of this host serves others too, so the test
kills a relay in front of its socket, which is all that the arena sees of the daemon.
"""

import contextlib
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_workspace import Place

Needs = Callable[[str, str | None], None]

VOID_S = 30  # how soon a lost daemon must be known
LIMIT_S = 60


class Relay:
    """A unix socket forwarded to the daemon's while it is up; hung, it accepts connections and forwards nothing."""

    def __init__(self, target: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="relay-"))  # a socket's path may have 107 bytes
        self.path = self.folder / "docker.sock"
        self.target = target
        self.hung = threading.Event()
        self.hangs_at: bytes | None = None  # it hangs when it is to carry this
        self.ends: list[socket.socket] = []
        self.listener: socket.socket | None = None

    @property
    def host(self) -> str:
        return f"unix://{self.path}"

    def up(self) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(self.path))
        self.listener.listen(64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def down(self) -> None:
        if self.listener is not None:
            with contextlib.suppress(OSError):
                self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()
            self.path.unlink()
            self.listener = None
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.down()
        self.hung.clear()
        for end in self.ends:
            end.close()
        shutil.rmtree(self.folder)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = listener.accept()
                theirs = socket.socket(socket.AF_UNIX)
                theirs.connect(self.target)
                self.ends += [ours, theirs]
                for source, target in ((ours, theirs), (theirs, ours)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.hangs_at is not None and self.hangs_at in data:
                    self.hung.set()
                while self.hung.is_set():
                    time.sleep(0.01)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay(docker: None, needs: Needs) -> Iterator[Relay]:
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    needs("unix socket", None if host.startswith("unix://") else "the daemon isn't on one")
    made = Relay(host.removeprefix("unix://"))
    made.up()
    yield made
    made.close()


def playing(place: Place, relay: Relay) -> Any:
    """Start a long run over the relay, and return its process when matches are complete."""
    flags = ("--games", 10_000, "--match-games", 2, "--jobs", 1, "--sandbox", "docker", "--out", "out")
    process = place.start("run", *place.bots(2), *flags, DOCKER_HOST=relay.host)
    place.wait((place.folder / "out" / "records" / "000001.jsonl").exists, process=process)
    return process


def records(place: Place) -> int:
    return len(list((place.folder / "out" / "records").glob("*.jsonl")))


def test_a_daemon_that_restarts_costs_time_and_no_match(place: Place, relay: Relay) -> None:
    process = playing(place, relay)
    relay.down()
    wait_for_void(process)
    relay.up()
    before = records(place)
    place.wait(lambda: records(place) >= before + 2, LIMIT_S, process)
    process.send_signal(signal.SIGINT)
    ran = place.end(process)
    assert ran.code == 130
    assert "failed too often" not in ran.out + ran.err
    assert place.run("verify", "out").code == 3  # it lacks planned matches
    place.require_nothing_left()


def test_a_daemon_that_does_not_come_back_ends_the_run(place: Place, relay: Relay) -> None:
    """The exit code is 1, complete matches are kept, and --resume works once the daemon is back."""
    process = playing(place, relay)
    relay.down()
    # Not place.end: Docker's client leaks a socket when it can't connect, of which Python warns at the end.
    out, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1, err
    assert "3 matches in a row failed repeatedly: " in err
    assert "resume with: arena run --resume out" in err
    assert "games of coup at 2 seats" in out
    assert "arena/cli/run.py" not in err, "no traceback of ours"
    relay.up()
    resume(place, relay)


def test_a_daemon_that_hangs_voids_the_match_in_time(place: Place, relay: Relay) -> None:
    """Every request to it has a time limit; and the run can still be stopped."""
    process = playing(place, relay)
    relay.hung.set()
    wait_for_void(process)
    process.send_signal(signal.SIGINT)
    assert place.end(process).code == 130
    relay.hung.clear()
    resume(place, relay)


def test_a_daemon_that_hangs_as_it_is_asked_for_its_events_ends_the_run(place: Place, relay: Relay) -> None:
    relay.hangs_at = b"/events?"
    ran = place.run("run", *place.bots(2), "--sandbox", "docker", "--out", "out", DOCKER_HOST=relay.host)
    assert ran.code == 2
    assert "the sandbox docker doesn't work here: the Docker engine: no answer before the time limit" in ran.err


def resume(place: Place, relay: Relay) -> None:
    """Resume the run until one more match is complete, and assert that then nothing is left."""
    before = records(place)
    process = place.start("run", "--resume", "out", "--jobs", 1, DOCKER_HOST=relay.host)
    place.wait(lambda: records(place) > before, LIMIT_S, process)
    process.send_signal(signal.SIGINT)
    assert place.end(process).code == 130
    place.require_nothing_left()


def wait_for_void(process: Any) -> None:
    """Read a run's output until a match is void, and assert that this was in time."""
    began = time.monotonic()
    line = ""
    while " failed: " not in line:
        line = process.stderr.readline()
        assert line, "the run has ended"
    assert time.monotonic() - began < VOID_S
