"""Lessons: the engine rejects what the rules don't allow, and a newcomer plays the first game in a browser."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.lessons import LessonError, learn_page, load_lessons, make_lesson
from tests.cases import each
from tests.chromium import Reader

LESSON: dict[str, Any] = {
    "title": "Tax",
    "about": "",
    "players": [{"name": "Mia", "cards": ["captain", "duke"]}, {"name": "you", "cards": ["duke", "contessa"]}],
    "steps": [
        {"player": "Mia", "move": "tax"},
        {"player": "you", "move": "!", "say": "{odds Mia duke} {unseen duke}", "why": {"-": "Challenge."}},
        {"player": "Mia", "move": "show:duke", "draws": ["ambassador"]},
        {"player": "you", "move": "lose:contessa", "say": "Lose it.", "why": {"others": "No."}},
        {"title": "End", "say": "You lost a card."},
    ],
}


def test_a_lesson_has_what_its_seat_is_sent_with_the_odds_of_the_engine() -> None:
    first, second, last = make_lesson(LESSON).parts
    assert first["say"] == "29\u00a0% 2"  # of 13 unseen cards, 2 are dukes: 1 - C(11, 2) / C(13, 2) = 23/78
    assert (first["right"], first["why"]) == (1, {0: "Challenge."})
    assert second["game"]["seats"][0]["cards"] == [None, None]
    assert [event["event"] for event in last["game"]["events"]] == ["lost", "coins", "resolved"]


def test_hidden_cards_change_no_byte_of_a_lesson_before_they_are_shown() -> None:
    other = copy.deepcopy(LESSON)
    other["players"][0]["cards"] = ["assassin", "duke"]
    assert make_lesson(other) == make_lesson(LESSON)


def test_a_lesson_asks_only_for_the_answers_that_it_offers() -> None:
    asks = [part["game"]["ask"] for lesson in load_lessons() for part in lesson.parts if part["game"]["ask"]]
    assert not any("Challenge or block?" in ask["question"] or ask["blocks"] for ask in asks)
    assert any(ask["question"].startswith("You drew") for ask in asks)  # an exchange is played, too


BAD = [
    ("move", "coup:Mia", "step 2: you can't play coup:0 now: you must move"),
    ("why", {}, "step 2: no text says what is wrong with -"),
    ("say", "{sum duke}", "step 2: unknown number in '{sum duke}'"),
    ("say", "{odds duke}", "step 2: unknown number in '{odds duke}'"),
    ("say", "{unseen duck}", "step 2: unknown number in '{unseen duck}'"),
    ("player", "Zoe", "step 2: no player has the name Zoe"),
]


@each("field, value, message", BAD)
def test_a_bad_lesson_is_refused_with_the_step(field: str, value: Any, message: str) -> None:
    bad = copy.deepcopy(LESSON)
    bad["steps"][1][field] = value
    with pytest.raises(LessonError) as refused:
        make_lesson(bad)
    assert str(refused.value) == message


def test_a_newcomer_plays_the_first_game(reader: Reader, tmp_path: Path, axe: Callable[[Any], list[str]]) -> None:
    path = tmp_path / "learn.html"
    path.write_text(learn_page(play="./table.html"), "utf-8")
    page = reader.open(path, width=390, height=844)
    page.evaluate("localStorage.setItem('coup-pace', 'instant')")
    assert axe(page) == []
    page.get_by_role("link", name="Your first game").click()
    moves = page.locator(".moves:not(.early)")
    wrong = 0
    for part in load_lessons()[0].parts[:-1]:
        page.locator(f".coach progress[value='{load_lessons()[0].parts.index(part) + 1}']").wait_for()
        ask = part["game"]["ask"]
        if ask is None:
            moves.get_by_role("button", name="Continue").click()
            continue
        for answer in [*list(part["why"])[:1], part["right"]]:  # the first one is explained, and the question stays
            option = next(each for each in ask["options"] if answer in dict(each["choices"]))
            moves.locator(".move:enabled").first.wait_for()
            page.keyboard.press(option["letter"] or option["number"])
            if len(option["choices"]) > 1:
                moves.locator(".back").wait_for()
                assert not page.locator(".coach.wrong").count()
                page.keyboard.press(str(list(dict(option["choices"])).index(answer) + 1))
            if answer != part["right"]:
                page.locator(".coach.wrong").get_by_text(part["why"][answer][:30]).wait_for()
                wrong += 1
    page.get_by_role("heading", name="You win your first game").wait_for()
    assert wrong > 5
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("link", name="All lessons").click()
    page.get_by_text("finished").wait_for(state="attached")
    assert json.loads(page.evaluate("localStorage.getItem('coup-lessons')")) == ["Your first game"]
