"""Tests of which version of a bot plays."""

from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from ladder import store
from ladder.activation import (
    activate_version,
    auto_disable_version,
    begin_playing,
    choose_version,
    disable_bot,
    find_disabling,
    list_blocked_permissions,
    should_be_activated,
)
from ladder.settings import LadderError
from ladder.users import erase_user
from tests.ladder.classes import hand_in, make_ladder, send
from tests.ladder.store.databases import check, submit

NOW = 5.0


def test_a_version_that_begins_to_play_cancels_the_rated_matches_of_the_one_before(connection: Connection) -> None:
    """Activated once more, it keeps its own."""
    version = submit(connection, 1)
    check(connection, version)
    for kind, table in ((store.RATED, (1, 2)), (store.CHALLENGE, (1, 2)), (store.RATED, (version, 2))):
        store.queue_matches(connection, kind, [table], NOW)
    for _ in range(2):
        begin_playing(connection, store.get_version_by_id(connection, version), "ladder", "accepted", NOW)
    matches = store.METADATA.tables["matches"]
    reasons = connection.scalars(select(matches.c.reason).order_by(matches.c.id)).all()
    assert reasons == ["a@2 is active", None, None]


def test_of_two_versions_the_newer_plays_whichever_is_checked_first(connection: Connection) -> None:
    """Two workers check at the same time."""
    older, newer = submit(connection, 1, "1"), submit(connection, 1, "2")
    check(connection, newer)
    assert should_be_activated(connection, store.get_version_by_id(connection, newer))
    check(connection, older)
    assert not should_be_activated(connection, store.get_version_by_id(connection, older))


@pytest.mark.parametrize("what", ["activate", "disable"])
def test_decisions_after_a_submission_are_kept(connection: Connection, what: str) -> None:
    """The check's end doesn't undo them; the ladder's own actions don't count as decisions."""
    version = submit(connection, 1)
    store.log_action(connection, store.AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    store.log_action(connection, store.AuditEntry("teacher", what, "another's bot", NOW, bot=2, version=2))
    check(connection, version)
    assert should_be_activated(connection, store.get_version_by_id(connection, version))
    store.log_action(connection, store.AuditEntry("teacher", what, "talked to the author", NOW, bot=1, version=1))
    assert not should_be_activated(connection, store.get_version_by_id(connection, version))


def test_a_new_version_does_not_enable_a_bot_disabled_by_staff(connection: Connection) -> None:
    """After staff activate a version, the owner's next one plays again, once it is accepted."""
    first = store.get_version_by_id(connection, 1)
    store.deactivate_bot(connection, 1, "disable", "teacher", "it shouts", NOW)
    fixed, other = submit(connection, 1, "1"), submit(connection, 1, "2")
    check(connection, fixed)
    assert not should_be_activated(connection, store.get_version_by_id(connection, fixed))
    assert set(store.disabled_versions(connection)) == {first.id, fixed, other}
    store.set_active_version(connection, store.get_version_by_id(connection, fixed), "teacher", "fixed", NOW)
    next_one = submit(connection, 1, "3")
    check(connection, next_one)
    assert should_be_activated(connection, store.get_version_by_id(connection, next_one))
    assert store.disabled_versions(connection) == {first.id: "it shouts", other: "it shouts"}


def test_actions_of_the_ladder_do_not_enable_a_bot(connection: Connection) -> None:
    """An older arena activated new versions; auto-disabling doesn't lift a decision either."""
    store.deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    store.log_action(connection, store.AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    store.log_action(connection, store.AuditEntry("ladder", "auto_disable", "it forfeited", NOW, bot=1, version=1))
    assert store.disabled_versions(connection) == {1: "copied"}
    assert store.barred_versions(connection, 2) == {}, "another bot's"


def test_a_version_submitted_earlier_does_not_replace_a_later_one(connection: Connection) -> None:
    """Staff enter earlier submissions afterwards; of two at the same time the later number plays."""
    newest = submit(connection, 1, "1")
    before, same = submit(connection, 1, "2"), submit(connection, 1, "3")
    store.set_received_at(connection, before, NOW - 60)
    for version in (newest, before, same):
        check(connection, version)
    assert not should_be_activated(connection, store.get_version_by_id(connection, before))
    assert not should_be_activated(connection, store.get_version_by_id(connection, newest))
    assert should_be_activated(connection, store.get_version_by_id(connection, same))


def test_no_version_is_chosen_that_cannot_play(tmp_path: Path) -> None:
    with closing(make_ladder(tmp_path / "spring", owners="ada")) as ladder:
        hand_in(ladder, "ada", "a", reason="it hangs")
        send(ladder, "ada", 2, "a")
        for number, problem in enumerate((r"failed its check \(it hangs\)", "isn't checked yet"), 1):
            with pytest.raises(LadderError, match=f"a@{number} isn't accepted: it {problem}"):
                choose_version(ladder, "a", number, "staff")
        hand_in(ladder, "ada", "a")
        erase_user(ladder, "ada", "staff", "asked for it")
        with pytest.raises(LadderError, match="the files of a@3 were erased"):
            activate_version(ladder, "a", 3, actor="staff", reason="a mistake")


def test_an_active_version_that_is_chosen_again_is_kept_whichever_version_waits(tmp_path: Path) -> None:
    """Of two that wait, the newer may be rejected first. A choice that already applies isn't recorded again."""
    with closing(make_ladder(tmp_path / "spring", owners="ada")) as ladder:
        hand_in(ladder, "ada", "a")
        older, newer = (send(ladder, "ada", number, "a").version for number in (2, 3))
        ladder.database.write(lambda connection: check(connection, newer, "it is empty"))
        assert [choose_version(ladder, "a", 1, "ada") for _ in range(2)] == [True, False]
        ladder.database.write(lambda connection: check(connection, older))
        version = ladder.database.read_with_retry(lambda connection: store.get_version_by_id(connection, older))
        assert not ladder.database.read_with_retry(lambda connection: should_be_activated(connection, version))


def test_a_bot_is_disabled_once_unless_by_its_owner(tmp_path: Path) -> None:
    """Staff may do so after the owner. Only versions of users that play are disabled automatically."""
    with closing(make_ladder(tmp_path / "spring", owners="ada")) as ladder:
        ids = [hand_in(ladder, "ada", "a"), 1]

        def read() -> tuple[str | None, set[str]]:
            with ladder.database.read() as connection:
                bot = store.find_bot(connection, "a")
                assert bot is not None
                entry = find_disabling(connection, bot)
                return entry and entry.reason, list_blocked_permissions(connection, bot)

        def auto_disable(connection: Connection) -> list[bool]:
            versions = (store.get_version_by_id(connection, id) for id in ids)
            return [auto_disable_version(connection, version, "it hangs", NOW) for version in versions]

        for actor, reason, done in (("ada", "mine", True), ("staff", "copied", True), ("staff", "again", False)):
            assert disable_bot(ladder, "a", actor, reason) is done
        assert read() == ("copied", {"bot:disable"})
        assert ladder.database.write(auto_disable) == [False, False]
        activate_version(ladder, "a", 1, actor="staff", reason="a mistake")
        assert read() == (None, set())
