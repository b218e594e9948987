"""Tests of authorization: every route, for every kind of visitor, by the access tables."""

import asyncio
import re
from contextlib import ExitStack
from dataclasses import replace
from inspect import iscoroutinefunction
from itertools import count
from typing import Any

import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient, WebSocketDenialResponse

from ladder.permissions import ROUTES, AccessLevel
from ladder.tables import OpenTableRequest, open_session
from ladder.users import issue_secret, set_suspended
from ladder.web import ROUTERS, make_app
from tests.cases import each
from tests.ladder.term import Term
from tests.ladder.test_permissions import NEEDED_LEVELS
from tests.ladder.web.visitors import KINDS, URL, Pages, pages, public, stop_clock

# Written out, so that a change in the program's table is noticed: scope of a token (- for none), permission, routes. A
# route is its path with the first letter of its method: Get, Post, Websocket.
ROUTES_TEXT = """
- account:write: P/account/tokens P/account/password P/account/password/remove P/account/name G/account/team
  P/account/team P/account/team/invitation P/account/credentials/{id}/revoke G/grades
- chat:moderate: P/tables/chat/{line}
- chat:write: P/tables/chat
- ladder:manage: P/finals P/finals/{name}/retry P/finals/{name}/reveal G/admin G/admin/audit-log G/admin/audit-log.csv
  G/admin/settings P/admin/settings G/admin/finals/new G/admin/grades G/admin/grades.csv G/admin/similarity
  G/admin/similarity/files P/admin/grades P/admin/freeze
  P/bots/{name}/activate P/bots/{name}/disable P/matches/{id}/void G/admin/users P/admin/users P/admin/users/import
  P/admin/users/import/confirm P/admin/users/teams P/admin/users/links P/admin/users/join G/admin/users/{login:path}
  P/admin/users/{login:path}/suspend P/admin/users/{login:path}/leave P/admin/users/{login:path}/erase
  P/admin/users/{login:path}/approve P/admin/users/{login:path}/refuse P/admin/users/{login:path}/merge
  P/admin/users/{login:path}/extend P/admin/users/{login:path}/team P/admin/credentials/{id}/revoke
- ladder:read: P/tables/quick
- site:view: G/sign-in P/sign-in P/sign-in/password P/sign-out G/sign-in/openid G/sign-in/openid/callback G/join P/join
- table:join: P/tables/{id}/join
- table:manage: P/tables/{id}/slots/{slot}/token P/tables/{id}/invitation
read account:read: G/account G/tables/new G/submit
read ladder:read: G/changes G/ G/standings G/standings.csv G/head-to-head G/head-to-head.csv G/bots G/bots/{name}
  G/bots/{name}/{number} G/matches G/matches/{id} G/bots/{name}/{number}/build-log G/matches/{id}/replay G/queue
  G/tables G/rules/{name} G/tables/players G/tables/chat G/tables/{id} G/tables/{id}/matches/{number}/replay G/finals
  G/finals/{name} G/finals/{name}/projector G/finals/{name}/published G/bots/{name}/{number}/files.tar
read site:view: G/static/{tag}/{name} G/playground/{name:path} G/start G/learn G/puzzles G/docs
  G/docs/{path:path} G/downloads/{name} G/healthz G/readyz G/openapi.json G/api-docs
read table:view: G/tables/{id}/join G/tables/{id}/play W/tables/{id}/socket
submit bot:manage: P/bots/{name}/challenges P/bots/{name}/active-version
submit bot:upload: P/submit P/submissions
submit table:join: W/tables/{id}/program
submit table:manage: P/tables/{id}/close
submit table:open: P/tables
"""
METHODS = {"G": "GET", "P": "POST", "W": "WS"}
GRANTS = {
    f"{METHODS[route[0]]} {route[1:]}": (act, None if scope == "-" else scope)
    for row in re.split(r"\n(?! )", ROUTES_TEXT.strip())
    for head, _, routes in [row.partition(": ")]
    for scope, act in [head.split()]
    for route in routes.split()
}
LEVELS = {
    "anonymous": AccessLevel.ANYBODY,
    "suspended": AccessLevel.ANYBODY,
    "ada": AccessLevel.PERSON,
    "staff": AccessLevel.STAFF,
    "reading token": AccessLevel.PERSON,
    "token": AccessLevel.PERSON,
    "staff token": AccessLevel.STAFF,
}
FILLED = {"name": "late", "number": "1", "id": "1", "slot": "0", "line": "1", "tag": "x", "login:path": "bob"}


