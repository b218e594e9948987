"""How many faults a bot committed is one number, wherever it is read: in a run, in statistics, and in a ladder."""

from contextlib import closing
from dataclasses import replace

from sqlalchemy import Connection

from arena.referee import FAULTS
from arena.run import record_results
from ladder.access import STAFF
from ladder.results import FOLLOWING
from ladder.service import Fold, grades
from ladder.store import PlayedMatch
from ladder.store.database import RATED, ids_of_labels, keep_match, put_matches
from ladder.views import bot, standings
from tests.ladder.service.classes import hand_in, school, settle
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


def test_run_statistics_ladder_and_grades_say_one_number(place: Place) -> None:
    """A bot answers with no legal move. What follows from others is in the counts by code, and in no sum."""
    bots = [place.bot("bad.py", WRONG).name, place.bot("one.py").name]
    ran = place.run("run", *bots, "--games", 12, "--match-games", 12, "--out", "out", "--json").json
    profiles = place.run("stats", "out", "--json").json["bots"]
    for row in (each for each in [*ran["standings"], *profiles] if each["bot"] == "bad"):
        assert row["faults_committed"] == COMMITTED
        assert {code: row["faults"][code] for code in FOLLOWING} == FOLLOWED
    record = next((place.folder / "out" / "records").iterdir()).read_text()

    def act(connection: Connection) -> None:
        [match] = put_matches(connection, RATED, [list(ids_of_labels(connection, ["bad@1", "one@1"]).values())], 1.0)
        results = tuple(
            replace(result, match=match, seats=tuple(f"{name}@1" for name in result.seats))
            for result in record_results(record)
        )
        keep_match(connection, PlayedMatch(match, record, results), 1.0)

    with closing(school(place.folder / "spring", owners="ada")) as ladder:
        hand_in(ladder, "ada", "bad")
        settle(ladder, BASELINE)
        ladder.database.write(act)
        Fold(ladder).update()
        with ladder.reading(STAFF) as reader:
            [standing] = [row for row in standings(reader).rows if row.bot == "bad"]
            found = bot(reader, "bad")
        assert (standing.faults, standing.forfeits) == (COMMITTED, 12)
        assert found is not None
        [version] = found.versions
        assert (version.all.faults, version.rated.faults) == (COMMITTED, COMMITTED)
        assert {code: (version.faults or {})[code] for code in FOLLOWING} == FOLLOWED
        assert [seat.faults for seat in found.last[0].seats if seat.label == "bad@1"] == [COMMITTED]
        [grade] = grades(ladder, "teacher").grades
        assert grade.marks[0].value == FAULTY_PERCENT


def test_the_referee_and_the_ladder_agree_which_faults_follow_from_others() -> None:
    """Results are pure, and so can't ask the referee's table."""
    assert set(FOLLOWING) == {code for code, rule in FAULTS.items() if rule.follows}
