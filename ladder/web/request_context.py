"""Identify the user of each request, and authorize it.

Cookies, tokens and the access to routes are handled only in this module. A request that changes something and has a
browser's cookie must come from a page of the ladder itself: otherwise another site could use a signed-in browser.

Staff forms share a reason field and a notice for decisions that already applied."""

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from annotated_types import Le
from fastapi import Depends, Form, Request, WebSocket, params
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, HTTPConnection

from arena.formatting import begin_sentence
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, ROUTES, Viewer
from ladder.store import DatabaseError, last_lobby_line
from ladder.users import CREDENTIAL_LIFETIMES_S, AuthenticationError, IssuedSecret, UserImport, authenticate_secret
from ladder.web.health import PagesMetrics
from ladder.web.rate_limit import ConcurrencyLimiter, RateLimiter

FORM_TIMEOUT_S = 30.0  # for a form to arrive
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
DOUBLE_SUBMIT_S = 10.0  # within it, the same form from the same browser counts once: a double click
CREATING_ROUTES = {  # routes whose forms create something each time
    "POST /account/team/invitation",
    "POST /account/tokens",
    "POST /admin/users/join",
    "POST /admin/users/links",
    "POST /bots/{name}/challenges",
    "POST /finals",
    "POST /tables",
    "POST /tables/chat",
    "POST /tables/quick",
    "POST /tables/{id}/slots/{slot}/token",
}
GUEST_COOKIE_S = 86_400  # after which a guest loses their slot
RowId = Annotated[int, Le(2**31 - 1)]  # a database row's number


@dataclass(frozen=True)
class AppState:
    """The state that all requests share: the open ladder, its public URL, rate limits and caches.

    said_public: whether the pages are public, None if ladder.toml decides.
    """

    ladder: Ladder
    url: str
    metrics: PagesMetrics
    said_public: bool | None = None
    limits: RateLimiter = field(default_factory=RateLimiter)
    shared_pages: dict[Any, Any] = field(default_factory=dict)  # rendered pages that are the same for all
    responses: dict[Any, asyncio.Task[Response]] = field(default_factory=dict)  # by form
    imports: dict[str | None, UserImport] = field(default_factory=dict)  # the last one of each session
    ending: asyncio.Event = field(default_factory=asyncio.Event)  # set when the server shuts down
    uploads: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(64, max_per_name=3))
    people: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(2_000, max_per_name=30))  # by user
    addresses: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(2_000, max_per_name=300))
    bodies: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(400, max_per_name=100))  # by address
    reviews: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(2, max_per_name=1))
    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2))  # each takes up to 300 MB

    @property
    def cookie(self) -> str:
        """Return the name of the session cookie. Browsers restrict a __Host- cookie to one host and to TLS."""
        return "__Host-session" if self.secure else "session"

    def guest_cookie(self, table: int) -> str:
        """Return the name of the cookie that identifies a guest at a table."""
        return f"__Host-table-{table}" if self.secure else f"table-{table}"

    @property
    def secure(self) -> bool:
        """Return whether the public URL uses TLS."""
        return self.url.startswith("https:")

    @property
    def printed(self) -> str | None:
        """Return the URL that pages show for programs, None for a static export or a wildcard address."""
        is_wildcard = urlsplit(self.url).hostname in ("0.0.0.0", "::")
        return None if is_wildcard or self.said_public is not None else self.url

    @property
    def public(self) -> bool:
        """Return whether the pages are public."""
        return self.ladder.last_settings.web.public if self.said_public is None else self.said_public

    @property
    def banner(self) -> str:
        """Return the line of text on all pages, "" without one."""
        return self.ladder.last_settings.web.banner

    def last_changes(self) -> tuple[int, int]:
        """Return the numbers of the ladder's newest event and of the lobby's newest line.

        Raises DatabaseError if the database can't be reached.
        """
        with self.ladder.reading(PUBLIC_VIEWER) as context:
            return context.revision, last_lobby_line(context.connection)


