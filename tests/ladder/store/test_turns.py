"""Tests of order: in the queue of matches, in that of checks, and among a bot's versions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from arena.referee import GameResult, PlayedMatch
from ladder.store import (
    CHALLENGE,
    QUALIFYING,
    RATED,
    AuditEntry,
    add_version,
    claim_check,
    claim_match,
    deactivate_bot,
    disabled_versions,
    find_latest_snapshot,
    find_qualifying_match,
    finish_check,
    get_version_by_id,
    has_recent_forfeits,
    is_newest_version,
    log_action,
    queue_matches,
    record_failed_attempt,
    register_runner,
    release_check,
    save_match,
    save_snapshot,
    set_active_version,
    set_match_rated,
    set_received_at,
)
from tests.ladder.store.databases import ladder

NOW = 5.0


@pytest.fixture(params=["sqlite", "postgresql"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Give a ladder's database in one long transaction; the bots a, b, c and d have the versions 1 to 4."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else f"sqlite:///{tmp_path}/l.db"
    with closing(ladder(url)) as database, database.engine.connect() as made, made.begin():
        yield made


def submitted(connection: Connection, bot: int, digest: str = "1") -> int:
    """Submit a version of a bot; return its ID."""
    return add_version(connection, bot, digest * 64, "bot.py", NOW)


def checked(connection: Connection, version: int, reason: str | None = None) -> None:
    assert finish_check(connection, version, [], reason, ["python3"], None, NOW)


def test_owners_take_turns_at_checks(connection: Connection) -> None:
    first, second, third = (submitted(connection, 1) for _ in range(3))
    other = submitted(connection, 2)
    runner = register_runner(connection, 1, NOW)
    order = []
    while (version := claim_check(connection, runner, order, 1.0)) is not None:
        order.append(version.id)
    assert order == [first, other, second, third]


def test_a_version_that_a_machine_failed_to_check_comes_after_the_others(connection: Connection) -> None:
    """A version that stops one runner after another must not delay the others."""
    first, other = submitted(connection, 1), submitted(connection, 2)
    runner = register_runner(connection, 1, NOW)
    assert claim_check(connection, runner, [], 1.0).id == first
    assert not release_check(connection, first, runner, "no memory", 1.0)
    assert claim_check(connection, runner, [], 1.0).id == other


def test_a_match_that_a_machine_failed_to_play_comes_after_the_others(connection: Connection) -> None:
    """Three workers killed one after the other thus hit three matches."""
    first, other = queue_matches(connection, RATED, [(1, 2), (3, 4)], NOW)
    runner = register_runner(connection, 1, NOW)
    assert claim_match(connection, runner, [], NOW).id == first
    assert not record_failed_attempt(connection, first, runner, "killed", NOW)
    assert claim_match(connection, runner, [], NOW).id == other


@pytest.mark.parametrize("what", ["rest", "replace"])
def test_a_rated_match_of_an_inactive_bot_is_cancelled_at_its_start(connection: Connection, what: str) -> None:
    """This includes one that came back to the queue; requested matches are played as requested."""
    [rated] = queue_matches(connection, RATED, [(1, 2)], NOW)
    [asked] = queue_matches(connection, CHALLENGE, [(1, 2)], NOW)
    if what == "rest":
        deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    else:
        newer = submitted(connection, 1)
        checked(connection, newer)
        set_active_version(connection, get_version_by_id(connection, newer), "ladder", "it passed", NOW)
    runner = register_runner(connection, 1, NOW)
    assert claim_match(connection, runner, [], NOW).id == asked
    assert claim_match(connection, runner, [asked], NOW) is None
    assert not record_failed_attempt(connection, rated, runner, "it isn't queued any more", NOW)


def test_of_two_versions_the_newer_plays_whichever_is_checked_first(connection: Connection) -> None:
    """Two workers check at the same time."""
    older, newer = submitted(connection, 1, "1"), submitted(connection, 1, "2")
    checked(connection, newer)
    assert is_newest_version(connection, get_version_by_id(connection, newer))
    checked(connection, older)
    assert not is_newest_version(connection, get_version_by_id(connection, older))


@pytest.mark.parametrize("what", ["activate", "disable"])
def test_decisions_after_a_submission_are_kept(connection: Connection, what: str) -> None:
    """The check's end doesn't undo them; the ladder's own actions don't count as decisions."""
    version = submitted(connection, 1)
    log_action(connection, AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    log_action(connection, AuditEntry("teacher", what, "another's bot", NOW, bot=2, version=2))
    checked(connection, version)
    assert is_newest_version(connection, get_version_by_id(connection, version))
    log_action(connection, AuditEntry("teacher", what, "talked to the author", NOW, bot=1, version=1))
    assert not is_newest_version(connection, get_version_by_id(connection, version))


def test_a_new_version_does_not_enable_a_bot_disabled_by_staff(connection: Connection) -> None:
    """After staff activate a version, the owner's next one plays again, once it is accepted."""
    first = get_version_by_id(connection, 1)
    deactivate_bot(connection, 1, "disable", "teacher", "it shouts", NOW)
    fixed, other = submitted(connection, 1, "1"), submitted(connection, 1, "2")
    checked(connection, fixed)
    assert not is_newest_version(connection, get_version_by_id(connection, fixed))
    assert set(disabled_versions(connection)) == {first.id, fixed, other}
    set_active_version(connection, get_version_by_id(connection, fixed), "teacher", "fixed", NOW)
    next_one = submitted(connection, 1, "3")
    checked(connection, next_one)
    assert is_newest_version(connection, get_version_by_id(connection, next_one))
    assert disabled_versions(connection) == {first.id: "it shouts", other: "it shouts"}


