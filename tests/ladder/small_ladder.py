"""Ladders for tests, with accepted versions and played matches, made without starting a bot."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from arena.referee import GameResult, PlayedMatch
from ladder.bots import submit_reference
from ladder.ladder import Ladder, create_ladder, open_ladder
from ladder.store import METADATA, RATED, queue_matches, save_match
from tests.cli_workspace import QUICK_BOT
from tests.ladder.ladders import PLAY, pass_all
from tests.ladder.version_refs import version_ids_by_ref


def small_ladder(folder: Path, url: str | None, bots: Sequence[str] = ("one", "two", "three")) -> Ladder:
    """Return a new ladder of reference bots that play; one in a file is a copy, so all have the same key."""
    if url is not None:
        return _small(folder, url, bots)
    shutil.copytree(_pattern(tuple(bots)), folder, dirs_exist_ok=True)
    return open_ladder(folder)


@cache
def _pattern(bots: tuple[str, ...]) -> Path:
    """Make the ladder that is copied; it is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="ladder-"))
    atexit.register(shutil.rmtree, folder)
    _small(folder / "spring", None, bots).close()
    return folder / "spring"


def _small(folder: Path, url: str | None, bots: Sequence[str]) -> Ladder:
    ladder = create_ladder(folder, PLAY, url)
    for name in bots:
        bot = folder / f"{name}.py"
        bot.write_text(QUICK_BOT)
        submit_reference(ladder, str(bot))

    pass_all(ladder)
    return ladder


def play(ladder: Ladder, count: int, at: float | None = None, kind: str = RATED, record: str = "a record") -> list[int]:
    """Store matches of two games between the bots one and two: one wins the first game, and two each second one."""
    version_refs = ("one@1", "two@1")
    ended = ladder.clock() if at is None else at

    def act(connection: Connection) -> list[int]:
        table = list(version_ids_by_ref(connection, version_refs).values())
        ids = queue_matches(connection, kind, [table] * count, ended)
        for id in ids:
            results = tuple(
                GameResult(id, game, version_refs, winner, "last_standing", (winner,), ((1 - winner, 9),), 9, (), ())
                for game, winner in enumerate((0, id % 2))
            )
            logs = tuple((version_ref, 0, b"hello\n") for version_ref in version_refs)
            text = f"{record} {id} {os.urandom(len(record) // 2).hex()}"  # which no compression makes small
            save_match(connection, PlayedMatch(id, text, results, logs), ended)
        return ids

    return ladder.database.write(act)


def rows(ladder: Ladder) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of a ladder's database except its runners."""
    with ladder.database.read() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key.columns))]
            for table in METADATA.sorted_tables
            if table.name != "runners"
        }
