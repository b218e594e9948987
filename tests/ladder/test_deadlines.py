"""Tests of deadlines: which version counts in grades, finals and late days, and where users read it."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ladder.activation import activate_version, choose_version, disable_bot
from ladder.bots import deadlines_of_bot, get_remaining_quota
from ladder.grading import create_final, format_gradebook, get_grades
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.settings import LadderError, read_settings
from ladder.store import all_bots, deactivate_bot, finish_check, unchecked_versions
from ladder.team_invitations import accept_invitation, form_team, invite_to_team
from ladder.users import join_teams, set_suspended
from tests.ladder.classes import NUMBERS, Clock, add_settings, configure, deadline, extend, hand_in, make_ladder, send
from tests.ladder.grading.test_lateness import DAY, DUE, HOUR, PLAYS, add_lateness, grade_of
from tests.ladder.ladders import WORDS
from tests.ladder.term import Term

Step = Callable[[Ladder], object]


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    """Give a ladder with a deadline, 15 minutes of grace and two late days."""
    with closing(make_ladder(tmp_path / "spring", owners="ada bob")) as made:
        add_settings(made, deadline("first", DUE, 15) + PLAYS)
        add_lateness(made, accept_late_days=7, late_days=2)
        yield made


def at(hours: float, ladder: Ladder) -> None:
    ladder.clock = Clock(DUE + hours * HOUR)


def submit_step(hours: float, reason: str | None = None) -> Step:
    """Submit a version, which passes its check unless a reason is given."""
    return lambda ladder: hand_in(ladder, "ada", "a", at=DUE + hours * HOUR, reason=reason)


def queue_step(hours: float, received: float | None = None) -> Step:
    """Submit a version that isn't checked yet; with a time, staff enters it as the time of submission."""

    def step(ladder: Ladder) -> int:
        at(hours, ladder)
        said = None if received is None else DUE + received * HOUR
        return send(ladder, "ada", next(NUMBERS), "a", received_at=said, submitted_by="t").version

    return step


def pass_late(ladder: Ladder) -> None:
    """Accept all versions that wait, long after the deadline; whether they then play isn't fixed."""

    def act(connection: Connection) -> None:
        for version in unchecked_versions(connection, ladder.clock()):
            finish_check(
                connection, version.id, [], reason=None, command=WORDS, built_digest=None, timestamp=DUE + 50 * HOUR
            )

    ladder.database.write(act)


def activate_step(hours: float, number: int, login: str = "ada") -> Step:
    def step(ladder: Ladder) -> bool:
        at(hours, ladder)
        return choose_version(ladder, "a", number, login)

    return step


def staff(hours: float, number: int | None) -> Step:
    """Activate the version, or disable the bot, as staff."""

    def step(ladder: Ladder) -> bool:
        at(hours, ladder)
        if number is None:
            return disable_bot(ladder, "a", "t", "an error")
        return activate_version(ladder, "a", number, actor="t", reason="they asked")

    return step


def is_auto_disabled(ladder: Ladder) -> None:
    def act(connection: Connection) -> None:
        [bot] = [each for each in all_bots(connection) if each.name == "a"]
        deactivate_bot(connection, bot.id, "auto_disable", "ladder", "it forfeits", ladder.clock())

    ladder.database.write(act)


def suspended(value: bool) -> Step:
    return lambda ladder: set_suspended(ladder, "ada", value, "t", "a doubt")


def more_time(ladder: Ladder) -> None:
    extend(ladder, "ada", days=1)


def joins(hours: float) -> Step:
    """Let ada join the team of bob, whose bot uses up the quota."""

    def step(ladder: Ladder) -> None:
        configure(ladder, max_team_members=2)
        hand_in(ladder, "bob", "b", at=DUE + 30 * DAY)
        at(hours, ladder)
        form_team(ladder, "bob", "Red")
        accept_invitation(ladder, "ada", invite_to_team(ladder, "bob").secret)

    return step


