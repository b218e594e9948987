"""Tests of uploads to a real server: killed midway, disconnected, slow, on a full disk, concurrent."""

import io
import json
import os
import random
import signal
import socket
import tarfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ladder.bot_pages import find_version_archive
from ladder.ladder import open_ladder
from ladder.permissions import Viewer
from ladder.store import find_bot, versions_of
from ladder.users import issue_secret
from tests.cli_workspace import QUICK_BOT, Place
from tests.ladder.classes import look
from tests.ladder.invariants import require_sound
from tests.ladder.ladders import freeze, ladder_in
from tests.ladder.web.ladder_server import LadderServer, serve_ladder
from tests.postgres import postgres_problem

LARGE = 4 << 20


def form(data: bytes, file: str = "bot.py", name: str = "ada") -> tuple[dict[str, str], bytes]:
    body = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n' + name.encode()
    body += f'\r\n--x\r\nContent-Disposition: form-data; name="f"; filename="{file}"\r\n\r\n'.encode()
    body += data + b"\r\n--x--\r\n"
    return {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": str(len(body))}, body


def program(mark: object, size: int = 0) -> bytes:
    """Return a unique bot with this number of incompressible bytes."""
    return f"{QUICK_BOT}# {mark} ".encode() + random.Random(str(mark)).randbytes(size)


def token(folder: Path, login: str = "ada") -> str:
    with closing(open_ladder(folder)) as ladder:
        return issue_secret(ladder, login, "token", "staff").secret


def upload(server: LadderServer, secret: str, data: bytes, name: str = "ada") -> tuple[int, Any]:
    """Send a bot, and return the status and the server's message."""
    headers, body = form(data, name=name)
    with closing(connected(server)) as connection:
        connection.request("POST", "/api/submissions", body, {**headers, "Authorization": f"Bearer {secret}"})
        answered = connection.getresponse()
        return answered.status, json.loads(answered.read())


def connected(server: LadderServer) -> HTTPConnection:
    parts = urlsplit(server.url)
    return HTTPConnection(parts.hostname or "", parts.port, timeout=60)


@contextmanager
def half_sent(place: Place, server: LadderServer, secret: str) -> Iterator[socket.socket]:
    """Send half of an upload, and give its connection once that half is on the disk."""
    headers, body = form(program("half", LARGE))
    before = len(on_disk(place))
    with closing(connected(server)) as connection:
        connection.putrequest("POST", "/api/submissions")
        for word, value in {**headers, "Authorization": f"Bearer {secret}"}.items():
            connection.putheader(word, value)
        connection.endheaders(body[: LARGE // 2])
        place.wait(lambda: len(on_disk(place)) > before)
        yield connection.sock


def on_disk(place: Place) -> Sequence[Path]:
    return [path for path in place.tmp.glob("arena-run-*/bot/*") if path.stat().st_size]


def states(folder: Path, bot: str = "ada") -> list[str]:
    with closing(open_ladder(folder)) as ladder, ladder.database.read() as connection:
        found = find_bot(connection, bot)
        return [version.status for version in versions_of(connection, found.id)]


def kill(place: Place, *pids: int) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    place.wait(lambda: not [line for line in place.processes() if int(line.split()[0]) in pids])


def test_a_server_that_is_killed_in_an_upload_leaves_nothing_once_it_is_started_again(place: Place) -> None:
    folder = ladder_in(place, fit=True)
    secret = token(folder)
    with serve_ladder(place, folder, "--no-runner") as server, half_sent(place, server, secret):
        kill(place, server.process.pid)
        assert on_disk(place)
    assert states(folder) == ["accepted"]
    with serve_ladder(place, folder, "--no-runner") as server:
        assert not list(place.tmp.glob("arena-run-*"))
        status, output = upload(server, secret, program("half", LARGE))
        assert (status, output["version_ref"]) == (201, "ada@2")
    assert states(folder) == ["accepted", "queued"]
    place.require_nothing_left()


def test_a_server_that_is_killed_in_a_check_loses_nothing(place: Place) -> None:
    """Its runner ends with it, and the next one repeats the check."""
    folder = ladder_in(place, fit=True)
    freeze(folder)
    slow = QUICK_BOT.replace("import sys, zlib", "import sys, time, zlib\ntime.sleep(1)")
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as server:
        assert upload(server, token(folder), slow.encode())[0] == 201
        place.wait(lambda: states(folder)[-1] != "queued")
        kill(place, server.process.pid)
    place.wait(lambda: not place.processes())
    assert len(states(folder)) == 2
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as server:
        assert upload(server, token(folder), slow.encode())[1]["duplicate"]
        place.wait(lambda: states(folder) == ["accepted", "accepted"])
    with closing(open_ladder(folder)) as ladder:
        require_sound(ladder)
    place.require_nothing_left()


def test_stalled_or_truncated_uploads_do_not_block_others(place: Place) -> None:
    """Three of one user are held open; a further one is asked to retry."""
    folder = ladder_in(place, fit=True)
    ada, bob = token(folder), token(folder, "bob")
    with serve_ladder(place, folder, "--no-runner") as server, ExitStack() as open_ones:
        parts = urlsplit(server.url)
        for _ in range(100):
            open_ones.enter_context(closing(socket.create_connection((parts.hostname, parts.port or 0)))).send(
                b"POST /"
            )
        for _ in range(3):
            open_ones.enter_context(half_sent(place, server, ada))
        status, output = upload(server, ada, program("more"))
        assert (status, "too many uploads" in output["error"]) == (503, True)
        assert upload(server, bob, program("bob's"), "bob")[0] == 201
        assert "ada" in server.get("/bots", server.session("bob"))
        open_ones.close()
        place.wait(lambda: not list(place.tmp.glob("arena-run-*")))
        assert upload(server, ada, program("more"))[1]["version_ref"] == "ada@2"
        server.process.terminate()
        ran = place.end(server.process)
    assert (ran.code, "rror" in ran.err) == (0, False), ran.err
    place.require_nothing_left()


def test_a_full_disk_refuses_an_upload_and_keeps_nothing_of_it(place: Place, small_disk: Path) -> None:
    folder = ladder_in(place, fit=True)
    secret = token(folder)
    with serve_ladder(place, folder, "--no-runner", TMPDIR=str(small_disk)) as server:
        status, output = upload(server, secret, program("large", 12 << 20))
        assert (status, "disk is full" in output["error"]) == (503, True)
        assert not list(small_disk.iterdir())
        assert upload(server, secret, program("small"))[0] == 201
    assert states(folder) == ["accepted", "queued"]


def test_the_same_files_from_two_browsers_make_one_version(place: Place) -> None:
    folder = ladder_in(place, fit=True)
    secret = token(folder)
    with serve_ladder(place, folder, "--no-runner") as server, ThreadPoolExecutor(3) as browsers:
        same = list(browsers.map(lambda _: upload(server, secret, program("same", LARGE)), range(3)))
        assert sorted(status for status, _ in same) == [200, 200, 201]
        assert {output["version_ref"] for _, output in same} == {"ada@2"}
        others = list(browsers.map(lambda mark: upload(server, secret, program(mark)), range(2)))
        assert {output["version_ref"] for _, output in others} == {"ada@3", "ada@4"}
    assert len(states(folder)) == 4


@pytest.mark.needs("postgresql", postgres_problem())
def test_concurrent_equal_uploads_to_two_servers_are_one_version(place: Place, postgres_url: str) -> None:
    """It is stored unchanged; one server is killed during an upload, and the other continues."""
    folder = ladder_in(place, postgres_url, fit=True)
    secret, bot = token(folder), program("same")
    with ExitStack() as stack, ThreadPoolExecutor(4) as browsers:
        servers = [stack.enter_context(serve_ladder(place, folder, "--no-runner")) for _ in range(2)]
        same = list(browsers.map(lambda turn: upload(servers[turn % 2], secret, bot), range(4)))
        assert sorted(status for status, _ in same) == [200, 200, 200, 201]
        assert {output["version_ref"] for _, output in same} == {"ada@2"}
        with half_sent(place, servers[0], secret):
            kill(place, servers[0].process.pid)
        assert upload(servers[1], secret, program("half", LARGE))[1]["version_ref"] == "ada@3"
        assert states(folder) == ["accepted", "queued", "queued"]
        with closing(open_ladder(folder)) as ladder:
            require_sound(ladder)
            kept = look(ladder, Viewer("ada"), find_version_archive, "ada", 2)
    with tarfile.open(fileobj=io.BytesIO(kept)) as files:
        [file] = files.getmembers()
        held = files.extractfile(file)
        assert held.read() == bot
