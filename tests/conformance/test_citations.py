"""Citations of the rules are sections of docs/reference/rules.md, and the sheets have every field."""

import re
from pathlib import Path

from arena.coup import FIELDS, PRESETS, RULES_PAGE, SECTIONS, RuleTemplate
from tests.conformance.test_scenarios import SCENARIOS

ROOT = Path(__file__).parents[2]
PACKAGES = ("arena", "ladder", "protocol", "sample_bots", "tests", "docs")
TEXTS = {".py", ".md", ".toml", ".js", ".json"}

PAGE = (ROOT / RULES_PAGE).read_text("utf-8")
HEADINGS = [heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)]


def texts() -> dict[str, str]:
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.suffix in TEXTS]
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in (*paths, *ROOT.glob("*.md"))}


def test_every_cited_section_of_the_rules_exists() -> None:
    cited = {
        (path, section)
        for path, text in texts().items()
        for match in re.finditer(r"rules\.md((?:,? ?#[a-z0-9-]+)+)", text)
        for section in re.findall("#([a-z0-9-]+)", match[1])
    }
    cited |= {(field.name, field.section) for field in FIELDS}
    cited |= {(row.name, row.section) for _, rows in SECTIONS for row in rows if isinstance(row, RuleTemplate)}
    cited |= {(name, section) for name, scenario in SCENARIOS.items() for section in scenario["cites"]}
    cited |= {(RULES_PAGE, section) for section in re.findall(r"\(#([a-z0-9-]+)\)", PAGE)}
    assert len(cited) > 500
    assert [citation for citation in sorted(cited) if citation[1] not in HEADINGS] == []


def test_a_section_is_named_once() -> None:
    assert len(HEADINGS) == len(set(HEADINGS))


def test_the_page_names_every_preset_and_explains_every_field_in_its_section() -> None:
    parts = dict(zip(HEADINGS, re.split(r"^#+ .+$", PAGE, flags=re.MULTILINE)[1:], strict=True))
    assert {name for name in PRESETS if f"`{name}`" not in parts["presets"]} == set()
    assert [field.name for field in FIELDS if not re.search(rf"`{field.name}\b", parts[field.section])] == ["name"]


# ---------------------------------------------------------------- what the sheets hold


def test_every_field_is_in_the_sheet_once() -> None:
    """The table of actions, the table of the deck and the title show the others."""
    shown = {"name", "min_seats", "max_seats", "turn_limit", "exchange_draw"}
    placed = [row for _, rows in SECTIONS for row in rows if isinstance(row, str)]
    assert len(placed) == len(set(placed))
    assert {*placed} == {field.name for field in FIELDS} - shown


def test_every_sentence_has_a_name_of_its_own() -> None:
    names = [row.name for _, rows in SECTIONS for row in rows if isinstance(row, RuleTemplate)]
    assert len(names) == len(set(names))