def team(ladder: Ladder) -> None:
    at(-9, ladder)
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "t", "they asked")


TWO = [submit_step(-5), submit_step(-4)]


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        ([*TWO], "a@2"),
        ([*TWO, activate_step(-3, 1)], "a@1"),
        ([*TWO, activate_step(-3, 1), activate_step(-2, 2)], "a@2"),
        ([*TWO, activate_step(-3, 1), activate_step(-2, 2), activate_step(-1, 1)], "a@1"),
        ([*TWO, activate_step(0.25, 1)], "a@1"),  # the very end of the grace
        ([*TWO, activate_step(0.26, 1)], "a@2"),
        ([*TWO, activate_step(-3, 1), activate_step(1, 2)], "a@1"),
        ([*TWO, activate_step(-3, 1), submit_step(-2)], "a@3"),  # what is submitted after the choice plays
        ([*TWO, activate_step(-3, 1), submit_step(1)], "a@1"),
        (
            [*TWO, activate_step(-3, 1), queue_step(-2), pass_late],
            "a@3",
        ),  # still being checked when the deadline closed
        ([submit_step(-5), queue_step(-4), activate_step(-3, 1), pass_late], "a@1"),
        ([*TWO, activate_step(-3, 1), queue_step(1, -2), pass_late], "a@3"),  # staff enters what was received in time
        ([*TWO, activate_step(-3, 1), queue_step(1, -3.5), pass_late], "a@1"),
        ([more_time, *TWO, activate_step(20, 1)], "a@1"),
        ([more_time, *TWO, activate_step(25, 1)], "a@2"),
        ([team, *TWO, activate_step(-3, 1, "bob")], "a@1"),
        ([*TWO, staff(-3, 1)], "a@1"),
        ([*TWO, staff(3, 1)], "a@2"),
        ([*TWO, staff(-3, None)], None),
        ([*TWO, staff(-3, None), staff(-2, 1)], "a@1"),
        ([*TWO, activate_step(-3, 1), staff(1, None)], None),
        ([*TWO, activate_step(-3, 1), staff(1, None), staff(2, 2)], "a@2"),
        ([*TWO, joins(0.25)], None),  # the very end of the grace
        ([*TWO, joins(0.26)], "a@2"),
        ([*TWO, joins(0.26), staff(1, None)], None),
        ([more_time, *TWO, joins(1)], None),
        ([submit_step(30), joins(31)], "a@1"),
        ([*TWO, is_auto_disabled], "a@2"),  # this spares others its forfeits, and decides nothing about the owner
        ([*TWO, is_auto_disabled, activate_step(-3, 1)], "a@1"),
        ([*TWO, submit_step(0.25)], "a@3"),  # the very end of the grace
        ([*TWO, submit_step(0.25, "it hangs")], "a@2"),
        ([submit_step(-1, "it hangs"), submit_step(1), submit_step(24)], "a@2"),  # late: the first accepted one counts
        ([*TWO, submit_step(0.25 + 1 / HOUR)], "a@2"),
        ([submit_step(0.25 + 7 * 24)], "a@1"),  # the very end of the days that are accepted
        ([submit_step(0.25 + 7 * 24 + 1 / HOUR)], None),
        ([*TWO, activate_step(-3, 1), suspended(True)], None),
        ([*TWO, activate_step(-3, 1), suspended(True), suspended(False)], "a@1"),
        ([submit_step(1), submit_step(2), activate_step(3, 2)], "a@1"),  # late: the first counts
    ],
)
def test_the_version_active_at_the_deadline_counts(ladder: Ladder, steps: list[Step], counts: str | None) -> None:
    """Grades, a gradebook, a final, and the pages of owner and staff use the same function."""
    for step in steps:
        step(ladder)
    assert grade_of(ladder, "ada").version == counts
    output = format_gradebook(get_grades(ladder, "t", deadline="first"), "moodle")
    assert (f"{counts}: plays" in output) == (counts is not None)
    final = create_final(ladder, "last", "first", games=2, actor="t")
    bots = [ref for ref in final.versions if ref[1] == "@"]
    assert bots == ([] if counts is None else [counts])
    for viewer, login in ((Viewer("ada"), None), (STAFF_VIEWER, "ada")):
        with ladder.reading(viewer) as context:
            [due] = get_remaining_quota(ladder, context, login).deadlines
            assert due.counting == tuple(bots)


