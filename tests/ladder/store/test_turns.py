"""Tests of order: in the queue of matches, in that of checks, and among a bot's versions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from arena.referee import GameResult, PlayedMatch
from ladder import store
from ladder.activation import begin_playing, should_be_activated
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
    return store.add_version(connection, bot, digest * 64, single_file_name="bot.py", timestamp=NOW)


def checked(connection: Connection, version: int, reason: str | None = None) -> None:
    assert store.finish_check(
        connection, version, [], reason=reason, command=["python3"], built_digest=None, timestamp=NOW
    )


def test_owners_take_turns_at_checks(connection: Connection) -> None:
    first, second, third = (submitted(connection, 1) for _ in range(3))
    other = submitted(connection, 2)
    runner = store.register_runner(connection, 1, NOW)
    order = []
    while (version := store.claim_check(connection, runner, order, 1.0)) is not None:
        order.append(version.id)
    assert order == [first, other, second, third]


def test_a_version_that_a_machine_failed_to_check_comes_after_the_others(connection: Connection) -> None:
    """A version that stops one runner after another must not delay the others."""
    first, other = submitted(connection, 1), submitted(connection, 2)
    runner = store.register_runner(connection, 1, NOW)
    assert store.claim_check(connection, runner, [], 1.0).id == first
    assert not store.release_check(connection, first, runner, "no memory", 1.0)
    assert store.claim_check(connection, runner, [], 1.0).id == other


def test_a_match_that_a_machine_failed_to_play_comes_after_the_others(connection: Connection) -> None:
    """Three workers killed one after the other thus hit three matches."""
    first, other = store.queue_matches(connection, store.RATED, [(1, 2), (3, 4)], NOW)
    runner = store.register_runner(connection, 1, NOW)
    assert store.claim_match(connection, runner, [], NOW).id == first
    assert not store.record_failed_attempt(connection, first, runner, "killed", timestamp=NOW)
    assert store.claim_match(connection, runner, [], NOW).id == other


@pytest.mark.parametrize("what", ["rest", "replace"])
def test_a_rated_match_of_an_inactive_bot_is_cancelled_at_its_start(connection: Connection, what: str) -> None:
    """This includes one that came back to the queue; requested matches are played as requested."""
    [rated] = store.queue_matches(connection, store.RATED, [(1, 2)], NOW)
    [asked] = store.queue_matches(connection, store.CHALLENGE, [(1, 2)], NOW)
    if what == "rest":
        store.deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    else:
        newer = submitted(connection, 1)
        checked(connection, newer)
        store.set_active_version(connection, store.get_version_by_id(connection, newer), "ladder", "it passed", NOW)
    runner = store.register_runner(connection, 1, NOW)
    assert store.claim_match(connection, runner, [], NOW).id == asked
    assert store.claim_match(connection, runner, [asked], NOW) is None
    assert not store.record_failed_attempt(connection, rated, runner, "it isn't queued any more", timestamp=NOW)


def test_a_version_that_begins_to_play_cancels_the_rated_matches_of_the_one_before(connection: Connection) -> None:
    """Activated once more, it keeps its own."""
    version = submitted(connection, 1)
    checked(connection, version)
    for kind, table in ((store.RATED, (1, 2)), (store.CHALLENGE, (1, 2)), (store.RATED, (version, 2))):
        store.queue_matches(connection, kind, [table], NOW)
    for _ in range(2):
        begin_playing(connection, store.get_version_by_id(connection, version), "ladder", "accepted", NOW)
    matches = store.METADATA.tables["matches"]
    reasons = connection.scalars(select(matches.c.reason).order_by(matches.c.id)).all()
    assert reasons == ["a@2 is active", None, None]


def test_of_two_versions_the_newer_plays_whichever_is_checked_first(connection: Connection) -> None:
    """Two workers check at the same time."""
    older, newer = submitted(connection, 1, "1"), submitted(connection, 1, "2")
    checked(connection, newer)
    assert should_be_activated(connection, store.get_version_by_id(connection, newer))
    checked(connection, older)
    assert not should_be_activated(connection, store.get_version_by_id(connection, older))


@pytest.mark.parametrize("what", ["activate", "disable"])
def test_decisions_after_a_submission_are_kept(connection: Connection, what: str) -> None:
    """The check's end doesn't undo them; the ladder's own actions don't count as decisions."""
    version = submitted(connection, 1)
    store.log_action(connection, store.AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    store.log_action(connection, store.AuditEntry("teacher", what, "another's bot", NOW, bot=2, version=2))
    checked(connection, version)
    assert should_be_activated(connection, store.get_version_by_id(connection, version))
    store.log_action(connection, store.AuditEntry("teacher", what, "talked to the author", NOW, bot=1, version=1))
    assert not should_be_activated(connection, store.get_version_by_id(connection, version))


def test_a_new_version_does_not_enable_a_bot_disabled_by_staff(connection: Connection) -> None:
    """After staff activate a version, the owner's next one plays again, once it is accepted."""
    first = store.get_version_by_id(connection, 1)
    store.deactivate_bot(connection, 1, "disable", "teacher", "it shouts", NOW)
    fixed, other = submitted(connection, 1, "1"), submitted(connection, 1, "2")
    checked(connection, fixed)
    assert not should_be_activated(connection, store.get_version_by_id(connection, fixed))
    assert set(store.disabled_versions(connection)) == {first.id, fixed, other}
    store.set_active_version(connection, store.get_version_by_id(connection, fixed), "teacher", "fixed", NOW)
    next_one = submitted(connection, 1, "3")
    checked(connection, next_one)
    assert should_be_activated(connection, store.get_version_by_id(connection, next_one))
    assert store.disabled_versions(connection) == {first.id: "it shouts", other: "it shouts"}


