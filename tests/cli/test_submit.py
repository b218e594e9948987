"""`arena submit`: it sends a bot to a real server and prints the bot's check."""

import html
import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ladder.dashboards import list_events
from ladder.ladder import open_ladder
from ladder.permissions import Viewer
from ladder.users import issue_secret
from tests.cli_workspace import Place
from tests.ladder.ladders import Waiting, freeze, ladder_in
from tests.ladder.web.ladder_server import LadderServer, serve_ladder, wait_for


@pytest.fixture(scope="module")
def server(places: Callable[[], Place]) -> Iterator[tuple[Place, LadderServer]]:
    """Return a place with a token of ada's, and its ladder, which is served for all tests."""
    place = places()
    folder = ladder_in(place, fit=True)
    freeze(folder)
    with serve_ladder(place, folder, "--jobs", 1, "--no-tables") as made:
        token(place, made.folder)
        yield place, made


def token(place: Place, folder: Path, scope: str = "submit") -> Path:
    file = place.folder / "token"
    with closing(open_ladder(folder)) as ladder:
        file.write_text(issue_secret(ladder, "ada", "token", "staff", scope).secret + "\n")
    file.chmod(0o600)
    return file


def test_each_step_is_shown_before_the_check_has_ended(server: tuple[Place, LadderServer]) -> None:
    place, web = server
    slow = Waiting(place)
    ada, bob, staff = (web.session(login) for login in ("ada", "bob", "staff"))
    process = place.start("submit", web.url, slow.folder, "--token-file", "token")
    assert process.stdout is not None
    assert re.fullmatch(r"ada@\d+\n", process.stdout.readline())
    assert process.stdout.readline().startswith(" 1  ok    file")
    wait_for(lambda: "<b>build</b> sh make" in web.get("/bots/ada", ada))
    page = web.get("/bots/ada", ada)
    assert "The check is running." in page
    assert page.index("<b>file</b>") < page.index('<li class="now"><span class="muted small">2 now</span>')
    assert "<b>build</b> sh make" in web.get("/bots/ada", staff)
    assert "<b>build</b>" not in web.get("/bots/ada", bob)
    assert "2  now   build" in place.run("ladder", "bot", web.folder, "ada").out
    assert process.stderr is not None
    assert any("build: sh make" in line for line in process.stderr)
    slow.gate.touch()
    ran = place.end(process)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith(" 2  ok    build")
    assert lines[-1].endswith("can play")
    assert "  check_step  " in place.run("ladder", "events", web.folder).out
    with closing(open_ladder(web.folder)) as ladder:
        heard = {}
        for login in ("ada", "bob"):
            with ladder.reading(Viewer(login)) as context:
                events = list_events(context, limit=1000).items
            heard[login] = {event.type for event in events if (event.version or "").startswith("ada@")}
    assert heard["ada"] - heard["bob"] == {"check_step"}
    wait_for(lambda: '"status":"accepted"' in web.get("/api/bots/ada", ada))
    assert "2 now" not in web.get("/bots/ada", ada)


def test_a_folder_is_sent_and_its_check_printed_as_check_prints_it(server: tuple[Place, LadderServer]) -> None:
    place, web = server
    folder = place.folder / "mine"
    folder.mkdir()
    (folder / "bot.toml").write_text('name = "ada"\nrun = "./bot.py"\n')
    place.bot("mine/bot.py").chmod(0o755)
    ran = place.run("submit", web.url, "mine", ARENA_TOKEN_FILE="token")
    assert ran.code == 0, ran.err
    version_ref, first, *_, last = ran.out.splitlines()
    assert re.fullmatch(r"ada@\d+", version_ref)
    assert last == f"{version_ref} can play"
    checked = place.run("check", "mine", "--quick", "--sandbox", "process").out.splitlines()
    assert first == checked[1]
    again = place.run("submit", f"{web.url}/submit", "mine/bot.toml", "--token-file", "token", "--json")
    assert "the same files" in again.err
    output = json.loads(again.out)
    assert (output["version_ref"], output["status"], output["duplicate"]) == (version_ref, "accepted", True)


def test_the_commands_of_start_submit_the_next_version_of_the_only_bot(server: tuple[Place, LadderServer]) -> None:
    """The page stored the first version under another name than the folder's."""
    place, web = server
    page = html.unescape(web.get("/start", web.session("ada")))
    commands = [line.split()[1:] for line in re.findall(r"arena (?:new|check|submit) [^<\n]+", page)]
    assert [words[0] for words in commands] == ["new", "check", "submit"]
    for words in commands:
        words += ["--quick", "--sandbox", "process"] if words[0] == "check" else []
        ran = place.run(*words, ARENA_TOKEN_FILE=str(place.folder / "token"))
        assert ran.code == 0, ran
    assert re.search(r"^ada@\d+ .*can play$", ran.out, re.M), ran
    assert "ada@" in ran.err


def test_a_bot_that_fails_ends_the_command_with_1(server: tuple[Place, LadderServer]) -> None:
    place, web = server
    place.bot("no.py", "import sys; sys.exit('no model')\n")
    ran = place.run("submit", web.url, "no.py", "--name", "ada", "--token-file", "token")
    assert ran.code == 1
    assert "|  no model" in ran.out
    assert ran.out.splitlines()[-1].endswith("failed")