def test_actions_of_the_ladder_do_not_enable_a_bot(connection: Connection) -> None:
    """An older arena activated new versions; auto-disabling doesn't lift a decision either."""
    deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    log_action(connection, AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    log_action(connection, AuditEntry("ladder", "auto_disable", "it forfeited", NOW, bot=1, version=1))
    assert disabled_versions(connection) == {1: "copied"}


def test_a_restarted_check_keeps_its_qualifying_match(connection: Connection) -> None:
    """Whichever attempt ends first then has the match that was played; other references need another match."""
    version = submitted(connection, 1)
    [match] = queue_matches(connection, QUALIFYING, [(version, 2, 3)], NOW)
    assert find_qualifying_match(connection, [version, 2, 3]) == match
    assert find_qualifying_match(connection, [version, 3, 2]) is None
    assert find_qualifying_match(connection, [2, version, 3]) is None


def test_a_voided_match_disables_no_version(connection: Connection) -> None:
    """The fault was the host's or the organiser's."""
    for match in queue_matches(connection, RATED, [(1, 2), (1, 2)], NOW):
        seats = ("a@1", "b@1")
        result = GameResult(match, 0, seats, 1, "last_standing", (1,), ((0, 1),), 1, (0,), ((0, "crashed", 1),))
        assert save_match(connection, PlayedMatch(match, "record", (result,)), NOW)
    assert has_recent_forfeits(connection, 1, 2)
    assert not has_recent_forfeits(connection, 2, 2)
    set_match_rated(connection, 2, False)
    assert not has_recent_forfeits(connection, 1, 2)


def test_standings_of_fewer_matches_do_not_replace_later_ones(connection: Connection) -> None:
    save_snapshot(connection, "2026-11-22", NOW, 7, "seven matches")
    save_snapshot(connection, "2026-11-22", NOW, 2, "two")
    assert find_latest_snapshot(connection) == "seven matches"
    save_snapshot(connection, "2026-11-22", NOW, 7, "seven, and one of them void")
    assert find_latest_snapshot(connection) == "seven, and one of them void"


def test_a_version_submitted_earlier_does_not_replace_a_later_one(connection: Connection) -> None:
    """Staff enter earlier submissions afterwards; of two at the same time the later number plays."""
    newest = submitted(connection, 1, "1")
    before, same = submitted(connection, 1, "2"), submitted(connection, 1, "3")
    set_received_at(connection, before, NOW - 60)
    for version in (newest, before, same):
        checked(connection, version)
    assert not is_newest_version(connection, get_version_by_id(connection, before))
    assert not is_newest_version(connection, get_version_by_id(connection, newest))
    assert is_newest_version(connection, get_version_by_id(connection, same))
