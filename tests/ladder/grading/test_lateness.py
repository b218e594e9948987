"""Tests of lateness: versions after a deadline, their penalty, and extensions for single users."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from ladder.activation import activate_version, disable_bot
from ladder.bots import deadlines_of_bot, get_remaining_quota
from ladder.deadlines import withdraw_extension
from ladder.grading import Grade, create_final, get_grades, preview_final, release_grades, reveal_final_results
from ladder.home import describe_ladder
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.store import METADATA, all_releases, extensions_in_force, list_audit_entries, register_runner
from ladder.users import erase_user, import_users, join_teams, leave_teams, make_roster_entry, set_suspended
from tests.cases import each
from tests.ladder.classes import Clock, add_settings, deadline, extend, hand_in, make_ladder, replace_setting, send
from tests.ladder.grading.test_grades import play
from tests.ladder.term import Term

DUE = 1_003_600.0
HOUR, DAY = 3600.0, 86_400.0
ENDED = update(METADATA.tables["matches"]).values(status="ended", outcome="cancelled")
PLAYS = '\n[[baselines]]\nname = "plays"\npoints = 70\nmin_games = 2\n'
DEDUCTED = " of 70 points deducted"
REASON = "plays: passed, 2 of 2 required games"


def add_lateness(ladder: Ladder, **values: float) -> None:
    path = ladder.path / "ladder.toml"
    head, _, rest = path.read_text().partition("\n[lateness]")
    lines = "".join(f"{name} = {value}\n" for name, value in values.items())
    tail = rest.partition("\n[grades]")[2]
    path.write_text(f"{head}\n[lateness]\n{lines}\n[grades]{tail}")


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder with two deadlines a month apart, and 70 points for a match."""
    with closing(make_ladder(tmp_path / "spring", owners="ada bob cleo")) as made:
        add_settings(made, deadline("first", DUE, 15) + deadline("second", DUE + 30 * DAY, 15))
        add_settings(made, PLAYS)
        add_lateness(made, accept_late_days=7, penalty_percent_per_day=10, max_penalty_percent=30, late_days=2)
        yield made


def grade_of(ladder: Ladder, login: str, name: str = "first") -> Grade:
    ladder.clock = Clock(DUE + 100 * DAY)
    return next(each for each in get_grades(ladder, "t", deadline=name).grades if each.user.login == login)


@each(
    "hours, late_days, output, points, spent",
    [
        (0.0, 2, "", 70, 0),
        (0.25, 2, "15 minutes late, within the grace period", 70, 0),
        (0.26, 0, "16 minutes late: 1 day at 10 %: 7 of 70 points deducted", 63, 0),
        (31 / 60, 0, "31 minutes late: 1 day at 10 %: 7 of 70 points deducted", 63, 0),  # as floats 31.000000000000004
        (72.0, 0, "72 hours late: 3 days at 10 %: 21 of 70 points deducted", 49, 0),  # as much as is deducted at most
        (24.25, 0, "24.3 hours late: 1 day at 10 %: 7 of 70 points deducted", 63, 0),
        (26.5, 1, f"26.5 hours late: 1 late day spent, 0 left, 1 day at 10 %: 7{DEDUCTED}", 63, 1),
        (26.5, 3, "26.5 hours late: 2 late days spent, 1 left", 70, 2),
        (160, 1, f"160 hours late: 1 late day spent, 0 left, 6 days at 10 %, at most 30 %: 21{DEDUCTED}", 49, 1),
    ],
)
def test_each_started_day_after_the_grace_period_is_a_late_day_or_a_penalty(
    ladder: Ladder, hours: float, late_days: int, output: str, points: float, spent: int
) -> None:
    add_lateness(ladder, accept_late_days=7, penalty_percent_per_day=10, max_penalty_percent=30, late_days=late_days)
    login = f"p{hours:g}x{late_days}".replace(".", "_")
    import_users(ladder, make_roster_entry(login, None, None, None, None), "t", "one person")
    hand_in(ladder, login, login, at=DUE + hours * HOUR)
    play(ladder, f"{login}@1", "one@1", [1])
    found = grade_of(ladder, login)
    assert found.version == f"{login}@1"
    assert (found.reason, found.notes) == ("; ".join(filter(None, (REASON, output))), output)
    assert found.late_hours == pytest.approx(hours)
    assert (found.points, found.points_before_penalty, found.late_penalty) == (points, 70, 70 - points)
    assert (found.late_days_spent, found.deadline_at, found.extended_until) == (spent, DUE, None)
    with ladder.reading(STAFF_VIEWER) as context:
        dues = get_remaining_quota(ladder, context, login).deadlines
    cost = next(due.lateness for due in dues if due.name == "first") or ""
    assert (f"{spent} late day" in cost, "a late penalty" in cost) == (spent > 0, points < 70)


