"""A visit: one request, and as whom it came. One place for cookies, tokens, and who is let through to a route.

What changes something and comes with a browser's cookie must come from a page of the ladder's own: else another site
could send a browser that is signed in.
"""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from annotated_types import Le
from fastapi import Request, WebSocket, params
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, HTTPConnection

from arena.coup import Ruleset
from ladder.access import PUBLIC, ROUTES, Viewer
from ladder.service import LASTS_S, Issued, Ladder, NotLetInError, viewer_of
from ladder.store.database import DatabaseError
from ladder.web.limits import Limits, Places

FORM_S = 30.0  # for a form to come
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
ONCE_S = 10.0  # in which the same form of the same browser is the same wish: a double click
ONCE = {  # routes whose forms make something new each time
    "POST /account/tokens",
    "POST /admin/people/join",
    "POST /admin/people/links",
    "POST /bots/{name}/challenges",
    "POST /finals",
    "POST /tables",
    "POST /tables/{id}/places/{place}/link",
}
Id = Annotated[int, Le(2**31 - 1)]  # a number of something in the database


@dataclass(frozen=True)
class Door:
    """What all requests share: an open ladder, the address where people find it, and how often one may try things."""

    ladder: Ladder
    url: str
    said_public: bool | None = None
    sheet: Callable[[Ruleset], str] = lambda rules: rules.name  # the rules as plain text, for who plays
    limits: Limits = field(default_factory=Limits)
    drawn: dict[Any, Any] = field(default_factory=dict)  # what was drawn for all alike
    posted: dict[Any, asyncio.Task[Response]] = field(default_factory=dict)  # forms of the last seconds
    ending: asyncio.Event = field(default_factory=asyncio.Event)  # the server is asked to end
    uploads: Places = field(default_factory=lambda: Places(64, of_one=3))
    people: Places = field(default_factory=lambda: Places(2_000, of_one=30))  # sockets and feeds of a person
    addresses: Places = field(default_factory=lambda: Places(2_000, of_one=300))  # of an address: a school has one
    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))  # each takes up to 300 MB

    @property
    def cookie(self) -> str:
        """Return the name of the session's cookie: browsers keep __Host- for one site, over TLS alone."""
        return "__Host-session" if self.secure else "session"

    def guest_cookie(self, table: int) -> str:
        """Return the name of the cookie by which a guest has his place at a table."""
        return f"__Host-table-{table}" if self.secure else f"table-{table}"

    @property
    def secure(self) -> bool:
        """Tell whether people come over TLS."""
        return self.url.startswith("https:")

    @property
    def printed(self) -> str | None:
        """Return the address for programs that pages print, None if none is known: of files, or of a wildcard."""
        wild = urlsplit(self.url).hostname in ("0.0.0.0", "::")
        return None if wild or self.said_public is not None else self.url

    @property
    def public(self) -> bool:
        """Tell whether anybody reads what all participants may."""
        return self.ladder.last_settings.pages.public if self.said_public is None else self.said_public

    def last_change(self) -> int:
        """Return the number of the ladder's last event. Raises DatabaseError."""
        with self.ladder.reading(PUBLIC) as reader:
            return reader.change


@dataclass(frozen=True)
class Visit:
    """One request. session: its cookie's secret. why: for what reason a session or a token lets nobody in."""

    request: HTTPConnection
    door: Door
    viewer: Viewer = PUBLIC
    session: str | None = None
    why: str | None = None

    @property
    def ladder(self) -> Ladder:
        """Return the ladder."""
        return self.door.ladder

    @property
    def here(self) -> str:
        """Return the path and the query of the request."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def sender(self) -> str:
        """Return by what tries are counted: a login, or the address. One host may have all of a /64 of IPv6."""
        return self.viewer.login or address_of(self.request)

    @property
    def plain(self) -> bool:
        """Tell whether a program asks, which reads JSON."""
        return _page_of(self.request.url.path) != self.request.url.path

    @property
    def reads(self) -> bool:
        """Tell whether the ladder is the visitor's to read."""
        return self.viewer.may("read the ladder") or self.door.public

    def let_in(self, response: Response, issued: Issued) -> Response:
        """Give a response the session's cookie."""
        lasts, secure = int(LASTS_S["session"]), self.door.secure  # the session itself may end sooner
        response.set_cookie(
            self.door.cookie, issued.secret, max_age=lasts, secure=secure, httponly=True, samesite="lax"
        )
        return response

    def let_out(self, response: Response) -> Response:
        """Take the session's cookie away."""
        response.delete_cookie(self.door.cookie, secure=self.door.secure, httponly=True, samesite="lax")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response


class RefusedError(Exception):
    """Say why a request isn't answered: status, and in a line or two what to do."""

    def __init__(self, status: int, what: str, visit: Visit | None = None, retry_s: int | None = None) -> None:
        super().__init__(what)
        self.status, self.what, self.visit, self.retry_s = status, what, visit, retry_s


class SignInError(Exception):
    """Say that somebody has to sign in first, and where to go on then."""

    def __init__(self, visit: Visit) -> None:
        super().__init__("sign in first")
        self.visit = visit
        self.to = f"/sign-in?then={quote(visit.here, safe='')}"


