"""Tests of --rules with a name or a file, and of rulesets as plain data.

Source: arena/run/rules_file.py, and arena/coup/ruleset_fields.py for the fields.
"""

import json
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from arena import coup
from arena.referee import SETTABLE_LIMITS
from arena.run import RulesetError, load_ruleset, load_ruleset_limits
from tests.cases import each

# What must be on for a field to have an effect.
NEEDED: dict[str, dict[str, object]] = {
    rule.name: {rule.required_field: True} for rule in coup.FIELDS if rule.required_field
} | {"exchange_return": {"exchange_draw": 1}, "draft": {"max_seats": 2}}


def write(folder: Path, text: str | bytes, name: str = "my.toml") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def refusal(name_or_path: str) -> str:
    with pytest.raises(RulesetError) as caught:
        load_ruleset(name_or_path)
    message = str(caught.value)
    assert message.count("\n") <= 1, "an error is two lines at most"
    assert all(line.isprintable() for line in message.split("\n")), "nothing in it may act on a terminal"
    return message


# --- the table of fields ----------------------------------------------------------------------------------------------


def test_the_table_has_every_field_of_a_ruleset_once_and_in_its_order() -> None:
    """`arena rules --fields` prints the table: a missing field could be neither set nor recorded."""
    assert [rule.name for rule in coup.FIELDS] == [field.name for field in fields(coup.Ruleset) if field.init]


@pytest.mark.parametrize("rule", coup.FIELDS, ids=lambda rule: rule.name)
def test_a_field_takes_its_default_and_every_member_of_its_enum(rule: Any) -> None:
    """The value for no seat is missing in attacks_blocked_by: no rule document has it."""
    assert rule.default is None or rule.read(coup.to_dict(coup.COUP)[rule.name]) == rule.default
    values = [option.value for option in rule.options]
    if isinstance(rule.default, StrEnum):
        assert {*values} == {*type(rule.default)} - {coup.Blockers.NOBODY}
        assert all(type(value) is type(rule.default) for value in values)
    if isinstance(rule.default, bool):
        assert sorted(values) == [False, True]


# --- as plain data ----------------------------------------------------------------------------------------------------


def variants() -> list[coup.Ruleset]:
    found = [*coup.PRESETS.values(), coup.Ruleset("Monday"), coup.Ruleset("x" * 40)]
    for rule in coup.FIELDS:
        values = [option.value for option in rule.options] + list(rule.span or ())
        found += [replace(coup.COUP, **{**NEEDED.get(rule.name, {}), rule.name: value}) for value in values]
    return [rules for rules in found if rules.min_seats <= rules.max_seats]


def test_a_ruleset_survives_json() -> None:
    assert len(variants()) > 50
    for rules in variants():
        read = coup.from_dict(json.loads(json.dumps(coup.to_dict(rules))))
        assert read == rules
        assert (read.roles, read.actions) == (rules.roles, rules.actions)
        assert [type(value) for value in vars_of(read)] == [type(value) for value in vars_of(rules)]


def vars_of(rules: coup.Ruleset) -> list[object]:
    return [getattr(rules, rule.name) for rule in coup.FIELDS]


BAD_DATA: dict[str, tuple[dict[str, object], str]] = {
    "an unknown field": ({"colour": 1}, 'unknown field "colour"'),
    "a number for a boolean": ({"inquisitor": 1}, "inquisitor = 1 is not allowed"),
    "a boolean for a number": ({"start_coins": True}, "start_coins = true is not allowed"),
    "a fraction": ({"start_coins": 2.0}, "start_coins = 2.0 is not allowed"),
    "a name that acts on a terminal": ({"name": "\x1b[31m"}, 'name = "\\u001b[31m" is not allowed'),
    "more players at least than at most": ({"min_seats": 4, "max_seats": 3}, "min_seats = 4 is more than max_seats"),
    "an exchange of two that returns the claimed role": ({"exchange_return": "claimed_role"}, "needs exchange_draw 1"),
}


@pytest.mark.parametrize("case", BAD_DATA.values(), ids=BAD_DATA)
def test_data_that_no_ruleset_writes_is_refused(case: tuple[dict[str, object], str]) -> None:
    """A changed record or run.json isn't guessed at."""
    changed, output = case
    with pytest.raises(ValueError, match=r".") as caught:
        coup.from_dict({**coup.to_dict(coup.COUP), **changed})
    assert output in str(caught.value)


def test_data_of_an_earlier_arena_has_its_rules() -> None:
    """In records and ladders without the field the coins of eliminated players went to the treasury."""
    data = coup.to_dict(coup.PRESETS["treason-site"])
    del data["dead_target"]
    assert coup.from_dict(data).dead_target == "nothing"
    del data["talk"]
    assert coup.from_dict(data).talk == "off"


