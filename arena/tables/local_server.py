"""Serve one table to the user of this machine, without a ladder or an account.

It listens on 127.0.0.1. The printed address contains a token that admits one browser, once; then a cookie identifies
the seat. Requests that another site makes the browser send are rejected by their Host and Origin."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from arena.replay import html_page, style_sheets
from arena.tables.table import LiveTable
from arena.tables.websocket import MAX_FRAME_BYTES, PING_S, WebChannel, serve_client

HOST = "127.0.0.1"
_HEADERS = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY"}
_USED_LINK_PAGE = html_page(
    "Coup",
    """<main class="plain">
<h1>This table is open in another browser</h1>
<p>The link of a table works once, in one browser: it shows the cards of its player.</p>
<ul>
<li>To continue, open the page in the browser that used the link.</li>
<li>To play here, start the command again, and open the new link here.</li>
</ul>
</main>""",
    [style_sheets("page")],
    [],
)


class LocalServer:
    """The server of one table and its `pages`. The link's token works once and sets the cookie.

    `pages` makes the HTML of each path when a browser asks for it. `make_replay(review)` returns the HTML page of the
    last match, with a review of the person's games if `review` is true; None without a match. `make_table(secret)`
    creates the table, in the event loop; the secret is that of the person's slot. `on_listening(address)` is called
    once the server listens.
    """

    def __init__(
        self,
        listening: socket.socket,
        pages: Mapping[str, Callable[[], str]],
        make_replay: Callable[[bool], str | None],
        make_table: Callable[[str], LiveTable],
        on_listening: Callable[[str], object],
    ) -> None:
        self._listening, self._pages, self._make_replay = listening, pages, make_replay
        self._make_table, self._on_listening = make_table, on_listening
        self._port = listening.getsockname()[1]
        self._cookie = f"table-{self._port}"  # browsers share cookies between all ports of a host
        self._token: str | None = secrets.token_urlsafe(16)  # None once it is used
        self._secret = secrets.token_urlsafe(16)
        self._table: LiveTable | None = None  # from the start of the event loop on

    def run(self) -> None:
        """Serve until SIGINT, SIGTERM, or the person has left a match that is over."""
        app = Starlette(
            routes=[
                *(Route(path, self._show_page) for path in self._pages),
                Route("/replay", self._show_replay),
                WebSocketRoute("/socket", self._connect_socket),
            ],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
            lifespan=self._open_table,
        )
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
            ws_max_size=MAX_FRAME_BYTES,
            ws_ping_interval=PING_S,
        )
        self._server = uvicorn.Server(config)
        self._server.run(sockets=[self._listening])

    @asynccontextmanager
    async def _open_table(self, app: Starlette) -> AsyncIterator[None]:
        self._table = self._make_table(self._secret)
        self._on_listening(f"http://{HOST}:{self._port}/?token={self._token}")
        yield
        await asyncio.to_thread(self._table.close)

    async def _show_page(self, request: Request) -> Response:
        """Return the page of the path, or exchange the token for the cookie."""
        if self._token is not None and request.query_params.get("token") == self._token:
            self._token = None
            redirect = RedirectResponse("/", 303, _HEADERS)
            redirect.set_cookie(self._cookie, self._secret, httponly=True, samesite="strict")
            return redirect
        if request.cookies.get(self._cookie) != self._secret:
            return HTMLResponse(_USED_LINK_PAGE, 403, _HEADERS)
        return HTMLResponse(await asyncio.to_thread(self._pages[request.url.path]), headers=_HEADERS)

    async def _show_replay(self, request: Request) -> Response:
        """Return the replay of the last match; none during a match, since it would reveal who has which letter."""
        page = None
        is_signed_in = request.cookies.get(self._cookie) == self._secret
        if is_signed_in and self._table is not None and self._table.replay:
            page = await asyncio.to_thread(self._make_replay, "review" in request.query_params)
        return HTMLResponse(page or "There is no finished match to show.", 200 if page else 404, _HEADERS)

    async def _connect_socket(self, ws: WebSocket) -> None:
        """Serve the person's client, if the page that opens the socket is this server's."""
        is_own_page = ws.headers.get("origin") == f"http://{ws.headers.get('host')}"
        if self._table is None or not is_own_page or ws.cookies.get(self._cookie) != self._secret:
            await ws.close(1008)
            return
        channel = WebChannel(ws)
        await channel.open()
        await serve_client(channel, self._table, self._secret)
        asyncio.get_running_loop().call_later(_RECONNECT_S, self._end_if_left)

    def _end_if_left(self) -> None:
        if self._table is not None and self._table.state in ("over", "void") and not self._table.watched:
            self._server.should_exit = True


_RECONNECT_S = 300.0  # for a user that looks at the replay to come back
