"""Tests that schema.json agrees with the models."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import protocol
from protocol.messages import schema, schema_text

FILE = Path(protocol.__file__).parent / "schema.json"


def test_the_file_equals_the_models() -> None:
    """To update it: python -m protocol.messages > protocol/schema.json"""
    assert FILE.read_text(encoding="utf-8") == schema_text()


def test_the_module_prints_the_schema() -> None:
    run = subprocess.run([sys.executable, "-m", "protocol.messages"], capture_output=True, timeout=60, check=True)
    assert run.stdout.decode() == schema_text()
    assert run.stderr == b""


def _walk(part: Any) -> list[dict[str, Any]]:
    here = [part] if isinstance(part, dict) else []
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return here + [found for value in inner for found in _walk(value)]


def test_every_reference_can_be_resolved() -> None:
    whole = schema()
    for part in _walk(whole):
        if isinstance(part.get("$ref"), str):
            assert part["$ref"].removeprefix("#/$defs/") in whole["$defs"]
    assert {"ToBot", "FromBot"} <= set(whole["$defs"])


def test_what_the_referee_sends_is_closed_and_what_bots_send_is_open() -> None:
    """SPEC.md: unknown fields of a bot's lines are ignored; the referee sends none."""
    for name, part in schema()["$defs"].items():
        if part.get("type") == "object":
            assert part.get("additionalProperties", True) is (name in {"BotHello", "Reply"}), name


def test_every_number_and_clock_of_the_schema_is_described() -> None:
    for name in ("Limits", "Clock", "Ruleset", "Match"):
        for field, part in json.loads(FILE.read_text(encoding="utf-8"))["$defs"][name]["properties"].items():
            assert part.get("description", "").endswith("."), (name, field)
            if field.endswith("_ms"):
                assert "milliseconds" in part["description"]
            if field.endswith("_bytes"):
                assert "bytes" in part["description"]
