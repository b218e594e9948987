"""Tests of releases of grades: kept, reproduced to the digit, and compared to later ones."""

import csv
import io
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import update

from ladder import grading, users
from ladder.activation import disable_bot
from ladder.backups import restore_backup, write_backup
from ladder.ladder import Ladder
from ladder.match_pages import set_void
from ladder.permissions import PUBLIC_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.store import METADATA, all_releases, insert_release, list_audit_entries
from tests.cli_workspace import Place
from tests.command import LIMIT_S, Command
from tests.ladder.classes import Clock, add_settings, configure, deadline, extend, hand_in, make_ladder, replace_setting
from tests.ladder.grading.test_grades import BASELINES, play, store_final
from tests.ladder.term import Term

DUE, LATER, DAY_S = 1_003_600.0, 2e6, 86_400


@pytest.fixture
def ladder(place: Place) -> Iterator[Ladder]:
    """Give a ladder after its deadline, with intervals for ada and bob; cleo has nothing."""
    with closing(make_ladder(place.folder / "spring", owners="ada bob cleo")) as made:
        for login in ("ada", "bob"):
            hand_in(made, login, login[0])
        add_settings(made, deadline("first", DUE) + BASELINES)
        for name in ("a@1", "b@1", "two@1"):
            play(made, name, "one@1", [2, 1, 2, 2, 1, 2, 2, 2] * 2 if name == "a@1" else [2, 0, 1, 1, 0, 2, 1, 2] * 2)
        made.clock = Clock(LATER)
        yield made


def changes_since(ladder: Ladder, name: str, before: str | None = None) -> grading.GradeChanges:
    with ladder.database.read() as connection:
        return grading.get_published_grades(connection, name, since=before).changes


def change_everything(ladder: Ladder) -> None:
    """Add games, versions, decisions, users, settings and deadlines after a release."""
    play(ladder, "b@1", "one@1", [2] * 40, faulty=3)
    play(ladder, "a@1", "two@1", [0] * 40)
    for match in (1, 2, 30):
        set_void(ladder, match, True, "t", "the host slept")
    set_void(ladder, 2, False, "t", "it didn't")
    hand_in(ladder, "ada", "a", at=LATER + 1)
    play(ladder, "a@2", "b@1", [1] * 20)
    extend(ladder, "cleo", days=100)
    hand_in(ladder, "cleo", "c", at=LATER + 2)
    disable_bot(ladder, "b", "t", "copied")
    users.set_suspended(ladder, "ada", True, "t", "copied")
    users.import_users(ladder, users.make_roster_entry("dan", "Dan", None, None, None), "t", "one person")
    users.import_users(ladder, users.make_roster_entry("bob", "Robert", None, None, None), "t", "one person")
    configure(ladder, penalty_percent_per_day=5)
    replace_setting(ladder, "points = 40", "points = 50")
    replace_setting(ladder, deadline("first", DUE), deadline("first", DUE + 60))
    ladder.clock = Clock(LATER + 100 * DAY_S)  # after the extension


def test_a_release_is_reproduced_to_the_digit_after_all_changes(ladder: Ladder, place: Place) -> None:
    """This also holds in a restored ladder; stored grades are printed unchanged."""
    made = grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    assert [grade.points for grade in made.grades.grades] == [70, 0, 0]
    before = Term(ladder.path).arena("grades show", "--release", "one").out
    change_everything(ladder)
    assert grading.reproduce_release(ladder, "one").differences == ()
    later = grading.release_grades(ladder, "two", "teacher", "a regrade", deadline="first")
    assert [grade.points for grade in later.grades.grades] == [0, 0, 0, 0]
    assert Term(ladder.path).arena("grades show", "--release", "one").out == before
    users.set_withdrawn(ladder, "bob", True, "teacher", "moved away")
    users.merge_users(ladder, "dan", "cleo", "teacher", "one person")
    write_backup(ladder.database, ladder.path, place.folder / "spring.tar")
    with closing(restore_backup(place.folder / "spring.tar", place.folder / "again")) as again:
        assert all(grading.reproduce_release(again, name).same for name in ("one", "two"))
        assert Term(again.path).arena("grades show", "--release", "one").out == before


