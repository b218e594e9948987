"""Make games in C (c/), from the tables of the rules and of the encoding."""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from arena.coup import PRESETS, Ruleset
from arena.env.encoder import observation_fields
from arena.local import sample
from protocol.kits import coup_env

try:
    from arena.env import _games  # type: ignore[attr-defined]
except ImportError:
    _games = None

_PRESETS = (PRESETS["coup"], PRESETS["inquisitor"])
_MAX_SEATS, _MAX_OPPONENTS, _MAX_TURNS = 6, 64, 32_767
_FREE_FIELDS = ("name", "min_seats", "max_seats", "turn_limit", "talk")  # of rules, which C needs not know
_NOT_COMPILED = "the arena isn't compiled: install a compiled wheel, or run `make compiled` in a clone"
_OPPONENTS = ("random", "honest")  # in C
_VERBS = {"-": "pass", "!": "challenge"}  # the verbs of words that aren't their own


def is_policy(opponent: object) -> bool:
    """Return whether an opponent is a function on arrays, and not a bot."""
    return callable(opponent) and not isinstance(opponent, type) and not hasattr(opponent, "reply")


def problem(rules: Ruleset, seats: int, opponents: Sequence[Any]) -> str | None:
    """Return why such games can't be played in C, None if they can."""
    if _games is None:
        return _NOT_COMPILED
    values = {name: getattr(rules, name) for name in _FREE_FIELDS}
    if not any(replace(preset, **values) == rules for preset in _PRESETS):
        return "the rules aren't those of coup or inquisitor"
    if rules.limit(seats) > _MAX_TURNS:
        return f"the turn limit is above {_MAX_TURNS:,}"
    if seats > _MAX_SEATS:
        return f"there are more than {_MAX_SEATS} seats"
    if not all(opponent in _OPPONENTS or is_policy(opponent) for opponent in opponents):
        return "an opponent is a bot"
    if len(opponents) > _MAX_OPPONENTS:
        return f"there are more than {_MAX_OPPONENTS} opponents"
    return None


def make_games(arguments: Mapping[str, Any]) -> Any:
    """Return the games in C for arguments of `make_arguments`. Raises ImportError if the arena isn't compiled."""
    if _games is None:
        raise ImportError(_NOT_COMPILED)
    return _games.Games(**arguments)


def make_arguments(
    rules: Ruleset, seats: int, games: int, words: Sequence[str], opponents: Sequence[Any], facts: bool
) -> dict[str, Any]:
    """Return the arguments of `Games` in c/module.c by name: the rules, the actions and the observation as numbers.

    words: of the actions. facts: whether observations contain what is certain. `problem` returns None for the others.
    """
    roles = [role.value for role in rules.roles]
    honest = vars(sys.modules[sample("sample:honest").__module__])
    offsets = {name: field.start for name, (field, _) in observation_fields(seats).items()}
    places = _list_places(offsets)
    return {
        "games": games,
        "seats": seats,
        "facts": facts,
        "row_numbers": offsets["player 1: coins"] - offsets["player 0: coins"],
        "secret_numbers": offsets["player 1: known"] - offsets["player 0: known"],
        "numbers": coup_env.size(seats),
        "rules": _pack_rows(_games.RULES, [_list_settings(rules, seats)]),
        "rows": _pack_rows(_games.ROW, _list_actions(rules, roles, honest["ROLE_FOR"], places)),
        "moves": _pack(_encode_move(word, rules, roles) for word in words),
        "places": _pack_rows(_games.PLACES, [places]),
        "values": _pack([[10 * honest["VALUE"].get(role, 2) for role in roles]]),
        "roster": array("h", [_number_opponent(opponent, index) for index, opponent in enumerate(opponents)]),
    }


def _list_places(offsets: Mapping[str, int]) -> dict[str, int]:
    """Return the indices of numbers in an observation by the names of C. offsets: of each field, by its name."""
    return {
        **{name.removeprefix("player 0: "): offset for name, offset in offsets.items()},
        **{f"kind_{kind}": offsets["kind"] + index for index, kind in enumerate(coup_env.KINDS)},
        **{f"reason_{reason}": offsets["reason"] + index for index, reason in enumerate(coup_env.REASONS)},
    }


def _number_opponent(opponent: Any, index: int) -> int:
    """Return the number of an opponent in C: that of its kind of player, to which a policy's index is added."""
    players = _games.PLAYERS.split()
    number: int = players.index(opponent) if opponent in _OPPONENTS else players.index("policy") + index
    return number


def _list_actions(
    rules: Ruleset, roles: Sequence[str], honest_roles: Mapping[str, str], places: Mapping[str, int]
) -> list[dict[str, Any]]:
    """Return the actions of the rules as numbers by name.

    honest_roles: the role for which sample:honest plays each. places: as of `_list_places`.
    """
    return [
        {
            "effect": _games.EFFECTS.split().index(row.effect),
            "cost": row.cost,
            "gain": row.gain,
            "targeted": row.targeted,
            "claim": -1 if row.claim is None else roles.index(row.claim),
            "block_roles": sum(1 << roles.index(role) for role in row.block_roles),
            "forced": row.action == "coup",
            "honest": row.claim is None or honest_roles.get(row.action) == row.claim,
            "shown_at": places["action"] + coup_env.ACTIONS.index(row.action),
            "reason_at": places.get(f"reason_{row.action}", 0),
        }
        for row in rules.actions
    ]


def _list_settings(rules: Ruleset, seats: int) -> dict[str, Any]:
    """Return the other numbers of the rules by name."""
    return {
        "copies": rules.copies(seats),
        "draw": rules.draw,
        "start_coins": rules.start_coins,
        "starter_coins": rules.two_player_starter_coins,
        "forced_coup": rules.forced_coup,
        "turn_limit": rules.limit(seats),
        "draws_first": rules.examine_replace == "draw_first",
    }


def _pack(rows: Iterable[Iterable[float]]) -> "array[int]":
    return array("h", [int(number) for row in rows for number in row])


def _pack_rows(names: str, rows: Iterable[Mapping[str, Any]]) -> "array[int]":
    """Return the values of each row in the order that C names."""
    return _pack([row[name] for name in names.split()] for row in rows)


def _encode_move(word: str, rules: Ruleset, roles: Sequence[str]) -> tuple[int, int, int]:
    """Return an action's word as a move of c/game.h: (verb, and two numbers that depend on it).

    They are an action and the steps to its target, two kept roles (the second -1 for none), or a role and 0.
    """
    verbs = _games.VERBS.split()
    name, _, argument = word.partition(":")
    actions = [row.action.value for row in rules.actions]
    if name in actions:
        return verbs.index("act"), actions.index(name), int(argument or 0)
    verb = verbs.index(_VERBS.get(name, name))
    if name == "keep":
        first_role, _, second_role = argument.partition("+")
        return verb, roles.index(first_role), roles.index(second_role) if second_role else -1
    return verb, roles.index(argument) if argument else 0, 0
