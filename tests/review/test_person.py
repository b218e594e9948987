"""Tests of a person's review. Source: arena/review/person.py."""

import json
from dataclasses import asdict

import pytest

from arena import review
from arena.local import play
from arena.referee import write_record


def test_a_person_may_review_each_game_of_a_match_in_another_process() -> None:
    [record] = play({"eve": "sample:bluffer", "leo": "sample:honest"}, 12, seed=3, records=True).records
    found = review.review_person(record, 1)
    assert len(review.lost_games(record, "leo")) < len(found["curves"]) == 12
    costly = [asdict(each) for game in range(12) for each in review.review_game(record, "leo", game)]
    assert sorted(costly, key=lambda each: -each["cost"]["value"]) == list(found["costly_decisions"])
    assert costly
    again = review.review_in_process(write_record(record), 1)
    assert again == json.loads(json.dumps(found))


def test_of_a_long_match_the_last_games_are_reviewed(monkeypatch: pytest.MonkeyPatch) -> None:
    [record] = play(["sample:honest", "sample:bluffer"], 4, match_games=4, seed=3, records=True).records
    monkeypatch.setattr("arena.review.person._MAX_GAMES", 1)
    found = review.review_person(record, 0)
    assert [curve["game"] for curve in found["curves"]] == [3]


def test_without_playouts_a_review_only_says_why() -> None:
    rules = "reformation"
    [record] = play(["sample:honest"] * 2, 2, seed=3, rules=rules, records=True).records
    found = review.review_person(record, 0)
    assert (found["decisions"], found["costly_decisions"]) == (0, ())
    assert found["caution"].startswith("Review supports games with")
    assert "failed" in review.review_in_process("no record", 0)["caution"]
