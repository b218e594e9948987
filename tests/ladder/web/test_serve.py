"""The server as a process: where it listens, its runner, the feed that says "changed", its end."""

import socket
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from ladder.service import open_ladder
from tests.ladder.service.ladders import ladder_in, owners
from tests.ladder.web.served import served, waited
from tests.place import Place


@pytest.fixture
def folder(place: Place) -> Path:
    return ladder_in(place)


def test_pages_and_runner_are_served_together_and_end_together(place: Place, folder: Path) -> None:
    """What waits for its examination gets it; SIGTERM ends both with 0."""
    with served(place, folder, "--jobs", 1) as server:
        session = server.session("ada")
        waited(lambda: '"state":"fit"' in server.get("/api/bots/ada", session))
        server.process.terminate()
        ran = place.end(server.process)
    assert ran.code == 0, ran.err
    assert "has ended" in ran.err


def test_the_feed_says_that_something_has_changed_and_nothing_else(place: Place, folder: Path) -> None:
    with served(place, folder, "--no-runner") as server:
        request = urllib.request.Request(
            server.url + "/changes", headers={"Cookie": f"session={server.session('ada')}"}
        )
        with urllib.request.urlopen(request, timeout=30) as feed:
            assert feed.readline() == b"retry: 5000\n"
            assert feed.readline() == b"\n"
            lines: list[bytes] = []
            with closing(open_ladder(folder)) as ladder:
                while b"data: changed\n" not in lines:
                    owners(ladder, f"newcomer{len(lines)}")
                    lines.append(feed.readline())
        assert set(lines) <= {b"data: changed\n", b":\n", b"\n"}


def test_a_server_ends_without_a_word_while_a_page_listens(place: Place, folder: Path) -> None:
    with served(place, folder, "--no-runner") as server:
        headers = {"Cookie": f"session={server.session('ada')}"}
        with urllib.request.urlopen(
            urllib.request.Request(server.url + "/changes", headers=headers), timeout=30
        ) as feed:
            assert feed.readline() == b"retry: 5000\n"
            server.process.terminate()
            ran = place.end(server.process)
    assert ran.code == 0
    assert ran.err in ("", "Ctrl-C ends it\n")  # which may have been read with the line before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--host", "0.0.0.0", "--port", "0"), "--insecure"),
        (("--host", "::", "--port", "0"), "--insecure"),
        (("--host", "no such host", "--port", "0"), "--insecure"),
        (("--host", "192.0.2.1", "--port", "0", "--insecure"), "--port N"),
        (("--tls-cert", "spring/ladder.toml"), "both"),
    ],
)
def test_an_address_that_is_not_for_this_is_refused(
    place: Place, folder: Path, words: tuple[str, ...], told: str
) -> None:
    ran = place.run("ladder", "serve", folder, "--no-runner", *words)
    assert ran.code == 2
    assert told in ran.err


def test_a_port_that_is_taken_is_named(place: Place, folder: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        ran = place.run("ladder", "serve", folder, "--port", port, "--no-runner")
    assert ran.code == 2
    assert f"port {port}: Address already in use" in ran.err