def test_actions_of_the_ladder_do_not_enable_a_bot(connection: Connection) -> None:
    """An older arena activated new versions; auto-disabling doesn't lift a decision either."""
    store.deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    store.log_action(connection, store.AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    store.log_action(connection, store.AuditEntry("ladder", "auto_disable", "it forfeited", NOW, bot=1, version=1))
    assert store.disabled_versions(connection) == {1: "copied"}


def test_a_restarted_check_keeps_its_qualifying_match(connection: Connection) -> None:
    """Whichever attempt ends first then has the match that was played; other references need another match."""
    version = submitted(connection, 1)
    [match] = store.queue_matches(connection, store.QUALIFYING, [(version, 2, 3)], NOW)
    assert store.find_qualifying_match(connection, [version, 2, 3]) == match
    assert store.find_qualifying_match(connection, [version, 3, 2]) is None
    assert store.find_qualifying_match(connection, [2, version, 3]) is None


def test_a_voided_match_disables_no_version(connection: Connection) -> None:
    """The fault was the host's or the organiser's."""
    for match in store.queue_matches(connection, store.RATED, [(1, 2), (1, 2)], NOW):
        seats = ("a@1", "b@1")
        result = GameResult(match, 0, seats, 1, "last_standing", (1,), ((0, 1),), 1, (0,), ((0, "crashed", 1),))
        assert store.save_match(connection, PlayedMatch(match, "record", (result,)), NOW)
    assert store.has_recent_forfeits(connection, 1, 2)
    assert not store.has_recent_forfeits(connection, 2, 2)
    store.set_match_rated(connection, 2, False)
    assert not store.has_recent_forfeits(connection, 1, 2)


def test_standings_of_fewer_matches_do_not_replace_later_ones(connection: Connection) -> None:
    store.save_snapshot(connection, "2026-11-22", NOW, 7, "seven matches")
    store.save_snapshot(connection, "2026-11-22", NOW, 2, "two")
    assert store.find_latest_snapshot(connection) == "seven matches"
    store.save_snapshot(connection, "2026-11-22", NOW, 7, "seven, and one of them void")
    assert store.find_latest_snapshot(connection) == "seven, and one of them void"


def test_a_version_submitted_earlier_does_not_replace_a_later_one(connection: Connection) -> None:
    """Staff enter earlier submissions afterwards; of two at the same time the later number plays."""
    newest = submitted(connection, 1, "1")
    before, same = submitted(connection, 1, "2"), submitted(connection, 1, "3")
    store.set_received_at(connection, before, NOW - 60)
    for version in (newest, before, same):
        checked(connection, version)
    assert not should_be_activated(connection, store.get_version_by_id(connection, before))
    assert not should_be_activated(connection, store.get_version_by_id(connection, newest))
    assert should_be_activated(connection, store.get_version_by_id(connection, same))