def test_a_chosen_version_counts_from_its_submission(ladder: Ladder) -> None:
    """A newer one in the grace period, or a day late, spends no late day where the older one counts."""
    for step in (submit_step(-5), submit_step(0.1), activate_step(0.2, 1), submit_step(30)):
        step(ladder)
    found = grade_of(ladder, "ada")
    assert (found.version, found.late_hours, found.late_days_spent) == ("a@1", 0, 0)


def test_only_decisive_checks_are_awaited(ladder: Ladder) -> None:
    """A version submitted before another one was chosen doesn't count, whatever its check finds."""
    for step in (submit_step(-5), queue_step(-4), activate_step(-3, 1)):
        step(ladder)
    ladder.clock = Clock(DUE + DAY)
    assert get_grades(ladder, "t", deadline="first").unchecked == ()
    queue_step(-2)(ladder)
    ladder.clock = Clock(DUE + DAY)
    assert get_grades(ladder, "t", deadline="first").unchecked == ("a@3",)


def test_a_deadline_closes_at_the_end_of_its_grace_which_may_be_none(ladder: Ladder) -> None:
    add_settings(ladder, deadline("strict", DUE) + "measured_hours = 2\n")
    first, strict = read_settings(ladder.path).deadlines
    assert (first.closes - DUE, strict.closes - DUE) == (900, 0)
    assert (first.measured_until, strict.measured_until) == (None, DUE + 2 * HOUR)


def test_only_versions_that_exist_are_activated(ladder: Ladder) -> None:
    submit_step(-5)(ladder)
    with pytest.raises(LadderError, match="no version 2"):
        activate_version(ladder, "a", 2, actor="t", reason="they asked")


def test_an_owner_and_staff_read_which_version_counts_before_and_after(ladder: Ladder) -> None:
    for step in (*TWO, activate_step(-3, 1), queue_step(-2)):
        step(ladder)
    for viewer, output in (
        (Viewer("ada"), (("a@1",), ("a@3",))),
        (STAFF_VIEWER, (("a@1",), ("a@3",))),
        (Viewer("bob"), None),
    ):
        with ladder.reading(viewer) as context:
            dues = deadlines_of_bot(ladder, context, "a")
            assert [(due.counting, due.unchecked) for due in dues] == ([] if output is None else [output])
    with ladder.reading(PUBLIC_VIEWER) as context:
        assert deadlines_of_bot(ladder, context, "a") == ()
    with ladder.reading(Viewer("bob")) as context:
        assert [due.counting for due in get_remaining_quota(ladder, context).deadlines] == [()]
    configure(ladder, max_bots_per_user=2)
    hand_in(ladder, "ada", "other", at=DUE + HOUR)
    with ladder.reading(STAFF_VIEWER) as context:
        assert [due.counting for due in deadlines_of_bot(ladder, context, "other")] == [()], (
            "a bot in time makes none late"
        )
    printed = Term(ladder.path).arena("bot", "a").out
    assert "a@1" in printed.partition("deadlines:")[2]
    assert time.strftime("%Y", time.gmtime(DUE)) in printed


def test_a_team_sees_the_counting_versions_of_all_graded_members(ladder: Ladder) -> None:
    """They are the members at the deadline who still are."""
    for step in (team, *TWO, activate_step(-3, 1)):
        step(ladder)
    with ladder.reading(Viewer("bob", mates=frozenset({"ada"}))) as context:
        [due] = get_remaining_quota(ladder, context).deadlines
    assert due.counting == ("a@1",)
