"""A ladder after a term: 500 bots, 1,000,000 games. What it costs to keep a match, to rate, to read the table.

The matches are made up, the records are a real match's, and the database is a real one, in SQLite.
"""

import gc
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, Table, insert

from arena.count import styles
from arena.coup import PRESETS
from arena.examine import Level, Step
from arena.referee import Terms, read
from arena.run import open_executor
from arena.sandbox import Choice
from ladder.access import STAFF
from ladder.results import GameResult
from ladder.service import Fold, Ladder, Play, Rounds, Service, create, submit_reference
from ladder.standings import Standings
from ladder.store import PlayedMatch
from ladder.store.database import (
    RATED,
    TABLES,
    Owner,
    activate,
    add_version,
    end_exam,
    find_owner,
    find_version,
    keep_match,
    last_board,
    put_bot,
    put_file,
    put_matches,
    put_owners,
)
from ladder.views import Bot, bot, step_row

ROOT = Path(__file__).parents[2]
SEATS, GAMES = 4, 12
FEW = 10_000 // GAMES  # matches, of 10,000 games
BULK = 2_000  # matches that are written at a time where that isn't measured
PLAY = Play(Terms(rules=PRESETS["coup"]), Choice("process"), SEATS, GAMES)

T = TypeVar("T")


@dataclass
class Term:
    """What was measured. Times are in seconds; `bytes_a_game` counts records, which are most of it."""

    first: float = 0.0  # to keep a match, of the first 10,000 games; the median
    last: float = 0.0  # and of the last
    floor: float = 0.0  # a commit of one row with the same number of bytes, in a database of its own
    batch: float = 0.0  # CPU time of a fold over everything
    again: float = 0.0  # and of one that goes on, 100 matches later
    table: float = 0.0
    page: float = 0.0
    rounds: float = 0.0  # CPU time of a round with its database
    first_round: float = 0.0  # and of a runner's first, which counts who met whom
    bytes_a_game: float = 0.0
    without_records: float = 0.0


@contextmanager
def new_ladder(folder: Path, bots: int) -> Iterator[Ladder]:
    """Give a ladder of so many bots that play, each of an owner of its own."""
    with closing(create(folder, PLAY, None)) as made:

        def act(connection: Connection) -> None:
            put_owners(connection, [Owner(f"o{bot}", f"o{bot}", f"p{bot}") for bot in range(bots)], 1.0)
            put_file(connection, "0" * 64, "bot.py", b"print()")
            for number in range(bots):
                owner = find_owner(connection, f"o{number}")
                assert owner is not None
                bot = put_bot(connection, f"bot{number}", owner.id, 1.0)
                version = add_version(connection, bot, "0" * 64, "bot.py", 1.0)
                end_exam(
                    connection,
                    version,
                    [step_row(Step("plays", Level.OK, ""))],
                    None,
                    ["python3", "bot.py"],
                    None,
                    2.0,
                )
                activate(connection, find_version(connection, version), "ladder", "it passed", 2.0)

        made.database.write(act)
        yield made


def record() -> str:
    """Return the record of a real match of four sample bots."""
    bots = [str(ROOT / "sample_bots" / f"{name}.py") for name in ("honest", "turtle", "counter", "opportunist")]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "arena.cli", "run", *bots, "--sandbox", "process", "--out", f"{folder}/run"]
        command += ["--games", "12", "--match-games", "12", "--seats", "4"]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        [file] = Path(folder, "run", "records").iterdir()
        return file.read_text()


@cache
def style(text: str) -> str:
    """Return what a bot of that match did, as a worker counts it."""
    return styles(read(text))[0][1]


def tables(draw: random.Random, bots: int, count: int) -> list[list[int]]:
    """Return tables of versions, whose ids are from 1 on, in rounds."""
    made: list[list[int]] = []
    while len(made) < count:
        order = draw.sample(range(1, bots + 1), bots)
        made += [order[at : at + SEATS] for at in range(0, bots - SEATS + 1, SEATS)]
    return made[:count]


