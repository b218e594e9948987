"""A recorded game, unfolded: a moment for each time that seats were asked and what came of it.

A moment ends when the engine has taken the answers: `events` are what they led to. Its cards are all cards; what one
seat may know of them follows by `view.seen`, as in the match.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena.coup import Answer, Event, State, Unproven
from arena.referee import GameRecord, Header, messages, replay


@dataclass(frozen=True, slots=True)
class Given:
    """What one asked seat gave: the move, in notation too, what it took in us, and the fault that it was played for.

    A forfeit has the fault that led to it.
    """

    seat: int
    answer: Answer
    word: str
    time_us: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of a game. `given` is in the order in which the answers count; `first` is the number of the first event.

    `place` is the place of its first move among the moves of the game.
    """

    place: int
    kind: str
    before: State
    given: tuple[Given, ...]
    after: State
    first: int
    events: tuple[Event, ...]

    def payloads(self, seat: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events as the seat was sent them; None knows all cards, and so what a claimant `held`.

        A claimant that declines holds what it claimed, or doesn't: `unproven` tells that nobody at the table.
        """
        for number, event in enumerate(self.events, start=self.first):
            if seat is not None:
                yield messages.event(number, event, seat)
                continue
            payload = messages.whole_event(number, event)
            if isinstance(event, Unproven):
                payload["held"] = (event.role in self.before.hands[event.seat]) is not event.denies
            yield payload

    @property
    def turn(self) -> int:
        """Return the turn in which the seats were asked, from 1."""
        return self.before.board.turn


def moments(header: Header, game: GameRecord) -> Iterator[Moment]:
    """Yield the moments of a recorded game. Raises RecordError where the engine doesn't play it so."""
    # Of several faults at one decision the last is the one that counted.
    faults = {
        (fault.step, game.seating.index(fault.bot)): fault.code for fault in game.faults if fault.step is not None
    }
    place = number = 0
    for step in replay(header, game):
        answers = []
        for offset, (seat, answer) in enumerate(zip(step.before.board.phase.asked, step.answers, strict=True)):
            at = place + offset
            answers.append(Given(seat, answer, game.words[at], game.times[at], faults.get((at, seat))))
        kind = messages.KINDS[type(step.before.board.phase)]
        yield Moment(place, kind, step.before, tuple(answers), step.after, number, step.events)
        place += len(answers)
        number += len(step.events)
