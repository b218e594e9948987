"""Tests that schema.json agrees with the models."""

from pathlib import Path

import protocol
from protocol.messages import schema, schema_text

FILE = Path(protocol.__file__).parent / "schema.json"


def test_the_file_equals_the_models() -> None:
    """To update it: python -m protocol.messages > protocol/schema.json"""
    assert FILE.read_text(encoding="utf-8") == schema_text()


def test_what_the_referee_sends_is_closed_and_what_bots_send_is_open() -> None:
    """SPEC.md: unknown fields of a bot's lines are ignored; the referee sends none."""
    for name, part in schema()["$defs"].items():
        if part.get("type") == "object":
            assert part.get("additionalProperties", True) is (name in {"BotHello", "Reply"}), name
