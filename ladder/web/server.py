"""Run the web server with uvicorn: only on this machine, unless connections are encrypted or it is forced."""

import socket
from asyncio import Transport
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from resource import RLIMIT_NOFILE, getrlimit, setrlimit
from threading import Thread
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from arena import is_loopback
from arena.sandbox import cleanup_all_stale, remove_dead_scratch
from arena.tables import MAX_FRAME_BYTES, PING_S
from ladder.health import HealthMonitor, serve_metrics
from ladder.ladder import Ladder
from ladder.settings import LadderError
from ladder.web.app import make_app
from ladder.web.health import watch_database
from ladder.web.rendering import compile_templates
from ladder.web.request_context import AppState

OPEN_FILES = 8192  # each event stream and each slow visitor needs one
IDLE_CONNECTION_S = 10  # for the next complete request, from the connection or the last response on


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The address at which a server listens. certificate, key: PEM files. behind: the public URL of its proxy."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    behind: str | None = None

    @property
    def url(self) -> str:
        """Return the public URL: that of the proxy, else the server's own."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.behind or f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def require_secure(self, insecure: bool) -> None:
        """Raise LadderError if the address is reachable from other hosts without encryption, unless `insecure`."""
        if not (insecure or self.certificate or is_loopback(self.host)):
            raise LadderError(
                f"{self.host} is reachable from other machines, and its connections aren't encrypted.\n"
                "Give --tls-cert and --tls-key, listen on 127.0.0.1 behind a proxy with TLS, or add --insecure"
            )


def serve_web(
    ladder: Ladder, address: ServerAddress, on_start: Callable[[str], object], metrics: str | None = None
) -> None:
    """Serve until SIGINT or SIGTERM. Raises LadderError if the address can't be used, SchemaError after an upgrade.

    on_start: called with the public URL once the server listens. metrics: the address of metrics, see `parse_address`.
    """
    with _open_socket(address) as listener:
        bound_address = replace(address, port=listener.getsockname()[1])
        app = make_app(ladder, bound_address.url)
        if remove_dead_scratch():  # uploads that a killed server left
            cleanup_all_stale()
        Thread(target=_warm_up, args=(app,), daemon=True).start()
        shared: AppState = app.state.shared
        monitor = shared.metrics.monitor
        server = _LadderServer(_configure(app, bound_address), monitor)
        with serve_metrics(shared.metrics.registry, metrics):
            on_start(bound_address.url)
            try:
                server.run(sockets=[listener])
            finally:
                if monitor.outdated is not None:  # then `watch_database` has caused the KeyboardInterrupt
                    raise monitor.outdated


def _configure(app: FastAPI, address: ServerAddress) -> uvicorn.Config:
    """Return uvicorn's configuration, and raise this process's limit of open files."""
    return uvicorn.Config(
        app,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        log_config=None,  # URLs may contain a link's secret
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=IDLE_CONNECTION_S,
        limit_concurrency=max(100, raise_open_files() - 200),  # leaves files for the database and uploads
        http=_DeadlineProtocol,
        h11_max_incomplete_event_size=32 << 10,
        ws_max_size=MAX_FRAME_BYTES,
        ws_ping_interval=PING_S,
        ws_ping_timeout=PING_S,
        ws_per_message_deflate=False,  # it would use 300 kB of memory per socket
    )


def raise_open_files() -> int:
    """Let this process open OPEN_FILES files, or as many as its hard limit allows; return the new soft limit."""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    setrlimit(RLIMIT_NOFILE, (max(soft, min(hard, OPEN_FILES)), hard))
    return getrlimit(RLIMIT_NOFILE)[0]


def _warm_up(app: FastAPI) -> None:
    """Prepare routes and templates, so that the first view of each page doesn't wait for them."""
    app.openapi()
    compile_templates()


class _DeadlineProtocol(H11Protocol):
    """Close a connection unless each request, also the first, is complete within IDLE_CONNECTION_S."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # uvicorn serves only these
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        self.conn.receive_data(data)  # unlike in uvicorn, a part of a request doesn't stop the timer
        self.handle_events()


class _LadderServer(uvicorn.Server):
    """Watch the database once signals are handled, and end the change streams of open pages on exit.

    Uvicorn would wait for the streams and cut them off with a traceback.
    """

    def __init__(self, config: uvicorn.Config, monitor: HealthMonitor) -> None:
        super().__init__(config)
        self._monitor = monitor

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        Thread(target=watch_database, args=(self._monitor, lambda: self.should_exit), daemon=True).start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        app: Any = self.config.app
        app.state.shared.ending.set()
        super().handle_exit(sig, frame)


def _open_socket(address: ServerAddress) -> socket.socket:
    """Return a socket that listens at an address.

    Raises LadderError if the address is in use or not of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        return socket.create_server((address.host, address.port), family=family, backlog=512)
    except OSError as error:
        cause = error.strerror or str(error)
        raise LadderError(
            f"{address.host} port {address.port}: {cause}.\nName another: --port N (0 for any that is free)"
        ) from None
