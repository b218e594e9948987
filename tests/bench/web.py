"""What the pages of a ladder of 500 bots and 1,000,000 games cost: drawn, from an ETag, open, and beside a runner."""

import asyncio
import gc
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import func, select

from ladder.service import Fold, Ladder, issue, issue_each, sign_in
from ladder.store.database import TABLES
from ladder.web import make_app
from tests.bench.ladder import GAMES, fill, keep, new_ladder, record
from tests.bench.open_pages import Heard, busy_ladder, cpu_s, followed, get, server, sessions
from tests.bench.open_pages import uploaded as uploads

PATHS = (
    "/", "/standings", "/standings?search=bot1&sort=games", "/duels", "/bots", "/bots/bot7", "/matches",
    "/matches/5000",
    "/matches/5000/replay", "/queue", "/finals", "/account", "/admin", "/admin/people", "/standings.csv",
    "/api/standings", "/api/matches",
)  # fmt: skip
TIMES = 10


@dataclass(frozen=True)
class Cost:
    """What one page costs: CPU seconds when it is drawn, and answered from its ETag; bytes that are sent."""

    path: str
    status: int
    drawn: float
    known: float
    size: int


@dataclass(frozen=True)
class Open:
    """What open pages cost: `core`, the server's share of a core; how many answers, and how long 99 of 100 took.

    floor_s: within which 99 of 100 times this process got the CPU time that a page takes, from the same host.
    """

    what: str
    core: float
    words: int
    answers: int
    percentile_s: float
    floor_s: float = 0.0


@contextmanager
def filled(games: int = 1_000_000, bots: int = 500) -> Iterator[tuple[Ladder, Callable[[], object]]]:
    """Give a ladder after a term, and what lets one more match end there."""
    with tempfile.TemporaryDirectory() as folder, new_ladder(Path(folder) / "spring", bots) as ladder:
        draw, text = random.Random(1), record()
        keep(ladder, draw, bots, 10, text)
        fill(ladder, draw, bots, games // GAMES - 10, text)
        Fold(ladder).update()
        yield ladder, lambda: keep(ladder, draw, bots, 1, text)


def opened(ladder: Ladder, change: Callable[[], object], pages: int = 300, lasts_s: float = 66.0) -> Iterator[Open]:
    """Measure open pages with a change a second: all at the table; then at the front, the table and their own bots."""
    people = sessions(ladder, [f"o{number}" for number in range(pages)])
    with server(ladder.path, "--no-runner") as (url, pid):
        for what, paths in (
            ("at the table", ["/standings"]),
            ("at front, table, own bot", ["/", "/standings", "/bots/bot{}"]),
        ):
            at = [(paths[number % len(paths)].format(number), session) for number, session in enumerate(people)]
            core, heard = followed(url, pid, at, change, lasts_s)
            yield Open(what, core, heard.words, len(heard.answers), heard.percentile(0.99))


def uploaded(ladder: Ladder, count: int = 50, megabytes: int = 5) -> tuple[float, float]:
    """Return by how many MB so many uploads at once grow a server, of a person each, and how many seconds they take."""
    links = issue_each(ladder, [f"o{number}" for number in range(count)], "token", "bench")
    with server(ladder.path, "--no-runner") as (url, pid):
        return uploads(url, pid, [link.secret for link in links], megabytes)


def under_load(ladder: Ladder, change: Callable[[], object], times: int = 400) -> Iterator[Open]:
    """Measure pages of this ladder, and of one whose runner plays on all cores meanwhile; both change each second."""
    [secret] = sessions(ladder, ["o7"])
    busy_folder = ladder.path.parent / "busy"
    with busy_ladder(busy_folder) as busy, server(ladder.path, "--no-runner") as big, server(busy_folder) as small:
        matches = TABLES.tables["matches"]
        count = select(func.count()).where(matches.c.kind == "rated", matches.c.cause == "played")
        until = time.monotonic() + 120
        while busy.database.look(lambda connection: connection.scalar(count) or 0) < 3:
            assert time.monotonic() < until
            time.sleep(0.5)
        [staff] = sessions(busy, ["staff"])
        sides = (
            ("500 bots, another runner plays", big, secret, ("/", "/standings", "/duels", "/matches", "/bots/bot7")),
            ("its own runner plays", small, staff, ("/", "/standings", "/duels", "/matches", "/queue", "/admin")),
        )
        for what, (url, pid), session, paths in sides:
            heard, floor, used, began = Heard(), Heard(), cpu_s(pid), time.monotonic()
            for turn in range(times):
                if turn % 8 == 0:
                    change()
                asyncio.run(get(url, paths[turn % len(paths)], session, heard))
                floor.answers.append((spun(), 0, 0))
                time.sleep(0.1)
            core = (cpu_s(pid) - used) / (time.monotonic() - began)
            yield Open(what, core, 0, len(heard.answers), heard.percentile(0.99), floor.percentile(0.99))


def spun(cpu_s: float = 0.015) -> float:
    """Use so much CPU; return how many seconds it took."""
    began, used = time.monotonic(), time.process_time()
    while time.process_time() < used + cpu_s:
        pass
    return time.monotonic() - began


def measure(ladder: Ladder, many: int = 10_000) -> tuple[list[Cost], float]:
    """Return the costs of pages, for staff, who share no drawing; and by how many MB `many` requests grow a server."""
    secret = sign_in(ladder, issue(ladder, "staff", "link", "bench").secret).secret
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
            app.state.door.drawn.clear()
            get(path)
        drawn = (time.process_time() - began) / TIMES
        began = time.process_time()
        for _ in range(10 * TIMES):
            get(path, tag)
        costs.append(Cost(path, status, drawn, (time.process_time() - began) / 10 / TIMES, size))
    for _ in range(many // 20):
        get("/matches")
    before = _rss()
    for turn in range(many):
        get(f"/matches?after={5000 + turn % 1000}")
    loop.close()
    return costs, _rss() - before


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


def _rss() -> float:
    """Return how many MB of memory this process has, most at a time."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
