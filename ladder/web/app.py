"""Create the web application with all routes and error pages."""

from fastapi import APIRouter, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.bots import BotError
from ladder.checkup import hide_folders
from ladder.deadlines import UnconfirmedError
from ladder.health import HealthMonitor
from ladder.ladder import Ladder
from ladder.permissions import ROUTES
from ladder.settings import LadderError
from ladder.store import DatabaseError, DataError
from ladder.web.change_stream import change_stream_router
from ladder.web.documents import router as documents_router
from ladder.web.grading_pages import finals_router, grades_router
from ladder.web.health import PagesMetrics, RequestLog
from ladder.web.health import router as health_router
from ladder.web.public_pages import bots_router, home_router, matches_router, queue_router, standings_router
from ladder.web.rendering import HTTPS_HEADERS, SECURITY_HEADERS, render_form
from ladder.web.request_context import (
    AppState,
    AuthorizedRoute,
    HTTPError,
    RequestContext,
    SignInRequiredError,
    current_context,
    route_name,
)
from ladder.web.sign_in import account_router, openid_router, sign_in_router
from ladder.web.staff_pages import admin_router, moderation_router, users_router
from ladder.web.submissions import my_bots_router, submit_router
from ladder.web.table_sockets import sockets_router
from ladder.web.tables import tables_router

ROUTERS: tuple[APIRouter, ...] = (
    health_router,
    home_router,
    documents_router,
    standings_router,
    bots_router,
    my_bots_router,
    matches_router,
    queue_router,
    tables_router,
    sockets_router,
    finals_router,
    admin_router,
    moderation_router,
    grades_router,
    users_router,
    submit_router,
    sign_in_router,
    openid_router,
    account_router,
    change_stream_router,
)


DATABASE_UNREACHABLE = "The ladder's database doesn't answer. Try again in a minute."
MALFORMED_REQUEST = "The address or the form has an invalid value."
INTERNAL_ERROR = "An internal error occurred. Report it to the staff, with the number {id}."


MAX_FORM_BYTES = 64 << 10  # routes of rosters and submissions have their own limits
MAX_FORM_FIELDS = 100


def make_app(ladder: Ladder, url: str, public: bool | None = None) -> FastAPI:
    """Return the application that serves an open ladder at the public URL `url`.

    public: whether its pages are public, None to follow ladder.toml.
    Raises ValueError if the routes differ from ROUTES, or if a route with a body isn't an AuthorizedRoute.
    """
    app = FastAPI(
        title=f"The ladder {ladder.name}",
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        max_body_size=MAX_FORM_BYTES,
        redirect_slashes=False,
        form_limits={"max_fields": MAX_FORM_FIELDS, "max_files": 1},
    )
    app.state.shared = AppState(ladder, url.rstrip("/"), PagesMetrics(HealthMonitor(ladder)), public)
    _require_guarded_routes()
    for router in ROUTERS:
        app.include_router(router)
    _add_exception_handlers(app)
    app.add_middleware(_SecurityHeaders, secure=app.state.shared.secure)
    app.add_middleware(RequestLog)
    return app


def _require_guarded_routes() -> None:
    """Raise ValueError if the routes differ from ROUTES, or one with a body isn't an AuthorizedRoute."""
    routes = [route for router in ROUTERS for route in router.routes]
    unguarded = []
    for route in routes:
        methods = set(getattr(route, "methods", None) or ())  # a WebSocket has none
        if methods - {"GET", "HEAD"} and not isinstance(route, AuthorizedRoute):
            unguarded.append(str(getattr(route, "path", route)))
    if unguarded:
        raise ValueError(f"these routes must be of AuthorizedRoute: {', '.join(sorted(unguarded))}")
    pages = [route for route in routes if isinstance(route, APIRoute)]
    names = {route_name(method, page.path) for page in pages for method in page.methods or ()}
    names |= {f"WS {route.path}" for route in routes if isinstance(route, APIWebSocketRoute)}
    if names != set(ROUTES):
        raise ValueError(f"routes and ROUTES differ: {sorted(names ^ set(ROUTES))}")


