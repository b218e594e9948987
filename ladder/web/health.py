"""Answer health probes, log requests that fail or are slow, and count requests for Prometheus.

A logged request has an id, which its response has as X-Request-ID. The log has the pattern of the route, such as
/bots/{name}, because addresses may contain secrets.
"""

import asyncio
import logging
import os
import secrets
import signal
import time
from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ladder.health import HealthMonitor, LadderHealth, LadderMetrics

router = APIRouter()
log = logging.getLogger(__name__)

SLOW_S = 2.0  # from the last byte of a request to the first one of its response
PROBES = ("/healthz", "/readyz")
WATCH_S = 5.0  # between two readings of the ladder's health

Required = Annotated[list[Literal["runner", "table_server"]], Query()]


@router.get("/healthz", include_in_schema=False)
async def healthz() -> Response:
    """Answer as long as this process does."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", include_in_schema=False)
async def readyz(http: Request, require: Required = []) -> Response:  # noqa: B006  # FastAPI copies the default
    """Return 200 if pages can be served, else 503: the database answers, and the `require`d processes are alive."""
    health: LadderHealth = await asyncio.to_thread(http.app.state.shared.metrics.monitor.health)
    states = {
        "database": "ok" if health.problem is None else "unreachable",
        "runner": "ok" if health.runners else "none",
        "table_server": "ok" if health.table_servers else "none",
    }
    is_ready = all(states[name] == "ok" for name in ("database", *require))
    return JSONResponse({"ready": is_ready, **states}, 200 if is_ready else 503, {"Cache-Control": "no-store"})


class PagesMetrics:
    """The Prometheus metrics of a web server and its ladder."""

    def __init__(self, monitor: HealthMonitor) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no type here
        self.monitor = monitor
        self.registry = registry = CollectorRegistry(auto_describe=False)
        registry.register(LadderMetrics(monitor))
        self.requests = Counter(
            "coup_pages_requests", "Requests to this web server, by the class of their status.", ["status"],
            registry=registry,
        )  # fmt: skip
        for digit in "2345":
            self.requests.labels(f"{digit}xx")
        self.seconds = Summary("coup_pages_response_seconds", "Time from a request to its response.", registry=registry)
        start_time = Gauge(
            "coup_pages_start_time_seconds", "Start of this web server, in seconds since 1970.", registry=registry
        )
        start_time.set_to_current_time()


class RequestLog:
    """Middleware that gives each request an id, counts it, and logs it if it fails or is slow; probes aside."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; count and time it, and give its response an id that the log has, too.

        The time begins with the last part of the request, since a slow upload isn't a slow response.
        """
        if scope["type"] != "http" or scope["path"] in PROBES:  # else an outage would be a line for each probe
            await self.app(scope, receive, send)
            return
        id = scope.setdefault("state", {})["request_id"] = secrets.token_hex(6)
        received_at = time.monotonic()
        has_response = False

        async def timed_receive() -> Message:
            nonlocal received_at
            message = await receive()
            received_at = time.monotonic()
            return message

        async def counted_send(message: Message) -> None:
            nonlocal has_response
            if message["type"] != "http.response.start":
                await send(message)
                return
            has_response = True
            _count_request(scope, message["status"], time.monotonic() - received_at)
            await send({**message, "headers": [*message["headers"], (b"x-request-id", id.encode())]})

        try:
            await self.app(scope, timed_receive, counted_send)
        except Exception as error:
            if not has_response:  # an outer middleware sends the error page
                scope["state"]["failure"] = type(error).__name__
                _count_request(scope, 500, time.monotonic() - received_at)
            raise


def _count_request(scope: Scope, status: int, seconds: float) -> None:
    """Count a request; log it if it failed or was slow. seconds: from its last part to its response."""
    metrics: PagesMetrics = scope["app"].state.shared.metrics
    metrics.requests.labels(f"{status // 100}xx").inc()
    metrics.seconds.observe(seconds)
    if status < 500 and seconds < SLOW_S:
        return
    path = getattr(scope.get("route"), "path", "an unknown path")
    failure = scope["state"].get("failure")
    text = f"{scope['method']} {path}: {status} after {seconds:.1f} s{f': {failure}' if failure else ''}"
    ids = {"request": scope["state"]["request_id"]}
    log.log(logging.ERROR if status == 500 else logging.WARNING, text, extra={"ids": ids})


def watch_database(monitor: HealthMonitor, has_ended: Callable[[], bool]) -> None:
    """Report when the database becomes unreachable and when it is back: the loop of a thread, until `has_ended()`.

    If another version has upgraded the database, send this process SIGTERM.
    """
    old_problem = None
    while not has_ended():
        problem = monitor.health().problem
        if monitor.outdated is not None:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        if (problem is None) != (old_problem is None):
            monitor.ladder.database.hear(problem)
        old_problem = problem
        time.sleep(WATCH_S)
