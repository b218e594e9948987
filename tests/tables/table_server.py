"""Tables on a real server in this process, with people, spectators and programs connected by WebSocket."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from socket import create_server
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.sync.client import ClientConnection, connect

from arena import tables
from arena.coup import ABOUT, PRESETS, make_rules_object
from arena.limits import Limits
from arena.referee import MatchSettings, MatchSpec, Record, Timing
from arena.replay import rules_page, table_page
from arena.sandbox import InProcessSandbox, Program
from tests.tables.test_live_match import dice

WAIT_S = 60.0  # only a failure takes this long
PERSON = Timing(limit_ms=60_000, bank_ms=0)
PROGRAM = Timing(limit_ms=20_000, bank_ms=20_000, start_ms=20_000)


class TableServer:
    """One table, its server's address, and the stored records. `on` runs a function in the table's loop."""

    def __init__(
        self, kinds: Sequence[str], games: int, rules: str, offer: dict[str, Any], given: dict[str, Any]
    ) -> None:
        self.records: dict[int, Record] = {}
        self.states: list[str] = []
        self.url = ""
        self.closed = False  # by the API
        self.away = False  # the server answers programs with 503
        self.opener: str | None = None  # the secret of the slot of the table's opener
        self.lines: list[WebSocket] = []  # programs' sockets
        self.people: list[WebSocket] = []
        self._over = threading.Event()
        self.names = tuple(f"{kind}{number}" for number, kind in enumerate(kinds))
        secrets = [None if kind == "bot" else f"secret{number}" for number, kind in enumerate(kinds)]
        self.slots = [tables.Slot(*row) for row in zip(kinds, self.names, secrets, strict=True)]  # type: ignore[arg-type]
        self._offer = tables.TableSettings(
            MatchSettings(rules=PRESETS[rules]), games, **{"person": PERSON, "program": PROGRAM, **offer}
        )
        self._given = given
        self.sandbox = InProcessSandbox({name: dice(number) for number, name in enumerate(self.names)})
        self.table: tables.LiveTable
        self.loop: asyncio.AbstractEventLoop

    def make(self) -> None:
        self.loop = asyncio.get_running_loop()
        callbacks = tables.TableCallbacks(self._deal, self._changed, self._given.get("arrange"))
        given = {name: value for name, value in self._given.items() if name != "arrange"}
        self.table = tables.LiveTable("here", self.slots, self._offer, callbacks, **given)

    def end(self) -> None:
        assert self._over.wait(WAIT_S)

    def cut(self) -> None:
        self._cut(self.lines)

    def cut_people(self) -> None:
        self._cut(self.people)

    def _cut(self, lines: list[WebSocket]) -> None:
        for line in lines:
            with suppress(RuntimeError, WebSocketDisconnect):
                asyncio.run_coroutine_threadsafe(line.close(1012), self.loop).result(WAIT_S)
        lines.clear()

    def on(self, function: Callable[[], Any]) -> Any:
        """Run a function in the table's loop and return its result."""

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(WAIT_S)

    def choose_rules(self, name: str) -> None:
        settings = MatchSettings(rules=PRESETS[name])
        self._offer = self.table.settings = replace(self._offer, match_settings=settings)
        self.table.replace_slots(self.slots)

    def _changed(self, table: tables.LiveTable) -> None:
        self.states.append(table.state)
        if table.state in ("over", "void"):
            self._over.set()

    def _deal(self, number: int) -> tables.MatchSetup:
        slots = self.table.slots if hasattr(self, "table") else self.slots
        names, seats = tuple(self.names[slot.number] for slot in slots), len(slots)
        rows = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(self._offer.games))
        timings = self._offer.timings(slots)
        spec = MatchSpec(number, bytes([number]) * 32, names, rows, self._offer.match_settings, timings)
        return tables.MatchSetup(
            spec, lambda bot: self.sandbox.start(Program((names[bot],), Path()), Limits()), self._keep
        )

    def _keep(self, record: Record, logs: tables.ProcessLogs) -> str:
        self.records[record.header.match] = record
        return "/replay"