def test_errors_have_one_or_two_lines(place: Place) -> None:
    folder = ladder_in(place)
    bot, large = place.bot("x.py"), place.folder / "large.bin"
    latin1_bot = place.bot(os.fsdecode(b"b\xf6t.py"))
    large.write_bytes(bytes(17 << 20))
    with serve_ladder(place, folder, "--no-runner") as server:
        file, reads = token(place, folder), place.folder / "reads"
        reads.write_text("no token\n")
        for words, code, output in (
            ((server.url, bot, "--token-file", "none"), 2, "/account"),
            ((server.url, bot, "--token-file", reads), 2, "doesn't contain a token"),
            ((server.url[7:], bot, "--token-file", file), 2, "the address must begin with https://"),
            ((server.url, large, "--token-file", file), 2, "the limit is 16 MB"),
            ((server.url, bot, "--token-file", file, "--name", "a@b"), 2, "Give the bot another name"),
            ((server.url, bot, "--token-file", file, "--name", "ada", "--no-wait"), 0, "/bots/ada/"),
            ((server.url, latin1_bot, "--token-file", file, "--name", "ada", "--no-wait"), 0, "/bots/ada/"),
        ):
            ran = place.call("submit", *words)
            assert (ran.code, output in ran.err) == (code, True), ran
            assert len(ran.err.splitlines()) <= 3, ran.err
        reads.write_text("x" * 43)
        reads.chmod(0o644)
        ran = place.call("submit", server.url, bot, "--token-file", reads)
        assert ran.code == 2
        assert "chmod 600" in ran.err
        assert "This token is unknown" in ran.err
        process = place.start("submit", server.url, bot, "--name", "ada", "--token-file", file)
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(2)
        ran = place.end(process)
        assert ran.code == 130
        assert "stays submitted" in ran.err
    ran = place.call("submit", server.url, bot, "--token-file", file)
    assert ran.code == 1
    assert "Connection refused" in ran.err


@contextmanager
def serve_answers(status: int, body: bytes, **headers: str) -> Iterator[str]:
    """Return the address of a server that isn't a ladder's, or of one that fails."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_port}"
        made.shutdown()
        thread.join(20)


def test_a_later_server_may_report_more_fields(place: Place) -> None:
    (place.folder / "token").write_text("t" * 43)
    report = {"version_ref": "x@1", "name": "x", "number": 1, "duplicate": False, "late_for": None, "remaining": 9}
    answer = {**report, "disabled_reason": None, "max_upload_mb": 64, "of_a_later_version": True}
    with serve_answers(200, json.dumps(answer).encode()) as url:
        ran = place.call("submit", url, place.bot("x.py"), "--token-file", "token", "--no-wait", "--json")
    assert (ran.code, json.loads(ran.out)["version_ref"]) == (0, "x@1"), ran


def test_a_server_that_is_not_a_ladder_is_reported(place: Place) -> None:
    (place.folder / "token").write_text("t" * 43)
    place.bot("x.py")
    for status, body, headers, code, output in (
        (200, b"<html>", {}, 2, "isn't a ladder server"),
        (200, b"[]", {}, 2, "isn't a ladder server"),
        (200, b'{"max_upload_mb": 1}', {}, 2, "isn't a ladder server"),
        (302, b"", {}, 2, "isn't a ladder server, or its proxy fails: status 302"),
        (404, b"<html>", {}, 2, "isn't a ladder server, or its proxy fails: status 404"),
        (302, b"", {"Location": "https://elsewhere.example/"}, 2, "redirects to https://elsewhere.example/"),
        (429, b'{"error": "That was too often. Try again in 3 s."}', {"Retry_After": "3"}, 1, "too often"),
        (503, b'{"error": "We are busy."}', {"Retry_After": "9" * 5000}, 1, "We are busy."),
        (502, b"<html>", {}, 1, "isn't a ladder server, or its proxy fails: status 502"),
    ):
        with serve_answers(status, body, **headers) as url:  # type: ignore[arg-type]
            ran = place.call("submit", url, "x.py", "--token-file", "token")
            assert (ran.code, output in ran.err, len(ran.messages)) == (code, True, 1), ran
    with serve_answers(200, b'{"id": 1, "page": 2, "program": 3}') as url:
        ran = place.call("connect", url, "--challenge", "a", "--token-file", "token", "cat")
        assert (ran.code, "isn't a ladder server" in ran.err) == (1, True), ran
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        process = place.start("submit", f"http://127.0.0.1:{silent.getsockname()[1]}", "x.py", "--token-file", "token")
        silent.accept()[0].close()
        ran = place.end(process)
        assert (ran.code, "arena: http://127.0.0.1" in ran.err) == (1, True), ran


def test_an_address_that_is_not_encrypted_is_warned_about(place: Place) -> None:
    (place.folder / "token").write_text("t" * 43)
    place.bot("x.py")
    ran = place.call("submit", "http://no-such-host.invalid", "x.py", "--token-file", "token")
    assert ran.code == 1
    assert "others on the network can read your token" in ran.err
