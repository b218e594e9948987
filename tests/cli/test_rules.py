"""The command `arena rules` and its sheet of a game, made from the table that the engine reads."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console, RenderableType

from arena.cli import cli
from arena.coup import (
    COUP,
    FIELDS,
    PRESETS,
    Blockers,
    Role,
    Ruleset,
    changed_fields,
    list_program_differences,
    replace_fields,
    rules_sections,
)
from tests.cases import each

rules_command = cli.commands["rules"].load()  # type: ignore[attr-defined]
sheet = sys.modules["arena.cli.rules"]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(rules_command, arguments, env={"COLUMNS": "80"})
    assert result.exception is None or isinstance(result.exception, SystemExit), "no way of using it shows a traceback"
    return result


def check_refusal(*arguments: str) -> str:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_rules_lists_the_presets() -> None:
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : len(PRESETS) + 1]] == [*PRESETS]
    assert "arena rules NAME" in lines[-1]


@pytest.mark.parametrize("name", PRESETS)
def test_rules_with_a_name_prints_the_sheet_of_that_game(name: str) -> None:
    result = run(name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{name}: ")
    assert "Differences from the base game" in result.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in result.stdout.splitlines())


def test_rules_with_a_file_prints_the_sheet_of_a_custom_game(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('base = "classroom"\nforced_coup = "off"\nname = "[red]monday :smile:"\n')
    result = run(str(path))
    assert result.stdout.startswith("[red]monday :smile:\n3-6 players.")
    assert "- forced_coup = 0 (#forced-coup); the base game has 10\n" in result.stdout


def test_rules_refuses_an_unknown_ruleset(tmp_path: Path) -> None:
    assert check_refusal("tresaon").startswith('arena: unknown ruleset "tresaon"; did you mean treason?\n')
    path = tmp_path / "my.toml"
    path.write_text("colour = 1\n")
    assert check_refusal(str(path)).startswith(f'arena: {path}: unknown field "colour".\n')
    assert check_refusal("coup", "--fields") == "arena: --fields is the same for all rulesets: omit the name\n"


# --- the sheet --------------------------------------------------------------------------------------------------------


def render(what: RenderableType, width: int = 80) -> list[str]:
    """Print as on a terminal of this width; rich fills lines with blanks."""
    out = StringIO()
    Console(file=out, width=width, highlight=False, markup=False, emoji=False, color_system=None).print(what)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def unfold(what: RenderableType) -> str:
    return " ".join(" ".join(render(what)).split())


@cache
def sheet_lines(rules: Ruleset, width: int = 300) -> list[str]:
    return render(sheet.rules_sheet(rules), width)


@cache
def words_of_sheet(rules: Ruleset) -> str:
    return " ".join(" ".join(sheet_lines(rules)).split())


def section(lines: list[str], title: str) -> list[str]:
    start = lines.index(title) + 1
    end = next((place for place in range(start, len(lines)) if lines[place] in ("", "Play")), len(lines))
    return lines[start:end]


def rows(rules: Ruleset) -> dict[tuple[str, str], list[str]]:
    """Return the table of actions, wide enough that no cell is folded: cells by action and cost."""
    lines = sheet_lines(rules, 200)
    start = next(place for place, line in enumerate(lines) if line.startswith("action "))
    places = [lines[start].index(name) for name in ("action", "effect", "cost", "claims", "may be")] + [200]
    found = {}
    for line in lines[start + 1 : lines.index("", start)]:
        cells = [line[left:right].strip() for left, right in pairwise(places)]
        found[cells[0], cells[2]] = cells
    return found


MIXED = replace(COUP, name="n" * 40, reformation=True, inquisitor=True, attacks_blocked_by=Blockers.ANYONE)
ALL = [*PRESETS.values(), MIXED]


def test_a_sheet_fits_and_no_word_is_cut() -> None:
    """Widths are 80 and 60 columns; the narrow sheets have every word of the wide one."""
    for what in (*map(sheet.rules_sheet, ALL), sheet.presets_text(), sheet.fields_table()):
        words = sorted(" ".join(render(what, 300)).split())
        for width in (60, 80):
            lines = render(what, width)
            assert all(len(line) <= width and line.isascii() for line in lines)
            assert sorted(" ".join(lines).split()) == words


def test_the_sheet_of_the_base_game() -> None:
    assert [*rows(COUP).values()] == [
        ["income", "take 1 coin", "-", "-", "-"],
        ["foreign_aid", "take 2 coins", "-", "-", "anyone as duke"],
        ["coup", "the target loses a card", "7", "-", "-"],
        ["tax", "take 3 coins", "-", "duke", "-"],
        ["assassinate", "the target loses a card", "3", "assassin", "the target as contessa"],
        ["steal", "take up to 2 coins from another player", "-", "captain", "the target as ambassador or captain"],
        ["exchange", "draw 2 cards, return 2", "-", "ambassador", "-"],
    ]


# Preset, action, cost, and the cells that the base game's row hasn't: effect, cost, claims, blocks.
VARIANTS: dict[str, tuple[str, str, str, list[str]]] = {
    "the inquisitor exchanges one": ("inquisitor", "exchange", "-", ["draw 1 card, return 1", "inquisitor"]),
    "the inquisitor blocks stealing": ("inquisitor", "steal", "-", ["the target as captain or inquisitor"]),
    "the inquisitor examines": (
        *("inquisitor", "examine", "-"),
        ["look at a card of the target; return it or have it replaced", "-", "inquisitor", "-"],
    ),
    "one's own side doesn't block": ("reformation", "foreign_aid", "-", ["the other side as duke; see Blocks"]),
    "one's own conversion costs one": (
        *("reformation", "convert", "1"),
        ["turn yourself to the other side; coins go to the reserve", "1", "-", "-"],
    ),
    "another's conversion costs two": (
        *("reformation", "convert", "2"),
        ["turn the target to the other side; coins go to the reserve", "2", "-", "-"],
    ),
    "who embezzles has no duke": (
        *("reformation", "embezzle", "-"),
        ["take all coins of the reserve", "-", "no duke", "-"],
    ),
    "anyone may block": ("classroom", "assassinate", "3", ["anyone as contessa"]),
    "the claimed card goes back": ("blog", "exchange", "-", ["draw 1 card, return the claimed one"]),
}


@each("preset, action, cost, cells", VARIANTS.values(), ids=VARIANTS)
def test_the_sheet_of_a_variant_has_its_rows(preset: str, action: str, cost: str, cells: list[str]) -> None:
    base = rows(COUP).get((action, cost), [])
    assert [cell for cell in rows(PRESETS[preset])[action, cost][1:] if cell not in base] == cells


@each("rules", PRESETS.values())
def test_the_sheet_has_exactly_the_actions_that_the_engine_has(rules: Ruleset) -> None:
    assert [*rows(rules)] == [(row.action.value, str(row.cost or "-")) for row in rules.actions]
    output = words_of_sheet(rules)
    assert f"Roles: {', '.join(rules.roles)}." in output
    absent = {*Role} - {*rules.roles}
    assert not any(role in " ".join(cell) for role in absent for cell in rows(rules).values())


DECKS: dict[str, list[str]] = {
    "coup": [
        "2-4 15 3 11, 9, 7 200 turns",
        "5-6 15 3 5, 3 300 turns",
        "7-8 20 4 6, 4 300 turns",
        "9-10 25 5 7, 5 300 turns",
    ],
    "classroom": ["3-4 15 3 9, 7 200 turns", "5-6 15 3 5, 3 300 turns"],
    "andy": ["2-4 15 3 11, 9, 7 200 turns", "5 15 3 5 300 turns"],
    "duel": ["2 15 3 3 200 turns"],  # rules.md#draft
}


@each("name", sorted(PRESETS))
def test_the_deal_cites_its_section(name: str) -> None:
    cited = "draft" if PRESETS[name].draft else "deal"
    texts = [text for _, texts in rules_sections(PRESETS[name]) for text in texts if text.name == "draft"]
    assert [text.section for text in texts] == [cited]


@each("name", DECKS)
def test_the_deck_by_players(name: str) -> None:
    lines = sheet_lines(PRESETS[name])
    assert [" ".join(line.split()) for line in section(lines, "Set-up")[1:]] == DECKS[name]


@each("rules", ALL)
def test_differences_from_the_base_game_are_listed(rules: Ruleset) -> None:
    output = section(sheet_lines(rules), "Differences from the base game")
    expected = [rule.name for rule in FIELDS if rule.name != "name" and getattr(rules, rule.name) != rule.default]
    assert [rule.name for rule in changed_fields(rules)] == expected
    if not expected:
        assert output == ["Nothing: this is the base game."]
        return
    assert [line.split()[1] for line in output] == expected
    assert all("; the base game has " in line and re.search(r"\(#[a-z-]+\)", line) for line in output)


# Differences of a preset that is named as another's variant.
VARIED: dict[str, list[str]] = {
    "treason-site": [
        "- two_player_starter_coins = 1 (#coins); treason has 2",
        '- block_after_failed_challenge = "yes" (#late-blocks); treason has "never"',
        '- dead_target = "coins" (#dead-target); treason has "nothing"',
    ],
    "treason-original": [  # the fields of inquisitor and reformation have no effect without them
        "- inquisitor = false (#inquisitor); treason has true",
        "- reformation = false (#reformation); treason has true",
    ],
    "reformation-inquisitor": ["- inquisitor = true (#inquisitor); reformation has false"],
}


@each("name", VARIED)
def test_a_variant_of_a_preset_lists_its_differences(name: str) -> None:
    kin = name.replace("-site", "") if "-site" in name else name.partition("-")[0]
    assert section(sheet_lines(PRESETS[name]), f"Differences from {kin}") == VARIED[name]


@each("name", [name for name in PRESETS if name.startswith("treason")])
def test_a_sheet_of_treason_lists_differences_from_its_program(name: str) -> None:
    output = section(sheet_lines(PRESETS[name]), "Differences from treason's program")
    fields = [line.split(" = ")[0] for line in output if " = " in line]
    page = ["- two_player_starter_coins", "- block_after_failed_challenge", "- dead_target"]
    assert fields == ([] if "site" in name else page)
    assert "has one window in which all may challenge or block assassinate and steal" in output[len(fields)]
    assert len(output) == len(fields) + len(list_program_differences(PRESETS[name]))


# A sentence, and the rulesets for which it is true.
HOLDS: dict[str, Callable[[Ruleset], bool]] = {
    "A player who is out keeps its coins, which have no further use.": lambda rules: rules.dead_target == "coins",
    "They choose cards before the choice of a side.": lambda rules: rules.draft and rules.reformation,
    "may keep it or have it replaced at random": lambda rules: rules.shown_card == "may_keep",
    "isn't asked if the challenger's loss ends the game.": lambda rules: (
        rules.shown_card == "may_keep" and not rules.reformation
    ),
    "Any living player of the other side may block foreign aid": lambda rules: rules.reformation,
    "A player that must launch a coup can't choose": lambda rules: rules.reformation and rules.forced_coup > 0,
    "A player of the same side may block": lambda rules: rules.reformation and rules.attacks_blocked_by == "anyone",
    "the first clockwise from the blocker counts": lambda rules: rules.block_challenged_by == "anyone",
    "It may return any of them": lambda rules: rules.exchange_return == "any",
    "A player that concedes doesn't": lambda rules: (
        rules.reformation and rules.embezzle_concede and rules.prove == "choose"
    ),
    "with a duke must concede": lambda rules: rules.reformation and rules.embezzle_concede and rules.prove == "choose",
    "the challenge of the claim; without a challenge, the block, and the challenge of the block; the effect. Then": (
        lambda rules: rules.block_after_failed_challenge == "never"
    ),
    "seat 0 and the last seat are on the same side": lambda rules: (
        rules.reformation and rules.allegiance_start == "assigned"
    ),
    "Seat 0 starts, because": lambda rules: rules.first_player == "seat_0",
}
OWN = [
    *ALL,
    replace_fields(PRESETS["duel"], {"name": "drafted", "reformation": True, "shown_card": "may_keep"}),
    replace_fields(
        PRESETS["reformation"],
        {"name": "proven", "prove": "automatic", "first_player": "last_winner", "forced_coup": "off"},
    ),
]


@each("text", HOLDS)
def test_a_sentence_is_in_the_sheets_of_the_games_where_it_is_true(text: str) -> None:
    expected = [rules.name for rules in OWN if HOLDS[text](rules)]
    assert [rules.name for rules in OWN if text in words_of_sheet(rules)] == expected
    assert 0 < len(expected) < len(OWN)


def test_the_fields_are_printed_with_default_values_and_section() -> None:
    output = unfold(sheet.fields_table())
    for rule in FIELDS:
        assert f"{rule.name} = " in output
        assert f"{rule.description} (#{rule.section})" in output
        for option in rule.options:
            assert option.sentence in output
    assert 'attacks_blocked_by = "target"' in output
    assert '0 or "off": No player has to coup. 7 to 100' in output
    assert "exchange_draw = 1 with the inquisitor, else 2" in output
