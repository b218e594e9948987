"""Tests with two of everything: finals, owners, machines, days, states of a match. Changing one leaves the other."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, select

from arena.referee import GameResult, PlayedMatch
from ladder import store

NOW = 5.0
matches = store.METADATA.tables["matches"]
pytestmark = pytest.mark.parametrize("url", [None], ids=["sqlite"])


def test_the_key_of_one_final_is_revealed(connection: Connection) -> None:
    for number, name in enumerate(("first", "second", "third")):
        store.insert_final(connection, store.Final(name, bytes([number]) * 32, (1, 2), 6, None, NOW, False, NOW))
    second = store.all_finals(connection)[1]
    store.reveal_final(connection, second.id)
    assert [final.revealed for final in store.all_finals(connection)] == [False, True, False]


def test_only_waiting_matches_of_the_same_kind_and_bot_are_cancelled(connection: Connection) -> None:
    mine, waits, others = store.queue_matches(connection, store.RATED, [(1, 2), (1, 3), (3, 4)], NOW)
    [asked] = store.queue_matches(connection, store.CHALLENGE, [(1, 2)], NOW)
    leased = store.claim_match(connection, store.register_runner(connection, 1, NOW), [], NOW, [store.RATED])
    assert leased.id == mine
    assert store.cancel_queued_matches(connection, "it rests", NOW, version=1, kinds=(store.RATED,)) == 1
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


def test_the_state_of_a_runner_on_another_machine_is_unknown(connection: Connection) -> None:
    """Its process ID belongs to another process here, or to none."""
    store.register_runner(connection, 1, NOW)
    [here] = store.list_live_runners(connection)
    ended = replace(here, id="ended", process_start="another")
    elsewhere = replace(ended, id="elsewhere", host=f"{here.host} elsewhere")
    assert store.LivenessCheck(lambda: NOW).find_dead([here, ended, elsewhere]) == ["ended"]
