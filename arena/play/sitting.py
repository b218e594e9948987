"""A match with a person at the table: the referee plays in a thread of its own, and what happens is taken one by one.

    the caller's thread              the referee's              the box's
    next() <--- queue --------------- asked, game_over
           <--- queue ----------------------------------------- lines
    answer(), leave() --------------------------------- pipe --> answers
    go_on() ----------- queue ------> the next game

After each game the referee waits for `go_on`. A person that leaves forfeits the game that is being played, which the
others play to its end, and no other is begun: so a record has whole games only. `give_up` doesn't wait for that end: at
its next step the match is over, and the game isn't kept.

What bots do wrong isn't told while a game goes on: at the table a default looks chosen, and who knows that it wasn't
knows more of the bot's cards. The faults of a game that has ended are in its record.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType

from arena.play.person import Message, Person
from arena.referee import ArenaError, GameRecord, MatchSpec, Record, Watch, play_match
from arena.sandbox import Box, SandboxError


@dataclass(frozen=True, slots=True)
class Line:
    """A line came to the person."""

    message: Message


@dataclass(frozen=True, slots=True)
class Waiting:
    """These bots are waited for; the person may be among them."""

    bots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class GameOver:
    """A game has ended; the match waits for `go_on`. This may come before the line that tells the person so."""

    game: GameRecord


@dataclass(frozen=True, slots=True)
class Ended:
    """The match is over, and all boxes are closed. `problem`: what this machine failed at, None if it didn't."""

    problem: str | None


_ABANDONED_S = 0.5  # for the referee to see that its boxes are closed

Happening = Line | Waiting | GameOver | Ended


class _GivenUpError(Exception):
    """End a match that nobody waits for."""


class Sitting(Watch):
    """A match with a person as bot number `person`; `launch` starts the others. It is closed as a context is left."""

    def __init__(self, spec: MatchSpec, person: int, launch: Callable[[int], Box]) -> None:
        self.spec = spec
        self.person = person
        self.games: list[GameRecord] = []
        self.logs: tuple[tuple[int, int, bytes], ...] = ()
        self._launch = launch
        self._boxes: list[Box] = []  # of the bots
        self._abandoned = False
        self._happened: SimpleQueue[Happening] = SimpleQueue()
        self._ended: Ended | None = None
        self._wants: SimpleQueue[bool] = SimpleQueue()
        self._given_up = False
        self._left = False
        self._self = Person(lambda message: self._happened.put(Line(message)))
        self._thread = threading.Thread(target=self._play, name="referee", daemon=True)
        self._thread.start()

    def __enter__(self) -> "Sitting":
        """Give the sitting itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close it; who is interrupted doesn't wait."""
        if isinstance(error, KeyboardInterrupt):
            self._abandon()
        else:
            self.close()

    @property
    def record(self) -> Record:
        """Return what was played to its end so far."""
        return Record(self.spec.header, tuple(self.games))

    # --- the person's thread

    def next(self, timeout_s: float | None = None) -> Happening | None:
        """Return what happened next; None if nothing did in time. After `Ended` there is nothing but `Ended`."""
        if self._ended is not None and self._happened.empty():  # an interrupt may lose what was just taken
            return self._ended
        try:
            return self._happened.get(timeout=timeout_s)
        except Empty:
            return None

    def answer(self, message: Message) -> None:
        """Answer the last line that wants it."""
        self._self.answer(message)

    def go_on(self) -> None:
        """Have the next game begin."""
        self._wants.put(True)

    def leave(self) -> None:
        """Forfeit what is being played; the others play it to its end, and then the match is over."""
        self._left = True
        self._self.leave()
        self._wants.put(False)

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._given_up = True
        self.leave()

    def close(self) -> None:
        """End the match at its next step, and wait for that: as long as a bot may take for an answer.

        An interrupt ends the wait, and the bots.
        """
        self.give_up()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self._abandon()
            raise
        self._self.close()

    def _abandon(self) -> None:
        """End the bots' processes under the referee's hands, which can't be waited for."""
        self._abandoned = True
        self.give_up()
        for box in self._boxes:
            box.close()
        self._thread.join(_ABANDONED_S)

    # --- the referee's thread

    def asked(self, bots: Sequence[int]) -> None:
        """See who is waited for."""
        if self._given_up:
            raise _GivenUpError
        self._happened.put(Waiting(tuple(bots)))

    def game_over(self, game: GameRecord) -> bool:
        """Keep a game, and wait until the next one is wanted."""
        if self._given_up:  # it isn't kept: it may have ended because its bots were ended
            return False
        self.games.append(game)
        self._happened.put(GameOver(game))
        if self._left or len(self.games) == len(self.spec.seatings):
            return False
        return self._wants.get()

    def _play(self) -> None:
        problem: str | None = "the referee has a bug"
        try:
            self.logs = play_match(self.spec, self._start, watch=self).logs
            problem = None
        except (ArenaError, SandboxError, OSError) as error:
            problem = str(error)
        except _GivenUpError:
            problem = None
        except Exception:
            if not self._abandoned:  # else its boxes were closed while it used them
                raise
        finally:
            self._ended = Ended(problem)
            self._happened.put(self._ended)

    def _start(self, bot: int) -> Box:
        if bot == self.person:
            return self._self.start()
        box = self._launch(bot)
        self._boxes.append(box)
        return box
