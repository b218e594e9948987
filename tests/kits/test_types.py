"""The types of the kit for JavaScript. Source: the kits' README, schema.json."""

import json
import re
from pathlib import Path

import pytest

from arena.bots import shipped_files

KIT = Path(__file__).parents[2] / "protocol" / "kits" / "coup_kit.js"
TYPES = KIT.with_name("coup_kit.d.ts")
SCHEMA = json.loads((KIT.parents[1] / "schema.json").read_text())["$defs"]


def public_members(text: str, name: str) -> set[str]:
    body = text.split(f"class {name} ")[1].split("\n}")[0]
    found = re.findall(r"^  (?:  this\.|readonly |get |async )*(\w+)(?=\(| =|;|: )", body, re.MULTILINE)
    return {each for each in found if not each.startswith("_")} - {"constructor", "private"}


@pytest.mark.parametrize("name", ["Bot", "Game", "History", "Player"])
def test_every_name_of_the_kit_has_a_type_and_no_other_has(name: str) -> None:
    """Otherwise an editor would hide a member, or offer one that doesn't exist."""
    assert public_members(TYPES.read_text(), name) == public_members(KIT.read_text(), name)


def public_fields(text: str, name: str) -> set[str]:
    """Return the fields of an interface or of a type, without those of types within it."""
    body = re.split(rf"(?:interface|type) {name}(?:<.*>)? ", text)[1].split("\n\n")[0].partition("{")[2]
    while "{" in body.split("}")[0]:
        body = re.sub(r"\{[^{}]*\}", "", body)
    return set(re.findall(r"(\w+)\??: ", body.split("}")[0]))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        *(
            (each, [each])
            for each in ("Hello", "GameStart", "GameOver", "MatchOver", "Limits", "Match", "Ruleset", "State")
        ),
        ("ErrorMessage", ["Error"]),
        ("Seat", ["Player"]),
        ("You", ["You", "ExchangingYou", "ExaminingYou"]),
        ("Move", [each for each in SCHEMA if each.endswith("Move")]),
        ("Asked", ["TurnRequest"]),
    ],
)
def test_a_message_has_the_fields_of_the_protocol(name: str, parts: list[str]) -> None:
    assert public_fields(TYPES.read_text(), name) == {field for part in parts for field in SCHEMA[part]["properties"]}


def test_the_types_are_given_with_the_kit() -> None:
    assert TYPES in {path.resolve() for path in shipped_files()}
