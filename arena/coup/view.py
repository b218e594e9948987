"""What one seat may see. The only place that redacts: whatever crosses to a bot passes through here."""

from dataclasses import dataclass, replace

from arena.coup.events import Event, Exchanged, Shown
from arena.coup.rules import Role
from arena.coup.state import Board, State


@dataclass(frozen=True, slots=True)
class View:
    """The board, and the cards of one seat. `drawn` is empty but in one's own exchange."""

    board: Board
    seat: int
    cards: tuple[Role, ...]
    drawn: tuple[Role, ...]


def view(state: State, seat: int) -> View:
    """Return what the seat sees of the state."""
    board = state.board
    return View(board, seat, state.hands[seat], state.drawn if state.drawn and seat == board.actor else ())


def seen(event: Event, seat: int | None) -> Event:
    """Return the event as the seat sees it; None is a spectator, who sees no private part."""
    if isinstance(event, Shown | Exchanged) and event.seat != seat:
        return replace(event, cards=None)
    return event
