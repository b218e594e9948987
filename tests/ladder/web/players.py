"""People, programs and spectators at a served ladder's tables, over real sockets."""

import asyncio
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from ladder.ladder import open_ladder
from ladder.users import issue_secret
from tests.cli_workspace import Place
from tests.ladder.classes import configure
from tests.ladder.ladders import cache
from tests.ladder.term import Term
from tests.ladder.web.ladder_server import LadderServer, serve_ladder

WAIT_S = 90.0  # only a failure takes this long
Frame = dict[str, Any]


@dataclass
class ServedTables:
    """A served ladder and its table server."""

    served: LadderServer
    table_server: "subprocess.Popen[str]"
    sessions: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.served.url

    def session(self, login: str) -> str:
        if login not in self.sessions:
            self.sessions[login] = self.served.session(login)
        return self.sessions[login]

    def token(self, login: str) -> str:
        if login not in self.tokens:
            with closing(open_ladder(self.served.folder)) as ladder:
                self.tokens[login] = issue_secret(ladder, login, "token", "staff").secret
        return self.tokens[login]

    def open(self, login: str, code: int = 201, **wanted: object) -> Any:
        """Open a table by the API; return the JSON response."""
        headers = {"Authorization": f"Bearer {self.token(login)}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/tables", json.dumps(wanted).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answered:
                status, text = answered.status, answered.read()
        except urllib.error.HTTPError as refused:
            with refused:
                status, text = refused.code, refused.read()
        assert status == code, text
        return json.loads(text)

    def post(self, path: str, session: str | None, **form: str) -> tuple[int, str, str]:
        """Send a form as a browser does; return status, the location of the redirect, and the cookie."""
        parts = urlsplit(self.url)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.url}
        if session is not None:
            headers["Cookie"] = f"session={session}"
        with closing(HTTPConnection(parts.hostname or "", parts.port, timeout=60)) as connection:
            connection.request("POST", path, urlencode(form), headers)
            answered = connection.getresponse()
            return answered.status, answered.headers.get("location", ""), answered.headers.get("set-cookie", "")

    def sit(self, login: str, link: str) -> None:
        path, _, secret = link.removeprefix(self.url).partition("?link=")
        status, to, _ = self.post(path, self.session(login), link=secret)
        assert (status, to) == (303, path.replace("/join", "/play"))

    def sit_as_guest(self, name: str, link: str) -> str:
        """Take a slot as a guest; return the guest's cookie."""
        path, _, secret = link.removeprefix(self.url).partition("?link=")
        status, _, cookie = self.post(path, None, link=secret, name=name)
        assert status == 303
        return cookie.partition(";")[0]

    def table(self, id: int, login: str) -> Any:
        return self.served.json(f"/tables/{id}", self.session(login))

    def line(self, id: int, login: str) -> Any:
        return self.table(id, login)["table"]

    def player(self, id: int, login: str) -> "Player":
        return Player(self.url, id, {"Cookie": f"session={self.session(login)}"})


def at_once(folder: Path) -> None:
    """Configure a ladder's tables: no pauses, guests, and many tables."""
    configure(Term(folder), allow_guests=True, max_per_user=9, max_total=60, pace="instant", min_window_seconds=0)


@contextmanager
def serve_tables(place: Place, folder: Path, **environment: str) -> Iterator[ServedTables]:
    """Serve a ladder's pages, and start its table server, as two commands."""
    with serve_ladder(place, folder, "--no-runner", **environment) as server:
        yield ServedTables(server, table_server(place, folder, **environment))


def table_server(place: Place, folder: Path, **environment: str) -> "subprocess.Popen[str]":
    return place.start("ladder", "serve-tables", folder, **cache(place), **environment)


class Player:
    """A player connected by a socket, with the frames shown and the answers sent. `headers`: its credentials."""

    def __init__(self, url: str, table: int, headers: dict[str, str], origin: str | None = None) -> None:
        self.address = f"ws{url.removeprefix('http')}/tables/{table}/socket"
        self.headers = headers
        self.origin = url if origin is None else origin
        self.frame: Frame = {}
        self.shown = 0
        self.closed: tuple[int, str] | None = None
        self.saw: Callable[[Frame], None] = lambda frame: None
        self._socket: ClientConnection | None = None

    @asynccontextmanager
    async def there(self) -> AsyncIterator["Player"]:
        times = {"open_timeout": WAIT_S, "close_timeout": 1}
        self._socket = await connect(self.address, origin=self.origin, additional_headers=self.headers, **times)
        try:
            yield self
        finally:
            await self._socket.close()

    async def wait_for_update(self) -> bool:
        """Wait for the next frame; return False if the socket was closed instead."""
        try:
            self.frame = json.loads(await asyncio.wait_for(self._socket.recv(), WAIT_S))
        except ConnectionClosed as end:
            self.closed = (end.rcvd.code, end.rcvd.reason) if end.rcvd else (1006, "")
            return False
        self.shown += 1
        self.saw(self.frame)
        return True

    async def send(self, message: Frame) -> None:
        await self._socket.send(json.dumps(message))

    @property
    def state(self) -> str:
        return str(self.frame["table"]["state"])

    async def until(self, holds: Callable[[Frame], object]) -> Frame:
        """Wait for a frame for which a predicate is true."""
        async with asyncio.timeout(WAIT_S):
            while not (self.frame and holds(self.frame)):
                assert await self.wait_for_update(), self.closed
        return self.frame

    async def play(self, done: Callable[[Frame], object]) -> bool:
        """Take the first move each time until a predicate is true; return False if the socket was closed first."""
        answered = None
        while True:
            ask = (self.frame["game"] or {}).get("ask") if self.frame else None
            if self.frame and done(self.frame):
                return True
            if self.frame and self.state == "between":
                await self.send({"go_on": True})
            elif ask is not None and ask["id"] != answered:
                answered = ask["id"]
                await self.send({"answer": {"id": ask["id"], "choice": ask["options"][0]["choices"][0][0]}})
            if not await self.wait_for_update():
                return False


def over(frame: Frame) -> bool:
    return frame["table"]["state"] in ("over", "void")
