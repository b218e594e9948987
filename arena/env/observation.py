"""What a seat observes, as numbers: the encoder that bots carry, `coup_env`, given the engine's views."""

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.coup import (
    NOTHING_KNOWN,
    PRIVATE,
    Event,
    Examining,
    Exchanging,
    Knowledge,
    Known,
    Over,
    State,
    View,
    concerning,
    private_to,
    seen,
    view,
)
from arena.referee import messages
from protocol.kits import coup_env

Array = NDArray[np.int16]

_KINDS = {**messages.KINDS, Over: ""}
_DRAWS = (Exchanging, Examining)  # what a seat sees there is in no event yet
OwnCards = dict[Any, Any]  # what is counted of a seat's own cards, kept from game to game


def fields(seats: int) -> dict[str, tuple[slice, str]]:
    """Return where each field stands in the array, and what it says; players are counted clockwise from oneself."""
    places, begin = {}, 0
    for field in coup_env.fields(seats):
        places[field.name] = slice(begin, begin + field.size), field.says
        begin += field.size
    return places


class Watcher(coup_env.Watcher):
    """What is told of one game, as numbers: it is given the deal, the engine's events, and views."""

    __slots__ = ("_buffers", "_concerning", "_known_now", "_minds", "_news")

    def __init__(self, start: State, own: OwnCards | None = None) -> None:
        rules, seats = start.board.rules, start.board.seats
        super().__init__(rules.roles, seats, own)
        # One for each seat, written again and again. No view of them is stored: a copy's would be of other memory.
        self._buffers = [array("h", bytes(2 * coup_env.size(seats))) for _ in range(seats)]
        self._concerning = concerning(rules)
        self._minds = [Knowledge(view(start, seat)) for seat in range(seats)]
        self._known_now = [NOTHING_KNOWN] * seats
        self._news: list[list[Event]] = [[] for _ in range(seats)]  # what a seat's mind hasn't had

    def add(self, events: Iterable[Event]) -> None:
        """Count what players claimed, showed, kept and examined, and keep what each seat may conclude from."""
        super().add(events)
        for event in events:
            if type(event) in self._concerning:
                public = seen(event, None) if type(event) in PRIVATE else event
                for news in self._news:
                    news.append(public)
                if public is not event:
                    for seat in private_to(event):
                        self._news[seat][-1] = seen(event, seat)

    def known(self, view: View) -> Known:
        """Return what is certain to a seat. Ask it at each exchange of its own: no event has the cards that it draws.

        What a seat looks at in an examination is in an event.
        """
        seat, news = view.seat, self._news[view.seat]
        if news or type(view.board.phase) in _DRAWS:
            self._known_now[seat] = self._minds[seat].known(view, news)
            news.clear()
        return self._known_now[seat]

    def observe(self, view: View) -> Array:
        """Return what a seat observes; an array of its own."""
        board, seat = view.board, view.seat
        if board is not self._board:
            self.see(board, _KINDS[type(board.phase)])
        self.fill(self._buffers[seat], seat, view[2:], self.known(view))
        return np.array(self._buffers[seat])
