"""The page of the rules and the sheets have every field."""

import re
from pathlib import Path

from arena.coup import FIELDS, RULES_PAGE, SECTIONS

ROOT = Path(__file__).parents[2]

PAGE = (ROOT / RULES_PAGE).read_text("utf-8")
HEADINGS = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)]


def test_the_page_explains_every_field_in_its_section() -> None:
    parts = dict(zip(HEADINGS, re.split(r"^#+ .+$", PAGE, flags=re.MULTILINE)[1:], strict=True))
    described = {field.name for field in FIELDS if re.search(rf"`{field.name}\b", parts[field.section])}
    assert {field.name for field in FIELDS} - described == {"name", "min_seats", "max_seats"}  # not of the rules


# ---------------------------------------------------------------- what the sheets hold


def test_every_field_is_in_the_sheet_once() -> None:
    """The table of actions, the table of the deck and the title show the others."""
    shown = {"name", "min_seats", "max_seats", "turn_limit", "exchange_draw"}
    placed = [row for _, rows in SECTIONS for row in rows if isinstance(row, str)]
    assert len(placed) == len(set(placed))
    assert {*placed} == {field.name for field in FIELDS} - shown