@pytest.mark.parametrize("name", [name for name in coup.FIELD_BY_NAME if name not in ("dead_target", "talk")])
def test_data_that_lacks_a_field_is_refused(name: str) -> None:
    """A record contains the whole ruleset, so that it doesn't change when a default does."""
    data = coup.to_dict(coup.COUP)
    del data[name]
    with pytest.raises(ValueError, match=f"no field {name}"):
        coup.from_dict(data)


# --- presets ----------------------------------------------------------------------------------------------------------

SITE: dict[str, object] = {"first_player": "random", "prove": "automatic", "dead_target": "coins"}
PROGRAM: dict[str, object] = {
    "two_player_starter_coins": 2,
    "first_player": "random",
    "prove": "automatic",
    "block_after_failed_challenge": "never",
}
INQUISITORS: dict[str, object] = {"inquisitor": True, "examine_pick": "random", "examine_replace": "return_first"}
SIDES: dict[str, object] = {"reformation": True, "allegiance_start": "assigned", "embezzle_concede": False}

# What each document changes of the base game. The seats are those that the preset can be played with.
PRESET_TABLE: dict[str, tuple[range, dict[str, object]]] = {
    "coup": (range(2, 11), {}),
    "duel": (range(2, 3), {"max_seats": 2, "draft": True}),
    "inquisitor": (range(2, 11), {"inquisitor": True}),
    "reformation": (range(2, 11), {"reformation": True}),
    "reformation-inquisitor": (range(2, 11), {"reformation": True, "inquisitor": True}),
    "treason": (range(2, 11), {**PROGRAM, **INQUISITORS, **SIDES}),
    "treason-original": (range(2, 11), PROGRAM),
    "treason-inquisitors": (range(2, 11), {**PROGRAM, **INQUISITORS}),
    "treason-site": (range(2, 11), {**SITE, **INQUISITORS, **SIDES}),
    "treason-site-original": (range(2, 11), SITE),
    "treason-site-inquisitors": (range(2, 11), {**SITE, **INQUISITORS}),
    "classroom": (
        range(3, 7),
        {"min_seats": 3, "max_seats": 6, "attacks_blocked_by": "anyone", "block_challenged_by": "actor"},
    ),
    "andy": (range(2, 6), {"max_seats": 5, "shown_card": "may_keep"}),
    "andy-as-written": (range(2, 6), {"max_seats": 5}),
    "blog": (
        range(2, 7),
        {
            "max_seats": 6,
            "two_player_starter_coins": 2,
            "prove": "automatic",
            "exchange_draw": 1,
            "exchange_return": "claimed_role",
            "block_after_failed_challenge": "not_challenger",
        },
    ),
    "open-table": (range(2, 11), {"talk": "text"}),
}


def test_every_preset_is_there_and_described() -> None:
    assert [*coup.PRESETS] == [*PRESET_TABLE] == [*coup.ABOUT]


@pytest.mark.parametrize("name", PRESET_TABLE)
def test_a_preset_differs_from_the_base_game_as_its_document_says(name: str) -> None:
    seats, different = PRESET_TABLE[name]
    rules = load_ruleset(name)
    assert {rule.name: coup.to_dict(rules)[rule.name] for rule in coup.changed_fields(rules)} == different
    assert coup.seat_counts(rules) == [*seats]


@pytest.mark.parametrize("name", coup.PRESETS)
def test_a_file_with_only_a_base_and_its_name_is_that_preset(tmp_path: Path, name: str) -> None:
    """Every field of a preset has an effect; otherwise it would be reset and differ."""
    assert load_ruleset(write(tmp_path, f'base = "{name}"\nname = "{name}"\n')) == coup.PRESETS[name]


# --- files ------------------------------------------------------------------------------------------------------------

