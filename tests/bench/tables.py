"""Tables with people in one process, as a ladder plays them: how late a move shows, what CPU and memory they take.

The server is a process of its own, with a socket for each of two scripted people and an onlooker of each table; the two
bots are processes. A moment is matched by what it tells: `moved` in the referee's thread to the frame that came.
"""

import asyncio
import json
import multiprocessing
import os
import random
import shutil
import socket
import statistics
import sys
import time
import zlib
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect

from arena.play import Happening, Progress
from arena.referee import MatchSpec, Terms, Timing
from arena.sandbox import Limits, ProcessSandbox, Program
from ladder.tables import MOST_BYTES, Deal, Offer, Place, Table, WebChannel, sit

ROOT = Path(__file__).parents[2]
PACE_S, LEAST_S = 0.8, 1.0  # as a ladder's tables have them
THINKS_S = (0.5, 2.0)  # a person, from the question to the answer
GAMES = 1000  # a match never ends meanwhile
SEATS = ("bot", "bot", "person", "person")


@dataclass(frozen=True)
class Evening:
    """What was measured: delays in ms by their share, cores, and MB of a table in the server and of its bots."""

    frames: int
    p50_ms: float
    p99_ms: float
    most_ms: float
    cores: float
    table_mb: float
    bots_mb: float


class _Timed(Table):
    """A table that notes when each moment happened, by what an onlooker is shown of it."""

    happened_at: dict[str, float]

    def _soon(self, happening: Happening) -> None:
        if isinstance(happening, Progress):
            self._at = time.monotonic()
        super()._soon(happening)

    def _happened(self, happening: Happening) -> None:
        super()._happened(happening)
        seen = self._public.seen()
        if isinstance(happening, Progress) and seen is not None:
            self.happened_at.setdefault(_mark(self.name, json.loads(json.dumps(asdict(seen)))), self._at)


def _mark(table: str, game: dict[str, Any]) -> str:
    """Return what tells one moment from another."""
    return f"{table} {game['number']} {game['turn']} {zlib.crc32(json.dumps([game['told'], game['seats']]).encode())}"


