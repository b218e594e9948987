"""Tests that a bot's number of faults is the same in a run, in statistics, and in a ladder."""

from contextlib import closing
from dataclasses import replace

from sqlalchemy import Connection

from arena.referee import CONSEQUENTIAL_FAULTS, FAULTS, PlayedMatch
from arena.run import record_results
from ladder.bot_pages import view_bot
from ladder.grading import get_grades
from ladder.permissions import STAFF_VIEWER
from ladder.standings import StandingsUpdater, view_standings
from ladder.store import RATED, queue_matches, save_match
from tests.cli_workspace import BOT, LOOK_SEED, Place
from tests.ladder.classes import add_settings, hand_in, make_ladder
from tests.ladder.version_refs import version_ids_by_ref

# Three faults lose each of three games, and the bot is out of the other nine.
COMMITTED, FOLLOWED, FAULTY_PERCENT = 9, {"out_of_lives": 3, "retired": 9}, 25.0
WRONG = BOT.replace("print(json.dumps", f"choice = choice if seed == '{LOOK_SEED}' else 99\n        print(json.dumps")
BASELINE = """
[[baselines]]
name = "plays"
points = 30
min_games = 12
max_fault_percent = 1.0
"""


def test_run_statistics_ladder_and_grades_have_the_same_number(place: Place) -> None:
    """Faults that follow from others are in the counts by code, and in no sum."""
    bots = [place.bot("bad.py", WRONG).name, place.bot("one.py").name]
    ran = place.run("run", *bots, "--games", 12, "--match-games", 12, "--out", "out", "--json").json
    profiles = place.run("stats", "out", "--json").json["bots"]
    for row in (each for each in [*ran["standings"], *profiles] if each["bot"] == "bad"):
        assert row["faults"] == COMMITTED
        assert {code: row["faults_by_code"][code] for code in CONSEQUENTIAL_FAULTS} == FOLLOWED
    record = next((place.folder / "out" / "records").iterdir()).read_text()

    def act(connection: Connection) -> None:
        [match] = queue_matches(
            connection, RATED, [list(version_ids_by_ref(connection, ["bad@1", "one@1"]).values())], 1.0
        )
        results = tuple(
            replace(result, match=match, seats=tuple(f"{name}@1" for name in result.seats))
            for result in record_results(record)
        )
        save_match(connection, PlayedMatch(match, record, results), 1.0)

    with closing(make_ladder(place.folder / "spring", owners="ada")) as ladder:
        hand_in(ladder, "ada", "bad")
        add_settings(ladder, BASELINE)
        ladder.database.write(act)
        StandingsUpdater(ladder).update()
        with ladder.reading(STAFF_VIEWER) as context:
            [standing] = [row for row in view_standings(context).items if row.bot == "bad"]
            found = view_bot(context, "bad")
        assert (standing.faults, standing.forfeits) == (COMMITTED, 12)
        [version] = found.versions
        assert (version.all_matches.faults, version.rated_matches.faults) == (COMMITTED, COMMITTED)
        assert {code: (version.faults or {})[code] for code in CONSEQUENTIAL_FAULTS} == FOLLOWED
        assert [seat.faults for seat in found.recent_matches[0].players if seat.version_ref == "bad@1"] == [COMMITTED]
        [grade] = get_grades(ladder, "teacher").grades
        assert grade.baselines[0].value == FAULTY_PERCENT


def test_the_referee_and_the_ladder_agree_which_faults_follow_from_others() -> None:
    assert set(CONSEQUENTIAL_FAULTS) == {code for code, rule in FAULTS.items() if rule.is_consequence}