def test_without_a_lateness_table_nothing_counts_after_the_grace_period(ladder: Ladder) -> None:
    """A deadline's own grace period takes precedence over the table's."""
    path = ladder.path / "ladder.toml"
    add_lateness(ladder)
    hand_in(ladder, "ada", "a", at=DUE + 15 * 60)
    hand_in(ladder, "bob", "b", at=DUE + 15 * 60 + 1)
    assert grade_of(ladder, "ada").reason.endswith("15 minutes late, within the grace period")
    assert grade_of(ladder, "bob").reason == "no version was submitted in time: b@1 was late"
    add_lateness(ladder, grace_minutes=60)
    assert grade_of(ladder, "bob").version is None
    path.write_text(path.read_text().replace("grace_minutes = 15\n", ""))
    assert grade_of(ladder, "bob").version == "b@1"


def test_late_days_are_spent_in_the_order_of_the_deadlines(ladder: Ladder) -> None:
    second = DUE + 30 * DAY
    hand_in(ladder, "ada", "a", at=DUE + HOUR)
    assert grade_of(ladder, "ada").reason.endswith("1 late day spent, 1 left")
    disable_bot(ladder, "a", "t", "an error")
    assert "is disabled" in grade_of(ladder, "ada").reason
    activate_version(ladder, "a", 1, actor="t", reason="it was none")
    hand_in(ladder, "bob", "b", at=second + 26 * HOUR)
    for login, output in (("ada", ""), ("bob", "2 late days spent, 0 left")):
        assert grade_of(ladder, login, "second").reason.endswith(output)
    assert grade_of(ladder, "ada", "second").late_hours == 0
    disable_bot(ladder, "a", "t", "copied")
    hand_in(ladder, "cleo", "c", at=DUE + HOUR)
    extend(ladder, "cleo", "second", late_days=1, reason="a trip")
    found = grade_of(ladder, "cleo")
    assert found.reason.endswith("1 late day spent, 0 left"), "what an extension took is reserved"
    with pytest.raises(LadderError, match="has 1 late day left, not 2"):
        extend(ladder, "cleo", "second", late_days=2, reason="a longer trip")


def test_a_release_stores_no_negative_number_of_late_days(ladder: Ladder) -> None:
    """Staff may lower the number after extensions have taken them."""
    extend(ladder, "cleo", "second", late_days=2, reason="a trip")
    replace_setting(ladder, "late_days = 2", "late_days = 1")
    ladder.clock = Clock(DUE + 100 * DAY)
    release_grades(ladder, "one", "teacher", None, deadline="first")
    [release] = ladder.database.read_with_retry(all_releases)
    left = {row["user"]["login"]: row["left"] for row in json.loads(release.data)["inputs"]["people"]}
    assert left == {"ada": 1, "bob": 1, "cleo": 0}


