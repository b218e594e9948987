"""Compute what one seat may see. All facts for bots pass through this module, and only it removes hidden parts."""

from dataclasses import replace
from typing import Any, NamedTuple

from arena.coup.events import PRIVATE, Event
from arena.coup.rules import Role
from arena.coup.state import Board, State


class View(NamedTuple):
    """The board, and the cards of one seat.

    `drawn` is empty except in the seat's exchange, `discards` except after a draft; `seen` is the examined card.
    """

    board: Board
    seat: int
    cards: tuple[Role, ...]
    drawn: tuple[Role, ...]
    discards: tuple[Role, ...] = ()
    seen: Role | None = None


def view_from_seat(state: State, seat: int) -> View:
    """Return the seat's view of the state."""
    board, hands, _, drawn, _, discards, seen = state
    own_discards = discards[seat] if discards else ()
    if seat != board.actor:
        return _new_tuple(View, (board, seat, hands[seat], (), own_discards, None))
    return _new_tuple(View, (board, seat, hands[seat], drawn, own_discards, seen))


_new_tuple = tuple.__new__  # faster than the constructor of a named tuple


def event_for_seat(event: Event, seat: int | None) -> Event:
    """Return the event as the seat sees it, or, for None, without all private parts, as spectators do."""
    private = PRIVATE.get(type(event))
    if private is None:
        return event
    hidden: dict[str, Any] = {
        name: None for name, owners in private.items() if seat not in [getattr(event, owner) for owner in owners]
    }
    return replace(event, **hidden) if hidden else event


def list_private_seats(event: Event) -> tuple[int, ...]:
    """Return the seats whose copy of the event has private parts."""
    private = PRIVATE.get(type(event))
    if private is None:
        return ()
    owners = (owner for name, seats in private.items() if getattr(event, name) is not None for owner in seats)
    return tuple(dict.fromkeys(getattr(event, owner) for owner in owners))