GOOD: dict[str, tuple[str, coup.Ruleset]] = {
    "an empty file is the base game under another name": ("", coup.Ruleset("my")),
    "a name": ('name = "Monday group"', coup.Ruleset("Monday group")),
    "a base, and a field that changes it": (
        'base = "classroom"\nforced_coup = "off"',
        replace(coup.PRESETS["classroom"], name="my", forced_coup=0),
    ),
    "a draft is for two": ("draft = true", coup.Ruleset("my", max_seats=2, draft=True)),
    "an exchange of two by the inquisitor": (
        "inquisitor = true\nexchange_draw = 2",
        coup.Ruleset("my", inquisitor=True, exchange_draw=2),
    ),
    "an exchange of one by the inquisitor returns the inquisitor": (
        'inquisitor = true\nexchange_return = "claimed_role"',
        replace(coup.PRESETS["inquisitor"], name="my", exchange_return=coup.PRESETS["blog"].exchange_return),
    ),
    "what a base sets and the file makes idle falls back": (
        'base = "treason"\ninquisitor = false\nreformation = false',
        replace(coup.PRESETS["treason-original"], name="my"),
    ),
    "a field that the base gives an effect": (
        'base = "inquisitor"\nexamine_pick = "random"',
        replace(coup.PRESETS["treason-inquisitors"], **{
            name: getattr(coup.COUP, name)
            for name in ("two_player_starter_coins", "first_player", "prove", "block_after_failed_challenge",
                         "examine_replace")
        }, name="my"),
    ),
    "a byte order mark": ("\ufeffstart_coins = 3", coup.Ruleset("my", start_coins=3)),
    "a preset's name on that preset": ('name = "coup"', coup.COUP),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD.values(), ids=GOOD)
def test_a_file_is_read(tmp_path: Path, case: tuple[str, coup.Ruleset]) -> None:
    text, rules = case
    assert load_ruleset(write(tmp_path, text)) == rules


@pytest.mark.parametrize("rule", [rule for rule in coup.FIELDS if rule.name != "name"], ids=lambda rule: rule.name)
def test_every_value_of_every_field_can_be_written_in_a_file(tmp_path: Path, rule: Any) -> None:
    values = [(option.value, option.value) for option in rule.options] + [(n, n) for n in rule.span or ()]
    values += [(option.word, option.value) for option in rule.options if option.word]
    for written, value in values:
        if (rule.name, value) in (("exchange_return", "any"), ("draft", False)):
            needed: dict[str, object] = {}
        elif rule.name == "embezzle_concede":
            needed = {"reformation": True}
        else:
            needed = NEEDED.get(rule.name, {})
        lines = [f"{name} = {json.dumps(to_plain(on))}" for name, on in {**needed, rule.name: written}.items()]
        assert getattr(load_ruleset(write(tmp_path, "\n".join(lines))), rule.name) == value


def to_plain(value: object) -> object:
    return value.value if isinstance(value, StrEnum) else value