@dataclass(frozen=True)
class RequestContext:
    """One request and its viewer. session: the secret of its cookie. rejection_reason: why that secret is invalid."""

    http: HTTPConnection
    state: AppState
    viewer: Viewer = PUBLIC_VIEWER
    session: str | None = None
    rejection_reason: str | None = None

    @property
    def ladder(self) -> Ladder:
        """Return the ladder."""
        return self.state.ladder

    @property
    def target(self) -> str:
        """Return the path and the query of the request."""
        url = self.http.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def sender(self) -> str:
        """Return the key of rate limits: the login, else the client's network."""
        return self.viewer.login or client_network(self.http)

    @property
    def wants_json(self) -> bool:
        """Return whether the request is for JSON: its path is below /api."""
        return _page_path(self.http.url.path) != self.http.url.path

    @property
    def can_read(self) -> bool:
        """Return whether the viewer may read the ladder's pages."""
        return self.viewer.can("ladder:read") or self.state.public

    @property
    def actor(self) -> str:
        """Return the login of the user who made a request that requires signing in."""
        assert self.viewer.login is not None, "the route requires signing in"
        return self.viewer.login

    def set_session_cookie(self, response: Response, issued: IssuedSecret) -> Response:
        """Set the cookie with a session's secret on a response, and return it."""
        self._set_cookie(response, self.state.cookie, issued.secret, int(CREDENTIAL_LIFETIMES_S["session"]))
        return response

    def set_guest_cookie(self, response: Response, table: int, secret: str) -> None:
        """Set the cookie that identifies a guest at a table on a response, for GUEST_COOKIE_S."""
        self._set_cookie(response, self.state.guest_cookie(table), secret, GUEST_COOKIE_S)

    def _set_cookie(self, response: Response, name: str, secret: str, lifetime_s: int) -> None:
        secure = self.state.secure
        response.set_cookie(name, secret, max_age=lifetime_s, secure=secure, httponly=True, samesite="lax")

    def delete_session_cookie(self, response: Response) -> Response:
        """Delete the session cookie on a response, and return it."""
        response.delete_cookie(self.state.cookie, secure=self.state.secure, httponly=True, samesite="lax")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response


