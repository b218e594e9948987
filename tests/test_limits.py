"""Tests of the table of limits, which the protocol's model and its schema agree with."""

import json
from pathlib import Path

import pytest

from arena.limits import LIMITS, Limits
from protocol import messages

ROOT = Path(__file__).parents[1]
# Other fields of hello.limits, which belong to the match and not to the sandbox.
OF_THE_MATCH = {"limit_ms", "bank_ms", "start_ms", "line_bytes", "lives", "forfeits", "clock", "ponder"}


def test_the_hello_has_every_limit_of_the_table_and_no_other() -> None:
    """Source: protocol/SPEC.md, `hello`."""
    output = set(Limits().on_wire())
    assert output == {row.wire for row in LIMITS.values()}
    assert set(messages.LimitsPayload.model_fields) == output | OF_THE_MATCH
    schema = json.loads((ROOT / "protocol" / "schema.json").read_text(encoding="utf-8"))
    assert set(schema["$defs"]["Limits"]["properties"]) == output | OF_THE_MATCH


def test_a_limit_has_the_units_of_the_protocol() -> None:
    """Source: protocol/SPEC.md, `hello`: only flood_bytes has other units than the option."""
    limits = Limits(memory_mb=7, processes=8, cpu_s=9, cores=0.5, file_size_mb=10, tmp_mb=11, open_files=12)
    assert limits.on_wire() == {
        "memory_mb": 7,
        "processes": 8,
        "cpu_s": 9,
        "cores": 0.5,
        "file_size_mb": 10,
        "tmp_mb": 11,
        "open_files": 12,
        "flood_bytes": 1_048_576,
    }


@pytest.mark.parametrize("field", LIMITS)
def test_a_row_is_complete(field: str) -> None:
    """Its default is the field's; a fault has a message with the value, and a help text."""
    row = LIMITS[field]
    assert row.field == field
    assert row.default == getattr(Limits(), field) == row.value(Limits())
    assert row.minimum <= row.default <= row.maximum
    assert row.description.endswith(".")
    assert bool(row.code) == bool(row.message) == bool(row.help)
    assert all("{}" in text for text in (row.message, row.counted) if text)