def test_an_extension_is_shown_to_its_user(ladder: Ladder) -> None:
    """Lateness counts from the personal deadline. A repeated extension is one decision; a new one replaces it."""
    assert extend(ladder, "ada", days=2)
    assert not extend(ladder, "ada", days=2)
    hand_in(ladder, "ada", "a", at=DUE + DAY)
    hand_in(ladder, "ada", "a", at=DUE + 2 * DAY + 60)
    play(ladder, "a@2", "one@1", [1])
    found = grade_of(ladder, "ada")
    more = "extended until 14 Jan 1970 14:46 UTC: ill"
    assert found.reason == f"{REASON}; 1 minute late, within the grace period; {more}"
    assert (found.version, found.points) == ("a@2", 70)
    assert found.deadline_at == found.extended_until == DUE + 2 * DAY
    assert extend(ladder, "ada", until="1970-01-13T14:46:40", reason="ill, but for a shorter time")
    assert grade_of(ladder, "ada").version == "a@1"
    extend(ladder, "bob", until="1970-01-13T15:46:40+01:00", reason="a trip")
    assert grade_of(ladder, "bob").reason == "no version was submitted; extended until 13 Jan 1970 14:46 UTC: a trip"
    assert withdraw_extension(ladder, "ada", "first", "teacher", "she wasn't")
    assert not withdraw_extension(ladder, "ada", "first", "teacher", "she wasn't")
    assert grade_of(ladder, "ada").reason.startswith("plays: not passed, 0 of 2 required games"), "a@1 came a day late"
    with ladder.database.read() as connection:
        output = [act.reason for act in list_audit_entries(connection, actions=("extend",))]
    assert output[0] == "first, extended until 14 Jan 1970 14:46 UTC: ill"
    assert (len(output), output[-1]) == (4, "first, no extension: she wasn't")


def test_no_extension_ends_before_a_deadline_that_was_moved_later(ladder: Ladder) -> None:
    extend(ladder, "ada", days=1)
    replace_setting(ladder, deadline("first", DUE, 15), deadline("first", DUE + 3 * DAY, 15))
    assert [grade_of(ladder, login).deadline_at for login in ("ada", "bob")] == [DUE + 3 * DAY] * 2
    assert grade_of(ladder, "ada").reason == "no version was submitted"


@each(
    "login, name, until, days, late_days, output",
    [
        ("adda", "first", None, 1, 0, "Did you mean ada"),
        ("staff", "first", None, 1, 0, "no deadlines"),
        ("ada", "third", None, 1, 0, "Its deadlines: first, second"),
        ("ada", "first", None, None, 0, "exactly one new end"),
        ("ada", "first", "1970-02-01", 1, 0, "exactly one new end"),
        ("ada", "first", "next week", None, 0, "isn't a valid time"),
        ("ada", "first", "1970-01-02T00:00", None, 0, "Give a time after it"),
        ("ada", "first", "9999-12-31T23:59Z", None, 0, "before the year 3000"),  # no date has its grace period's end
        ("ada", "first", None, 1, 3, "has 2 late days left"),
    ],
)
def test_an_invalid_extension_is_refused(
    ladder: Ladder, login: str, name: str, until: str | None, days: int | None, late_days: int, output: str
) -> None:
    with pytest.raises(LadderError, match=output) as refused:
        extend(ladder, login, name, until=until, days=days, late_days=late_days)
    assert len(str(refused.value).splitlines()) == 2
    assert ladder.database.read_with_retry(extensions_in_force) == []


def test_a_final_does_not_wait_for_extensions(ladder: Ladder) -> None:
    """It uses the versions so far. The audit entry names users with time left, and their grades mention it."""
    extend(ladder, "bob", days=3)
    extend(ladder, "cleo", days=3)
    for login in ("ada", "bob"):
        hand_in(ladder, login, login[0], at=DUE - 1)
    ladder.clock = Clock(DUE + HOUR)
    final = create_final(ladder, "last", "first", games=2, actor="teacher")
    assert [version_ref for version_ref in final.versions if version_ref[1] == "@"] == ["a@1", "b@1"]
    with ladder.database.read() as connection:
        assert "; extended for bob, cleo until 1970-01-15 15:01 UTC" in list_audit_entries(connection)[-1].reason
    hand_in(ladder, "cleo", "c", at=DUE + DAY)
    ladder.database.write(lambda connection: connection.execute(ENDED))
    reveal_final_results(ladder, "last", "t", incomplete=True)
    found = {each.user.login: each for each in get_grades(ladder, "t", final="last").grades}
    assert found["ada"].version == "a@1"
    assert found["cleo"].reason.startswith(
        "c@1 was submitted after the versions of the final last were chosen; extended"
    )
    why = r"^the final didn't wait for 1 user: cleo until .*\nRelease the other grades: "
    with pytest.raises(LadderError, match=why):
        release_grades(ladder, "grades", "t", None, final="last")
    replace_setting(ladder, deadline("first", DUE, 15), deadline("first", DUE - DAY, 15))
    moved = {each.user.login: each for each in get_grades(ladder, "t", final="last").grades}
    assert (moved["ada"].deadline_at, moved["ada"].late_hours) == (DUE, 0)


