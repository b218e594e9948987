"""Tests of challenges and of `rerate`. Some answer feature requests of other platforms' users."""

from dataclasses import replace

from ladder.ladder import Ladder
from ladder.standings.computation import Standings
from ladder.store import find_latest_snapshot, save_snapshot
from tests.ladder.classes import configure
from tests.ladder.term import LATE, Term, hand_in, write


def test_matches_against_a_chosen_bot_are_played_on_request_also_while_frozen(own: Term) -> None:
    """Requested: matches against a chosen bot (ZeusWPI aichallenge #108); freezes that allow them."""
    before = own.json("bot", "late")
    own.arena("freeze", "--reason", "deadline")
    asked = own.json("challenge", "late", "one", "--owner", "ada", "--matches", 2)
    assert asked["version_refs"] == ["late@1", "one@1"]
    assert asked["remaining"] == 8
    own.run()
    lines = own.json("matches", "--kind", "challenge")["items"]
    assert [(line["id"], line["outcome"], line["is_rated"]) for line in lines] == [
        (match, "played", False) for match in reversed(asked["matches"])
    ]
    assert lines[0]["requested_by"] == "pseudonym of ada"
    after = own.json("bot", "late")
    assert after["versions"][0]["rated_matches"] == before["versions"][0]["rated_matches"]
    assert after["standing"]["games"] == before["standing"]["games"]


def test_a_frozen_ladder_plays_the_staffs_games(own: Term) -> None:
    """Requested: freezes that allow staff's games (battlecode galaxy #739). Quotas don't count them."""
    own.arena("freeze", "--reason", "deadline")
    asked = own.json("challenge", "late", "two", "--owner", "staff", "--matches", 11)
    assert (len(asked["matches"]), asked["remaining"]) == (11, None)


def test_reference_bots_fill_a_table_up_and_a_version_sits_there_once(own: Term) -> None:
    """Versions of one bot may meet, as a version and its predecessor do here."""
    hand_in(own, write(own.path.parent / "late.py", f"{LATE}# better\n"), "ada", "late")
    own.run()
    assert own.json("challenge", "late", "late@1", "--owner", "ada")["version_refs"] == ["late@2", "late@1"]
    assert "named twice" in own.arena("challenge", "late", "late@2", "--owner", "ada", code=2).err
    assert "has 2 seats" in own.arena("challenge", "late", "one", "two", "--owner", "ada", code=2).err


def test_a_challenge_is_the_owners_and_has_a_quota(own: Term) -> None:
    """Requested: daily quotas (Kaggle)."""
    assert "belongs to another user" in own.arena("challenge", "one", "late", "--owner", "ada", code=2).err
    assert "no accepted version" in own.arena("challenge", "broken", "late", "--owner", "bob", code=2).err
    assert "the ladder has no user" in own.arena("challenge", "late", "one", "--owner", "adda", code=2).err
    own.arena("challenge", "late", "one", "--owner", "ada", "--matches", 8)
    refused = own.arena("challenge", "late", "one", "--owner", "ada", "--matches", 3, code=2).err
    assert "queued 8 of 10 challenges allowed today.\nQueue 2 or fewer, or wait until tomorrow" in refused
    configure(own, max_challenges_per_day=5)
    refused = own.arena("challenge", "late", "one", "--owner", "ada", code=2).err
    assert "queued 8 of 5 challenges allowed today.\nWait until tomorrow" in refused
    assert "has no match" in own.arena("void", 10**20, "--reason", "x", code=2).err
    assert own.arena("queue", "--after", 10**20).code == 0
    assert len(own.json("matches", "--todo")["items"]) == 8


def test_recomputed_standings_are_the_same(own: Term) -> None:
    output = own.json("rerate")
    assert (output["same"], output["changes"], output["news"]) == (True, [], 0)
    assert output["matches"] == 6


def test_standings_that_contradict_the_results_are_found_and_fixed(own: Term, ladder: Ladder) -> None:
    table = Standings.from_json(ladder.database.read_with_retry(find_latest_snapshot) or "")
    row = table.items[0]
    wrong = replace(row, rating=replace(row.rating, value=row.rating.value + 1e-6))
    text = replace(table, items=(wrong, *table.items[1:])).to_json()
    ladder.database.write(lambda connection: save_snapshot(connection, "2999-01-01", 5.0, 10**6, text))
    output = own.arena("rerate", code=1)
    assert "they differ from the stored standings" in output.err
    assert f"{row.bot}@{row.number}" in output.out


def test_matches_that_ended_since_are_no_difference(own: Term) -> None:
    """The standings are compared to those of the matches of their time."""
    [match] = own.json("matches", "--kind", "rated", "--last", 1)["items"]
    own.arena("void", match["id"], "--reason", "the host was asleep")
    output = own.json("rerate")
    assert (output["same"], output["news"], output["matches"]) == (None, -1, 5)
