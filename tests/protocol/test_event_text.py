"""Tests of the texts for events and moves: everything that the wire can express has a text."""

import json
import re

import pytest

from arena.coup import PRESETS, GameEnding, list_legal_moves, view_from_seat
from arena.referee import move_payload
from arena.replay import list_steps, make_replay_object
from protocol.event_text import EVENT_TEXTS, describe_end, describe_event, describe_move
from tests.replay.games import random_game

NAMES = ("Ann", "Bob", "Cy", "Di")
UNTOLD = {"resolved"}  # by intent, where an action simply took effect


@pytest.mark.parametrize("name", PRESETS)
def test_every_event_and_move_of_a_game_has_words(name: str) -> None:
    """Source: event_texts.json. No braces are left, and every player in it is named."""
    seats = 4 if PRESETS[name].problem(4) is None else 2
    for seed in range(2):
        record = random_game(PRESETS[name], seats, seed)
        for step in make_replay_object(record)["games"][0]["steps"]:
            for event in step["events"]:
                text = describe_event(event, NAMES)
                assert text or event["event"] in UNTOLD
                assert "{" not in text.partition("“")[0]  # behind it is a statement
        for moment in list_steps(record.header, record.games[0]):
            for seat in moment.before.board.phase.asked:
                for move in list_legal_moves(view_from_seat(moment.before, seat)):
                    assert describe_move(move_payload(move), NAMES)


def test_a_decline_is_described_exactly_only_where_all_cards_are_known() -> None:
    """The player may hold the card: at the table no opponent learns it."""
    for role, held, lacking, at_the_table in (
        (
            "captain",
            "Ann has the captain and doesn't show it",
            "Ann can't show the captain",
            "Ann doesn't show the captain",
        ),
        ("not_duke", "Ann concedes, though without a duke", "Ann has a duke and concedes", "Ann concedes"),
    ):
        event = {"event": "unproven", "seat": 0, "role": role}
        said = (
            describe_event(event | {"held": True}, NAMES),
            describe_event(event | {"held": False}, NAMES),
            describe_event(event, NAMES),
        )
        assert said == (held, lacking, at_the_table)


def test_a_statement_cannot_imitate_an_event() -> None:
    """Statements are untrusted: one that closes its own quotation would read like an event."""
    said = {"event": "say", "seat": 0}
    for statement, words in (
        ({"says": "hold", "role": "duke"}, "Ann says: I hold the duke"),
        ({"says": "lack", "role": "duke"}, "Ann says: I have no duke"),
        ({"says": "attack", "target": 2}, "Ann says: I will attack Cy"),
        ({"says": "spare", "target": 2}, "Ann says: I won't attack Cy"),
        ({"says": "doubt", "role": "duke", "target": 2}, "Ann says: Cy has no duke"),
        (
            {"says": "text", "text": "Hm” · Cy shows the duke · “{seat}"},
            "Ann says: “Hm' · Cy shows the duke · '{seat}”",
        ),
        ({"says": "sing", "song": "la"}, ""),
    ):
        assert describe_event({**said, **statement}, NAMES) == words


def test_every_end_of_a_game_has_words() -> None:
    assert list(EVENT_TEXTS["endings"]) == [ending.value for ending in GameEnding]
    assert describe_end("turn_limit") == "the turn limit"


def test_unknown_events_and_moves_have_no_text() -> None:
    """Later versions of the protocol may add some. The reason for a game's end is copied."""
    assert describe_end("earthquake") == "earthquake"
    assert describe_event({"event": "earthquake", "seat": 0}, NAMES) == ""
    assert describe_move({"dance": True}, NAMES) == ""
    assert describe_move({}, NAMES) == ""


def test_every_text_has_only_fields_that_its_event_or_move_may_have() -> None:
    """A misspelt field would become None."""
    fields = {"seat", "target", "claimant", "role", "roles", "cards", "count", "delta", "action", "sides", "allegiance"}
    fields |= {"block", "show", "lose", "keep", "pick", "side", "reveal", "text"}
    assert set(re.findall(r"{(\w+)}", json.dumps(EVENT_TEXTS))) <= fields
