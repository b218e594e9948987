"""Tests of replays: which parts of a record leave the ladder, for which viewers, and when."""

import json
import zlib
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, delete, update

from arena.referee import read_record
from arena.replay import make_replay_object
from ladder import store
from ladder.bot_pages import view_bot
from ladder.ladder import Ladder, open_ladder
from ladder.match_pages import find_record_text, list_matches, view_match_replay
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from tests.ladder.classes import look
from tests.ladder.small_ladder import play
from tests.ladder.term import Term
from tests.ladder.version_refs import version_ids_by_ref


def replays(term: Term, viewer: Viewer) -> list[tuple[Any, str | None]]:
    """Return all played matches of the bot late, as a viewer gets them, and their records."""
    with closing(open_ladder(term.path)) as ladder, ladder.reading(viewer) as context:
        found = view_bot(context, "late", max_matches=100)
        assert found.recent_matches
        ids = [line.id for line in found.recent_matches]
        return [(view_match_replay(context, id), find_record_text(context, id)) for id in ids]


def test_a_replay_has_the_knowledge_of_its_viewer(term: Term) -> None:
    """Source: arena.replay.steps for no bot's view, for the views of the owner's bots, and with all cards."""
    wrote = 0
    whole = replays(term, STAFF_VIEWER)
    for viewer in (PUBLIC_VIEWER, Viewer("bob"), Viewer("ada")):
        for (found, hidden), (shown, text) in zip(replays(term, viewer), whole, strict=True):
            assert hidden is None
            record = read_record(text or "")
            mine = [place for place, bot in enumerate(record.header.bots) if bot.startswith("late@")]
            viewers = mine if viewer.login == "ada" else []
            cut = make_replay_object(record, None, viewers)
            for game, known, all_of_it in zip(found.replay["games"], cut["games"], shown.replay["games"], strict=True):
                own = [seat for seat, bot in enumerate(game["seating"]) if bot in viewers]
                assert game["stderr"] == [entry for entry in all_of_it["stderr"] if entry["seat"] in own]
                wrote += len(game["stderr"])
                assert {**game, "stderr": []} == known
            assert {**found.replay, "games": []} == {**cut, "games": []}
            assert found.replay["viewers"] == viewers
            assert (found.summary, found.unavailable_reason) == (shown.summary, None)
    assert wrote > 0


def test_a_replay_for_staff_has_all_cards_and_all_standard_error(term: Term) -> None:
    wrote = 0
    for found, text in replays(term, STAFF_VIEWER):
        record = read_record(text)
        assert "viewers" not in found.replay
        assert [{**game, "stderr": []} for game in found.replay["games"]] == make_replay_object(record)["games"]
        wrote += sum(len(game["stderr"]) for game in found.replay["games"])
        assert record.header.key.hex() not in json.dumps(found.replay)
        assert set(found.replay["bots"]) == {player.version_ref for player in found.summary.players}
    assert wrote > 0


@pytest.mark.parametrize("viewer", [PUBLIC_VIEWER, STAFF_VIEWER])
def test_a_match_without_a_replay_has_a_reason(ladder: Ladder, viewer: Viewer) -> None:
    """It waits, was cancelled, or its record is missing or unreadable for this arena."""
    [strange] = play(ladder, 1)
    table = ladder.database.read_with_retry(
        lambda connection: list(version_ids_by_ref(connection, ("one@1", "two@1")).values())
    )

    def queue() -> int:
        return ladder.database.write(lambda connection: store.queue_matches(connection, store.RATED, [table], 2.0))[0]

    cancelled = queue()
    ladder.database.write(lambda connection: store.cancel_queued_matches(connection, "it is late", 3.0))
    waiting = queue()
    gone = look(ladder, viewer, list_matches, kind="qualifying").items[0].id
    records = store.METADATA.tables["records"]
    ladder.database.write(lambda connection: connection.execute(delete(records).where(records.c.match == gone)))
    with ladder.reading(viewer) as context:
        reasons = {strange: "unreadable", cancelled: "unplayed", waiting: "unended", gone: "not kept"}
        for match, why in reasons.items():
            found = view_match_replay(context, match)
            assert (found.unavailable_reason, found.replay, found.summary.id) == (why, None, match)
            assert (found.revision is None) is (why == "unended")
            assert (found.summary.reason is None) is (viewer is PUBLIC_VIEWER or why != "unplayed")
        assert view_match_replay(context, 10**6) is None


def test_a_fault_whose_record_is_unreadable_is_reported_without_the_played_move(ladder: Ladder) -> None:
    records = store.METADATA.tables["records"]
    unreadable = {"data": zlib.compress(b"a record of another arena")}
    ladder.database.write(lambda connection: connection.execute(update(records).values(unreadable)))
    page = look(ladder, Viewer("ada"), view_bot, "late")
    assert {(report.code, report.used) for report in page.fault_reports} == {("bad_json", None)}


def test_the_record_of_a_final_is_sealed_until_its_end(ladder: Ladder) -> None:
    [match] = play(ladder, 1, kind=store.FINAL)

    def seal(connection: Connection) -> int:
        final = store.insert_final(connection, store.Final("last", bytes(32), (), 1, None, 2.0, False, 2.0))
        matches = store.METADATA.tables["matches"]
        connection.execute(update(matches).where(matches.c.id == match).values(final=final.id))
        return final.id

    final = ladder.database.write(seal)
    for revealed in (False, True):
        for viewer in (PUBLIC_VIEWER, Viewer("ada"), STAFF_VIEWER):
            with ladder.reading(viewer) as context:
                assert (view_match_replay(context, match) is None) is not (revealed or viewer.staff)
                assert (find_record_text(context, match) is None) is not viewer.staff
        ladder.database.write(lambda connection: store.reveal_final(connection, final))