def test_no_login_of_an_erased_user_stays_in_the_entry_of_a_final(ladder: Ladder) -> None:
    """Also not one before another user's, whose extension ends at the same time."""
    for login in ("bob", "cleo"):
        extend(ladder, login, days=3)
    for login in ("ada", "cleo"):
        hand_in(ladder, login, login[0], at=DUE - 1)
    ladder.clock = Clock(DUE + HOUR)
    create_final(ladder, "last", "first", games=2, actor="teacher")
    erased = erase_user(ladder, "bob", "teacher", "asked")
    [entry] = (entry for entry in ladder.database.read_with_retry(list_audit_entries) if entry.action == "final")
    assert f"; extended for {erased}, cleo until " in entry.reason


def test_only_late_versions_that_can_count_are_awaited(ladder: Ladder) -> None:
    """If a user has a bot in time, a late version delays no grade."""
    hand_in(ladder, "ada", "a", at=DUE - 1)
    ladder.clock = Clock(DUE + HOUR)
    for login in ("ada", "bob"):
        send(ladder, login, "new", login[0])
    assert get_grades(ladder, "t", deadline="first").unchecked == ("b@1",)
    for runs, hint in ((False, "Check them: arena ladder run"), (True, "Wait until")):
        if runs:
            ladder.database.write(lambda connection: register_runner(connection, 1, ladder.clock()))
        with pytest.raises(LadderError, match=rf"1 version isn't checked yet \(b@1\)\.\n{hint}"):
            create_final(ladder, "last", "first", games=2, actor="teacher")


def test_a_user_sees_their_personal_deadline(ladder: Ladder) -> None:
    """Others see the deadline of the class, and no reason."""
    extend(ladder, "ada", days=1)
    for login, at, why in (("ada", DUE + DAY, "ill"), ("bob", DUE, None)):
        with ladder.reading(Viewer(login)) as context:
            [first, _] = get_remaining_quota(ladder, context).deadlines
        assert (first.deadline_at, first.closes_at, first.extension_reason) == (at, at + 15 * 60, why)
        assert first.late_until == at + 15 * 60 + 7 * DAY
    assert {due.extension_reason for due in describe_ladder(ladder).deadlines} == {None}
    for at, output in ((DUE + 60, None), (DUE + DAY + 60, "first")):
        ladder.clock = Clock(at)
        assert send(ladder, "ada", at, "a").late_for == output


def test_a_late_version_that_counts_ends_late_submissions_and_a_final_warns_of_them(ladder: Ladder) -> None:
    hand_in(ladder, "ada", "a", at=DUE + HOUR)
    ladder.clock = Clock(DUE + DAY)
    with ladder.reading(Viewer("ada")) as context:
        assert get_remaining_quota(ladder, context).deadlines[0].late_until is None
    until = "1970-01-19 15:01 UTC"
    warning = f"The final doesn't wait for late submissions, which users without a version may make until {until}."
    assert preview_final(ladder, "first", 2).warnings == (warning,)
    ladder.clock = Clock(DUE + 15 * 60 + 7 * DAY)
    assert preview_final(ladder, "first", 2).warnings == ()


def test_the_command_gives_and_revokes_an_extension(ladder: Ladder) -> None:
    term, words = Term(ladder.path), ("ada", "first", "--reason", "ill")
    assert term.arena("extend", *words, "--days", 2).err == "ada has an extension for first\n"
    assert term.json("extend", *words, "--days", 2) == {"changed": False}
    assert term.arena("extend", *words, "--undo", "--days", 2, code=2).messages
    assert term.arena("extend", *words, "--undo").err == "ada has no extension for first\n"
    assert "changed the extension of the user" in term.arena("events").out


