"""The legal moves of a request as a short menu: moves that differ in their target alone are one line.

Each line has a number and a letter of its own, each of them one key. The letters of actions are always the same; those
of other moves are of the word that tells them apart. Letters that the table keeps for itself are in TAKEN.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protocol.words import tell_move

NUMBERS = "1234567890"  # of a list's lines; no list is longer: ten actions, nine others to aim at and oneself
TAKEN = "hlq?"  # hint, log, leave, help

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
# What an action claims; `exchange` claims the role that the game has for it.
_CLAIMS = {
    "tax": "duke",
    "steal": "captain",
    "assassinate": "assassin",
    "examine": "inquisitor",
    "embezzle": "not_duke",
}
_TARGET = "{target}"  # stands for the name until one is chosen


@dataclass(frozen=True, slots=True)
class Option:
    """One line. `choices`: (index of a legal move, its target's seat, None if it has none).

    `bluff`: to choose it is to claim a role that the person doesn't hold.
    """

    number: str
    letter: str
    text: str
    choices: tuple[tuple[int, int | None], ...]
    bluff: bool


def menu(
    legal: Sequence[Mapping[str, Any]], cards: Sequence[str], rules: Mapping[str, Any], names: Sequence[str]
) -> list[Option]:
    """Return the menu of a request's legal moves for who holds these cards, by the rules of the hello line."""
    groups: dict[str, list[tuple[int, int | None]]] = {}
    for index, move in enumerate(legal):
        word = str(move.get("action", index))
        groups.setdefault(word, []).append((index, move.get("target")))
    options: list[Option] = []
    for number, choices in zip(NUMBERS, groups.values(), strict=False):
        move = legal[choices[0][0]]
        letter = _letter(move, "".join(option.letter for option in options))
        text = _text([legal[index] for index, _ in choices], rules, names)
        options.append(Option(number, letter, text, tuple(choices), _is_bluff(move, cards, rules)))
    return options


def _letter(move: Mapping[str, Any], used: str) -> str:
    """Return a letter that no line before has; "" if there is none."""
    word = str(move.get("action") or next(iter(move)))
    value = move.get(word)
    fixed = _LETTERS.get(word, "")
    letters = fixed + (value if isinstance(value, str) else "") + (word if not isinstance(value, list) else "")
    return next((letter for letter in letters if letter.isalpha() and letter not in used + TAKEN), "")


def _text(moves: Sequence[Mapping[str, Any]], rules: Mapping[str, Any], names: Sequence[str]) -> str:
    move = moves[0]
    cost = {"coup": rules.get("coup_cost"), "assassinate": rules.get("assassinate_cost")}.get(str(move.get("action")))
    paid = f" ({cost} coins)" if cost else ""
    targets = [names[each["target"]] for each in moves if "target" in each]
    if not targets:
        return tell_move(move, names) + paid
    aimed = next(each for each in moves if "target" in each)
    whom = " or ".join(filter(None, (", ".join(targets[:-1]), targets[-1])))
    text = tell_move({**aimed, "target": 0}, [whom])
    alone = tell_move(move, names)
    return (f"{alone}, or {text}" if "target" not in move else text) + paid


def _is_bluff(move: Mapping[str, Any], cards: Sequence[str], rules: Mapping[str, Any]) -> bool:
    claim = _CLAIMS.get(str(move.get("action")), move.get("block"))
    if move.get("action") == "exchange":
        claim = "inquisitor" if rules.get("inquisitor") else "ambassador"
    if claim is None:
        return False
    denied = str(claim).removeprefix("not_")
    return (denied in cards) if denied != claim else (claim not in cards)
