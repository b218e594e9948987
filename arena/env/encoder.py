"""Encode what each seat of a game knows as numbers. mypyc can compile this module (hatch_build.py)."""

from array import array
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arena.coup import (
    NOTHING_KNOWN,
    PRIVATE,
    CertainCards,
    Event,
    Examining,
    Exchanging,
    Knowledge,
    Over,
    State,
    View,
    concerning,
    event_for_seat,
    list_private_seats,
    view_from_seat,
)
from arena.referee import messages
from protocol.kits import coup_env

Array: TypeAlias = NDArray[np.int16]  # also where mypyc finds no numpy

_KINDS = {**messages.KINDS, Over: ""}
_PRIVATE_PHASES = (Exchanging, Examining)  # phases in which a seat sees cards that no event has shown yet
OwnCards = dict[Any, Any]  # a cache of counts of own cards, kept between games


def observation_fields(seats: int) -> dict[str, tuple[slice, str]]:
    """Return (slice, description) of each field by name; players are counted clockwise from the observer."""
    fields, start = {}, 0
    for field in coup_env.fields(seats):
        fields[field.name] = slice(start, start + field.size), field.says
        start += field.size
    return fields


class ObservationEncoder(coup_env.Watcher):
    """An encoder of one game as numbers, from the initial state, the engine's events and views.

    `own`: a cache that later games may share.
    """

    __slots__ = ("_certain_cards", "_concerning", "_knowledge", "_numbers", "_pending_events")

    def __init__(self, start: State, own: OwnCards | None = None) -> None:
        rules, seats = start.board.rules, start.board.seats
        super().__init__(rules.roles, seats, own)
        self._numbers = array("h", bytes(2 * coup_env.size(seats)))
        self._concerning = concerning(rules)
        self._knowledge = [Knowledge(view_from_seat(start, seat)) for seat in range(seats)]
        self._certain_cards = [NOTHING_KNOWN] * seats
        self._pending_events: list[list[Event]] = [[] for _ in range(seats)]  # by seat, not yet passed to its Knowledge

    def add(self, events: Iterable[Event]) -> None:
        """Count claims, shown, kept and examined cards, and queue the events for each seat's knowledge."""
        super().add(events)
        for event in events:
            if type(event) in self._concerning:
                public_event = event_for_seat(event, None) if type(event) in PRIVATE else event
                for pending_events in self._pending_events:
                    pending_events.append(public_event)
                if public_event is not event:
                    for seat in list_private_seats(event):
                        self._pending_events[seat][-1] = event_for_seat(event, seat)

    def known(self, view: View) -> CertainCards:
        """Return the cards that are certain to a seat.

        Call this at each exchange of the seat, because no event contains the drawn cards.
        """
        seat = view.seat
        pending_events = self._pending_events[seat]
        if pending_events or type(view.board.phase) in _PRIVATE_PHASES:
            self._certain_cards[seat] = self._knowledge[seat].update(view, pending_events)
            pending_events.clear()
        return self._certain_cards[seat]

    def observe(self, view: View) -> Array:
        """Return the observation of a seat, a new array."""
        board = view.board
        if board is not self._board:
            self.see(board, _KINDS[type(board.phase)])
        self.fill(self._numbers, view.seat, view[2:], self.known(view))
        return np.array(self._numbers)
