"""Tests of what ladder.toml may contain."""

from typing import Any

import pytest
from pydantic import ValidationError

from ladder.settings import LadderSettings


def test_every_number_has_a_least_and_a_largest_value() -> None:
    schema = LadderSettings.model_json_schema()
    numbers = []

    def walk(node: Any, path: str) -> None:
        if isinstance(node, dict):
            if node.get("type") in ("integer", "number"):
                numbers.append(path)
                assert {"minimum", "exclusiveMinimum"} & set(node), path
                assert {"maximum", "exclusiveMaximum"} & set(node), path
            for key, value in node.items():
                walk(value, f"{path}.{key}")
        elif isinstance(node, list):
            for value in node:
                walk(value, path)

    walk(schema, "")
    assert len(numbers) > 20


@pytest.mark.parametrize("text", ["two\nlines", "\u202egnp", "a\x1b[2J", "a\0"])
@pytest.mark.parametrize(
    "settings",
    [
        lambda text: {"web": {"banner": text}},
        lambda text: {"course": {"title": text}},
        lambda text: {"database": text},
        lambda text: {"grades": {"gradebook_column": text}},
        lambda text: {"baselines": [{"name": "a", "points": 1, "beats": text}]},
        lambda text: {"baselines": [{"name": text, "points": 1, "min_games": 1}]},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": text, "client_secret": "s"}},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": "c", "client_secret": text}},
        lambda text: {"sign_in": {"issuer": "https://a.org", "client_id": "c", "client_secret_file": text}},
    ],
)
def test_texts_are_printable_and_on_one_line(settings: Any, text: str) -> None:
    LadderSettings.model_validate(settings("plain"))
    with pytest.raises(ValidationError):
        LadderSettings.model_validate(settings(text))


def test_numbers_that_no_course_has_are_refused() -> None:
    for settings in (
        {"lateness": {"grace_minutes": 10**30}},
        {"baselines": [{"name": "a", "points": 1e308, "min_games": 1}]},
        {"deadlines": [{"name": "a", "at": "2026-12-01T00:00:00Z", "grace_minutes": 10**30}]},
        {"deadlines": [{"name": "a", "at": "9999-12-31T23:59:00Z"}]},
    ):
        with pytest.raises(ValidationError):
            LadderSettings.model_validate(settings)
