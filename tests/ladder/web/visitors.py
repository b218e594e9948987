"""Visitors of a ladder's pages, each with its credentials, without a server."""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI
from starlette.testclient import TestClient

from ladder.ladder import Ladder, open_ladder
from ladder.match_pages import list_matches
from ladder.permissions import ROUTES, STAFF_VIEWER
from ladder.table_pages import list_tables
from ladder.users import issue_secret, set_suspended
from ladder.web import make_app
from tests.ladder.classes import configure, sign_in
from tests.ladder.term import Term

URL = "http://127.0.0.1:8000"
KINDS = ("anonymous", "ada", "bob", "staff", "suspended", "reading token", "token", "staff token")

# Applications for the next ladders: the first request of an application takes a quarter of a second.
IDLE: list[FastAPI] = []


@dataclass(frozen=True)
class Pages:
    """A ladder's application."""

    ladder: Ladder
    client: TestClient

    def visitor(self, kind: str) -> TestClient:
        """Return a browser, or a program, of one of KINDS."""
        client = TestClient(self.client.app, base_url=URL, follow_redirects=False, raise_server_exceptions=False)
        client.portal = self.client.portal  # one event loop for all: else each request starts a thread
        if kind.endswith("token"):
            login = "staff" if kind.startswith("staff") else "ada"
            scope = "read" if kind.startswith("reading") else "submit"
            client.headers["Authorization"] = (
                f"Bearer {issue_secret(self.ladder, login, 'token', 'staff', scope).secret}"
            )
            return client
        client.headers["Sec-Fetch-Site"] = "same-origin"
        if kind != "anonymous":
            login = "eve" if kind == "suspended" else kind
            session = sign_in(self.ladder, login)
            client.cookies.set("session", session.secret)
        return client


@contextmanager
def pages(term: Term) -> Iterator[Pages]:
    """Give the pages of a ladder, in which eve is suspended."""
    with closing(open_ladder(term.path)) as ladder:
        set_suspended(ladder, "eve", True, "staff", "she shared her link")
        app = make_app(ladder, URL)
        if IDLE:
            app, state = IDLE.pop(), app.state
            app.state = state
        with TestClient(app, base_url=URL, raise_server_exceptions=False) as client:
            yield Pages(ladder, client)
        IDLE.append(app)


@contextmanager
def public(term: Term) -> Iterator[None]:
    configure(term, public=True)
    yield
    configure(term, public=False)


def paths(ladder: Ladder, bots: Sequence[str], finals: Sequence[str] = (), matches: int = 1000) -> Iterator[str]:
    """Yield the paths of all pages, with each of these bots and finals, and this many matches, in place of a name."""
    with ladder.reading(STAFF_VIEWER) as context:
        ids = [str(line.id) for line in list_matches(context, limit=matches).items]
        tables = [str(line.id) for line in list_tables(context).items]
    fills = {"bots": bots, "finals": finals, "matches": ids, "tables": tables, "docs": ["docs/reference/rules.md"]}
    fills["rules"] = ["coup"]
    for route in ROUTES:
        method, path = route.split()
        if method != "GET" or path in ("/changes", "/static/{tag}/{name}", "/playground/{name:path}"):
            continue
        names = ["new"] if path == "/tables/new" else fills.get(path.split("/")[1], ["eve"])
        for name in names if "{" in path else [""]:
            kept = "/" if path.startswith("/docs") else ""
            filled = re.sub(r"\{(?!number)[\w:]+\}", quote(name, safe=kept), path, count=1)
            yield re.sub(r"\{\w+\}", "1", filled)


def post(visitor: TestClient, path: str, code: int = 303, files: Any = None, **fields: object) -> str:
    """Send a form, and return the response: the text, or the location of the redirect."""
    data = {name.rstrip("_"): value for name, value in fields.items()}
    answered = visitor.post(path, data=data, files=files)
    assert answered.status_code == code, answered.text
    return answered.headers["location"] if code == 303 else answered.text


def hidden_fields(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))


def stop_clock(web: Pages) -> Any:
    """Stop the clock of the rate limits, so that no try is refilled; return what the requests share."""
    state = web.client.app.state  # type: ignore[attr-defined]
    state.shared = replace(state.shared, limits=type(state.shared.limits)(lambda: 0.0))
    return state.shared