def games_of(draw: random.Random, match: int, table: Sequence[int]) -> tuple[GameResult, ...]:
    """Return a match's games, of which a bot of a higher number wins more."""
    made = []
    for game in range(GAMES):
        seats = draw.sample(table, SEATS)
        winner = draw.choices(range(SEATS), [50 + version for version in seats])[0]
        out = tuple((seat, 10 + seat) for seat in range(SEATS) if seat != winner)
        names = tuple(f"bot{version - 1}@1" for version in seats)
        made.append(GameResult(match, game, names, winner, "last_standing", (winner,), out, 30, (), ()))
    return tuple(made)


def keep(ladder: Ladder, draw: random.Random, bots: int, matches: int, text: str) -> float:
    """Queue and keep matches one by one; return the median time of a commit."""
    took: list[float] = []
    for some in batches(tables(draw, bots, matches), 125):
        ids = ladder.database.write(lambda connection, some=some: put_matches(connection, RATED, some, 3.0))
        for id, table in zip(ids, some, strict=True):
            seen = tuple((f"bot{version - 1}@1", style(text)) for version in table)
            played = PlayedMatch(
                id, text.replace('"match":0', f'"match":{id}', 1), games_of(draw, id, table), styles=seen
            )
            began = time.perf_counter()
            ladder.database.write(lambda connection, played=played: keep_match(connection, played, 4.0))
            took.append(time.perf_counter() - began)
    return middle(took)


def fill(ladder: Ladder, draw: random.Random, bots: int, matches: int, text: str) -> None:
    """Write matches that were played, many at a time, as `keep_match` writes them."""
    names = ("matches", "match_bots", "games", "records")
    into = {name: TABLES.tables[name] for name in names}
    for some in batches(tables(draw, bots, matches), BULK):

        def act(connection: Connection, some: list[list[int]] = some) -> None:
            begin = connection.exec_driver_sql("SELECT max(id), max(ended) FROM matches").one()
            rows: dict[str, list[dict[str, object]]] = {name: [] for name in names}
            for number, table in enumerate(some, 1):
                rows_of(draw, int(begin[0]) + number, int(begin[1]) + number, table, text, rows)
            for name in names:
                write(connection, into[name], rows[name])

        ladder.database.write(act)


