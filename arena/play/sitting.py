"""A match with one person at the table, whose thread takes what happens one by one.

the caller's thread              the referee's              the box's
next() <--- queue --------------- asked, game_over
       <--- queue ----------------------------------------- lines
answer(), leave() --------------------------------- pipe --> answers
go_on() ----------- queue ------> the next game
"""

import json
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType

from arena.play.playing import Happening, MatchEnd, Message, Playing
from arena.referee import GameRecord, MatchSpec, Record
from arena.sandbox import Box


class Sitting:
    """A match with a person as bot number `person`; `launch` starts the others. It is closed as a context is left."""

    def __init__(self, spec: MatchSpec, person: int, launch: Callable[[int], Box]) -> None:
        self.spec = spec
        self.person = person
        self._happened: SimpleQueue[Happening] = SimpleQueue()
        self._ended: MatchEnd | None = None
        self._playing = Playing(spec, (person,), launch, self._take)

    def __enter__(self) -> "Sitting":
        """Give the sitting itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it; who is interrupted doesn't wait."""
        if isinstance(error, KeyboardInterrupt):
            self._playing.abandon()
        else:
            self.close()

    @property
    def games(self) -> list[GameRecord]:
        """Return the games that were played to their end so far."""
        return self._playing.games

    @property
    def logs(self) -> tuple[tuple[int, int, bytes], ...]:
        """Return what bots wrote, as (bot, process, bytes), once the match has ended."""
        return self._playing.logs

    @property
    def record(self) -> Record:
        """Return what was played to its end so far."""
        return self._playing.record

    def next(self, timeout_s: float | None = None) -> Happening | None:
        """Return what happened next; None if nothing did in time. After `MatchEnd` there is nothing but `MatchEnd`."""
        if self._ended is not None and self._happened.empty():  # an interrupt may lose what was just taken
            return self._ended
        try:
            return self._happened.get(timeout=timeout_s)
        except Empty:
            return None

    def answer(self, message: Message) -> None:
        """Answer the last line that wants it."""
        self._playing.answer(self.person, json.dumps(message).encode() + b"\n")

    def go_on(self) -> None:
        """Have the next game begin."""
        self._playing.go_on()

    def leave(self) -> None:
        """Forfeit what is being played; the others play it to its end, and then the match is over."""
        self._playing.leave(self.person)

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._playing.give_up()

    def close(self) -> None:
        """End the match at its next step, and wait for that; an interrupt ends the wait, and the bots."""
        self._playing.close()

    def _take(self, happening: Happening) -> None:
        if isinstance(happening, MatchEnd):
            self._ended = happening
        self._happened.put(happening)
