"""A recorded game in words, turn by turn, for the terminal.

A turn is a line: what happened, with names, and marks where all cards are shown and a claim was false. Below stands the
table after it. One seat's view has that seat's cards alone, and the events as that seat got them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.coup import State
    from arena.referee import GameRecord, Record
    from arena.tell import Given, Moment

HIDDEN = "??"
BLUFF = " (bluff)"


@dataclass(slots=True)
class Turn:
    """One turn: what happened, in words; the faults in it; the state after it. Turn 0 is what came before turn 1."""

    number: int
    actor: int
    after: "State"
    words: str = ""
    faults: list["Given"] = field(default_factory=list)


class Telling:
    """One game of a record, told with all cards, or with those of one seat."""

    def __init__(self, record: "Record", game: "GameRecord", seat: int | None = None) -> None:
        from arena.bots import shown

        self.record = record
        self.game = game
        self.seat = seat
        self.names = [shown(record.header.bots[bot]) for bot in game.seating]

    def turns(self) -> Iterator[Turn]:
        """Yield the game's turns. Raises RecordError where the engine doesn't play it so."""
        from arena.tell import moments

        turn: Turn | None = None
        told: list[tuple[dict[str, Any], bool]] = []
        for moment in moments(self.record.header, self.game):
            if turn is None or moment.turn != turn.number:
                if turn is not None:
                    turn.words = self._joined(told)
                    yield turn
                turn, told = Turn(moment.turn, moment.before.board.actor, moment.after), []
            told += self._events(moment)
            turn.faults += [given for given in moment.given if given.fault is not None and self._sees_fault(given)]
            turn.after = moment.after
        if turn is not None:
            turn.words = self._joined(told)
            yield turn

    def _sees_fault(self, given: "Given") -> bool:
        return self.seat is None or given.seat == self.seat

    def _events(self, moment: "Moment") -> Iterator[tuple[dict[str, Any], bool]]:
        """Yield the events of a moment as they are told, and whether each is a false claim."""
        from arena.referee import wire

        for number, event in enumerate(moment.events, start=moment.first):
            text = wire.whole_event(number, event) if self.seat is None else wire.event(number, event, self.seat)
            payload = json.loads(text)
            yield payload, self._is_bluff(payload, moment)

    def _is_bluff(self, event: dict[str, Any], moment: "Moment") -> bool:
        claim = (
            event.get("claim") if event["event"] == "action" else event["role"] if event["event"] == "block" else None
        )
        if claim is None or self.seat not in (None, event["seat"]):
            return False
        denied, hand = claim.removeprefix("not_"), moment.before.hands[event["seat"]]
        return (denied in hand) if denied != claim else (claim not in hand)

    def _joined(self, told: Sequence[tuple[dict[str, Any], bool]]) -> str:
        from protocol.words import joined, tell

        return joined(
            (event["event"], tell(event, self.names) + BLUFF * bluff)
            for event, bluff in told
            if event["event"] != "coins"
        )

    def table(self, state: "State") -> str:
        """Return who has what: coins, cards, and what is face up in brackets."""
        board = state.board
        seats = []
        for seat, name in enumerate(self.names):
            cards = [role.value if self.seat in (None, seat) else HIDDEN for role in state.hands[seat]]
            up = [f"({role})" for role in board.revealed[seat]]
            side = [board.sides[seat].value] if board.sides else []
            seats.append(" ".join([name, *side, str(board.coins[seat]), *cards, *up]))
        reserve = [f"reserve {board.reserve}"] if board.rules.reformation else []
        return " | ".join([*seats, *reserve])


def ending(game: "GameRecord", names: Sequence[str]) -> str:
    """Say how a game ended."""
    turns = f"after {game.turns} turns"
    if game.winner is not None:
        return f"{names[game.winner]} wins {turns}"
    why = "the turn limit" if game.reason == "turn_limit" else "all forfeited"
    return f"a draw of {', '.join(names[seat] for seat in game.survivors)} {turns}: {why}"
