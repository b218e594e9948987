"""Load the ruleset that --rules names: a preset, or an organiser's TOML file.

    base = "classroom"        # optional: a preset to start from; else the base game
    name = "monday"           # optional; else the file's name without its ending
    forced_coup = "off"       # and any field of `arena rules --fields`

    [limits]                  # optional: the times and what each bot may use; a flag of the command wins
    limit_ms = 200
    memory_mb = 512

This module must not know runs, bots or the command line. arena/coup/ruleset_fields.py defines the fields and their
values.

Ambiguous files are rejected: unknown fields, values of the wrong type, fields without effect, rules that no number of
players can play, a preset's name on other rules. If the file takes the effect from a field that the base sets (base =
"treason" with inquisitor = false leaves examine_pick), the field gets its value from the base game, so that equal games
have equal rulesets.
"""

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from arena import coup
from arena.bots import read_toml
from arena.escaping import escape_control
from arena.referee import SETTABLE_LIMITS


class RulesetError(Exception):
    """A ruleset is unknown or invalid. The message is one or two lines: the problem, and the allowed values."""


@dataclass(frozen=True, slots=True)
class RulesetSummary:
    """A ruleset: the numbers of players, its fields as plain values, and the [limits] of its file."""

    name: str
    players: tuple[int, ...]
    fields: Mapping[str, Any]
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RulesetList:
    """All presets."""

    items: tuple[RulesetSummary, ...]


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """A field of rulesets. `default`: its value in the base game, as in JSON; `allowed`: its values, as in TOML."""

    name: str
    description: str
    section: str
    default: Any
    allowed: str


@dataclass(frozen=True, slots=True)
class FieldList:
    """All fields of rulesets."""

    items: tuple[FieldSummary, ...]


def summarize_ruleset(rules: coup.Ruleset, limits: Mapping[str, float] | None = None) -> RulesetSummary:
    """Return the summary of a ruleset, for JSON output."""
    return RulesetSummary(rules.name, tuple(coup.seat_counts(rules)), coup.to_dict(rules), limits or {})


def list_ruleset_fields() -> FieldList:
    """Return all fields of rulesets, for JSON output."""
    return FieldList(
        tuple(
            FieldSummary(rule.name, rule.description, rule.section, coup.to_json_value(rule.default), rule.allowed)
            for rule in coup.FIELDS
        )
    )


def load_ruleset(name_or_path: str) -> coup.Ruleset:
    """Return the preset of this name or, if it ends in .toml or contains a slash, the ruleset in this file.

    Raises RulesetError if the preset is unknown, or the file can't be read or is invalid.
    """
    if _is_file(name_or_path):
        return _load_file(Path(name_or_path))[0]
    if name_or_path in coup.PRESETS:
        return coup.PRESETS[name_or_path]
    raise RulesetError(f"unknown ruleset {_unknown_preset_text(name_or_path)}; or name a file such as my.toml.")


def load_ruleset_limits(name_or_path: str) -> dict[str, float]:
    """Return the [limits] of a ruleset file by field of SETTABLE_LIMITS; {} for a preset.

    Raises RulesetError if the file can't be read or is invalid.
    """
    return _load_file(Path(name_or_path))[1] if _is_file(name_or_path) else {}


def _read_limits(values: object) -> dict[str, float]:
    """Return the checked values of [limits]. Raises ValueError with two lines: the problem, and the allowed values."""
    if not isinstance(values, dict):
        raise ValueError(f"limits is {coup.to_toml(values)}.\nWrite a table: [limits], followed by memory_mb = 512")
    limits = {}
    for name, value in values.items():
        if name not in SETTABLE_LIMITS:
            raise ValueError(coup.unknown_field_message(name, dict.fromkeys(SETTABLE_LIMITS)))
        rule = SETTABLE_LIMITS[name]
        limit = rule.accepted(value)
        if limit is None:
            raise ValueError(f"limits.{name} is {coup.to_toml(value)}.\nIt must be {rule.allowed}.")
        limits[name] = limit
    return limits


def _is_file(name_or_path: str) -> bool:
    return name_or_path.endswith(".toml") or "/" in name_or_path


def _unknown_preset_text(name: str) -> str:
    near_names = get_close_matches(name, coup.PRESETS, n=1)
    hint = f"; did you mean {near_names[0]}?" if near_names else "."
    return f"{coup.to_toml(name)}{hint}\nThe presets are {', '.join(coup.PRESETS)}"


def _load_file(path: Path) -> tuple[coup.Ruleset, dict[str, float]]:
    """Return the ruleset and the [limits] in a file. Raises RulesetError if it can't be read or is invalid."""
    file_name = escape_control(path)
    try:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "a file name can't contain NUL")
        data: dict[str, object] = read_toml(path, 'shown_card = "may_keep"')
        limits = data.pop("limits", {})
        return _make_ruleset(data, path.stem), _read_limits(limits)
    except OSError as problem:
        raise RulesetError(
            f"{file_name} can't be read: {problem.strerror}.\nName a file such as my.toml, or a preset."
        ) from None
    except ValueError as problem:
        raise RulesetError(f"{file_name}: {problem}") from None


def _make_ruleset(data: Mapping[str, object], stem: str) -> coup.Ruleset:
    """Return the ruleset with a file's fields; without a name it is named `stem`.

    Raises ValueError with one or two lines: the problem, and the fix.
    """
    base = _read_base(data)
    fields = {name: value for name, value in data.items() if name != "base"}
    fields.setdefault("name", stem)
    rules = coup.replace_fields(base, fields)
    if rules.draft and "max_seats" not in fields:
        rules = replace(rules, max_seats=2)
    rules = _reset_idle_fields(rules, fields)
    conflict = coup.unplayable_reason(rules)
    if conflict:
        raise ValueError(f"invalid rules: {conflict}.")
    if rules.name in coup.PRESETS and rules != coup.PRESETS[rules.name]:
        raise ValueError(f'{coup.to_toml(rules.name)} is a preset with other rules.\nAdd name = "..."')
    return rules


def _reset_idle_fields(rules: coup.Ruleset, file_fields: Iterable[str]) -> coup.Ruleset:
    """Return rules whose fields without effect have their defaults. Raises ValueError if the file sets such a field."""
    idle_fields = {rule.name: reason for rule in coup.FIELDS if (reason := coup.no_effect_reason(rules, rule.name))}
    for name in file_fields:
        if name in idle_fields:
            raise ValueError(f"{name} has no effect {idle_fields[name]}.\nRemove it, or change that field.")
    return replace(rules, **{name: coup.FIELD_BY_NAME[name].default for name in idle_fields})


def _read_base(data: Mapping[str, object]) -> coup.Ruleset:
    """Return the preset that a file starts from. Raises ValueError for an unknown field or an unknown base."""
    known_fields = dict.fromkeys(["base", *coup.FIELD_BY_NAME])
    for name in data:
        if name not in known_fields:
            raise ValueError(coup.unknown_field_message(name, known_fields))
    base = data.get("base", coup.COUP.name)
    if not isinstance(base, str) or base not in coup.PRESETS:
        raise ValueError(f"unknown base {_unknown_preset_text(str(base))}.")
    return coup.PRESETS[base]