class Gated(APIRoute):
    """A route whose form is read and parsed only after the gate, and after the limit of its sender."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        handle = super().get_route_handler()

        async def gated(request: Request) -> Response:
            if request.method == "POST":
                request.state.visit = visit = await run_in_threadpool(gate, request)
                wait = visit.door.limits.wait_s("form", visit.sender)
                if wait:
                    raise RefusedError(429, f"That was too often. Try again in {wait} s.", visit, wait)
                body = b"" if self.body_field is None else await _body(request, visit)
                form = self.body_field is not None and isinstance(self.body_field.field_info, params.Form)
                kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if body and kind not in (_FORMS if form else ("application/json",)):
                    raise RefusedError(415, f"Send it as {_FORMS[0] if form else 'application/json'}.", visit)
                if visit.session is not None and route_name("POST", self.path) in ONCE:
                    return await _once(visit, hashlib.sha256(body).digest(), handle(request))
            return await handle(request)

        return gated


async def _once(visit: Visit, form: bytes, answer: Coroutine[Any, Any, Response]) -> Response:
    """Return the answer to a form; one that came twice gets the first one's answer, unless that was refused."""
    posted, key = visit.door.posted, (visit.session, visit.here, form)
    if key in posted:
        answer.close()
    else:
        posted[key] = asyncio.create_task(answer)
        asyncio.get_running_loop().call_later(ONCE_S, posted.pop, key, None)
    try:
        return await posted[key]
    except Exception:
        posted.pop(key, None)
        raise


async def _body(request: Request, visit: Visit) -> bytes:
    """Return the body of a form, which is short: an upload reads its own. Raises RefusedError."""
    try:
        async with asyncio.timeout(FORM_S):
            return await request.body()
    except ClientDisconnect:
        raise RefusedError(400, "It was cut off.", visit) from None
    except TimeoutError:
        raise RefusedError(408, f"It took more than {FORM_S:.0f} s to come.", visit) from None


def gate(request: Request) -> Visit:
    """Let a request through to its route, or not: what ROUTES says of it decides. Raises RefusedError, SignInError."""
    passed: Visit | None = getattr(request.state, "visit", None)
    if passed is not None:
        return passed
    visit = _come(request, request.method)
    act, scope = ROUTES[route_name(request.method, request.scope["route"].path)]
    viewer = visit.viewer
    allowed = viewer.in_scope(scope) and (viewer.may(act) or (act == "read the ladder" and visit.door.public))
    if not allowed and viewer.login is None:
        if visit.plain or request.method not in ("GET", "HEAD"):
            raise RefusedError(401, visit.why or "Sign in first, or send a token: Authorization: Bearer TOKEN", visit)
        raise SignInError(visit)
    if not allowed:
        what = "This is for the ladder's staff."
        if viewer.token:
            what = "A token doesn't do this: sign in." if viewer.changes else "This token is for reading only."
        raise RefusedError(403, what, visit)
    return visit


def gate_socket(socket: WebSocket) -> Visit:
    """Return as whom a socket comes; a browser's comes from a page of the ladder's own. Raises RefusedError."""
    return _come(socket, "WS")


def route_name(method: str, path: str) -> str:
    """Return by what name ROUTES has a route; JSON has that of its page."""
    path = _page_of(path)
    return f"{'GET' if method == 'HEAD' else method} {path}"


def _page_of(path: str) -> str:
    """Return the path of the page whose JSON stands at a path; of any other, the same."""
    return path[4:] or "/" if path == "/api" or path.startswith("/api/") else path


def local(path: str | None) -> str:
    """Return a path of the ladder's own to go on to, whatever was asked for."""
    printable = "".join(character for character in path or "/" if character.isprintable())  # browsers leave others out
    try:
        parts = urlsplit(printable)
    except ValueError:  # "//["
        return "/"
    outside = parts.scheme or parts.netloc or not parts.path.startswith("/") or printable[1:2] in ("/", "\\")
    return "/" if outside else printable


def visit_of(request: Request) -> Visit:
    """Return the visit of a request that has no route, or that went wrong."""
    try:
        return _come(request, request.method)
    except (RefusedError, DatabaseError):
        return Visit(request, request.app.state.door)


def address_of(request: HTTPConnection) -> str:
    """Return the address that a request comes from, of IPv6 the network of its host."""
    host = request.client.host if request.client else ""
    return str(ip_network(f"{host}/64", strict=False)) if ":" in host and "%" not in host else host


@contextmanager
def place_for(door: Door, request: HTTPConnection, person: str | None) -> Iterator[bool]:
    """Hold a place for a socket or a feed of an address, and of a person if known; tell whether there was one."""
    with door.addresses.held(address_of(request)) as free:
        if not free or person is None:
            yield free
            return
        with door.people.held(person) as free:
            yield free


def bearer(request: HTTPConnection) -> str | None:
    """Return the token that a program shows, None if it shows none."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _come(request: HTTPConnection, method: str) -> Visit:
    """Return the visit of a request, as whom its token or its cookie says. Raises RefusedError for another site's."""
    visit = Visit(request, request.app.state.door)
    token = bearer(request)
    if token is not None:
        return _as(visit, token, "token", lambda why: RefusedError(401, why, visit))
    session = request.cookies.get(visit.door.cookie)
    if method not in ("GET", "HEAD") and _from_elsewhere(request, visit.door):
        raise RefusedError(403, "This form came from another site. Open the page here, and send it again.", visit)
    return visit if session is None else _as(visit, session, "session", None)


def _as(visit: Visit, secret: str, kind: str, refuse: Callable[[str], RefusedError] | None) -> Visit:
    try:
        viewer = viewer_of(visit.ladder, secret, kind)
    except NotLetInError as problem:
        if refuse is not None:
            raise refuse(f"{str(problem).capitalize()}.") from None
        return Visit(visit.request, visit.door, why=str(problem))
    return Visit(visit.request, visit.door, viewer, secret if kind == "session" else None)


def _from_elsewhere(request: HTTPConnection, door: Door) -> bool:
    """Tell whether a page of another site sent this. Browsers say so; what is no browser brings no cookie either."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("origin")
    if origin is not None:
        scheme = request.url.scheme.replace("ws", "http")
        return origin not in (door.url, f"{scheme}://{request.headers.get('host')}")
    return bool(request.cookies)
