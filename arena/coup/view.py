"""What one seat may see. Only this file redacts; all that a bot learns passes through it."""

from dataclasses import replace
from typing import NamedTuple

from arena.coup.events import Drafted, Event, Examination, Exchanged, HandShown, Shown
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


def view(state: State, seat: int) -> View:
    """Return what the seat sees of the state."""
    board = state.board
    if seat != board.actor:
        return View(board, seat, state.hands[seat], (), state.discards[seat] if state.discards else ())
    return View(board, seat, state.hands[seat], state.drawn, state.discards[seat] if state.discards else (), state.seen)


_OWN = (Shown, Exchanged, HandShown, Drafted)  # `cards` are their seat's; a tuple: isinstance is slower for a union


def seen(event: Event, seat: int | None) -> Event:
    """Return the event as the seat sees it; None is a spectator, who sees no private part."""
    if isinstance(event, _OWN):
        return event if event.seat == seat else replace(event, cards=None)
    if isinstance(event, Examination) and event.target != seat:
        return replace(event, cards=None, role=event.role if event.seat == seat else None)
    return event


def private_to(event: Event) -> tuple[int, ...]:
    """Return the seats whose copy of the event holds more than the public one."""
    if isinstance(event, _OWN):
        return () if event.cards is None else (event.seat,)
    if isinstance(event, Examination):
        return (event.seat, event.target)
    return ()
