"""The names of a run's bots: which are allowed, and who gets one that several want.

`name=` is what the user demands, so two equal ones are an error. A name from a file, a folder or a bot.toml gives way:
to `name=`, then to the first that bears it. The others become `honest-2`, `honest-3`, each with a note for the user.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from arena.bots.errors import BotError, shown

NAME_CHARACTERS = 40  # a column of the standings on an 80-column terminal still has room for numbers


# --- the command line -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wish:
    """Hold the name a bot would like; demanded: the user gave it with `name=`; shown: the path as the user wrote it."""

    name: str
    demanded: bool
    shown: str


def normal_name(name: str) -> str:
    """Return the name in NFC (macOS hands out decomposed file names). Raises ValueError saying what is wrong with it.

    `isprintable` refuses control characters (so ANSI sequences), bidi and zero-width marks, surrogates, odd spaces.
    """
    name = unicodedata.normalize("NFC", name)
    if not name.strip():
        raise ValueError("its name is empty")
    if not name.isprintable():
        raise ValueError(f'its name "{shown(name)}" has characters that can\'t be printed')
    if name != name.strip():
        raise ValueError(f'its name "{name}" begins or ends with a space')
    if "/" in name or name in {".", ".."}:
        raise ValueError(f'its name "{name}" looks like a path')
    if len(name) > NAME_CHARACTERS:
        raise ValueError(f'its name "{name}" is longer than {NAME_CHARACTERS} characters')
    return name


def assign_names(wishes: Sequence[Wish]) -> list[str]:
    """Give each bot a name of its own: demanded names first, then whoever comes first, then numbers from 2."""
    taken: dict[str, str] = {}
    names: list[str | None] = [None] * len(wishes)
    for demanded in (True, False):
        for seat, wish in enumerate(wishes):
            if wish.demanded != demanded:
                continue
            if wish.name not in taken:
                taken[wish.name] = wish.shown
                names[seat] = wish.name
            elif demanded:
                raise BotError(
                    f'Two bots are to be named "{wish.name}": {taken[wish.name]} and {wish.shown}.\n'
                    "Give each a name of its own, or leave one name away."
                )
    return [name or _with_number(wish, taken) for name, wish in zip(names, wishes, strict=True)]


def _with_number(wish: Wish, taken: dict[str, str]) -> str:
    number = 2
    while True:
        ending = f"-{number}"
        name = wish.name[: NAME_CHARACTERS - len(ending)].rstrip() + ending
        if name not in taken:
            taken[name] = wish.shown
            return name
        number += 1