def test_a_team_has_the_best_grade_of_all_its_bots(ladder: Ladder) -> None:
    """It counts for members at the deadline; users that joined later, or left before, have their own grade."""
    ladder.clock = Clock(DUE - 9 * HOUR)
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "t", "they asked")
    hand_in(ladder, "ada", "a", at=DUE - HOUR)
    play(ladder, "a@1", "one@1", [1])
    ladder.clock = Clock(DUE + HOUR)
    join_teams(ladder, {"cleo": "Red"}, "t", "too late for the first")
    leave_teams(ladder, ["bob"], "t", "after the first")
    assert [grade_of(ladder, login).version for login in ("ada", "bob", "cleo")] == ["a@1", "a@1", None]
    assert [grade_of(ladder, login).points for login in ("ada", "bob", "cleo")] == [70, 70, 0]
    assert [grade_of(ladder, login, "second").points for login in ("ada", "bob", "cleo")] == [70, 0, 70]
    create_final(ladder, "last", "first", games=2, actor="t")  # also in a final of the deadline
    ladder.database.write(lambda connection: connection.execute(ENDED))
    reveal_final_results(ladder, "last", "t", incomplete=True)
    grades = get_grades(ladder, "t", final="last").grades
    assert {each.user.login: each.version for each in grades} == {"ada": "a@1", "bob": "a@1", "cleo": None}
    set_suspended(ladder, "cleo", True, "t", "no")
    assert grade_of(ladder, "cleo", "second").points == 0


def test_a_team_with_a_version_in_time_is_never_late(ladder: Ladder) -> None:
    """Lateness would let it keep that version, and try to improve it; and it needn't be waited for."""
    hand_in(ladder, "bob", "b", at=DUE - 9 * HOUR)
    disable_bot(ladder, "b", "bob", "the quota of 1 bot is used up")  # as by joining a team
    hand_in(ladder, "ada", "a", at=DUE - 9 * HOUR)
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "t", "they asked")
    hand_in(ladder, "bob", "b", at=DUE + HOUR)
    activate_version(ladder, "b", 2, actor="staff", reason="they asked")
    play(ladder, "a@1", "one@1", [1])
    ladder.clock = Clock(DUE + 2 * HOUR)
    grades = {each.user.login: each for each in get_grades(ladder, "t", deadline="first").grades}
    assert [(grades[login].version, grades[login].open_until) for login in ("ada", "bob")] == [("a@1", None)] * 2
    assert (grades["cleo"].version, grades["cleo"].open_until) == (None, DUE + 15 * 60 + 7 * DAY)
    with ladder.reading(STAFF_VIEWER) as context:
        assert deadlines_of_bot(ladder, context, "b")[0].late_until is None
    disable_bot(ladder, "b", "staff", "copied")
    with ladder.reading(STAFF_VIEWER) as context:
        assert get_remaining_quota(ladder, context, "bob").disabled_bots == (("b", "copied"),)
        assert get_remaining_quota(ladder, context, "cleo").deadlines[0].late_days_left == 2
    set_suspended(ladder, "cleo", True, "t", "copied")
    with ladder.reading(STAFF_VIEWER) as context:
        assert get_remaining_quota(ladder, context, "cleo").deadlines[0].late_days_left is None


def test_a_teammates_late_days_are_shown_as_theirs(ladder: Ladder) -> None:
    """The bot is as late as its owner; the other's own late days are unspent."""
    ladder.clock = Clock(DUE - 9 * HOUR)
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "t", "they asked")
    hand_in(ladder, "ada", "a", at=DUE + HOUR)
    play(ladder, "a@1", "one@1", [1])
    assert grade_of(ladder, "ada").reason.endswith("1 hour late: 1 late day spent, 1 left")
    mate = grade_of(ladder, "bob")
    assert (mate.version, mate.late_days_spent, mate.open_until) == ("a@1", 0, None)
    with ladder.reading(Viewer("bob")) as context:
        assert get_remaining_quota(ladder, context).deadlines[0].lateness == "1 late day of ada spent"
    assert mate.reason.endswith("1 hour late: 1 late day of a teammate spent")
