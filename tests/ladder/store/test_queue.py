"""Tests of order in the queue of matches and in that of checks."""

import pytest
from sqlalchemy import Connection, select

from arena.referee import GameResult, PlayedMatch
from ladder import store
from tests.ladder.store.databases import check, submit

NOW = 5.0


def test_owners_take_turns_at_checks(connection: Connection) -> None:
    first, second, third = (submit(connection, 1) for _ in range(3))
    other = submit(connection, 2)
    runner = store.register_runner(connection, 1, NOW)
    order = []
    while (version := store.claim_check(connection, runner, order, 1.0)) is not None:
        order.append(version.id)
    assert order == [first, other, second, third]


def test_a_version_that_a_machine_failed_to_check_comes_after_the_others(connection: Connection) -> None:
    """A version that stops one runner after another must not delay the others."""
    first, other = submit(connection, 1), submit(connection, 2)
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
        newer = submit(connection, 1)
        check(connection, newer)
        store.set_active_version(connection, store.get_version_by_id(connection, newer), "ladder", "it passed", NOW)
    runner = store.register_runner(connection, 1, NOW)
    assert store.claim_match(connection, runner, [], NOW).id == asked
    assert store.claim_match(connection, runner, [asked], NOW) is None
    assert not store.record_failed_attempt(connection, rated, runner, "it isn't queued any more", timestamp=NOW)


def test_a_restarted_check_keeps_its_qualifying_match(connection: Connection) -> None:
    """Whichever attempt ends first then has the match that was played; other references need another match."""
    version = submit(connection, 1)
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


def test_only_waiting_matches_of_the_same_kind_and_bot_are_cancelled(connection: Connection) -> None:
    mine, waits, others = store.queue_matches(connection, store.RATED, [(1, 2), (1, 3), (3, 4)], NOW)
    [asked] = store.queue_matches(connection, store.CHALLENGE, [(1, 2)], NOW)
    leased = store.claim_match(connection, store.register_runner(connection, 1, NOW), [], NOW, [store.RATED])
    assert leased.id == mine
    assert store.cancel_queued_matches(connection, "it rests", NOW, version=1, kinds=(store.RATED,)) == 1
    matches = store.METADATA.tables["matches"]
    states = dict(connection.execute(select(matches.c.id, matches.c.status)).all())
    assert states == {mine: "leased", waits: "ended", others: "queued", asked: "queued"}


@pytest.mark.parametrize(("forfeited", "disabled"), [("1111", True), ("0111", True), ("1110", False), ("1101", False)])
def test_a_version_is_disabled_by_its_last_matches(connection: Connection, forfeited: str, disabled: bool) -> None:
    """It forfeited in three of them; earlier matches, and those of other versions, don't count."""
    for lost in forfeited:
        [match] = store.queue_matches(connection, store.RATED, [(1, 2)], NOW)
        forfeits = (0,) if lost == "1" else ()
        result = GameResult(match, 0, ("a@1", "b@1"), 1, "last_standing", (1,), ((0, 5),), 5, forfeits, ())
        store.save_match(connection, PlayedMatch(match, "", (result,)), NOW)
    assert store.has_recent_forfeits(connection, 1, 3) is disabled
    assert not store.has_recent_forfeits(connection, 2, 3)


def test_the_key_of_one_final_is_revealed(connection: Connection) -> None:
    for number, name in enumerate(("first", "second", "third")):
        store.insert_final(connection, store.Final(name, bytes([number]) * 32, (1, 2), 6, None, NOW, False, NOW))
    second = store.all_finals(connection)[1]
    store.reveal_final(connection, second.id)
    assert [final.revealed for final in store.all_finals(connection)] == [False, True, False]


def test_only_a_match_that_the_first_version_won_decides_for_it(connection: Connection) -> None:
    final = store.insert_final(connection, store.Final("last", bytes(32), (1, 2), 12, None, NOW, False, NOW))
    ids = store.queue_matches(connection, store.FINAL, [(1, 2)] * 4, NOW, final=final.id)
    for match, first_wins in zip(ids, (0, 2, 1, 3), strict=True):
        winners = [0 if game < first_wins else 1 for game in range(3)]
        results = [
            GameResult(match, game, ("a@1", "b@1"), winner, "last_standing", (winner,), ((1 - winner, 5),), 5, (), ())
            for game, winner in enumerate(winners)
        ]
        store.save_match(connection, PlayedMatch(match, "", tuple(results)), NOW)
    assert store.list_decisive_matches(connection, final.id, 1, 2) == [ids[3], ids[1]]
