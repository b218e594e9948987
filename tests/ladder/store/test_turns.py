"""Whose turn it is: in the queue of matches, in that of checks, and among a bot's versions."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ladder.results import GameResult
from ladder.store import PlayedMatch
from ladder.store.database import (
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
    """Give a ladder's database in one long transaction: the bots a, b, c and d have the versions 1 to 4."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else f"sqlite:///{tmp_path}/l.db"
    with closing(ladder(url)) as database, database.engine.connect() as made, made.begin():
        yield made


def submitted(connection: Connection, bot: int, digest: str = "1") -> int:
    """Submit a version of a bot; return its id."""
    return add_version(connection, bot, digest * 64, "bot.py", NOW)


def checked(connection: Connection, version: int, reason: str | None = None) -> None:
    assert finish_check(connection, version, [], reason, ["python3"], None, NOW)


def test_owners_take_turns_at_checks(connection: Connection) -> None:
    """One who submits ten versions waits for them, not the others."""
    first, second, third = (submitted(connection, 1) for _ in range(3))
    other = submitted(connection, 2)
    runner = register_runner(connection, 1, NOW)
    order = []
    while (version := claim_check(connection, runner, order, 1.0)) is not None:
        order.append(version.id)
    assert order == [first, other, second, third]


def test_a_version_that_a_machine_failed_to_check_comes_after_the_others(connection: Connection) -> None:
    """What stops one runner after another doesn't keep everybody waiting."""
    first, other = submitted(connection, 1), submitted(connection, 2)
    runner = register_runner(connection, 1, NOW)
    assert claim_check(connection, runner, [], 1.0).id == first
    assert not release_check(connection, first, runner, "no memory", 1.0)
    assert claim_check(connection, runner, [], 1.0).id == other


def test_a_match_that_a_machine_failed_to_play_comes_after_the_others(connection: Connection) -> None:
    """So that three workers that are killed one after the other hit three matches."""
    first, other = queue_matches(connection, RATED, [(1, 2), (3, 4)], NOW)
    runner = register_runner(connection, 1, NOW)
    assert claim_match(connection, runner, [], NOW).id == first
    assert not record_failed_attempt(connection, first, runner, "killed", NOW)
    assert claim_match(connection, runner, [], NOW).id == other


@pytest.mark.parametrize("what", ["rest", "replace"])
def test_a_rated_match_of_one_who_no_longer_plays_is_cancelled_when_it_would_begin(
    connection: Connection, what: str
) -> None:
    """Also one that came back to the queue; what somebody asked for is played as it was asked for."""
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
def test_what_somebody_decided_after_a_submission_stands(connection: Connection, what: str) -> None:
    """The check's end doesn't undo it; what the ladder did itself does not count as somebody's decision."""
    version = submitted(connection, 1)
    log_action(connection, AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    log_action(connection, AuditEntry("teacher", what, "another's bot", NOW, bot=2, version=2))
    checked(connection, version)
    assert is_newest_version(connection, get_version_by_id(connection, version))
    log_action(connection, AuditEntry("teacher", what, "talked to the author", NOW, bot=1, version=1))
    assert not is_newest_version(connection, get_version_by_id(connection, version))


def test_who_submits_again_does_not_undo_that_staff_has_disabled_the_bot(connection: Connection) -> None:
    """Staff activates what it has looked at; then the author's next version plays again, once it is accepted."""
    first = get_version_by_id(connection, 1)
    deactivate_bot(connection, 1, "disable", "teacher", "it shouts", NOW)
    mended, other = submitted(connection, 1, "1"), submitted(connection, 1, "2")
    checked(connection, mended)
    assert not is_newest_version(connection, get_version_by_id(connection, mended))
    assert set(disabled_versions(connection)) == {first.id, mended, other}
    set_active_version(connection, get_version_by_id(connection, mended), "teacher", "mended", NOW)
    next_one = submitted(connection, 1, "3")
    checked(connection, next_one)
    assert is_newest_version(connection, get_version_by_id(connection, next_one))
    assert disabled_versions(connection) == {first.id: "it shouts", other: "it shouts"}


def test_what_the_ladder_activates_stays_disabled(connection: Connection) -> None:
    """An older arena let a new version play; auto-disabling lifts nothing either."""
    deactivate_bot(connection, 1, "disable", "teacher", "copied", NOW)
    log_action(connection, AuditEntry("ladder", "activate", "it passed", NOW, bot=1, version=1))
    log_action(connection, AuditEntry("ladder", "auto_disable", "it forfeited", NOW, bot=1, version=1))
    assert disabled_versions(connection) == {1: "copied"}


def test_a_check_that_begins_anew_keeps_its_qualifying_match(connection: Connection) -> None:
    """Whoever ends first then has the match that was played; other references are another match."""
    version = submitted(connection, 1)
    [match] = queue_matches(connection, QUALIFYING, [(version, 2, 3)], NOW)
    assert find_qualifying_match(connection, [version, 2, 3]) == match
    assert find_qualifying_match(connection, [version, 3, 2]) is None
    assert find_qualifying_match(connection, [2, version, 3]) is None


def test_a_voided_match_disables_no_version(connection: Connection) -> None:
    """It was the host's or the organiser's fault."""
    for match in queue_matches(connection, RATED, [(1, 2), (1, 2)], NOW):
        seats = ("a@1", "b@1")
        result = GameResult(match, 0, seats, 1, "last_standing", (1,), ((0, 1),), 1, (0,), ((0, "crashed", 1),))
        assert save_match(connection, PlayedMatch(match, "record", (result,)), NOW)
    assert has_recent_forfeits(connection, 1, 2)
    assert not has_recent_forfeits(connection, 2, 2)
    set_match_rated(connection, 2, False)
    assert not has_recent_forfeits(connection, 1, 2)


def test_a_table_of_fewer_matches_does_not_take_the_place_of_one_of_more(connection: Connection) -> None:
    """Two runners fold; the slower one's look is older."""
    save_snapshot(connection, "2026-11-22", NOW, 7, "seven matches")
    save_snapshot(connection, "2026-11-22", NOW, 2, "two")
    assert find_latest_snapshot(connection) == "seven matches"
    save_snapshot(connection, "2026-11-22", NOW, 7, "seven, and one of them void")
    assert find_latest_snapshot(connection) == "seven, and one of them void"


def test_a_version_that_was_received_earlier_does_not_take_the_place_of_a_later_one(connection: Connection) -> None:
    """Staff enters afterwards what was handed in before; of two of one time the later number plays."""
    newest = submitted(connection, 1, "1")
    before, same = submitted(connection, 1, "2"), submitted(connection, 1, "3")
    set_received_at(connection, before, NOW - 60)
    for version in (newest, before, same):
        checked(connection, version)
    assert not is_newest_version(connection, get_version_by_id(connection, before))
    assert not is_newest_version(connection, get_version_by_id(connection, newest))
    assert is_newest_version(connection, get_version_by_id(connection, same))