def write(connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
    """Write rows."""
    connection.execute(insert(table), rows)


def rows_of(
    draw: random.Random, id: int, ended: int, table: Sequence[int], text: str, rows: dict[str, list[dict[str, object]]]
) -> None:
    """Add the rows of a match that was played."""
    results = games_of(draw, id, table)
    rows["matches"].append(
        {"id": id, "kind": RATED, "round": 1, "state": "ended", "attempts": 0, "cause": "played", "rates": True,
         "at": 3.0, "ended": ended, "ended_at": 4.0}
    )  # fmt: skip
    place = {f"bot{version - 1}@1": number for number, version in enumerate(table)}
    for label, number in place.items():
        wins = sum(result.seats[result.winner or 0] == label for result in results)
        rows["match_bots"].append(
            {"match": id, "place": number, "version": table[number], "games": GAMES, "wins": float(wins),
             "forfeits": 0, "faults": 0, "requests": 300, "time_us": 100_000, "slowest_us": 900, "peak_bytes": 10**7,
             "style": style(text)}
        )  # fmt: skip
    for result in results:
        rows["games"].append(
            {"match": id, "game": result.game, "seats": "".join(str(place[seat]) for seat in result.seats),
             "winner": result.winner, "reason": result.reason, "survivors": str(result.winner),
             "eliminated": " ".join(f"{seat}:{turn}" for seat, turn in result.eliminated), "turns": 30, "forfeits": ""}
        )  # fmt: skip
    data = zlib.compress(text.replace('"match":0', f'"match":{id}', 1).encode())
    rows["records"].append({"match": id, "data": data})


def batches(rows: list[list[int]], size: int) -> Iterator[list[list[int]]]:
    """Yield so many at a time."""
    for at in range(0, len(rows), size):
        yield rows[at : at + size]


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """Return what a function returns, and its CPU time."""
    gc.collect()
    began = time.process_time()
    found = function()
    return found, time.process_time() - began


def term(games: int = 1_000_000, bots: int = 500) -> Term:
    """Measure a ladder of so many games."""
    found, draw, text = Term(), random.Random(1), record()
    with tempfile.TemporaryDirectory() as folder, new_ladder(Path(folder) / "spring", bots) as ladder:
        few = min(FEW, games // GAMES // 4)
        found.first = keep(ladder, draw, bots, few, text)
        fill(ladder, draw, bots, games // GAMES - 2 * few, text)
        found.last = keep(ladder, draw, bots, few, text)
        found.floor = floor(Path(folder) / "floor.db", len(zlib.compress(text.encode())) + 2_000)
        fold = Fold(ladder)
        _, found.batch = timed(fold.update)
        keep(ladder, draw, bots, 100, text)
        _, found.again = timed(fold.update)
        _, found.table = timed(lambda: table_of(ladder))
        _, found.page = timed(lambda: page_of(ladder))
        found.first_round, found.rounds = rounds(ladder)
        with ladder.database.read() as connection:
            sizes = {row[0]: row[1] for row in connection.exec_driver_sql(
                "SELECT name, sum(pgsize) FROM dbstat GROUP BY name")}  # fmt: skip
        played = games + 100 * GAMES
        found.bytes_a_game = sum(sizes.values()) / played
        found.without_records = (sum(sizes.values()) - sizes["records"]) / played
    return found


def table_of(ladder: Ladder) -> Standings:
    """Read the table, as the command does."""
    with ladder.database.read() as connection:
        told = last_board(connection)
    assert told is not None
    return Standings.from_json(told)


def page_of(ladder: Ladder) -> Bot:
    """Read what a bot's page shows, as the command does."""
    with ladder.reading(STAFF) as reader:
        found = bot(reader, "bot7")
    assert found is not None
    return found


def rounds(ladder: Ladder) -> tuple[float, float]:
    """Return what the first round of a runner costs, and a further one."""
    source = Rounds(ladder)
    _, first = timed(lambda: ladder.database.write(source.queue))
    _, further = timed(lambda: ladder.database.write(source.queue))
    return first, further


def floor(path: Path, size: int) -> float:
    """Return the median time of a commit of one row of that size, by the driver alone, with the same durability."""
    import sqlite3

    took = []
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.execute("PRAGMA journal_mode = WAL")
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute("CREATE TABLE rows (data BLOB)")
        for _ in range(FEW):
            began = time.perf_counter()
            plain.execute("BEGIN IMMEDIATE")
            plain.execute("INSERT INTO rows VALUES (?)", (random.randbytes(size),))
            plain.execute("COMMIT")
            took.append(time.perf_counter() - began)
    return middle(took)


def middle(values: Sequence[float]) -> float:
    """Return the median."""
    return sorted(values)[len(values) // 2]


def runner_seconds(matches: int) -> tuple[float, float]:
    """Let a runner play sample bots; return the CPU seconds of the runner and of all below it, of its end.

    The runner is a process of its own, and its start isn't counted.
    """
    program = f"from tests.bench.ladder import played; played({matches})"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, cwd=ROOT, text=True)
    own, others = json.loads(done.stdout.splitlines()[-1])
    return own, others


def played(matches: int) -> None:
    """Do what `runner_seconds` says, in a process without other children, and print it."""
    with tempfile.TemporaryDirectory() as folder, closing(create(Path(folder) / "spring", PLAY, None)) as ladder:
        for name in ("honest", "turtle", "counter", "opportunist", "bluffer", "challenger"):
            submit_reference(ladder, f"sample:{name}")
        before = children()
        with open_executor(PLAY.sandbox, 2) as pool:
            list(Service(ladder, pool, until="examined").events())
            list(Service(ladder, pool, matches=4).events())  # what is imported on the way is imported now
        warm = children()
        with open_executor(PLAY.sandbox, 2) as pool:
            service = Service(ladder, pool, matches=matches)
            began = time.process_time()
            list(service.events())
            own = time.process_time() - began
    assert warm > before
    print(json.dumps([own, children() - warm]))


def children() -> float:
    """Return the CPU seconds of this process's children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
