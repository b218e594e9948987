"""What a seat observes, as numbers: the encoder that bots carry, `coup_env`, given the engine's views."""

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.coup import Over, Ruleset, View
from arena.referee import messages
from protocol.kits import coup_env

Array = NDArray[np.int16]

_KINDS = {**messages.KINDS, Over: ""}
OwnCards = dict[Any, Any]  # what is counted of a seat's own cards, kept from game to game


def fields(seats: int) -> dict[str, tuple[slice, str]]:
    """Return where each field stands in the array, and what it says; players are counted clockwise from oneself."""
    places, begin = {}, 0
    for field in coup_env.fields(seats):
        places[field.name] = slice(begin, begin + field.size), field.says
        begin += field.size
    return places


class Watcher(coup_env.Watcher):
    """What is told of one game, as numbers: it is given the engine's events and views."""

    __slots__ = ("_buffers",)

    def __init__(self, rules: Ruleset, seats: int, own: OwnCards | None = None) -> None:
        super().__init__(rules.roles, seats, own)
        # One for each seat, written again and again. No view of them is stored: a copy's would be of other memory.
        self._buffers = [array("h", bytes(2 * coup_env.size(seats))) for _ in range(seats)]

    def observe(self, view: View) -> Array:
        """Return what a seat observes; an array of its own."""
        board, seat = view.board, view.seat
        if board is not self._board:
            self.see(board, _KINDS[type(board.phase)])
        self.fill(self._buffers[seat], seat, view[2:])
        return np.array(self._buffers[seat])