def measured(tables: int, seconds: float) -> Evening:
    """Play at so many tables at once for so long."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    server = spawn.Process(target=_serve, args=(tables, theirs))
    server.start()
    port = ours.recv()
    came = asyncio.run(_visit(port, tables, seconds, ours))
    happened_at, cores, table_mb, bots_mb = ours.recv()
    server.join(60)
    delays = sorted(1000 * (at - happened_at[mark]) for mark, at in came.items() if mark in happened_at)
    share = statistics.quantiles(delays, n=100)
    return Evening(len(delays), share[49], share[98], delays[-1], cores, table_mb, bots_mb)


# --- the server's process


def _serve(tables: int, pipe: Connection) -> None:
    with TemporaryDirectory() as scratch, closing(ProcessSandbox(Path(scratch))) as sandbox:
        folder = Path(scratch) / "bot"
        folder.mkdir()
        for file in ("sample_bots/honest.py", "protocol/kits/coup_kit.py"):
            shutil.copy(ROOT / file, folder)
        asyncio.run(_evening(tables, pipe, sandbox, folder))


async def _evening(tables: int, pipe: Connection, sandbox: ProcessSandbox, folder: Path) -> None:
    happened_at: dict[str, float] = {}
    before_mb = _mb(os.getpid())
    made = [_table(str(number), sandbox, folder, happened_at) for number in range(tables)]

    async def person(ws: WebSocket) -> None:
        channel = WebChannel(ws)
        await channel.open()
        await sit(channel, made[int(ws.query_params["table"])], ws.query_params.get("secret"))

    app = Starlette(routes=[WebSocketRoute("/socket", person)])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws_max_size=MOST_BYTES, lifespan="off"))
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        pipe.send(listening.getsockname()[1])
        serving = asyncio.create_task(server.serve([listening]))
        await asyncio.to_thread(pipe.recv)  # all have come
        spent, since = _cpu_s(), time.monotonic()
        await asyncio.to_thread(pipe.recv)
        cores = (_cpu_s() - spent) / (time.monotonic() - since)
        bots_mb = sum(map(_mb, _below(os.getpid()))) / tables
        pipe.send((happened_at, cores, (_mb(os.getpid()) - before_mb) / tables, bots_mb))
        server.should_exit = True
        for table in made:
            table.dismiss("over")
        await serving
        await asyncio.gather(*(asyncio.to_thread(table.close) for table in made))


def _table(name: str, sandbox: ProcessSandbox, folder: Path, happened_at: dict[str, float]) -> Table:
    person = Timing(limit_ms=60_000, bank_ms=60_000)
    places = [Place(kind, f"{kind}{n}", f"{n}" if kind == "person" else None) for n, kind in enumerate(SEATS)]  # type: ignore[arg-type]
    offer = Offer(Terms(), GAMES, person)

    def deal(number: int) -> Deal:
        names = tuple(place.name for place in places)
        key = random.Random(name).randbytes(32)
        spec = MatchSpec(number, key, names, ((0, 1, 2, 3),) * GAMES, offer.terms, offer.timings(places))
        return Deal(
            spec,
            lambda _: sandbox.start(Program((sys.executable, str(folder / "honest.py")), folder), Limits()),
            lambda *_: None,
        )

    table = _Timed(name, places, offer, deal, pace_s=PACE_S, least_s=LEAST_S)
    table.happened_at = happened_at
    return table


def _below(process: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    children: list[int] = []
    for task in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # a thread has ended
            children += map(int, (task / "children").read_text().split())
    return children + [below for child in children for below in _below(child)]


def _cpu_s() -> float:
    """Return what this process and its bots have used."""
    spent = 0.0
    for process in (os.getpid(), *_below(os.getpid())):
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def _mb(process: int) -> float:
    """Return the memory of a process, what it shares counted in part."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    return 0.0


# --- the people


async def _visit(port: int, tables: int, seconds: float, pipe: Connection) -> dict[str, float]:
    came: dict[str, float] = {}
    url = f"ws://127.0.0.1:{port}/socket?table="
    people = [
        asyncio.create_task(_guest(f"{url}{table}{place}", table, came))
        for table in range(tables)
        for place in ("&secret=2", "&secret=3", "")
    ]
    await asyncio.sleep(10)  # bots start
    since = time.monotonic()
    pipe.send("all have come")
    await asyncio.sleep(seconds)
    for task in people:
        task.cancel()
    await asyncio.gather(*people, return_exceptions=True)
    pipe.send("enough")
    return {mark: at for mark, at in came.items() if at > since}


async def _guest(url: str, table: int, came: dict[str, float]) -> None:
    rng = random.Random(url)
    answers: list[asyncio.Task[None]] = []
    asked = 0
    async with connect(url, ping_interval=None, open_timeout=60) as ws:
        while True:
            frame = json.loads(await ws.recv())
            now = time.monotonic()
            game = frame["game"]
            if game is not None and "secret" not in url:
                came.setdefault(_mark(str(table), game), now)
            if frame["table"]["state"] == "between" and "secret" in url:
                await ws.send('{"go_on":true}')
            ask = game and game["ask"]
            if ask and ask["id"] != asked:
                asked = ask["id"]
                choice = rng.choice(rng.choice(ask["options"])["choices"])[0]
                answers = [task for task in answers if not task.done()]
                answers.append(asyncio.create_task(_answer(ws, rng.uniform(*THINKS_S), asked, choice)))


async def _answer(ws: Any, after_s: float, number: int, choice: int) -> None:
    await asyncio.sleep(after_s)
    await ws.send(json.dumps({"answer": {"id": number, "choice": choice}}))
