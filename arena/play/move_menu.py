"""Make the menu of a request's legal moves.

Moves that differ only in their target share one line. Each line has a number and a letter, one key each.
An action always has the same letter; other moves get a letter of their distinguishing word. RESERVED_LETTERS contains
the keys of the table's commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from arena import coup
from protocol.event_text import describe_move

NUMBERS = "1234567890"  # keys of menu lines; no menu is longer: ten actions, or nine opponents and oneself as targets
RESERVED_LETTERS = "hlq?"  # hint, log, leave, help

_LETTERS = {
    "income": "i",
    "foreign_aid": "f",
    "tax": "t",
    "steal": "s",
    "assassinate": "a",
    "coup": "c",
    "exchange": "e",
    "examine": "x",
    "convert": "v",
    "embezzle": "z",
    "pass": "p",
    "challenge": "c",
    "show": "s",
    "decline": "d",
}


@dataclass(frozen=True, slots=True)
class MoveOption:
    """One line of the menu. `choices`: (index of a legal move, its target's seat or None).

    `letter`: "" if none is left. `bluff`: whether the move claims a role that the player lacks, or denies one that it
    has.
    """

    number: str
    letter: str
    text: str
    choices: tuple[tuple[int, int | None], ...]
    bluff: bool


def make_move_menu(
    legal: Sequence[Mapping[str, Any]], cards: Sequence[str], rules: Mapping[str, Any], names: Sequence[str]
) -> list[MoveOption]:
    """Return the menu of legal moves. cards: the player's hand. rules: as in the hello line. names: by seat."""
    groups: dict[str, list[tuple[int, int | None]]] = {}
    for index, move in enumerate(legal):
        word = str(move.get("action", index))
        groups.setdefault(word, []).append((index, move.get("target")))
    options: list[MoveOption] = []
    for number, choices in zip(NUMBERS, groups.values(), strict=False):
        move = legal[choices[0][0]]
        letter = _choose_letter(move, "".join(option.letter for option in options))
        text = _describe_moves([legal[index] for index, _ in choices], rules, names)
        options.append(MoveOption(number, letter, text, tuple(choices), _is_bluff(move, cards, rules)))
    return options


def _choose_letter(move: Mapping[str, Any], used_letters: str) -> str:
    """Return an unused letter of the move's words; "" if all of them are used, or the move names several cards."""
    word = str(move.get("action") or next(iter(move)))
    value = move.get(word)
    letters = _LETTERS.get(word, "")
    if isinstance(value, str):
        letters += value
    if not isinstance(value, list):
        letters += word
    return next(
        (letter for letter in letters if letter.isalpha() and letter not in used_letters + RESERVED_LETTERS), ""
    )


def _describe_moves(moves: Sequence[Mapping[str, Any]], rules: Mapping[str, Any], names: Sequence[str]) -> str:
    """Describe moves that differ only in their target as one line of a menu, with what they cost."""
    move = moves[0]
    cost = {"coup": rules.get("coup_cost"), "assassinate": rules.get("assassinate_cost")}.get(str(move.get("action")))
    price = f" ({cost} coins)" if cost else ""
    targets = [names[targeted_move["target"]] for targeted_move in moves if "target" in targeted_move]
    if not targets:
        return describe_move(move, names) + price
    *others, last_target = targets
    target_list = f"{', '.join(others)} or {last_target}" if others else last_target
    text = describe_move({**move, "target": 0}, [target_list])
    return (text if "target" in move else f"{describe_move(move, names)}, or {text}") + price


def _is_bluff(move: Mapping[str, Any], cards: Sequence[str], rules: Mapping[str, Any]) -> bool:
    """Return whether a move claims a role that these cards lack, or denies one that they have."""
    rule = find_action_rule(str(move.get("action")), rules)
    claim = move.get("block") if rule is None else rule.claim
    return claim is not None and (claim in cards) == (rule is not None and rule.denies)


def find_action_rule(action: str, rules: Mapping[str, Any]) -> coup.ActionRule | None:
    """Return the row of an action in the rules of a `hello`; None if they have no such action."""
    return _read_rows(tuple((name, rules[name]) for name in coup.FIELD_BY_NAME if name in rules)).get(action)


@cache
def _read_rows(fields: tuple[tuple[str, object], ...]) -> dict[str, coup.ActionRule]:
    return {row.action.value: row for row in coup.replace_fields(coup.COUP, dict(fields)).actions}