@pytest.fixture
def web(web: Pages) -> Pages:
    open_session(web.ladder, OpenTableRequest(bots=("one",), has_own_seat=True, user_seats=1), "bob")
    return web


def address(path: str) -> str:
    return re.sub(r"\{(.*?)\}", lambda found: FILLED.get(found[1], found[0]), path)


def test_each_route_has_the_permission_and_scope_that_are_written_here() -> None:
    assert ROUTES == GRANTS


@each("kind", LEVELS)
def test_each_route_is_authorized_by_the_table(web: Pages, kind: str) -> None:
    """An authorized form without fields is invalid; others don't learn what is wrong with it."""
    visitor = web.visitor(kind)
    for name, (act, scope) in GRANTS.items():
        method, path = name.split()
        if path == "/changes" or method == "WS":
            continue  # an answer without an end: see below
        let_in = LEVELS[kind] >= NEEDED_LEVELS[act]
        if kind.endswith("token"):
            let_in = let_in and scope in ("read", *(["submit"] if kind != "reading token" else []))
        came = 0
        for prefix in ("/api", ""):
            answered = visitor.request(method, (prefix + address(path)).rstrip("/") or "/")
            if answered.status_code in (404, 405) and (prefix or method != "GET"):
                continue  # what has a page alone, or is for programs alone
            came += 1
            refused = answered.status_code in (401, 403) or answered.headers.get("location", "").startswith("/sign-in")
            shown = name, prefix, answered.status_code, answered.text[:300]
            assert refused is not (let_in or (act == "site:view" and not kind.endswith("token"))), shown
            assert answered.status_code < 500, (name, answered.text)
            if not refused:
                break  # of a page and its JSON, the JSON is made faster
        assert came or let_in, name
        if not refused and method != "GET":
            visitor = web.visitor(kind)  # the form may have ended the session


def test_each_socket_is_authorized_by_the_table(own: Term) -> None:
    """A session or token that may read the ladder watches tables; a program's slot needs its own token."""
    sockets = {name.removeprefix("WS ") for name in GRANTS if name.startswith("WS ")}
    assert sockets == {"/tables/{id}/socket", "/tables/{id}/program"}
    with pages(own) as web:
        seats = OpenTableRequest(bots=("one",), has_own_seat=True, user_seats=1)
        opened = open_session(web.ladder, replace(seats, program_seats=1), "bob")
        shut = open_session(web.ladder, replace(seats, allow_spectators=False), "bob").session.id
        at = f"/tables/{opened.session.id}"
        for kind in KINDS:
            for way in ("socket", "program"):
                let_in = way == "socket" and kind not in ("anonymous", "suspended")
                assert (_socket_status(web.visitor(kind), f"{at}/{way}", URL) == 1013) is let_in, (kind, way)
                elsewhere = _socket_status(web.visitor(kind), f"{at}/{way}", "https://evil.example")
                assert (elsewhere == 1013) is (let_in and "token" in kind), (kind, way)
        by_token, wrong = web.visitor("anonymous"), web.visitor("anonymous")
        by_token.headers["Authorization"] = f"Bearer {opened.secrets[3]}"
        wrong.headers["Authorization"] = "Bearer x"
        assert _socket_status(by_token, f"{at}/program", None) == 1013
        assert _socket_status(by_token, f"/tables/{shut}/program", None) == 401
        assert _socket_status(wrong, f"{at}/program", None) == 401
        assert _socket_status(web.visitor("ada"), f"{at}/socket", None) == 403
        assert _socket_status(web.visitor("ada"), "/tables/9999/socket", URL) == 404
        codes = [_socket_status(web.visitor(kind), f"/tables/{shut}/socket", URL) for kind in ("ada", "bob")]
        assert codes == [403, 1013], "only the player of this slot"


def _socket_status(visitor: TestClient, path: str, origin: str | None) -> int:
    """Return the status that refused a socket, or its close code; 1013: there is no table server."""
    visitor.headers.pop("Sec-Fetch-Site", None)
    headers = {} if origin is None else {"Origin": origin}
    try:
        with visitor.websocket_connect(path, headers=headers) as socket:
            return int(socket.receive()["code"])
    except WebSocketDenialResponse as refused:
        return refused.status_code


