"""Tests of the replay page as a file: its size, its omissions, and its text for browsers without JavaScript."""

import html
import re
import sys
from dataclasses import replace
from typing import Any

import pytest
from pydantic import TypeAdapter

from arena.coup import PRESETS
from arena.referee import Record, SentLine, sent_lines
from arena.replay import make_replay_object, pack_matches, replay_page
from arena.review import Review, review_bot, review_person
from protocol.event_text import describe_events
from tests.replay.games import random_game
from tests.replay.samples import sample
from tests.replay.worlds import other_world


@pytest.mark.parametrize("seats", [4, 10])
def test_a_page_of_24_games_is_at_most_500_kb(seats: int) -> None:
    """This holds too if bots write all the standard error that is kept, 64 KiB a process."""
    match = sample("reformation-inquisitor", seats, 24)
    for seat in range(seats):
        for game in match["games"]:
            text = "p(duke) = 0.25 \u2713\n" * (65536 // 16 // 24)
            game["stderr"].append({"seat": seat, "turn": 3, "text": text})
    assert len(replay_page([match], "24 games").encode()) <= 500_000


def test_omitted_standard_error_is_counted() -> None:
    """The beginning and the end stay; short texts stay complete."""
    match = sample(games=1)
    long = "begin" + "x" * 50_000 + "end"
    match["games"][0]["stderr"] = [{"seat": 0, "turn": 1, "text": long}, {"seat": 1, "turn": 1, "text": "short"}]
    first, second = (entry["text"] for entry in pack_matches([match])["matches"][0]["games"][0]["stderr"])
    assert second == "short"
    assert first.startswith("begin")
    assert first.endswith("end")
    left_out = re.search(r"\n\[\.\.\. (\d+) characters left out \.\.\.\]\n", first)
    assert left_out
    assert len(first) - len(left_out[0]) + int(left_out[1]) == len(long)
    assert len(first) < 6000


def test_standard_error_of_up_to_100_characters_stays_complete() -> None:
    match = sample(games=1)
    texts = ["x" * 90, *["y" * 150] * 40]
    match["games"][0]["stderr"] = [{"seat": 0, "turn": 1, "text": text} for text in texts]
    assert pack_matches([match])["matches"][0]["games"][0]["stderr"][0]["text"] == texts[0]


def test_a_draw_is_described_with_its_reason() -> None:
    match = sample(games=1)
    match["games"][0] |= {"winner": None, "reason": "turn_limit"}
    assert f"Game 1: a draw after {match['games'][0]['turns']} turns: the turn limit<" in replay_page([match], "")


def test_the_page_has_every_game_as_text() -> None:
    """It has names, the deal, and each turn in the text of the terminal."""
    match = sample(games=2, bots=("honest", "mybot", "a & b", "turtle"))
    noscript = re.search("<noscript>(.*?)</noscript>", replay_page([match], "Title & more"), re.DOTALL)
    assert noscript
    text = html.unescape(noscript[1])
    assert "Title & more" in text
    for game in match["games"]:
        names = [match["bots"][bot] for bot in game["seating"]]
        won = f"{names[game['winner']]} wins after {game['turns']} turns: the last one standing"
        assert f"Game {game['game'] + 1}: {won}" in text
        for turn in range(1, game["turns"] + 1):
            events = [event for step in game["steps"] if step["turn"] == turn for event in step["events"]]
            assert f"Turn {turn}: {describe_events(events, names)}\n" in text or text.count(
                f"Turn {turn}: {describe_events(events, names)}<"
            )


def test_a_person_is_addressed_in_the_text_but_not_in_quoted_talk() -> None:
    match = sample(games=1, bots=("you", "not-you", "turtle", "honest"))
    you, target = (match["games"][0]["seating"].index(bot) for bot in (0, 1))
    match["games"][0] |= {"winner": you}
    match["games"][0]["steps"][0]["events"] = [
        {"event": "say", "seat": you, "says": "text", "text": "1: you takes"},
        {"event": "action", "seat": you, "action": "tax"},
        {"event": "examined", "seat": you, "target": target, "replaced": False},
    ]
    page = html.unescape(replay_page([match], ""))
    assert "Game 1: you win after" in page
    assert "you are dealt" in page
    assert "you say: “1: you takes” · you take tax · you hand not-you's card back" in page


@pytest.mark.parametrize("preset", PRESETS)
def test_every_game_can_be_shown(preset: str) -> None:
    """In a game of two, hands are empty before the draft."""
    seats = PRESETS[preset].min_seats
    assert "</html>" in replay_page([make_replay_object(random_game(PRESETS[preset], seats, seed=5))], preset)


@pytest.mark.parametrize("matches", [[], [{"match": 1, "games": []}]])
def test_a_page_without_a_game_is_refused(matches: list[dict[str, Any]]) -> None:
    with pytest.raises(ValueError, match="no game"):
        replay_page(matches, "nothing")


@pytest.mark.parametrize(
    ("viewers", "front", "holds"),
    [
        (None, None, "This page contains all cards."),
        (None, "b&b", "This page contains all cards. It opens with what b&amp;b knew."),
        ((1, 2), None, "This page contains only what b&amp;b and c could know."),
        ((), None, "This page contains only what everybody at the table could know."),
    ],
)
def test_the_page_states_its_cards(viewers: tuple[int, ...] | None, front: str | None, holds: str) -> None:
    text = replay_page([sample(games=1, bots=("a", "b&b", "c", "d"), viewers=viewers)], "", front)
    assert f'<aside class="holds" aria-label="cards">{holds}</aside>' in text


def test_the_page_for_one_bot_is_the_same_bytes_whatever_it_could_not_know() -> None:
    """Compared is the whole file: its text, its lists and its data."""
    others = 0
    for seed in range(6):
        record = random_game(PRESETS["coup"], 3, seed=seed)
        other = other_world(record, (1,), deals=300)
        if other is not None:
            others += 1
            assert replay_page([make_replay_object(other, viewers=(1,))], "Coup") == replay_page(
                [make_replay_object(record, viewers=(1,))], "Coup"
            )
            assert replay_page([make_replay_object(other)], "Coup") != replay_page([make_replay_object(record)], "Coup")
    assert others


def test_the_page_of_a_review_is_the_same_bytes_whatever_the_bot_could_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor do the curve, the costly decisions and their patterns differ. The sent seeds do, and are made equal."""

    def seeded(record: Record, bot: int) -> list[SentLine]:
        return [
            replace(each, line=re.sub(rb'_seed":"[0-9a-f]{32}"', b'_seed":"%032d"' % 0, each.line))
            for each in sent_lines(record, bot)
        ]

    monkeypatch.setattr(sys.modules["arena.review.review"], "sent_lines", seeded)
    others = 0
    for seed in range(6):
        record = random_game(PRESETS["coup"], 3, seed=seed)
        other = other_world(record, (1,), deals=300)
        if other is not None and record.games[0].seating.index(1) not in record.games[0].survivors:
            others += 1
            texts = []
            for each in (record, other):
                found = review_bot([each], each.header.bots[1], 1)
                assert found.curves[0].points
                objects = [make_replay_object(each, viewers=(1,))]
                reviews = (TypeAdapter(Review).dump_python(found), review_person(each, 1))
                texts.append([replay_page(objects, "Coup", None, review) for review in reviews])
            assert texts[0] == texts[1]
            assert make_replay_object(record) != make_replay_object(other)
    assert others
