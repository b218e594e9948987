"""Tests of servers whose database fails or whose clock jumps: each failure is real and gives a clear page."""

import time
from contextlib import ExitStack, closing
from urllib.error import HTTPError

import pytest
from starlette.testclient import TestClient

from ladder.ladder import open_ladder
from ladder.users import set_suspended
from ladder.web import make_app
from tests.cli_workspace import Place
from tests.ladder.classes import sign_in
from tests.ladder.ladders import ladder_in, run_two
from tests.ladder.term import Term
from tests.ladder.web.ladder_server import LadderServer, serve_ladder, wait_for
from tests.ladder.web.test_uploads import program, token, upload
from tests.postgres import Postgres, postgres_problem

pytestmark = pytest.mark.needs("postgresql", postgres_problem())


def code(server: LadderServer, path: str, session: str) -> int:
    try:
        server.get(path, session)
    except HTTPError as refused:
        return refused.code
    return 200


def test_two_servers_on_one_database_are_one_ladder(place: Place, postgres_url: str) -> None:
    folder = ladder_in(place, postgres_url, fit=True)
    with ExitStack() as stack:
        servers = [stack.enter_context(serve_ladder(place, folder, "--no-runner")) for _ in range(2)]
        session = servers[0].session("ada")
        before = [server.get("/matches", session) for server in servers]
        assert before[0] == before[1]
        run_two(place, folder)
        after = [server.get("/matches", session) for server in servers]
        assert after[0] == after[1] != before[0]
        with closing(open_ladder(folder)) as ladder:
            set_suspended(ladder, "ada", True, "staff", "a trial")
        assert [server.get("/standings", session).count("a trial") for server in servers] == [1, 1]


def test_a_text_that_the_database_cannot_store_is_rejected(place: Place, postgres_url: str) -> None:
    """PostgreSQL stores no NUL."""
    folder = ladder_in(place, postgres_url, fit=True)
    with closing(open_ladder(folder)) as ladder, TestClient(make_app(ladder, "http://127.0.0.1:8000")) as client:
        client.headers["Authorization"] = f"Bearer {token(folder)}"
        answered = client.post("/bots/ada/challenges", data={"opponents": "a\0b"})
        assert (answered.status_code, "invalid value" in answered.text) == (400, True)


def test_a_database_restart_is_reported_and_loses_nothing(place: Place, own_server: Postgres) -> None:
    folder = ladder_in(place, own_server.create("spring"), fit=True)
    with serve_ladder(place, folder, "--no-runner") as server:
        session, secret = server.session("ada"), token(folder)
        assert code(server, "/bots/ada", session) == 200
        own_server.stop()
        assert code(server, "/bots/ada", session) == 503
        status, output = upload(server, secret, program("new"))
        assert (status, "Try again in a minute" in output["error"]) == (503, True)
        own_server.start()
        wait_for(lambda: code(server, "/bots/ada", session) == 200)
        assert upload(server, secret, program("new"))[1]["version_ref"] == "ada@2"
        assert server.process.poll() is None


def test_a_clock_that_is_set_back_keeps_sessions_and_standings(own: Term) -> None:
    """A session from tomorrow is valid, and the standings written last are the newest."""
    now = time.time()
    with closing(open_ladder(own.path)) as ladder:
        ladder.clock = lambda: now + 86_400
        secret = sign_in(ladder, "ada").secret
        client = TestClient(make_app(ladder, "http://x"), base_url="http://x", cookies={"session": secret})
        shown = {path: client.get(path).text for path in ("/matches", "/bots", "/finals")}
        ladder.clock = lambda: now - 86_400
        for path, text in shown.items():
            assert client.get(path).text == text
        assert client.get("/").status_code == client.get("/standings").status_code == 200
