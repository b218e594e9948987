"""How many faults a bot committed is one number, wherever it is read: in a run, in statistics, and in a ladder."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, update

from arena.referee import FAULTS
from arena.run import record_results
from ladder.results import FOLLOWING
from ladder.service import Fold, Ladder, grades
from ladder.store import PlayedMatch
from ladder.store.database import RATED, TABLES, ids_of_labels, keep_match, put_matches
from tests.ladder.service.classes import hand_in, school, settle
from tests.ladder.service.term import Term
from tests.ladder.store.databases import revision
from tests.place import BOT, LOOK_SEED, Place

# Three faults lose each of three games, and the bot is out of the other nine.
COMMITTED, FOLLOWED, FAULTY_PERCENT = 9, {"out_of_lives": 3, "retired": 9}, 25.0
WRONG = BOT.replace("print(json.dumps", f"choice = choice if seed == '{LOOK_SEED}' else 99\n        print(json.dumps")
BASELINE = """
[[baselines]]
name = "plays"
points = 30
games = 12
faults_percent = 1.0
"""


def play(place: Place) -> dict[str, object]:
    """Play a match of 12 games against a bot that answers with no legal move; return the run's row of it."""
    bots = [place.bot("bad.py", WRONG).name, place.bot("one.py").name]
    ran = place.run("run", *bots, "--games", 12, "--match-games", 12, "--out", "out", "--json")
    return next(row for row in ran.json["standings"] if row["bot"] == "bad")


@pytest.fixture
def ladder(place: Place) -> Iterator[Ladder]:
    """Give a ladder of which this match is the only one."""
    with closing(school(place.folder / "spring", owners="ada")) as ladder:
        hand_in(ladder, "ada", "bad")
        settle(ladder, BASELINE)
        yield ladder


def keep(ladder: Ladder, record: str) -> int:
    """Keep the match in the ladder; return its number there."""

    def act(connection: Connection) -> int:
        table = list(ids_of_labels(connection, ["bad@1", "one@1"]).values())
        [match] = put_matches(connection, RATED, [table], 1.0)
        results = tuple(
            replace(result, match=match, seats=tuple(f"{name}@1" for name in result.seats))
            for result in record_results(record)
        )
        keep_match(connection, PlayedMatch(match, record, results), 1.0)
        return match

    match = ladder.database.write(act)
    Fold(ladder).update()
    return match


def test_run_statistics_ladder_and_grades_say_one_number(place: Place, ladder: Ladder) -> None:
    """What follows from others is in the counts by code, and in no sum."""
    row = play(place)
    assert row["faults_committed"] == COMMITTED
    assert {code: row["faults"][code] for code in FOLLOWING} == FOLLOWED
    profile = next(bot for bot in place.run("stats", "out", "--json").json["bots"] if bot["bot"] == "bad")
    assert profile["faults_committed"] == COMMITTED
    assert {code: profile["faults"][code] for code in FOLLOWING} == FOLLOWED
    match = keep(ladder, next((place.folder / "out" / "records").iterdir()).read_text())
    term = Term(ladder.path)
    standing = next(row for row in term.json("standings")["rows"] if row["bot"] == "bad")
    assert (standing["faults"], standing["forfeits"]) == (COMMITTED, 12)
    [version] = term.json("bot", "bad")["versions"]
    assert (version["all"]["faults"], version["rated"]["faults"]) == (COMMITTED, COMMITTED)
    assert {code: version["faults"][code] for code in FOLLOWING} == FOLLOWED
    assert [seat["faults"] for seat in term.json("match", match)["seats"] if seat["label"] == "bad@1"] == [COMMITTED]
    [grade] = grades(ladder, "teacher").grades
    assert grade.marks[0].value == FAULTY_PERCENT


def test_an_older_database_has_the_number_once_it_is_brought_up(place: Place, ladder: Ladder) -> None:
    """It held all that a match's games had."""
    play(place)
    match = keep(ladder, next((place.folder / "out" / "records").iterdir()).read_text())
    match_bots, old = TABLES.tables["match_bots"], COMMITTED + sum(FOLLOWED.values())

    def bring_up(connection: Connection) -> None:
        connection.execute(update(match_bots).where(match_bots.c.place == 0).values(faults=old))
        with Operations.context(MigrationContext.configure(connection)):
            revision("0002_faults_are_those_committed")["upgrade"]()

    ladder.database.write(bring_up)
    seats = Term(ladder.path).json("match", match)["seats"]
    assert {seat["label"]: seat["faults"] for seat in seats} == {"bad@1": COMMITTED, "one@1": 0}


def test_the_referee_and_the_ladder_agree_which_faults_follow_from_others() -> None:
    """Results are pure, and so can't ask the referee's table."""
    assert set(FOLLOWING) == {code for code, rule in FAULTS.items() if rule.follows}
