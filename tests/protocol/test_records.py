"""Tests of the schema of records against records of every game. Source: docs/reference/records.md."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from arena import referee
from arena.coup import PRESETS
from arena.replay import list_steps
from protocol.records import LINE
from tests.cases import each
from tests.replay.games import random_game

ROOT = Path(__file__).parents[2]
TABLES = [(name, seats) for name, rules in PRESETS.items() for seats in (2, 3, 6) if not rules.problem(seats)]


@each(("name", "seats"), TABLES)
def test_every_line_of_a_record_matches_the_schema(name: str, seats: int) -> None:
    for seed in range(2):
        record = random_game(PRESETS[name], seats, seed)
        game = replace(record.games[0], faults=(referee.Fault(0, "timeout", step=0, used="income", count=2),))
        lines = referee.write_record(referee.Record(record.header, (game,))).splitlines()
        kinds = [type(LINE.validate_json(line)).__name__ for line in lines]
        assert kinds == ["RecordHeader", "RecordedGame", "RecordEnd"]


def test_a_header_may_have_times_of_each_bot() -> None:
    record = random_game(PRESETS["coup"], 2, 1)
    timings = (referee.Timing(), referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0))
    text = referee.write_record(replace(record, header=replace(record.header, timings=timings)))
    header = LINE.validate_json(text.splitlines()[0]).model_dump()
    assert [timing["limit_ms"] for timing in header["timings"]] == [500, referee.UNTIMED_MS]
    assert referee.read_record(text).header.timings == timings


def test_a_line_with_a_missing_field_or_an_unknown_move_is_invalid() -> None:
    line = json.loads(referee.write_record(random_game(PRESETS["coup"], 2, 1)).splitlines()[1])
    for wrong in ({**line, "moves": "incomes"}, {**line, "more": 1}, {key: line[key] for key in line if key != "by"}):
        with pytest.raises(ValidationError):
            LINE.validate_json(json.dumps(wrong))


# --- the document -----------------------------------------------------------------------------------------------------

TEXT = (ROOT / "docs/reference/records.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs/reference/record.example.jsonl"
READER = ROOT / "docs/reference/record_reader.py"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert found
    return found[1]


def test_the_explained_game_is_that_of_the_example_record() -> None:
    record = referee.read_record(EXAMPLE.read_text(encoding="utf-8"))
    referee.verify_record(record)
    line = json.loads(EXAMPLE.read_text(encoding="utf-8").splitlines()[1])
    assert json.loads(block("json")) == line


def test_every_field_and_every_word_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| `.*$", TEXT, re.MULTILINE))))
    lines = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]
    assert {field for line in lines for field in line} - explained == set()
    said = set(re.findall(r"`([^` :]+)(?::[^`]*)?`", TEXT.split("## Notation")[1].split("## An example")[0]))
    words = {
        word.partition(":")[0]
        for name, seats in TABLES
        for seed in range(4)
        for game in random_game(PRESETS[name], seats, seed).games
        for word in [*game.moves, *game.draws]
    }
    assert len(words) > 20
    assert words - said == set()


def test_the_reader_prints_the_output_in_the_document() -> None:
    ran = subprocess.run(
        [sys.executable, "-I", READER, EXAMPLE], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == TEXT.split("## A reader")[1].split("```\n")[1].split("```")[0]


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_the_reader_knows_cards_and_bluffs_as_the_engine_does(seats: int, capsys: pytest.CaptureFixture[str]) -> None:
    """It needs only the start, the moves and the draws."""
    made: dict[str, Any] = {}
    exec(READER.read_text(encoding="utf-8").split("\n\nwith open")[0], made)
    for seed in range(5):
        record = random_game(PRESETS["coup"], seats, seed)
        line = json.loads(referee.write_record(record).splitlines()[1])
        made["follow"](line, record.header.bots)
        printed = capsys.readouterr().out.splitlines()
        found = list(list_steps(record.header, record.games[0]))
        bluffs = [
            f"bot{given.seat} bluffs: {given.notation}"
            for moment in found
            for given in moment.answers
            if (claim := claimed(given.notation)) and claim not in moment.before.hands[given.seat]
        ]
        ends = [f"bot{seat} has {', '.join(hand) or 'nothing'}" for seat, hand in enumerate(found[-1].after.hands)]
        assert printed == bluffs + ends


def claimed(word: str) -> str | None:
    actions = {"tax": "duke", "assassinate": "assassin", "steal": "captain", "exchange": "ambassador"}
    verb, _, what = word.partition(":")
    return what if verb == "block" else actions.get(verb)
