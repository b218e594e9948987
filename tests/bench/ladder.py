"""Measure the rating of a ladder after a term: 500 bots, 1,000,000 games.

The matches are made up, the records are a real match's, and the database is a real one, in SQLite.
"""

import gc
import random
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

from sqlalchemy import Connection, Table, insert, select

from arena.checks import CheckStep, Severity
from arena.coup import PRESETS
from arena.referee import GameResult, MatchSettings, PlayedMatch, read_record
from arena.sandbox import SandboxChoice
from arena.stats import count_play_styles
from ladder.bot_pages import serialize_step
from ladder.ladder import Ladder, LadderFormat, create_ladder
from ladder.standings import StandingsUpdater
from ladder.store import METADATA, RATED, insert_archive, queue_matches, save_match

ROOT = Path(__file__).parents[2]
SEATS, GAMES = 4, 12
BULK = 2_000  # matches that are written at a time
PLAY = LadderFormat(MatchSettings(rules=PRESETS["coup"]), SandboxChoice("process"), SEATS, GAMES)

T = TypeVar("T")


@dataclass(frozen=True)
class Term:
    batch: float  # a fold over everything
    continued: float  # and one that continues, 100 matches later
    read: float  # to read the rows of a fold over everything, and nothing else


@contextmanager
def new_ladder(folder: Path, bots: int, database: str | None = None) -> Iterator[Ladder]:
    """Return a ladder of this many active bots, each of an owner of its own."""
    with closing(create_ladder(folder, PLAY, database)) as made:
        everyone = range(1, bots + 1)  # the user 1 is staff
        step = serialize_step(CheckStep("plays", Severity.OK, ""))[0]
        person = {"name": "ada", "staff": False, "created_at": 1.0}
        bot = {"is_reference": False, "created_at": 1.0}
        version = {
            "number": 1, "digest": "0" * 64, "single_file_name": "bot.py", "command": '["python3", "bot.py"]',
            "status": "accepted", "attempts": 0, "submitted_at": 1.0, "received_at": 1.0, "checked_at": 2.0,
            "last_audit_id": 0,
        }  # fmt: skip
        rows = {
            "users": [{**person, "id": id + 1, "login": f"o{id}", "pseudonym": f"p{id}"} for id in everyone],
            "bots": [
                {**bot, "id": id, "owner_id": id + 1, "name": f"bot{id - 1}", "active_version_id": id}
                for id in everyone
            ],
            "versions": [{**version, "id": id, "bot": id} for id in everyone],
            "check_steps": [{"version": id, "step": 1, "data": step} for id in everyone],
        }

        def act(connection: Connection) -> None:
            insert_archive(connection, "0" * 64, "bot.py", b"print()")
            for name, some in rows.items():
                write(connection, METADATA.tables[name], some)

        made.database.write(act)
        yield made


def real_record() -> str:
    bots = [str(ROOT / "sample_bots" / f"{name}.py") for name in ("honest", "turtle", "counter", "opportunist")]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "arena.cli", "run", *bots, "--sandbox", "process", "--out", f"{folder}/run"]
        command += ["--games", "12", "--match-games", "12", "--seats", "4"]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        [file] = Path(folder, "run", "records").iterdir()
        return file.read_text()


@cache
def style(text: str) -> str:
    """Return the play style of a bot of that match, as a worker counts it."""
    return count_play_styles(read_record(text))[0][1]


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


def save_one_by_one(ladder: Ladder, draw: random.Random, bots: int, matches: int, text: str) -> None:
    some = tables(draw, bots, matches)
    ids = ladder.database.write(lambda connection: queue_matches(connection, RATED, some, 3.0))
    for id, table in zip(ids, some, strict=True):
        seen = tuple((f"bot{version - 1}@1", style(text)) for version in table)
        played = PlayedMatch(id, text.replace('"match":0', f'"match":{id}', 1), games_of(draw, id, table), styles=seen)
        ladder.database.write(lambda connection, played=played: save_match(connection, played, 4.0))


def fill(ladder: Ladder, draw: random.Random, bots: int, matches: int, text: str, has_records: bool = True) -> None:
    """Write finished matches, many at a time, as `save_match` writes them."""
    names = ("matches", "match_players", "games", *(["records"] if has_records else []))
    into = {name: METADATA.tables[name] for name in names}
    for some in batches(tables(draw, bots, matches), BULK):

        def act(connection: Connection, some: list[list[int]] = some) -> None:
            begin = connection.exec_driver_sql("SELECT max(id), max(end_sequence) FROM matches").one()
            rows: dict[str, list[dict[str, object]]] = {name: [] for name in names}
            for number, table in enumerate(some, 1):
                rows_of(draw, int(begin[0]) + number, int(begin[1]) + number, table, text, rows)
            for name in names:
                write(connection, into[name], rows[name])

        ladder.database.write(act)


def write(connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
    connection.execute(insert(table), rows)


def rows_of(
    draw: random.Random, id: int, ended: int, table: Sequence[int], text: str, rows: dict[str, list[dict[str, object]]]
) -> None:
    results = games_of(draw, id, table)
    rows["matches"].append(
        {"id": id, "kind": RATED, "round": 1, "status": "ended", "attempts": 0, "outcome": "played", "is_rated": True,
         "queued_at": 3.0, "end_sequence": ended, "ended_at": 4.0}
    )  # fmt: skip
    place = {f"bot{version - 1}@1": number for number, version in enumerate(table)}
    for version_ref, number in place.items():
        wins = sum(result.seats[result.winner or 0] == version_ref for result in results)
        rows["match_players"].append(
            {"match": id, "slot": number, "version": table[number], "games": GAMES, "wins": float(wins),
             "forfeits": 0, "faults": 0, "requests": 300, "think_time_us": 100_000, "max_time_us": 900,
             "peak_bytes": 10**7, "play_style": style(text)}
        )  # fmt: skip
    for result in results:
        rows["games"].append(
            {"match": id, "game": result.game, "seats": "".join(str(place[seat]) for seat in result.seats),
             "winner": result.winner, "reason": result.reason, "survivors": str(result.winner),
             "eliminated": " ".join(f"{seat}:{turn}" for seat, turn in result.eliminated), "turns": 30, "forfeits": ""}
        )  # fmt: skip
    if "records" in rows:
        data = zlib.compress(text.replace('"match":0', f'"match":{id}', 1).encode())
        rows["records"].append({"match": id, "data": data})


def batches(rows: list[list[int]], size: int) -> Iterator[list[list[int]]]:
    for at in range(0, len(rows), size):
        yield rows[at : at + size]


def measure_cpu(function: Callable[[], T]) -> tuple[T, float]:
    gc.collect()
    began = time.process_time()
    found = function()
    return found, time.process_time() - began


def term(games: int = 1_000_000, bots: int = 500) -> Term:
    draw, text = random.Random(1), real_record()
    with tempfile.TemporaryDirectory() as folder, new_ladder(Path(folder) / "spring", bots) as ladder:
        save_one_by_one(ladder, draw, bots, 10, text)
        fill(ladder, draw, bots, games // GAMES - 10, text)
        rows = select(METADATA.tables["match_players"])
        _, read = measure_cpu(
            lambda: ladder.database.read_with_retry(lambda connection: connection.execute(rows).all())
        )
        updater = StandingsUpdater(ladder)
        _, batch = measure_cpu(updater.update)
        save_one_by_one(ladder, draw, bots, 100, text)
        _, again = measure_cpu(updater.update)
    return Term(batch, again, read)