@contextmanager
def serve_tables(
    *kinds: str, games: int = 1, rules: str = "coup", ping_s: float = 20.0, offer: Any = (), **given: Any
) -> Iterator[TableServer]:
    """Serve a table with slots of these kinds; the secret of the `n`th is `secretn`."""
    there = TableServer(kinds, games, rules, dict(offer), given)

    async def person(ws: WebSocket) -> None:
        channel = tables.WebChannel(ws)
        await channel.open()
        there.people.append(ws)
        secret = ws.query_params.get("secret")
        manages = secret is not None and secret == there.opener
        await tables.serve_client(channel, there.table, secret, ws.query_params.get("login"), manages=manages)

    async def program(ws: WebSocket) -> None:
        token = ws.headers.get("authorization", "").removeprefix("Bearer ")
        if token == "withdrawn":  # it opens nothing
            await ws.send_denial_response(JSONResponse({"error": "this token was withdrawn"}, 403))
            return
        if there.away:
            await ws.send_denial_response(JSONResponse({}, 503))
            return
        channel = tables.WebChannel(ws)
        there.lines.append(ws)
        await channel.open()
        await tables.serve_program(
            channel, there.table, token, int(ws.query_params["after"]) if "after" in ws.query_params else None
        )

    async def opened(request: Any) -> JSONResponse:
        asked = await request.json()
        return JSONResponse({"id": "here", "page": "/tables/here", "program": "/program", "asked": asked}, 201)

    def closed(request: Any) -> Response:
        there.closed = True
        return Response(status_code=204)

    def page(request: Any) -> HTMLResponse:
        secret = request.query_params.get("secret")
        socket = "/socket" if secret is None else f"/socket?secret={secret}"
        invitation = {"link": f"{there.url}/join", "code": "data:,"} if secret else None
        shown = make_rules_object(there.table.settings.match_settings.rules)
        offered = [{"name": name, "about": ABOUT[name], "max_seats": PRESETS[name].max_seats} for name in PRESETS]
        text = table_page(
            "Coup", shown, socket, home=("/home", "Tables"), join="/join", invitation=invitation, rulesets=offered
        )
        return HTMLResponse(text)

    routes = [
        Route("/", page),
        Route("/rules", lambda request: HTMLResponse(rules_page(make_rules_object(PRESETS[rules])))),
        WebSocketRoute("/socket", person),
        WebSocketRoute("/program", program),
        Route("/api/tables", opened, methods=["POST"]),
        Route("/api/tables/here/close", closed, methods=["POST"]),
    ]
    ready = threading.Event()
    with create_server(("127.0.0.1", 0)) as listening:
        sizes = {"ws_max_size": tables.MAX_FRAME_BYTES, "ws_ping_interval": ping_s}
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off", **sizes))

        async def run() -> None:
            there.make()
            ready.set()
            await server.serve([listening])
            await asyncio.to_thread(there.table.close)

        thread = threading.Thread(target=lambda: asyncio.run(run()))
        there.url = f"ws://127.0.0.1:{listening.getsockname()[1]}"
        thread.start()
        assert ready.wait(WAIT_S)
        try:
            yield there
        finally:
            server.should_exit = True
            there.on(lambda: there.table.dismiss("the test is over"))
            thread.join(WAIT_S)
            assert not thread.is_alive()


def person(there: TableServer, number: int | None = None, login: str | None = None, **given: Any) -> ClientConnection:
    query = {"secret": None if number is None else f"secret{number}", "login": login}
    named = "&".join(f"{name}={value}" for name, value in query.items() if value is not None)
    return connect(f"{there.url}/socket?{named}", **given)


def frames(socket: ClientConnection, holds: Callable[[Any], object]) -> Any:
    """Read frames until a predicate is true of one; return that frame."""
    while True:
        frame = json.loads(socket.recv(WAIT_S))
        if holds(frame):
            return frame


def asks(frame: Any) -> Any:
    return frame.get("game") and frame["game"]["ask"]


def play(socket: ClientConnection, ends: Sequence[str] = ("over", "void")) -> Any:
    """Play a person's match by first moves until the table is in one of these states; return the last frame."""
    answered_ids = set()
    while True:
        frame = json.loads(socket.recv(WAIT_S))
        if frame["table"]["state"] in ends:
            return frame
        ask = asks(frame)
        if ask and ask["id"] not in answered_ids:
            answered_ids.add(ask["id"])
            socket.send(json.dumps({"answer": {"id": ask["id"], "choice": ask["options"][0]["choices"][0][0]}}))
