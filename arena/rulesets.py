"""What a user names after --rules -> a ruleset: a preset, or a TOML file of an organiser's own.

    base = "classroom"        # optional: a preset to start from; else the base game
    name = "monday"           # optional; else the file's name without its ending
    forced_coup = "off"       # and any field of `arena rules --fields`

Must not know: runs, bots, the command line. Which fields there are and what they take is in arena/coup/ruleset_data.py.

What would surprise is refused, not guessed: unknown fields, values of the wrong type, fields without effect, rules that
no number of players can play, a preset's name on other rules. A field that the base sets and that the file makes
idle (base = "treason" with inquisitor = false leaves examine_pick behind) falls back to the base game's, so that equal
games have equal rulesets.
"""

import tomllib
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from arena.coup.rules import COUP, PRESETS, Ruleset
from arena.coup.ruleset_data import FIELD, FIELDS, changed, toml, unknown_field, why_idle, why_unplayable

__all__ = ["ABOUT", "RulesetError", "load"]

ENDING = ".toml"
_MOST_BYTES = 65_536  # a ruleset is some lines; a bigger file is another file

# One line each, for a reader who looks for a game. Sources: research/rules.md, "Presets".
ABOUT = {
    "coup": "the base game of the rulebook",
    "duel": "the rulebook's variant for two, with a draft",
    "inquisitor": "the inquisitor replaces the ambassador",
    "reformation": "allegiances, conversion and embezzlement",
    "reformation-inquisitor": "reformation with the inquisitor",
    "treason": "Treason Coup with reformation and inquisitor",
    "treason-original": "Treason Coup with the ambassador",
    "treason-inquisitors": "Treason Coup with the inquisitor",
    "classroom": "anyone may block; only the actor challenges it",
    "andy": "a card shown as proof may be kept",
    "blog": "an exchange of one puts the claimed card back",
}


class RulesetError(Exception):
    """A ruleset that can't be had. One or two lines for the user: what is wrong, and what is allowed."""


def load(name_or_path: str) -> Ruleset:
    """Return the preset of this name, or the ruleset in a file if the text ends in .toml or has a slash.

    Raises RulesetError.
    """
    if name_or_path.endswith(ENDING) or "/" in name_or_path:
        return _file(Path(name_or_path))
    if name_or_path in PRESETS:
        return PRESETS[name_or_path]
    raise RulesetError(f"there is no ruleset {_no_preset(name_or_path)}, or a file such as my.toml.")


def _no_preset(name: str) -> str:
    meant = get_close_matches(name, PRESETS, n=1)
    hint = f"; did you mean {meant[0]}?" if meant else "."
    return f"{toml(name)}{hint}\nThere are {', '.join(PRESETS)}"


def _shown(text: str) -> str:
    return text if text.isprintable() else repr(text)[1:-1]


def _file(path: Path) -> Ruleset:
    where = _shown(str(path))
    try:
        return _ruleset(_read(path, where), path.stem)
    except ValueError as problem:
        raise RulesetError(f"{where}: {problem}") from None


def _read(path: Path, where: str) -> dict[str, object]:
    try:
        with path.open("rb") as stream:
            data = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as problem:  # the latter by a name with a zero byte
        reason = problem.strerror if isinstance(problem, OSError) else problem
        raise RulesetError(f"{where} can't be read: {reason}.\nName a file such as my.toml, or a preset.") from None
    if len(data) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES} bytes.\nA ruleset is some lines: arena rules --fields.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # -sig: Windows editors write a byte order mark
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ValueError(f"not UTF-8 (line {line}).\nSave it as UTF-8.") from None
    except tomllib.TOMLDecodeError as problem:
        reason = _shown(str(problem))
    except ValueError:  # the only one besides: Python reads no number of more than 4,300 digits
        reason = "a number has too many digits"
    except RecursionError:
        reason = "nested too deeply"
    raise ValueError(f'not valid TOML: {reason}.\nA line looks like shown_card = "may_keep"')


def _ruleset(data: dict[str, object], stem: str) -> Ruleset:
    """Return the ruleset of a file's fields. Raises ValueError with one or two lines."""
    base = data.pop("base", COUP.name)
    for name in data:
        if name not in FIELD:
            raise ValueError(unknown_field(name, dict.fromkeys(["base", *FIELD])))
    if not isinstance(base, str) or base not in PRESETS:
        raise ValueError(f"there is no base {_no_preset(str(base))}.")
    if "name" not in data:
        data["name"] = stem
    rules = changed(PRESETS[base], data)
    if rules.draft and "max_seats" not in data:
        rules = replace(rules, max_seats=2)
    for name in data:
        idle = why_idle(rules, name)
        if idle:
            raise ValueError(f"{name} has no effect {idle}.\nLeave it out, or change that.")
    left = [rule for rule in FIELDS if rule.name not in data and why_idle(rules, rule.name)]
    rules = replace(rules, **{rule.name: rule.default for rule in left})
    conflict = why_unplayable(rules)
    if conflict:
        raise ValueError(f"nobody can play this: {conflict}.")
    if rules.name in PRESETS and rules != PRESETS[rules.name]:
        raise ValueError(f'{toml(rules.name)} is the name of a preset, which these rules are not.\nAdd name = "..."')
    return rules