BAD: dict[str, tuple[str | bytes, str, str]] = {
    "a misspelt field": ("exchange_drew = 1", "did you mean exchange_draw?", "exchange_return"),
    "an unknown base": ('base = "claasroom"', 'unknown base "claasroom"; did you mean classroom?', "treason-original"),
    "a misspelt value": (
        'attacks_blocked_by = "anybody"',
        'attacks_blocked_by = "anybody" is not allowed; did you mean "anyone"?',
        'Allowed: "target" or "anyone" (docs/reference/rules.md#who-may-block).',
    ),
    "a forced coup that is too expensive": (
        "forced_coup = 6",
        "forced_coup = 6 is not allowed",
        'Allowed: 0 or "off" or 7 to 100 (docs/reference/rules.md#forced-coup',
    ),
    "a number of 5000 hexadecimal digits": (
        f"start_coins = 0x{'f' * 5000}",
        "start_coins = a number of more than 60 digits is not allowed",
        "Allowed: 0 to 100",
    ),
    "a name that acts on a terminal": ('name = "\\u001b[31m"', 'name = "\\u001b[31m" is not allowed', "printable"),
    "a preset's name on other rules": (
        "start_coins = 3\nname = 'blog'",
        '"blog" is a preset with other rules',
        "name =",
    ),
    "no TOML": ("start_coins: 3", "not valid TOML: ", "Example of a line"),
    "no UTF-8": (b"# \xe9\n", "not UTF-8 (line 1).", "Save the file as UTF-8."),
    "too large": ("#" * 70_000, "larger than 65536 bytes.", "Write a few lines such as shown_card"),
    "nested too deeply": ("a = " + "[" * 5000, "not valid TOML: nested too deeply", "Example of a line"),
    # Without effect.
    "examine without the inquisitor": (
        'examine_pick = "random"',
        "examine_pick has no effect without inquisitor = true.",
        "Remove it",
    ),
    "a concession where proof is automatic": (
        'base = "treason"\nembezzle_concede = true',
        'embezzle_concede has no effect with prove = "automatic"',
        "Remove it",
    ),
    "a starter of two where three play": (
        'base = "classroom"\ntwo_player_starter_coins = 2',
        "two_player_starter_coins has no effect with min_seats = 3",
        "Remove it",
    ),
    "a draft of four": ("draft = true\nmax_seats = 4", "max_seats has no effect with draft = true", "Remove it"),
    # Can't be played.
    "a draft of at least three": (
        'base = "classroom"\ndraft = true',
        "invalid rules: draft = true is for two players (docs/reference/rules.md#draft), and min_seats = 3.",
        "",
    ),
    "fewer players at most than at least": ("min_seats = 5\nmax_seats = 4", "invalid rules: min_seats = 5", ""),
    "an exchange of two by the inquisitor that returns the claimed role": (
        'inquisitor = true\nexchange_draw = 2\nexchange_return = "claimed_role"',
        "invalid rules: exchange_return claimed_role",
        "",
    ),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_an_invalid_file_is_refused_with_the_allowed_values(tmp_path: Path, case: tuple[str | bytes, str, str]) -> None:
    text, wrong, allowed = case
    path = write(tmp_path, text)
    first, _, second = refusal(path).partition("\n")
    assert first.startswith(f"{path}: ")
    assert wrong in first
    assert allowed in second


def test_every_wrong_value_names_the_allowed_ones(tmp_path: Path) -> None:
    for rule in coup.FIELDS:
        output = refusal(write(tmp_path, f"{rule.name} = [7]"))
        assert f"{rule.name} = [7] is not allowed" in output
        assert f"Allowed: {rule.allowed} (" in output
        for option in rule.options:
            assert str(to_plain(option.value)).lower() in rule.allowed


def test_a_file_without_a_name_is_named_by_its_stem(tmp_path: Path) -> None:
    """A stem that is a preset's name would disguise other rules as the preset."""
    assert load_ruleset(write(tmp_path, "start_coins = 3", "Monday.toml")).name == "Monday"
    assert '"blog" is a preset with other rules' in refusal(write(tmp_path, "start_coins = 3", "blog.toml"))
    assert 'name = "\\u0007" is not allowed' in refusal(write(tmp_path, "start_coins = 3", "\x07.toml"))
    assert load_ruleset(write(tmp_path, 'name = "bell"', "\x07.toml")).name == "bell"


def test_a_path_with_a_slash_or_toml_suffix_is_a_file(tmp_path: Path) -> None:
    assert load_ruleset(write(tmp_path, "start_coins = 3", "rules.txt")).name == "rules"
    for missing in (f"{tmp_path}/coup", "coup.toml", "no\nsuch.toml", "a\0.toml"):
        assert "can't be read" in refusal(missing)
    assert "can't be read: Is a directory" in refusal(f"{tmp_path}/")
    assert 'unknown ruleset "tresaon"; did you mean treason?\nThe presets are coup, duel,' in refusal("tresaon")
    assert 'unknown ruleset "".' in refusal("")


# --- limits -----------------------------------------------------------------------------------------------------------

WRONG_LIMITS: dict[str, tuple[str, str]] = {
    "an unknown field": ("memory = 300", 'unknown field "memory"; did you mean memory_mb?'),
    "a number beyond all": (f"cpu_s = {'9' * 400}", "limits.cpu_s is a number of more than 60 digits"),
    "no whole number": ("memory_mb = 64.5", "limits.memory_mb is 64.5.\nIt must be a whole number"),
    "no number": ('memory_mb = "64"', 'limits.memory_mb is "64"'),
    "not a number": ("cores = nan", "limits.cores is nan.\nIt must be a number from 0.05 to"),
}


@each("line, words", WRONG_LIMITS.values(), ids=WRONG_LIMITS)
def test_wrong_limits_of_a_ruleset_are_refused_with_the_allowed_values(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "my.toml"
    file.write_text(f"[limits]\n{line}\n")
    for read in (load_ruleset, load_ruleset_limits):
        with pytest.raises(RulesetError) as refused:
            read(str(file))
        assert words in str(refused.value)
        assert str(refused.value).startswith(f"{file}: ")
        assert str(refused.value).count("\n") == 1


@each("field", SETTABLE_LIMITS)
def test_the_bounds_of_a_limit_are_inclusive(tmp_path: Path, field: str) -> None:
    row = SETTABLE_LIMITS[field]
    step = 0.01 if isinstance(row.default, float) else 1
    file = tmp_path / "my.toml"
    for value in (row.minimum, row.maximum):
        file.write_text(f"[limits]\n{field} = {value}\n")
        assert load_ruleset_limits(str(file)) == {field: value}
    for value in (row.minimum - step, row.maximum + step):
        file.write_text(f"[limits]\n{field} = {value}\n")
        with pytest.raises(RulesetError, match=f"from {row.minimum:g} to {row.maximum:,.12g}"):
            load_ruleset_limits(str(file))


def test_limits_that_are_no_table_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text("limits = 3\n")
    with pytest.raises(RulesetError, match=r"limits is 3.\nWrite a table: \[limits\]"):
        load_ruleset(str(file))
