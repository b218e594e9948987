"""The fixed list of actions of a ruleset and a number of seats, and which of them are legal at a request.

An action is an index. Its word is the move's notation, but a target is counted clockwise from who acts: `steal:+1` aims
at the next seat, living or not. So one policy can play every seat.
"""

import numpy as np
from numpy.typing import NDArray

from arena.coup import PASS, Act, Move, Ruleset, notation
from arena.referee import messages
from protocol.kits import coup_env

WAIT = 0  # the action of a seat that isn't asked
Mask = NDArray[np.int8]


class Actions:
    """The actions of one ruleset at one size of table. `words` has one entry for each; `wait` is the first."""

    def __init__(self, rules: Ruleset, seats: int) -> None:
        self._seats = seats
        self.words = coup_env.action_words(messages.ruleset(rules, seats), seats)
        self._index = {word: index for index, word in enumerate(self.words)}
        self.menus: tuple[dict[int, Menu], ...] = tuple({} for _ in range(seats))  # a seat's, by their moves' identity
        self.waiting = Menu((), {WAIT: PASS}, self._mask([WAIT]))

    def menu(self, moves: tuple[Move, ...], seat: int) -> "Menu":
        """Return the legal moves of a seat as actions, and keep them: the engine hands out the same tuples again."""
        menus = self.menus[seat]
        if len(menus) >= _MOST_MENUS:
            menus.clear()
        by_action = {self._index[self._word(move, seat)]: move for move in moves}
        menus[id(moves)] = menu = Menu(moves, by_action, self._mask([*by_action]))
        return menu

    def _word(self, move: Move, seat: int) -> str:
        if isinstance(move, Act) and move.target is not None:
            return f"{move.action.value}:+{(move.target - seat) % self._seats}"
        return notation(move)

    def _mask(self, legal: list[int]) -> Mask:
        mask = np.zeros(len(self.words), np.int8)
        mask[legal] = 1
        return mask


class Menu:
    """What one seat may do at one request: moves by their actions, and the mask (read it, or copy it)."""

    __slots__ = ("by_action", "mask", "moves")

    def __init__(self, moves: tuple[Move, ...], by_action: dict[int, Move], mask: Mask) -> None:
        self.moves = moves  # held, so that its identity stays taken
        self.by_action = by_action
        self.mask = mask


_MOST_MENUS = 2_000  # of a seat; under 30 MB together
