"""Tests of the server as a process: its address, its runner, its change stream, its end."""

import importlib
import os
import re
import resource
import signal
import socket
import urllib.request
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest

from ladder.chat import write_lobby_line
from ladder.ladder import open_ladder
from ladder.users import issue_secret
from tests.cases import each
from tests.cli_workspace import Place
from tests.ladder.classes import configure
from tests.ladder.ladders import PLAY, has_more, ladder_in, owners
from tests.ladder.web.ladder_server import LadderServer, serve_ladder, wait_for


@pytest.fixture
def folder(place: Place) -> Path:
    return ladder_in(place)


def runners(server: LadderServer) -> list[int]:
    while True:
        with suppress(FileNotFoundError, ProcessLookupError):  # one of them was reaped since the listing: list again
            tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
            children = [int(pid) for task in tasks for pid in task.read_text().split()]
            dead = [pid for pid in children if ") Z " in Path(f"/proc/{pid}/stat").read_text()]
            return dead + [pid for pid in children if b"ladder\0run\0" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_runner_that_dies_is_started_again_some_times_and_leaves_no_zombie(place: Place, folder: Path) -> None:
    """After that it stays down, and the staff page says that no matches are played."""
    seen: list[int] = []
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as server:
        for _ in range(6):
            wait_for(lambda: any(pid not in seen for pid in runners(server)))
            seen.extend(runners(server))
            os.kill(seen[-1], signal.SIGKILL)
        last = "exited with -9 for the 6th time in an hour, and isn't restarted"
        assert any(last in line for line in server.process.stderr)
        assert runners(server) == []
        session = server.session("staff")
        wait_for(lambda: "dead</span>" in server.get("/admin", session) or "No runner" in server.get("/admin", session))
    assert len(set(seen)) == 6


@pytest.mark.parametrize("own", [True, False])
def test_a_runner_gives_way_to_pages_only_where_its_bots_are_not_charged_for_it(place: Place, own: bool) -> None:
    """With wall time a bot would pay for the delay. The runner plays, and ends with the pages."""
    timing = replace(PLAY.settings.timing, own=own)
    folder = ladder_in(place, play=replace(PLAY, settings=replace(PLAY.settings, timing=timing)), fit=True)
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as server:
        wait_for(lambda: runners(server))
        [runner] = runners(server)
        nice = [os.getpriority(os.PRIO_PROCESS, pid) for pid in (server.process.pid, runner)]
        with closing(open_ladder(folder)) as ladder:
            wait_for(has_more(ladder))
        server.process.terminate()
        ran = place.end(server.process)
    assert (nice[1] > nice[0]) is own
    assert (ran.code, "stopped; print the standings" in ran.err) == (0, True), ran.err


def test_the_change_stream_only_reports_that_something_changed(place: Place, folder: Path) -> None:
    with serve_ladder(place, folder, "--no-runner") as server:
        headers = {"Cookie": f"session={server.session('ada')}"}
        with urllib.request.urlopen(urllib.request.Request(f"{server.url}/changes", None, headers), timeout=60) as feed:
            assert feed.readline() == b"retry: 5000\n"
            assert feed.readline() == b"\n"
            lines: list[bytes] = []
            with closing(open_ladder(folder)) as ladder:
                while b"data: changed\n" not in lines:
                    owners(ladder, f"newcomer{len(lines)}")
                    lines.append(feed.readline())
                configure(ladder, chat="between")
                write_lobby_line(ladder, "ada", "nothing of this is sent")
                while b"event: chat\n" not in lines:
                    lines.append(feed.readline())
            server.process.terminate()
            ran = place.end(server.process)
        assert set(lines) <= {b"data: changed\n", b"event: chat\n", b":\n", b"\n"}
    assert ran.code == 0
    # Lines about the start may have been read with the line before.
    known = "stop it with Ctrl-C|a sign-in link for staff"
    assert [line for line in ran.err.splitlines() if not re.search(known, line)] == []


def test_visitors_who_read_nothing_do_not_block_others(place: Place, folder: Path) -> None:
    """Each requests hundreds of pages over one connection; the server buffers no more than it sends."""
    with serve_ladder(place, folder, "--no-runner") as server, ExitStack() as stack:
        session = server.session("ada")
        status = Path(f"/proc/{server.process.pid}/status")
        look = re.findall(r'"(/static/[^"]+/web.css)"', server.get("/", session))[0]
        asked = f"GET {look} HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nCookie: session={session}\r\n\r\n"
        before = memory_mb(status)
        parts = urlsplit(server.url)
        for _ in range(50):
            slow = stack.enter_context(closing(socket.socket()))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.connect((parts.hostname, parts.port))
            slow.setblocking(False)
            with suppress(BlockingIOError):
                slow.send(asked.encode() * 200)
        for path in ("/standings", "/bots/ada", "/matches"):
            assert "</html>" in server.get(path, session)
        assert memory_mb(status) - before < 60
        stack.close()  # otherwise the server's end cuts pages off, and says so
        server.process.terminate()
        ran = place.end(server.process)
    assert (ran.code, "rror" in ran.err) == (0, False), ran.err


def test_a_connection_without_a_whole_request_is_closed(place: Place, folder: Path) -> None:
    with serve_ladder(place, folder, "--no-runner") as server, ExitStack() as stack:
        parts = urlsplit(server.url)
        idle = []
        for sent in (b"", b"GET / HTTP/1.1\r\nHost:", b"GET /sign-in HTTP/1.1\r\nHost: x\r\n\r\nGET"):
            waits = socket.create_connection((parts.hostname, parts.port), timeout=60)
            idle.append(stack.enter_context(closing(waits)))
            waits.sendall(sent)
        for waits in idle:
            while waits.recv(65536):
                pass


def memory_mb(status: Path) -> float:
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status.read_text())[0]) / 1024


