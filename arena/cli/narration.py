"""Narrate a recorded game in words, for the terminal.

Each turn is one line: the events with names, and marks for false claims where the cards are known. A seat's view
shows only that seat's cards, and the events as the seat received them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from arena.bots import escape_control
from arena.cli.console import format_count
from arena.coup import Forfeit, State
from arena.referee import FAULTS, GameRecord, Record, legal_moves
from arena.replay import ReplayStep, list_steps
from protocol.event_text import describe_end, describe_event, describe_move, join_texts

HIDDEN = "??"
BLUFF = " (bluff)"
_NO_REACTION_TEXTS = {"challenge": "nobody challenges", "block": "nobody blocks"}  # by kind of step


@dataclass(frozen=True, slots=True)
class NarratedFault:
    """A fault of a seat, with the move that was played instead, in words."""

    seat: int
    text: str


@dataclass(frozen=True, slots=True)
class NarratedTurn:
    """A turn as text. actor: a seat. table: what each player has after it."""

    turn: int
    actor: int
    text: str
    faults: tuple[NarratedFault, ...]
    table_state: str


@dataclass(frozen=True, slots=True)
class NarratedGame:
    """A game as text. names: by seat. seat: whose knowledge is shown, None for all cards. strays: faults at no move."""

    match: int
    game: int
    names: tuple[str, ...]
    seat: int | None
    turns: tuple[NarratedTurn, ...]
    unattributed_faults: tuple[str, ...]
    result_text: str


@dataclass(frozen=True, slots=True)
class NarratedGames:
    """Games in words, in the order of their records."""

    items: tuple[NarratedGame, ...]


class GameNarrator:
    """Writes one game of a record as text, with all cards, or with those that one seat knows."""

    def __init__(self, record: Record, game: GameRecord, seat: int | None = None) -> None:
        self.record = record
        self.game = game
        self.seat = seat
        self.names = [escape_control(record.header.bots[bot]) for bot in game.seating]

    @property
    def title(self) -> str:
        """Return the title: the game, and the seat whose knowledge is shown."""
        header = self.record.header
        whose = "all cards" if self.seat is None else f"as {self.names[self.seat]} saw it"
        seats = format_count(len(self.names), "seat")
        return f"match {header.match}, game {self.game.game}: {header.terms.rules.name}, {seats}, {whose}"

    @property
    def result_text(self) -> str:
        """Describe how the game ended."""
        game, names = self.game, self.names
        turns = f"after {format_count(game.turns, 'turn')}"
        if game.winner is not None:
            return f"{names[game.winner]} wins {turns}"
        return f"a draw of {', '.join(names[seat] for seat in game.survivors)} {turns}: {describe_end(game.reason)}"

    @property
    def unattributed_faults(self) -> Sequence[str]:
        """List the unsolicited lines by bot: faults that belong to no move."""
        return [
            f"{self.names[self.game.seating.index(fault.bot)]}: {fault.code}, {format_count(fault.count, 'time')}"
            for fault in self.game.faults
            if fault.step is None and self.seat in (None, self.game.seating.index(fault.bot))
        ]

    def narrate(self, since: int = 1) -> NarratedGame:
        """Return the game in words from turn `since`. Raises RecordError if the engine can't reproduce the record."""
        turns = tuple(turn for turn in self._narrate_turns() if turn.turn >= since)
        header, strays = self.record.header, tuple(self.unattributed_faults)
        return NarratedGame(header.match, self.game.game, tuple(self.names), self.seat, turns, strays, self.result_text)

    def _narrate_turns(self) -> Iterator[NarratedTurn]:
        """Yield each turn. Raises RecordError if the engine can't reproduce the record."""
        lines: list[tuple[str, str]] = []
        faults: list[NarratedFault] = []
        for step in list_steps(self.record.header, self.game):
            lines += self._narrate_step(step)
            faults += self._narrate_faults(step)
            after = step.after.board
            if after.turn != step.turn or not after.phase.asked:
                yield NarratedTurn(
                    step.turn,
                    step.before.board.actor,
                    join_texts(lines),
                    tuple(faults),
                    self._describe_table(step.after),
                )
                lines, faults = [], []

    def _narrate_faults(self, step: ReplayStep) -> Iterator[NarratedFault]:
        for given in step.answers:
            if given.fault is not None and self.seat in (None, given.seat):
                words = f"{given.fault} ({FAULTS[given.fault].message})"
                if not isinstance(given.move, Forfeit):  # the turn shows the forfeit
                    words += f"; played instead: {describe_move(legal_moves.move_payload(given.move), self.names)}"
                yield NarratedFault(given.seat, words)

    def _narrate_step(self, step: ReplayStep) -> list[tuple[str, str]]:
        """Return the texts of a step's missing reactions, events and statements, without changes of coins."""
        events = [event for event in step.payloads(self.seat) if event["event"] != "coins"]
        texts = [
            (event["event"], describe_event(event, self.names) + BLUFF * self._is_bluff(event, step))
            for event in events
        ]
        if step.kind in _NO_REACTION_TEXTS and not any(event["event"] in _NO_REACTION_TEXTS for event in events):
            return [("", _NO_REACTION_TEXTS[step.kind]), *texts]
        return texts

    def _is_bluff(self, event: dict[str, Any], step: ReplayStep) -> bool:
        claim = event["role"] if event["event"] == "block" else event.get("claim")
        if claim is None or self.seat not in (None, event["seat"]):
            return False
        hand = step.before.hands[event["seat"]]
        denied = claim.removeprefix("not_")
        return claim not in hand if claim == denied else denied in hand

    def _describe_table(self, state: State) -> str:
        """Return what each seat has, in one line."""
        seats = [f"{name} {self._describe_seat(state, seat)}" for seat, name in enumerate(self.names)]
        reserve = [f"reserve {state.board.reserve}"] if state.board.rules.reformation else []
        return " | ".join([*seats, *reserve])

    def _describe_seat(self, state: State, seat: int) -> str:
        """Return a seat's coins, cards (face-up ones in brackets) and side."""
        board = state.board
        cards = [role.value if self.seat in (None, seat) else HIDDEN for role in state.hands[seat]]
        up = [f"({role})" for role in board.revealed[seat]]
        side = [board.sides[seat].value] if board.sides else []
        return " ".join([str(board.coins[seat]), *cards, *up, *side])