def test_a_public_ladder_is_readable_without_signing_in(web: Pages, own: Term) -> None:
    visitor = web.visitor("anonymous")
    with public(own):
        for path in ("/", "/standings", "/bots/late", "/matches", "/queue", "/finals", "/api/standings"):
            assert visitor.get(path).status_code == 200, path
    assert visitor.get("/standings").status_code == 303


@pytest.mark.parametrize("kinds", [("anonymous", "ada"), ("ada", "anonymous")], ids=str)
def test_shared_pages_do_not_depend_on_the_first_visitor(web: Pages, own: Term, kinds: tuple[str, str]) -> None:
    """A page is cached for the next visitor; one with parts for its user isn't."""
    with public(own):
        first, second = (web.visitor(kind) for kind in kinds)
        for path in ("/matches", "/queue", "/finals"):
            bodies = [visitor.get(path).text.partition("<main")[2] for visitor in (first, second)]
            assert bodies[0] == bodies[1], path
        for path, mark in (("/", 'id="mine"'), ("/standings", ">yours<")):
            assert [mark in visitor.get(path).text for visitor in (first, second)] == [kind == "ada" for kind in kinds]


def test_a_link_signs_in_once_and_returns_to_the_page(web: Pages) -> None:
    secret = issue_secret(web.ladder, "ada", "link", "staff").secret
    visitor = web.visitor("anonymous")
    to = visitor.get("/bots/late?x=1").headers["location"]
    assert to == "/sign-in?then=%2Fbots%2Flate%3Fx%3D1"
    assert visitor.get(f"/sign-in?link={secret}").status_code == 200  # to look at it doesn't use it up
    entered = visitor.post("/sign-in", data={"link": f"http://x/sign-in?link={secret}", "then": "/bots/late?x=1"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/bots/late?x=1")
    assert visitor.get("/bots/late").status_code == 200
    assert web.visitor("anonymous").post("/sign-in", data={"link": secret}).status_code == 403
    assert visitor.post("/sign-out").headers["clear-site-data"] == '"cache"'
    assert visitor.get("/bots/late").status_code == 303


@each(
    "then",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "\\\\evil",
        "x",
        "/\n/x",
        "/\u200b/x",
        "/\0/x",
        "/\u200b\\x",
        "//[",
        "http://[x",
    ],
)
def test_signing_in_leads_nowhere_else(web: Pages, then: str) -> None:
    secret = issue_secret(web.ladder, "ada", "link", "staff").secret
    entered = web.visitor("anonymous").post("/sign-in", data={"link": secret, "then": then})
    assert (entered.status_code, entered.headers["location"]) == (303, "/")


@each(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "", "Origin": "null"},
    ],
)
def test_a_form_of_another_site_changes_nothing(web: Pages, headers: dict[str, str]) -> None:
    visitor = web.visitor("ada")
    if not headers["Sec-Fetch-Site"]:
        del visitor.headers["Sec-Fetch-Site"]
    sent = {name: value for name, value in headers.items() if value}
    assert visitor.post("/sign-out", headers=sent).status_code == 403
    assert visitor.get("/standings").status_code == 200


@pytest.mark.parametrize(("url", "name"), [(URL, "session"), ("https://coup.example.org", "__Host-session")])
def test_no_script_and_no_other_site_gets_a_sessions_cookie(web: Pages, url: str, name: str) -> None:
    with TestClient(make_app(web.ladder, url), base_url=url, follow_redirects=False) as visitor:
        link = issue_secret(web.ladder, "ada", "link", "staff").secret
        cookie = visitor.post("/sign-in", data={"link": link}, headers={"Origin": url}).headers["set-cookie"]
        value, *words = cookie.casefold().split("; ")
        assert value.startswith(f"{name.casefold()}=")
        assert {"httponly", "samesite=lax", "path=/"} <= set(words)
        assert ("secure" in words, "domain" in cookie) == (url.startswith("https"), False)
        assert visitor.get("/standings").status_code == 200


