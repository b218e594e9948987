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


def serve_local_table(
    listening: socket.socket,
    pages: Mapping[str, Callable[[], str]],
    replay: Callable[[bool], str | None],
    table: Callable[[str], LiveTable],
    begun: Callable[[str], object],
) -> None:
    """Serve `pages` and their table until SIGINT, SIGTERM, or the person has left a match that is over.

    `pages` makes the HTML of each path when a browser asks for it. `table(secret)` creates the table, in the event
    loop; the secret is that of the person's slot. `begun(address)` is called once the server listens. `replay(review)`
    returns the HTML page of the last match, with a review of the person's games if `review` is true; None without a
    match.
    """
    port = listening.getsockname()[1]
    token, secret = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
    cookie = f"table-{port}"  # browsers share cookies between all ports of a host
    unused = [token]
    tables: list[LiveTable] = []

    async def show_page(request: Request) -> Response:
        if request.query_params.get("token") in unused:
            unused.clear()
            answer = RedirectResponse("/", 303, _HEADERS)
            answer.set_cookie(cookie, secret, httponly=True, samesite="strict")
            return answer
        if request.cookies.get(cookie) != secret:
            return HTMLResponse(_USED_LINK_PAGE, 403, _HEADERS)
        return HTMLResponse(await asyncio.to_thread(pages[request.url.path]), headers=_HEADERS)

    async def replay_page(request: Request) -> Response:
        # While a match is played, its finished games would reveal which player has which letter.
        allowed = request.cookies.get(cookie) == secret and tables[0].replay
        shown = await asyncio.to_thread(replay, "review" in request.query_params) if allowed else None
        return HTMLResponse(shown or "There is no finished match to show.", 200 if shown else 404, _HEADERS)

    async def table_socket(ws: WebSocket) -> None:
        ours = ws.headers.get("origin") == f"http://{ws.headers.get('host')}"
        if not ours or ws.cookies.get(cookie) != secret:
            await ws.close(1008)
            return
        channel = WebChannel(ws)
        await channel.open()
        await serve_client(channel, tables[0], secret)
        asyncio.get_running_loop().call_later(_RECONNECT_S, end_if_left)

    def end_if_left() -> None:
        if tables[0].state in ("over", "void") and not tables[0].watched:
            server.should_exit = True

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        tables.append(table(secret))
        begun(f"http://{HOST}:{port}/?token={token}")
        yield
        await asyncio.to_thread(tables[0].close)

    app = Starlette(
        routes=[
            *(Route(path, show_page) for path in pages),
            Route("/replay", replay_page),
            WebSocketRoute("/socket", table_socket),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
        lifespan=lifespan,
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
    server = uvicorn.Server(config)
    server.run(sockets=[listening])


_RECONNECT_S = 300.0  # for a user that looks at the replay to come back