@pytest.mark.parametrize("core", ["Prescott", "Haswell"])
def test_another_processor_reproduces_a_release(ladder: Ladder, place: Place, core: str) -> None:
    """Its sums differ in the last digits."""
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    words = ["ladder", "grades", "verify", str(ladder.path), "one"]
    there = {**os.environ, "OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "2"}
    process = Command(words, there, fresh=True, stderr=subprocess.PIPE, text=True)
    output = process.communicate(timeout=LIMIT_S)[1]
    assert (process.returncode, output) == (0, 'recomputed "one": the grades are identical\n')


def test_a_release_whose_results_were_changed_by_hand_differs(ladder: Ladder, place: Place) -> None:
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    table = METADATA.tables["match_players"]
    lost = update(table).where(table.c.match == 1).values(wins=0)
    ladder.database.write(lambda connection: connection.execute(lost))
    ran = place.call("ladder", "grades", "verify", ladder.path, "one")
    assert (ran.code, "the grades differ" in ran.err, "ada, baselines: " in ran.err) == (1, True, True)


def test_a_release_has_a_unique_name_and_a_regrade_needs_a_reason(ladder: Ladder) -> None:
    """A release isn't possible before the deadline, or while a version waits."""
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    with pytest.raises(LadderError, match=r'no release "two"[.]\nIts releases: one'):
        changes_since(ladder, "two")
    cases: tuple[tuple[str, dict[str, str], str | None, str], ...] = (
        ("one", {"deadline": "first"}, "again", "is released already"),
        ("two", {"deadline": "first"}, None, 'before, as "one".\nGive a reason'),
        ("../x", {"deadline": "first"}, "x", "isn't a valid name"),
        ("two", {}, "x", "one final or one deadline"),
        ("two", {"deadline": "second"}, "x", "has no deadline"),
        ("two", {"final": "last"}, "x", "the ladder has no final"),
    )
    for name, of, why, output in cases:
        with pytest.raises(LadderError, match=output):
            grading.release_grades(ladder, name, "teacher", why, **of)
    ladder.clock = Clock(DUE - 60)
    with pytest.raises(LadderError, match="closes in 2 minutes"):
        grading.release_grades(ladder, "two", "teacher", "x", deadline="first")
    with ladder.database.read() as connection:
        assert [each.name for each in all_releases(connection)] == ["one"]
        assert [(act.actor, act.reason) for act in list_audit_entries(connection, actions=("release",))] == [
            ("teacher", "one, deadline first: released")
        ]


def test_users_who_may_still_submit_have_no_grade(ladder: Ladder) -> None:
    """Neither in a release, which asks first, nor in a gradebook's file. A later release grades them."""
    for login in ("bob", "cleo"):
        extend(ladder, login, days=100)
    for name, why in (("one", None), ("two", "a regrade")):
        with pytest.raises(LadderError, match=r"^2 users may still submit: bob, cleo until "):
            grading.release_grades(ladder, name, "teacher", why, deadline="first")
        made = grading.release_grades(ladder, name, "teacher", why, deadline="first", incomplete=True)
        assert [grade.graded_points for grade in made.grades.grades] == [70, None, None]
    shown = Term(ladder.path).arena("grades show", "--release", "two", "--owner", "bob")
    assert (shown.out, shown.err[:35]) == ("", "1 user may still submit: bob until ")
    assert grading.reproduce_release(ladder, "two").same
    assert changes_since(ladder, "two").items == ()
    for form in grading.GRADEBOOK_FORMATS:
        file = grading.format_gradebook(made.grades, form)
        assert ("70" in file) == (form != "canvas-api"), "ada has no ID there"
        assert "not graded yet" in file or not form.startswith("moodle")
    file = grading.format_gradebook(made.grades, "plain")
    points = {row["login"]: row["points"] for row in csv.DictReader(io.StringIO(file))}
    assert points == {"ada": "70", "bob": "", "cleo": ""}
    ladder.clock = Clock(LATER + 100 * DAY_S)
    grading.release_grades(ladder, "all", "teacher", "all have submitted", deadline="first")
    rows = {row.user.login: (row.before, row.after, row.reasons[0]) for row in changes_since(ladder, "all").items}
    assert rows == dict.fromkeys(("bob", "cleo"), (None, 0, "could still submit before"))


def test_while_late_days_run_only_users_without_a_version_may_still_submit(ladder: Ladder) -> None:
    configure(ladder, accept_late_days=20)
    with pytest.raises(LadderError, match=r"^1 user may still submit: cleo until"):
        grading.release_grades(ladder, "x", "teacher", None, deadline="first")


@pytest.mark.parametrize("lock", [users.set_suspended, users.set_withdrawn])
def test_a_teammate_who_may_not_submit_keeps_no_grade_open(ladder: Ladder, lock: Callable[..., bool]) -> None:
    configure(ladder, accept_late_days=20)
    users.join_teams(ladder, {"ada": "Red", "cleo": "Red"}, "teacher", "project", since=DUE - 1)
    lock(ladder, "cleo", True, "teacher", "left")
    made = grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    assert made.grades.grades[0].graded_points == 70


def test_a_later_release_lists_the_changes_of_each_user(ladder: Ladder) -> None:
    one = grading.release_grades(ladder, "one", "teacher", None, deadline="first").grades.grades
    change_everything(ladder)
    grading.release_grades(ladder, "two", "teacher", "a regrade", deadline="first")
    found = changes_since(ladder, "two")
    assert found.reasons == (
        'the baseline "beats one": now 50 points for beating one, before 40 points for beating one',
        "5 % deducted a day, 0 before",
        "the deadline is 1970-01-12 14:47 UTC, 1970-01-12 14:46 UTC before",
        "292 games count, 96 before",
        "void since: matches 1, 30",
    )
    words = {row.user.login: (row.before, row.after, "; ".join(row.reasons)) for row in found.items}
    why = f"no version counts, a@1 before; suspended: copied; before: {one[0].reason}"
    assert (words["ada"], one[0].reason.startswith("beats one: passed, ")) == ((70, 0, why), True)
    assert words["cleo"][2].startswith("c@1 counts, no version before; extended until ")
    assert words["cleo"][2].endswith("; before: no extension")
    assert words["dan"] == (None, 0, "new: had no grade before")
    users.set_suspended(ladder, "ada", False, "t", "it wasn't")
    grading.release_grades(ladder, "three", "teacher", "it wasn't copied", deadline="first")
    [row] = changes_since(ladder, "three").items
    assert (row.user.login, row.before, row.after) == ("ada", 0, 30)
    [row] = [row for row in changes_since(ladder, "three", "one").items if row.user.login == "ada"]
    assert (row.before, row.after) == (70, 30)
    assert row.reasons[0].startswith("beats one: not passed, ")
    assert "points ahead of one@1 (" in row.reasons[0]
    assert "; before passed, 50.3 points ahead" in row.reasons[0]


def test_a_regrade_keeps_the_measurement_of_a_version_without_new_games(ladder: Ladder) -> None:
    """Games of other bots would change its interval, and could take points from a user who changed nothing."""
    [ada, bob, _] = grading.release_grades(ladder, "one", "t", None, deadline="first").grades.grades
    hand_in(ladder, "cleo", "c", at=LATER)
    for other in ("b@1", "two@1", "c@1"):
        play(ladder, other, "one@1", [2] * 20)
    later = grading.release_grades(ladder, "two", "t", "bob asked", deadline="first").grades.grades
    assert later[0] == ada
    assert later[1].baselines != bob.baselines
    play(ladder, "b@1", "two@1", [2])
    assert grading.release_grades(ladder, "three", "t", "again", deadline="first").grades.grades[0] == ada
    assert all(grading.reproduce_release(ladder, name).same for name in ("one", "two", "three"))
    set_void(ladder, 1, True, "t", "the host slept")
    assert grading.get_grades(ladder, "t", deadline="first").grades[0].baselines != ada.baselines


def test_a_regrade_is_shown_before_and_then_released_as_shown(ladder: Ladder) -> None:
    grading.release_grades(ladder, "one", "t", None, deadline="first")
    set_void(ladder, 1, True, "t", "the host slept")
    disable_bot(ladder, "a", "t", "copied")
    shown, moment = grading.preview_release(ladder, "two", "t", "copied", deadline="first")
    lines = shown.summarize()
    assert lines[:2] == [
        "3 grades of at most 100 points: mean 0.0, median 0",
        "Since one: 94 games count, 96 before; void since: match 1",
    ]
    assert lines[2].startswith("ada: 70 → 0. no version counts, a@1 before")
    none = replace(shown, grades=replace(shown.grades, grades=()))
    assert none.summarize()[0] == "0 grades of at most 100 points"
    run = Term(ladder.path).arena("grades release", "two", "--deadline", "first", "--reason", "x", "--dry-run")
    assert run.err.startswith('nothing is released\nsince "one"')
    play(ladder, "b@1", "one@1", [2] * 20)
    made = grading.release_grades(ladder, "two", "t", "copied", deadline="first", moment=moment)
    assert made.grades == shown.grades
    page = grading.GradesPage(None, (), (), releases=(made.release,))
    assert [page.propose_name(name) for name in ("one", "two")] == ["one", "two-2"]
    page = grading.GradesPage(None, (), (), releases=(replace(made.release, name="a" * 40),))
    assert page.propose_name("a" * 40) == f"{'a' * 38}-2"  # a name has at most 40 characters


def test_games_after_the_hours_of_a_deadline_change_no_grade(ladder: Ladder) -> None:
    """Neither those of the version itself, nor those of others, nor of versions that came later."""
    replace_setting(ladder, deadline("first", DUE), deadline("first", DUE) + "measured_hours = 2\n")
    configure(ladder, accept_late_days=20)
    play(ladder, "a@1", "one@1", [0] * 20, at=DUE + 7199)
    fixed = grading.get_grades(ladder, "t", deadline="first").grades[:2]
    assert fixed[0].games == 72
    hand_in(ladder, "cleo", "c", at=LATER)
    for one, other in (("a@1", "two@1"), ("b@1", "c@1"), ("c@1", "one@1")):
        play(ladder, one, other, [0] * 20, at=DUE + 7201)
    assert grading.get_grades(ladder, "t", deadline="first").grades[:2] == fixed
    grading.release_grades(ladder, "one", "t", None, deadline="first")
    play(ladder, "a@1", "one@1", [0] * 20, at=LATER)
    assert grading.release_grades(ladder, "two", "t", "asked", deadline="first").grades.grades[:2] == fixed
    assert all(grading.reproduce_release(ladder, name).same for name in ("one", "two"))


def test_a_baseline_that_is_added_or_removed_changes_grades(ladder: Ladder) -> None:
    path = ladder.path / "ladder.toml"
    before = path.read_text()
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    add_settings(ladder, '[[baselines]]\nname = "takes part"\npoints = 5\nmin_games = 1\n')
    grading.release_grades(ladder, "two", "teacher", "points for playing", deadline="first")
    [added] = [row for row in changes_since(ladder, "two").items if row.user.login == "ada"]
    assert (added.before, added.after) == (70, 75)
    assert added.reasons == ("takes part: passed, 32 of 1 required game; a new baseline",)
    path.write_text(before)
    grading.release_grades(ladder, "three", "teacher", "it was too easy", deadline="first")
    [gone] = [row for row in changes_since(ladder, "three").items if row.user.login == "ada"]
    assert (gone.before, gone.after, gone.reasons) == (75, 70, ("takes part: passed before, and no baseline any more",))


def test_a_final_is_released_too(ladder: Ladder) -> None:
    grading.create_final(ladder, "last", "first", games=20, actor="teacher")
    store_final(ladder, "last", ())
    grading.reveal_final_results(ladder, "last", "teacher")
    made = grading.release_grades(ladder, "end", "teacher", None, final="last")
    assert made.release.scope == "final last"
    assert grading.reproduce_release(ladder, "end").same
    assert grading.release_grades(ladder, "end2", "teacher", "asked for", final="last").changes is not None
    with pytest.raises(LadderError, match="grades of the final last were released before"):
        grading.release_grades(ladder, "other", "teacher", None, deadline="first")
    add_settings(ladder, deadline("second", DUE + 60))
    assert grading.release_grades(ladder, "other", "teacher", None, deadline="second").changes is None
    with ladder.database.read() as connection:
        newest = [grading.find_newest_release(connection, "final", name) for name in ("last", "none", None)]
    assert newest == ["end2", None, "other"]


def test_a_release_of_1_0_cannot_be_reproduced(ladder: Ladder) -> None:
    """It has no number of the rating model."""
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    [release] = ladder.database.read_with_retry(all_releases)
    older = replace(release, name="older", data=release.data.replace('"rating_model":', '"removed":'))
    ladder.database.write(lambda connection: insert_release(connection, older))
    with pytest.raises(LadderError, match="the rating model of an older arena"):
        grading.reproduce_release(ladder, "older")


def seen_by(ladder: Ladder, viewer: Viewer) -> grading.PublishedGrades:
    with ladder.database.read() as connection:
        return grading.get_published_grades(connection, "two", viewer)


def test_a_participant_sees_only_their_row(ladder: Ladder) -> None:
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    change_everything(ladder)
    grading.release_grades(ladder, "two", "teacher", "points for playing", deadline="first")
    for viewer, logins in ((Viewer("ada"), ["ada"]), (Viewer("bob"), ["bob"]), (PUBLIC_VIEWER, [])):
        found = seen_by(ladder, viewer)
        assert [grade.user.login for grade in found.grades.grades] == logins
        assert {row.user.login for row in found.changes.items} <= set(logins)
        assert (found.release.created_by, found.release.reason) == (None, "points for playing")
        with ladder.database.read() as connection:
            assert {line.reason for line in grading.list_release_summaries(connection, viewer)} == {None}


def test_a_release_to_a_merged_login_belongs_to_the_remaining_user(ladder: Ladder) -> None:
    """A later release reports their changes, and doesn't report anyone as withdrawn."""
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    users.import_users(ladder, users.make_roster_entry("ada2", "Ada", None, None, None), "t", "one person")
    users.merge_users(ladder, "ada", "ada2", "teacher", "one person")
    with ladder.database.read() as connection:
        [grade] = grading.get_published_grades(connection, "one", Viewer("ada2")).grades.grades
        assert (grade.user.login, grade.points) == ("ada", 70)
        assert grading.get_published_grades(connection, "one", Viewer("bob")).grades.grades[0].user.login == "bob"
    later = grading.release_grades(ladder, "two", "teacher", "a merge", deadline="first")
    assert later.grades.grades[0].user.login == "ada2"
    assert changes_since(ladder, "two").items == ()
    play(ladder, "b@1", "one@1", [2] * 40)
    users.merge_users(ladder, "cleo", "bob", "teacher", "one person")
    grading.release_grades(ladder, "three", "teacher", "a merge", deadline="first")
    [row] = changes_since(ladder, "three").items
    assert (row.user.login, row.before, row.after) == ("bob", 0, 100)
    assert row.reasons[0].startswith("beats one: passed, ")
    assert [grade.user.login for grade in seen_by(ladder, Viewer("bob")).grades.grades] == ["bob", "cleo"]


def test_the_command_releases_prints_and_compares(ladder: Ladder) -> None:
    term = Term(ladder.path)
    assert term.arena("grades release", "one", "--deadline", "first").out == (
        "3 grades, at most 100 points each\nmean 23.3, median 0, 2 without points\n"
    )
    assert term.arena("grades show", "--release", "one").out.startswith("login,name,email,")
    assert term.json("grades show", "--release", "one")["scope"] == "deadline first"
    assert "is the first release" in term.arena("grades diff", "one", code=2).messages[0]
    play(ladder, "b@1", "one@1", [2] * 40)
    regrade = term.arena("grades release", "two", "--deadline", "first", "--reason", "more games")
    assert "bob: 0 -> 100 points: beats one: passed, " in regrade.err
    output = term.arena("grades diff", "two", "one").out
    assert output.startswith('since "one": 176 games count, 96 before\n')
    assert term.json("grades verify", "two") == {"name": "two", "same": True, "differences": []}
    for wrong in ("verify x", "diff one x", "release x", "show --final x --release one"):
        command, *words = wrong.split()
        assert term.arena(f"grades {command}", *words, code=2).messages, wrong


def test_changed_penalties_and_points_and_a_removed_user_are_listed(ladder: Ladder) -> None:
    configure(ladder, accept_late_days=30, penalty_percent_per_day=2.00003, max_penalty_percent=50)
    hand_in(ladder, "cleo", "c", at=DUE + 2 * DAY_S)
    play(ladder, "c@1", "one@1", [2] * 40)
    ladder.clock = Clock(LATER + 100 * DAY_S)
    grading.release_grades(ladder, "one", "teacher", None, deadline="first")
    configure(ladder, penalty_percent_per_day=10, max_penalty_percent=15)
    users.set_withdrawn(ladder, "bob", True, "teacher", "moved away")
    grading.release_grades(ladder, "two", "teacher", "a regrade", deadline="first")
    found = changes_since(ladder, "two")
    assert found.reasons == ("10 % deducted a day, 2.00003 before", "15 % deducted at most, 50 before")
    assert [(row.user.login, row.before, row.after, row.reasons) for row in found.items] == [
        ("bob", 0, None, ("removed: has no grade now",)),
        ("cleo", 95.9999, 85, ("15 points deducted for lateness, 4.0001 before",)),  # 4 * 1.000015, to four decimals
    ]
    replace_setting(ladder, "points = 40", "points = 50")
    grading.release_grades(ladder, "three", "teacher", "more for a win", deadline="first")
    assert changes_since(ladder, "three").items[0].reasons == ("the points of a passed baseline have changed",)