def test_a_suspension_ends_all_credentials_of_a_user_at_once(web: Pages) -> None:
    browsers, other = [web.visitor("ada"), web.visitor("ada"), web.visitor("token")], web.visitor("bob")
    assert [visitor.get("/api/account").status_code for visitor in (*browsers, other)] == [200] * 4
    link = issue_secret(web.ladder, "ada", "link", "staff").secret
    set_suspended(web.ladder, "ada", True, "staff", "she copied Bob's bot")
    assert [visitor.get("/api/account").status_code for visitor in (*browsers, other)] == [401] * 3 + [200]
    assert [visitor.post("/api/submissions").status_code for visitor in browsers] == [401] * 3
    latecomer = web.visitor("anonymous")
    assert "she copied Bob&#39;s bot" in latecomer.post("/sign-in", data={"link": link}, follow_redirects=True).text
    assert latecomer.get("/standings").status_code == 303


def test_frequent_attempts_are_limited(web: Pages) -> None:
    stop_clock(web)
    visitor = web.visitor("anonymous")
    codes = [visitor.post("/sign-in", data={"link": f"guess {guess}"}).status_code for guess in range(25)]
    assert codes[0] == 403
    assert codes[-1] == 429


def test_a_page_is_not_drawn_again_while_nothing_happens(web: Pages) -> None:
    """The time stands still: some pages are drawn again at the end of each minute."""
    now = web.ladder.clock()
    web.ladder.clock = lambda: now
    for kind, path in (("ada", "/standings"), ("staff", "/bots/late"), ("ada", "/api/matches")):
        visitor = web.visitor(kind)
        tag = visitor.get(path).headers["etag"]
        assert visitor.get(path, headers={"If-None-Match": tag}).status_code == 304
    tags = {web.visitor(kind).get("/standings").headers["etag"] for kind in ("staff", "ada")}
    assert len(tags) == 2


@each(
    ("kind", "path", "size", "status"),
    [
        ("anonymous", "/sign-in", 65_537, 413),
        ("anonymous", "/sign-in", 65_536, 400),
        ("staff", "/account/password", 65_537, 413),
        ("staff", "/admin/users/import", 65_537, 400),
        ("staff", "/admin/users/import", 4 << 20, 413),
        ("anonymous", "/admin/users/import", 4 << 20, 401),
        ("anonymous", "/account/password", 65_537, 401),
    ],
)
def test_forms_are_read_once_authorized_up_to_a_limit(web: Pages, kind: str, path: str, size: int, status: int) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answered = web.visitor(kind).post(path, content=(b"&" * size for _ in range(1)), headers=form)
    assert answered.status_code == status, (path, answered.text)


@each(
    ("path", "kind", "content"),
    [
        ("/sign-in", "text/plain", b"link=x"),
        ("/sign-in", "application/json", b'{"link": "x"}'),
        ("/account/tokens", "", b"scope=read&days=1"),
        ("/api/tables", "application/x-www-form-urlencoded", b"rules=coup"),
        ("/api/tables", "text/plain", b'{"rules": "coup"}'),
    ],
)
def test_another_content_type_is_not_read(web: Pages, path: str, kind: str, content: bytes) -> None:
    answered = web.visitor("ada").post(path, content=content, headers={"Content-Type": kind})
    assert answered.status_code == 415, answered.text


def test_guesses_at_one_password_from_one_address_are_a_hundred_in_an_hour(web: Pages) -> None:
    now = [0.0]
    limits = type(web.client.app.state.shared.limits)(lambda: now[0])  # type: ignore[attr-defined]
    allowed = 0
    for now[0] in range(3600):
        allowed += not limits.count_try("password", "192.0.2.7 ada")
    assert 90 <= allowed <= 100
    assert [limits.count_try("sign in", "192.0.2.7") for _ in range(21)][-1] == 4


def test_forms_are_counted_before_they_are_parsed(web: Pages) -> None:
    """They are counted by user, or else by address: an unreadable form is an attempt, too."""
    visitor, state = web.visitor("anonymous"), stop_clock(web)
    assert visitor.post("/sign-in", data={}).status_code == 400
    while not state.limits.count_try("form", "testclient"):
        pass
    assert visitor.post("/sign-in", data={}).status_code == 429
    assert web.visitor("ada").post("/account/tokens", data={}).status_code == 400


def test_no_body_is_read_before_the_gate(web: Pages) -> None:
    visitor = web.visitor("anonymous")
    for name, (act, _) in GRANTS.items():
        method, path = name.split()
        if method == "POST" and NEEDED_LEVELS[act] > AccessLevel.ANYBODY:
            codes = {
                visitor.post(prefix + address(path), content=iter([b"x" * 3_000_000])).status_code
                for prefix in ("", "/api")
            }
            assert codes - {404, 405} == {401}, name