def test_pages_may_open_more_files_than_a_login_gives() -> None:
    """Else 824 slow connections use up the limit of 1,024 that is usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    try:
        assert importlib.import_module("ladder.web.server").raise_open_files() == min(8192, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_secret_is_printed(place: Place, folder: Path) -> None:
    """Secrets are links, sessions, tokens and passwords, right, wrong, or in the wrong place."""
    with serve_ladder(place, folder, "--no-runner") as server:
        with closing(open_ladder(folder)) as ladder:
            made = [issue_secret(ladder, "ada", kind, "staff").secret for kind in ("link", "token")]
        secrets = [*made, server.session("ada"), "a horse in a boat"]
        link, token, session, password = secrets
        forms = {"/sign-in": {"link": link}, "/sign-in/password": {"login": "ada", "password": password}}
        headers = {"Cookie": f"session={session}", "Authorization": f"Bearer {token}", "Origin": server.url}
        codes = []
        for secret in secrets:
            word = quote(secret)
            for path in (f"/sign-in?link={word}", f"/nope/{word}", f"/matches/{word}", f"/api/bots/x?after={word}"):
                codes.append(asked(server, "GET", path, headers))
            codes.append(asked(server, "GET", f"/sign-in?link={word}", {"Cookie": headers["Cookie"]}))
        for path, form in forms.items():
            codes += [asked(server, "POST", path, headers, urlencode(form)) for _ in range(2)]
        codes.append(asked(server, "POST", "/api/submissions", headers, f"--x\r\n{token}"))
        with closing(socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port))) as broken:
            broken.sendall(f"GET /sign-in?link={link} {token}\r\nCookie {session}\r\n\r\n".encode())
            assert broken.recv(100).startswith(b"HTTP/1.1 400")
        server.process.terminate()
        ran = place.end(server.process)
    assert {200, 400, 404} <= set(codes)
    assert [secret for secret in secrets if secret in ran.out + ran.err] == []


def asked(server: LadderServer, method: str, path: str, headers: dict[str, str], body: str | None = None) -> int:
    parts = urlsplit(server.url)
    kind = {} if body is None else {"Content-Type": "application/x-www-form-urlencoded"}
    with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
        connection.request(method, path, body, {**headers, **kind})
        return connection.getresponse().status


@each(
    ("words", "output"),
    [
        (("--host", "0.0.0.0", "--port", "0"), "--insecure"),
        (("--host", "::", "--port", "0"), "--insecure"),
        (("--host", "no such host", "--port", "0"), "--insecure"),
        (("--host", "192.0.2.1", "--port", "0", "--insecure"), "--port N"),
        (("--tls-cert", "spring/ladder.toml"), "both"),
    ],
)
def test_an_unsuitable_address_is_refused(place: Place, folder: Path, words: tuple[str, ...], output: str) -> None:
    ran = place.call("ladder", "serve", folder, "--no-runner", *words)
    assert ran.code == 2
    assert output in ran.err


def test_a_port_that_is_taken_is_named(place: Place, folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        ran = place.call("ladder", "serve", folder, "--port", port, "--no-runner")
    assert ran.code == 2
    assert f"port {port}: Address already in use" in ran.err
