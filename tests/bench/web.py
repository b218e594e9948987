"""Measure the pages of a ladder of 500 bots and 1,000,000 games: drawn, and answered from an ETag."""

import asyncio
import gc
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ladder.ladder import Ladder
from ladder.standings import StandingsUpdater
from ladder.users import issue_secret, sign_in_by_link
from ladder.web import make_app
from tests.bench.ladder import GAMES, fill, new_ladder, real_record, save_one_by_one

PATHS = (
    "/", "/standings", "/standings?search=bot1&sort=games", "/head-to-head", "/bots", "/bots/bot7", "/matches",
    "/matches/5000",
    "/matches/5000/replay", "/queue", "/finals", "/account", "/admin", "/admin/users", "/standings.csv",
    "/api/standings", "/api/matches",
)  # fmt: skip
TIMES = 10


@dataclass(frozen=True)
class Cost:
    """The cost of one page: CPU seconds when it is drawn, and answered from its ETag; bytes that are sent."""

    path: str
    status: int
    drawn: float
    known: float
    size: int


@contextmanager
def filled_ladder(games: int = 1_000_000, bots: int = 500) -> Iterator[Ladder]:
    with tempfile.TemporaryDirectory() as folder, new_ladder(Path(folder) / "spring", bots) as ladder:
        draw, text = random.Random(1), real_record()
        save_one_by_one(ladder, draw, bots, 10, text)
        fill(ladder, draw, bots, games // GAMES - 10, text)
        StandingsUpdater(ladder).update()
        yield ladder


def measure(ladder: Ladder) -> list[Cost]:
    """Return the costs of pages, for staff, who share no drawing."""
    secret = sign_in_by_link(ladder, issue_secret(ladder, "staff", "link", "bench").secret).secret
    app = make_app(ladder, "http://localhost")
    loop = asyncio.new_event_loop()

    def get(path: str, tag: bytes | None = None) -> tuple[int, bytes, int]:
        return loop.run_until_complete(_get(app, path, secret, tag))

    costs = []
    for path in PATHS:
        status, tag, size = get(path)  # templates are read
        gc.collect()
        began = time.process_time()
        for _ in range(TIMES):
            app.state.shared.drawn.clear()
            get(path)
        drawn = (time.process_time() - began) / TIMES
        began = time.process_time()
        for _ in range(10 * TIMES):
            get(path, tag)
        costs.append(Cost(path, status, drawn, (time.process_time() - began) / 10 / TIMES, size))
    loop.close()
    return costs


async def _get(app: Any, address: str, session: str, tag: bytes | None) -> tuple[int, bytes, int]:
    parts, sent = urlsplit(address), []
    headers = [(b"host", b"localhost"), (b"cookie", f"session={session}".encode())]
    scope = {
        "type": "http", "method": "GET", "path": parts.path, "raw_path": parts.path.encode(), "http_version": "1.1",
        "query_string": parts.query.encode(), "headers": headers + ([(b"if-none-match", tag)] if tag else []),
        "scheme": "http", "server": ("localhost", 80), "client": ("localhost", 0), "asgi": {"version": "3.0"},
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    size = sum(len(message.get("body", b"")) for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]).get(b"etag", b""), size