class RawRequest:
    """A request whose body doesn't arrive. code: of the answer, once it begins. asked: for a part of the body."""

    def __init__(self, web: Pages, method: str, path: str, body: bytes | None = None) -> None:
        headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", b"application/x-www-form-urlencoded")]
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "client": ("192.0.2.1", 1),
            "server": ("127.0.0.1", 8000),
        }
        self.app, self.body, self.code = web.client.app, body, 0
        self.asked, self.begun = asyncio.Event(), asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        self.asked.set()
        if self.body is None:
            await asyncio.Event().wait()
        body, self.body = self.body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.code = message["status"]
            self.begun.set()

    async def run(self) -> int:
        await self.app(self.scope, self.receive, self.send)  # type: ignore[arg-type]
        return self.code


async def open_all(requests: list[RawRequest], event: str) -> list["asyncio.Task[int]"]:
    tasks = [asyncio.create_task(each.run()) for each in requests]
    for request in requests:
        await asyncio.wait_for(getattr(request, event).wait(), 60)
    return tasks


async def end_all(tasks: list["asyncio.Task[int]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_the_settings_refuse_a_visitor_without_waiting_for_the_form(web: Pages) -> None:
    async def refused() -> int:
        return await asyncio.wait_for(RawRequest(web, "POST", "/admin/settings").run(), 20)

    assert web.client.portal.call(refused) == 401


def test_150_students_with_open_streams_behind_one_address_stay_served(web: Pages, own: Term) -> None:
    """Unfinished bodies of their address are limited, and leave room for the others' forms."""
    stop_clock(web)
    limits = web.client.app.state.shared.limits  # type: ignore[attr-defined]
    clock = count(step=1000)
    limits._clock = lambda: float(next(clock))  # each form comes long after the one before

    async def crowd() -> list[int]:
        tasks = await open_all([RawRequest(web, "GET", "/changes") for _ in range(150)], "begun")
        tasks += await open_all([RawRequest(web, "POST", "/sign-in") for _ in range(99)], "asked")
        codes = [await RawRequest(web, "POST", "/sign-in", b"link=x").run() for _ in range(150)]
        tasks += await open_all([RawRequest(web, "POST", "/sign-in")], "asked")
        codes.append(await RawRequest(web, "POST", "/sign-in", b"link=x").run())
        codes.append(await RawRequest(web, "GET", "/standings").run())
        await end_all(tasks)
        codes.append(await RawRequest(web, "POST", "/sign-in", b"link=x").run())
        return codes

    with public(own):
        codes = web.client.portal.call(crowd)
    assert (set(codes[:150]), codes[150:]) == ({403}, [429, 200, 403])


def test_an_application_with_a_form_on_a_plain_route_isnt_built(web: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = APIRouter()
    plain.post("/sign-in")(lambda: None)
    monkeypatch.setattr("ladder.web.app.ROUTERS", (*ROUTERS, plain))
    with pytest.raises(ValueError, match="AuthorizedRoute: /sign-in"):
        make_app(web.ladder, URL)


def test_only_routes_that_read_a_stream_run_on_the_event_loop(web: Pages) -> None:
    """All others run in a thread: a roster of 2 MB takes seconds to read. Probes answer while all threads are busy."""
    nouns = [each.original_router for each in web.client.app.routes if hasattr(each, "original_router")]  # type: ignore[attr-defined]
    routes = [route for noun in nouns for route in noun.routes]
    on_loop = {route.path for route in routes if iscoroutinefunction(route.endpoint)}
    sockets = {"/tables/{id}/socket", "/tables/{id}/program"}
    assert on_loop == {"/submit", "/api/submissions", "/changes", "/healthz", "/readyz", *sockets}
    assert web.visitor("ada").delete("/standings").status_code == 405


def test_an_operation_that_was_refused_is_none_at_present(web: Pages) -> None:
    limiter = type(web.client.app.state.shared.people)(1, max_per_name=1)  # type: ignore[attr-defined]
    with limiter.admit("ada") as is_first_allowed, limiter.admit("bob") as is_second_allowed:
        assert (is_first_allowed, is_second_allowed) == (True, False)
        assert limiter.names() == ["ada"]


def test_a_host_with_many_addresses_is_one(web: Pages) -> None:
    state = stop_clock(web)
    while not state.limits.count_try("form", "2001:db8::/64"):
        pass
    hosts = (("2001:db8::1:2:3:4", 429), ("2001:db8:0:1::1", 400), ("fe80::1%lo", 400), ("no: address", 400))
    while not state.limits.count_try("form", "192.0.2.1"):
        pass
    for host, status in (*hosts, ("::ffff:192.0.2.1", 429), ("::ffff:192.0.2.2", 400)):
        visitor = TestClient(web.client.app, base_url=URL, client=(host, 1))
        visitor.portal = web.client.portal
        assert visitor.post("/sign-in", data={}, headers={"Origin": URL}).status_code == status, host


def test_sockets_and_streams_are_limited_by_user_and_by_address(web: Pages) -> None:
    state = web.client.app.state.shared  # type: ignore[attr-defined]
    for places, name in ((state.people, "ada"), (state.addresses, "testclient")):
        with ExitStack() as stack:
            while stack.enter_context(places.admit(name)):
                pass
            assert _socket_status(web.visitor("ada"), "/tables/1/socket", URL) == 429
            assert web.visitor("ada").get("/changes").text == "retry: 60000\n\n"
            other = 1013 if name == "ada" else 429
            assert _socket_status(web.visitor("bob"), "/tables/1/socket", URL) == other
    assert _socket_status(web.visitor("ada"), "/tables/1/socket", URL) == 1013


def test_every_answer_has_the_headers_that_keep_a_browser_safe(web: Pages) -> None:
    for path in ("/", "/standings", "/nope", "/api/standings", "/sign-in", "/static/x/nope.js"):
        headers = web.visitor("ada").get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_personal_pages_are_never_cached_on_disk(web: Pages) -> None:
    for kind, path in (("ada", "/account"), ("ada", "/api/account"), ("ada", "/grades"), ("staff", "/admin/users")):
        answered = web.visitor(kind).get(path)
        assert (answered.status_code, answered.headers["cache-control"]) == (200, "no-store"), path
    assert web.visitor("ada").get("/standings").headers["cache-control"] == "private, no-cache"


def test_hsts_is_sent_where_the_ladder_uses_tls(web: Pages) -> None:
    assert "strict-transport-security" not in web.visitor("ada").get("/sign-in").headers
    with TestClient(make_app(web.ladder, "https://coup.example.org"), base_url="https://coup.example.org") as visitor:
        assert visitor.get("/nope").headers["strict-transport-security"] == "max-age=31536000"


@each("path", ["/standings/", "//evil.example/standings/", "/account/", "/bots/late/", "/api/"])
def test_no_redirect_leads_to_the_host_that_a_request_names(web: Pages, path: str) -> None:
    answered = web.visitor("anonymous").get(path, headers={"Host": "evil.example"})
    assert "evil.example" not in answered.headers.get("location", "").replace("then=%2F%2Fevil.example", "")


def test_a_form_after_the_end_of_its_session_asks_to_sign_in(web: Pages) -> None:
    """A page says how; a program gets JSON. Both lack the advice on tokens that is for programs without a session."""
    ada = web.visitor("ada")
    for secret, reason in ((None, "You aren&#39;t signed in."), ("x" * 43, "Your session has ended.")):
        ada.cookies.clear()
        if secret is not None:
            ada.cookies.set("session", secret)
        page = ada.post("/account/name")
        assert (page.status_code, "Bearer" in page.text) == (401, False)
        assert reason in page.text
        assert 'href="/sign-in"' in page.text
    assert ada.post("/api/submissions").json() == {"error": "your session has ended"}
    form = ada.get("/submit", follow_redirects=True)
    assert "Your session has ended." in form.text
    assert 'name="then" value="/submit"' in form.text


def test_signing_in_again_replaces_the_session(web: Pages) -> None:
    ada = web.visitor("ada")
    before = ada.cookies["session"]
    ada.post("/sign-in", data={"link": issue_secret(web.ladder, "ada", "link", "staff").secret})
    assert ada.get("/account").status_code == 200
    again = web.visitor("anonymous")
    again.cookies.set("session", before)
    assert again.get("/account").status_code == 303


def test_missing_pages_have_a_title(web: Pages) -> None:
    matches = [f"/matches/{id}" for id in (999999, "x", 9**30)]
    for path in ("/bots/none", "/bots/late/99", "/finals/none", "/nope", *matches):
        answered = web.visitor("ada").get(path)
        assert answered.status_code in (400, 404), path
        assert "<h1>" in answered.text