def _add_exception_handlers(app: FastAPI) -> None:
    """Make the app answer an exception in a route with an error, as a page or as JSON."""
    app.add_exception_handler(HTTPError, _on_http_error)
    app.add_exception_handler(SignInRequiredError, _on_sign_in_required)
    app.add_exception_handler(LadderError, lambda http, problem: _make_error_response(http, 400, str(problem)))
    app.add_exception_handler(UnconfirmedError, _on_unconfirmed)
    app.add_exception_handler(BotError, lambda http, problem: _make_error_response(http, 400, str(problem)))
    app.add_exception_handler(DatabaseError, _on_database_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    # For example of a NUL in a text.
    app.add_exception_handler(DataError, lambda http, _: _make_error_response(http, 400, MALFORMED_REQUEST))
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(Exception, _on_internal_error)


class _SecurityHeaders:
    """Middleware that adds SECURITY_HEADERS to each response, unless the response sets them itself."""

    def __init__(self, app: ASGIApp, secure: bool) -> None:
        self.app = app
        headers = SECURITY_HEADERS | (HTTPS_HEADERS if secure else {})
        self.headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] != "http.response.start":
                await send(message)
                return
            own_names = {name for name, _ in message["headers"]}
            added = [header for header in self.headers if header[0] not in own_names]
            await send({**message, "headers": [*message["headers"], *added]})

        await self.app(scope, receive, send_with_headers)


def _make_error_response(
    http: Request, status: int, message: str, request: RequestContext | None = None, retry_s: int | None = None
) -> Response:
    """Return an error as JSON or as a page, as the client wants, without folders of this machine.

    request: None to find it by `http`. retry_s: after which to try again.
    """
    context = request or current_context(http)
    text = hide_folders(context.ladder, message)
    response: Response
    if context.wants_json:
        response = JSONResponse({"error": text}, status)
    else:
        response = render_form(context, "error.html", status, lines=text.splitlines(), code=status)
    if retry_s is not None:
        response.headers["Retry-After"] = str(retry_s)
    return response


def _on_http_error(http: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPError)
    return _make_error_response(http, problem.status, problem.message, problem.request, problem.retry_s)


def _on_sign_in_required(http: Request, problem: Exception) -> Response:
    assert isinstance(problem, SignInRequiredError)
    return RedirectResponse(problem.to, 303)


async def _on_unconfirmed(http: Request, problem: Exception) -> Response:
    """Show what a form would change, with the same form to confirm."""
    assert isinstance(problem, UnconfirmedError)
    fields = [(name, value) for name, value in (await http.form()).multi_items() if isinstance(value, str)]
    request = await run_in_threadpool(current_context, http)
    return render_form(request, "confirm.html", 409, changes=problem.changes, fields=fields)


def _on_database_error(http: Request, problem: Exception) -> Response:
    http.state.failure = str(problem)
    return _make_error_response(http, 503, DATABASE_UNREACHABLE, retry_s=60)


def _on_internal_error(http: Request, problem: Exception) -> Response:
    id = getattr(http.state, "request_id", "none")  # as of a probe
    response = _make_error_response(http, 500, INTERNAL_ERROR.format(id=id))
    response.headers.update({**SECURITY_HEADERS, "X-Request-ID": id})  # no middleware adds them
    return response


def _on_validation_error(http: Request, problem: Exception) -> Response:
    assert isinstance(problem, RequestValidationError)
    error = problem.errors()[0]
    return _make_error_response(http, 400, f"{MALFORMED_REQUEST}\n{error['loc'][-1]}: {error['msg']}.")


def _on_http_exception(http: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    message = "This page doesn't exist." if problem.status_code == 404 else str(problem.detail)
    return _make_error_response(http, problem.status_code, message)
