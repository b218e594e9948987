"""Collect the facts of a game while it is played: moves, events, faults, and the outcomes of chance.

A chance outcome is one word. `draw:captain+duke` are cards from the court deck, taken into a hand or drawn for an
exchange. `look:duke` is the card that an inquisitor sees if its owner didn't choose it. The words are in order of
occurrence. So a reader of a record needs neither the engine nor the key."""

from collections.abc import Sequence
from typing import Any

from arena.coup import (
    PRIVATE,
    Drafted,
    Event,
    Examining,
    Exchanged,
    Exchanging,
    Exiled,
    Forfeited,
    HandShown,
    Lost,
    MoveOrForfeit,
    Over,
    Pick,
    Reveal,
    Role,
    State,
    StatementMade,
)
from arena.referee import wire
from arena.referee.faults import Fault
from arena.referee.game_record import GameRecord
from arena.referee.table_talk import Placed, list_statements

_Cards = tuple[Role, ...]
_MOVE_CARDS = {kind for kind, fields in PRIVATE.items() if "cards" in fields} - {Exchanged} | {Lost}
_ELIMINATIONS = frozenset((Exiled, Forfeited))


def list_chance_outcomes(
    state: State, answers: Sequence[MoveOrForfeit], next_state: State, events: Sequence[Event]
) -> list[str]:
    """Return the chance outcomes of one step, in notation; the arguments are those and the results of `apply_moves`."""
    outcomes = []
    hands = list(state.hands)
    for event in events:
        if type(event) in _MOVE_CARDS:
            drawn = _apply_to_hands(event, hands, answers)
            if drawn is not None:
                outcomes.append(_outcome_word("draw", drawn))
    phase = next_state.board.phase
    if isinstance(phase, Exchanging):
        outcomes.append(_outcome_word("draw", next_state.drawn))
    elif isinstance(phase, Examining) and next_state.seen is not None and not isinstance(answers[0], Reveal):
        outcomes.append(_outcome_word("look", (next_state.seen,)))
    return outcomes


def _apply_to_hands(event: Any, hands: list[_Cards], answers: Sequence[MoveOrForfeit]) -> _Cards | None:
    """Update the hands by an event that moves cards; return the cards that its seat drew, None if it drew none.

    answers: of the step, by seat in a draft. After a draft and an examination no event of the step follows.
    """
    if isinstance(event, Lost):
        hands[event.seat] = _without(hands[event.seat], (event.role,))
        return None
    cards: _Cards | None = getattr(event, "cards", None)
    if cards is None:
        return None
    if isinstance(event, Drafted):
        pick = answers[event.seat]
        assert isinstance(pick, Pick)
        return _without(cards, (pick.role,))
    (owner,) = (getattr(event, name) for name in PRIVATE[type(event)]["cards"])
    returned = event.roles if isinstance(event, HandShown) else (event.role,)
    drawn = _without(cards, _without(hands[owner], returned))
    hands[owner] = cards
    return drawn


def _without(cards: _Cards, removed: _Cards) -> _Cards:
    """Return the other cards. Raises ValueError if one isn't among them."""
    remaining = list(cards)
    for role in removed:
        remaining.remove(role)
    return tuple(remaining)


def _outcome_word(verb: str, cards: _Cards) -> str:
    return f"{verb}:{'+'.join([role._value_ for role in cards])}"


class GameRecorder:
    """The recorder of a game while it is played; `feed` has the game's events.

    The caller appends to `moves`, `times`, `statements` (with table talk) and `faults`.
    """

    def __init__(self, game: int, seating: tuple[int, ...], starter: int) -> None:
        self.game = game
        self.seating = seating
        self.starter = starter
        self.feed = wire.LineCursor(len(seating))
        self.moves: list[str] = []
        self.times: list[int] = []
        self.statements: list[Placed] = []
        self.faults: list[Fault] = []
        self._start_payload: dict[str, Any] = {}
        self._move_seats: list[int] = []
        self._draws: list[str] = []
        self._eliminated: list[tuple[int, int]] = []

    def list_new_statements(self) -> list[StatementMade]:
        """Return the statements of the step that isn't recorded yet; they precede its other events."""
        return list_statements(self.statements, len(self._move_seats))

    def add_step(
        self, state: State, answers: Sequence[MoveOrForfeit], next_state: State, events: Sequence[Event]
    ) -> None:
        """Record one step; the arguments are those and the results of `apply_moves`."""
        if not self._move_seats:
            self._start_payload = _start_payload(state)
        self._move_seats += state.board.phase.asked
        for event in events:
            if type(event) in _ELIMINATIONS:
                self._eliminated.append((event.seat, state.board.turn))
        self._draws += list_chance_outcomes(state, answers, next_state, events)
        self.feed.add(events)

    def make_record(self, state: State) -> GameRecord:
        """Return the record of the game, which has ended in `state`."""
        phase = state.board.phase
        assert isinstance(phase, Over)
        return GameRecord(
            game=self.game,
            seating=self.seating,
            moves=tuple(self.moves),
            move_seats=tuple(self._move_seats),
            times=tuple(self.times),
            statements=tuple(self.statements),
            faults=tuple(self.faults),
            eliminated=tuple(self._eliminated),
            winner=phase.winner,
            reason=phase.ending.value,
            survivors=phase.survivors,
            starter=self.starter,
            start=self._start_payload,
            draws=tuple(self._draws),
            turns=state.board.turn,
            events=self.feed.count,
            digest=self.feed.digest(),
        )


def _start_payload(state: State) -> dict[str, Any]:
    """Return the start of a game as JSON: first seat, coins, deck, hands (empty before a draft), and known sides."""
    board = state.board
    start: dict[str, Any] = {
        "actor": board.actor,
        "coins": list(board.coins),
        "deck": board.deck,
        "hands": [[role._value_ for role in hand] for hand in state.hands],
    }
    if board.sides:
        start["sides"] = [side.value for side in board.sides]
    return start