class HTTPError(Exception):
    """A request is rejected with an HTTP status and one or two lines of text; retry after `retry_s`."""

    def __init__(
        self, status: int, message: str, request: RequestContext | None = None, retry_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.request, self.retry_s = status, message, request, retry_s


class SignInRequiredError(Exception):
    """The user has to sign in first; `to` is the address of the sign-in page, which leads back here."""

    def __init__(self, request: RequestContext) -> None:
        super().__init__("sign in first")
        self.request = request
        self.to = f"/sign-in?then={quote(request.target, safe='')}"


class AuthorizedRoute(APIRoute):
    """A route whose body is read only after authorization and rate limiting, and with a deadline.

    A route without a form of FastAPI's reads its body itself, within `hold_body`, as uploads do.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        handle = super().get_route_handler()

        async def handle_authorized(http: Request) -> Response:
            """Authorize a POST before its body is read, limit its rate, and answer a repeated one as the first time.

            Raises HTTPError if that fails; the route authorizes other requests.
            """
            if http.method != "POST":
                return await handle(http)
            http.state.request = request = await run_in_threadpool(authorize, http)
            wait_s = request.state.limits.count_try("form", request.sender)
            if wait_s:
                raise HTTPError(429, f"Too many requests. Try again in {wait_s} s.", request, wait_s)
            body = b"" if self.body_field is None else await _read_body(http, request)
            if body:
                self._require_content_type(http, request)
            if request.session is not None and route_name("POST", self.path) in CREATING_ROUTES:
                return await _deduplicate(request, hashlib.sha256(body).digest(), handle(http))
            return await handle(http)

        return handle_authorized

    def _require_content_type(self, http: Request, request: RequestContext) -> None:
        """Raise HTTPError unless a body has the content type of the route's parameters: a form, else JSON."""
        has_form = self.body_field is not None and isinstance(self.body_field.field_info, params.Form)
        allowed_types = _FORMS if has_form else ("application/json",)
        content_type = http.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type not in allowed_types:
            raise HTTPError(415, f"The content type isn't supported. Send {allowed_types[0]}.", request)


async def _deduplicate(request: RequestContext, digest: bytes, answer: Coroutine[Any, Any, Response]) -> Response:
    """Return the response to a form, by its digest, from `answer`, which continues if this request is cancelled.

    A form repeated before that response, or within DOUBLE_SUBMIT_S after it, gets it, too, unless it failed.
    """
    responses, key = request.state.responses, (request.session, request.target, digest)
    if key in responses:
        answer.close()
    else:
        responses[key] = asyncio.create_task(answer)
        responses[key].add_done_callback(partial(_forget_later, responses, key))
    return await asyncio.shield(responses[key])


def _forget_later(responses: dict[Any, asyncio.Task[Response]], key: Any, response: asyncio.Task[Response]) -> None:
    """Forget a failed response to a form now, another one after DOUBLE_SUBMIT_S."""
    if response.cancelled() or response.exception() is not None:
        del responses[key]
    else:
        response.get_loop().call_later(DOUBLE_SUBMIT_S, responses.pop, key)


async def _read_body(http: Request, request: RequestContext) -> bytes:
    """Return the body of a form; uploads are read elsewhere. Raises HTTPError if it is cut off or too slow."""
    try:
        with hold_body(request):
            async with asyncio.timeout(FORM_TIMEOUT_S):
                return await http.body()
    except ClientDisconnect:
        raise HTTPError(400, "The form is incomplete. Send it again.", request) from None
    except TimeoutError:
        raise HTTPError(
            408, f"The form took more than {FORM_TIMEOUT_S:.0f} s to arrive. Send it again.", request
        ) from None


@contextmanager
def hold_body(request: RequestContext) -> Iterator[None]:
    """Count a body that is being received. Raises HTTPError if its address, or all, have too many unfinished ones."""
    with request.state.bodies.admit(client_network(request.http)) as is_allowed:
        if not is_allowed:
            raise HTTPError(429, "Too many unfinished requests from this address. Try again in 5 s.", request, 5)
        yield


def authorize(http: Request) -> RequestContext:
    """Check a request's permission by ROUTES, and return its context.

    Raises SignInRequiredError if a page needs a login, HTTPError for other requests that aren't allowed.
    """
    authorized: RequestContext | None = getattr(http.state, "request", None)
    if authorized is not None:
        return authorized
    request = _make_context(http, http.method)
    permission, scope = ROUTES[route_name(http.method, http.scope["route"].path)]
    viewer = request.viewer
    has_permission = viewer.can(permission) or (permission == "ladder:read" and request.state.public)
    if viewer.in_scope(scope) and has_permission:
        return request
    if viewer.login is None:
        raise _make_sign_in_error(request, http.method)
    if not viewer.token:
        raise HTTPError(403, "Only the ladder's staff has access.", request)
    message = "Tokens have no access here: sign in." if viewer.can_write else "This token can only read."
    raise HTTPError(403, message, request)


def _make_sign_in_error(request: RequestContext, method: str) -> HTTPError | SignInRequiredError:
    """Return the error for a viewer without a login: for a page, one that leads to the sign-in."""
    if request.wants_json:
        message = request.rejection_reason or "Sign in first, or send a token: Authorization: Bearer TOKEN"
        return HTTPError(401, message, request)
    if method in ("GET", "HEAD"):
        return SignInRequiredError(request)
    reason = request.rejection_reason or "you aren't signed in"  # on a page that was open for longer than its session
    advice = "Sign in in another tab, then send the form again from here or by going back."
    return HTTPError(401, f"{begin_sentence(reason)}.\n{advice}", request)


def authorize_websocket(socket: WebSocket) -> RequestContext:
    """Return the context of a WebSocket; a browser's must come from a page of this ladder.

    Raises HTTPError if it comes from elsewhere, or the viewer may not open it.
    """
    return _make_context(socket, "WS")


def route_name(method: str, path: str) -> str:
    """Return the name of a route in ROUTES; the JSON of a page has the page's name."""
    path = _page_path(path)
    return f"{'GET' if method == 'HEAD' else method} {path}"


def _page_path(path: str) -> str:
    """Return the path of the page whose JSON has this path; any other path is returned unchanged."""
    return path[4:] or "/" if path == "/api" or path.startswith("/api/") else path


def safe_redirect_path(path: str | None) -> str:
    """Return `path` if it is a path of this site, else "/"."""
    printable = "".join(character for character in path or "/" if character.isprintable())  # browsers drop the others
    try:
        parts = urlsplit(printable)
    except ValueError:  # "//["
        return "/"
    has_host = parts.scheme or parts.netloc or printable[1:2] in ("/", "\\")
    return "/" if has_host or not parts.path.startswith("/") else printable


def current_context(http: Request) -> RequestContext:
    """Return the context of a request that has no route or has failed, without a viewer if none can be found."""
    try:
        return _make_context(http, http.method)
    except (HTTPError, DatabaseError):
        return RequestContext(http, http.app.state.shared)


def client_network(http: HTTPConnection) -> str:
    """Return the client's address, for IPv6 its /64 network: one host may use all of it.

    An IPv4 address in the form of IPv6 is that address. Another text, which a proxy may send, is returned as it is.
    """
    host = http.client.host if http.client else ""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if address.version == 4 or address.scope_id is not None:  # of one link, whose hosts share the network
        return host
    return str(address.ipv4_mapped or ip_network((address.packed, 64), strict=False))


@contextmanager
def hold_connection(state: AppState, http: HTTPConnection, person: str | None) -> Iterator[bool]:
    """Hold a place for a socket or stream, by address and, if known, by user; yield whether one was free."""
    with state.addresses.admit(client_network(http)) as is_address_allowed:
        if not is_address_allowed or person is None:
            yield is_address_allowed
            return
        with state.people.admit(person) as is_person_allowed:
            yield is_person_allowed


def find_bearer_token(http: HTTPConnection) -> str | None:
    """Return the bearer token of a request, None without one."""
    kind, _, token = http.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _make_context(http: HTTPConnection, method: str) -> RequestContext:
    """Return the context of a request, with the viewer of its token, else of its cookie, else the public.

    method: "WS" for a WebSocket. Raises HTTPError for an invalid token, or a request with a cookie from another site.
    An invalid cookie is the context's `rejection_reason`.
    """
    request = RequestContext(http, http.app.state.shared)
    token = find_bearer_token(http)
    if token is not None:
        return _authenticate_token(request, token)
    if method not in ("GET", "HEAD") and _is_cross_site(http, request.state):
        raise HTTPError(403, "This form came from another site. Open the page here, and send it again.", request)
    session = http.cookies.get(request.state.cookie)
    if session is None:
        return request
    try:
        return replace(request, viewer=authenticate_secret(request.ladder, session, "session"), session=session)
    except AuthenticationError as error:
        return replace(request, rejection_reason=str(error))


def _authenticate_token(request: RequestContext, token: str) -> RequestContext:
    """Return the context of a token's viewer. Raises HTTPError if it isn't valid."""
    try:
        return replace(request, viewer=authenticate_secret(request.ladder, token, "token"))
    except AuthenticationError as error:
        raise HTTPError(401, f"{begin_sentence(str(error))}.", request) from None


def _is_cross_site(http: HTTPConnection, state: AppState) -> bool:
    """Return whether a page of another site sent the request, by browsers' headers; other clients send no cookie."""
    site = http.headers.get("sec-fetch-site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = http.headers.get("origin")
    if origin is not None:
        scheme = http.url.scheme.replace("ws", "http")
        return origin not in (state.url, f"{scheme}://{http.headers.get('host')}")
    return bool(http.cookies)


CurrentContext = Annotated[RequestContext, Depends(authorize)]


def _reason(request: CurrentContext, reason: Annotated[str, Form()] = "") -> str:
    """Return the reason in a form. Raises HTTPError unless it is one printable line of 1 to 500 characters."""
    if not reason.strip() or not reason.isprintable() or len(reason) > 500:
        raise HTTPError(400, "Give a reason in one line of at most 500 characters.", request)
    return reason.strip()


Reason = Annotated[str, Depends(_reason)]
Confirmed = Annotated[bool, Form()]


def redirect_after(request: RequestContext, changed: bool, state: str, address: str) -> Response:
    """Redirect to an address after a decision. Raises HTTPError with the state if nothing `changed`."""
    if not changed:
        raise HTTPError(409, f"{state} already: no change.", request)
    return RedirectResponse(address, 303)
