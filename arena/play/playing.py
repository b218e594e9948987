"""A match in which some seats are far: the referee plays in a thread of its own, and tells what happens as it happens.

After each game the referee waits for `go_on`. A far seat that leaves forfeits the game that is being played, which the
others play to its end, and no other is begun: so a record has whole games only. `give_up` doesn't wait for that end: at
its next step the match is over, and the game isn't kept.

What bots do wrong isn't told while a game goes on: at the table a default looks chosen, and who knows that it wasn't
knows more of the bot's cards. The faults of a game that has ended are in its record.
"""

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Any

from arena.coup import NOTHING_KNOWN, Event, Knowledge, Known, State, View, concerning, seen, view
from arena.play.far import Far
from arena.referee import ArenaError, GameRecord, MatchSpec, Record, Watch, messages, play_match
from arena.sandbox import Box, SandboxError

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """A line came to a far seat."""

    bot: int
    data: bytes

    @property
    def message(self) -> Message:
        """Return the message that the line is."""
        message: Message = json.loads(self.data)
        return message


@dataclass(frozen=True, slots=True)
class Waiting:
    """These bots are waited for; far seats may be among them."""

    bots: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """A game has begun, or something happened in it, as those who were asked for may know it: None is an onlooker.

    A seat's next line tells the same again: events have the same numbers there.
    """

    told: Mapping[int | None, Message]


@dataclass(frozen=True, slots=True)
class GameOver:
    """A game has ended; the match waits for `go_on`. This may come before the line that tells a seat so."""

    game: GameRecord


@dataclass(frozen=True, slots=True)
class MatchEnd:
    """The match is over, and all boxes are closed. `problem`: what this machine failed at, None if it didn't."""

    problem: str | None


_HURRIES = 3  # times as fast moves are seen once all people are out
_ABANDONED_S = 0.5  # for the referee to see that its boxes are closed

Happening = Line | Waiting | Progress | GameOver | MatchEnd


class _GivenUpError(Exception):
    """End a match that nobody waits for."""


class Playing(Watch):
    """A match with far seats at some places of the spec; `launch` starts the others.

    `tell` is called with what happens, from several threads. `eyes`: for whom moves are told as they happen; None is an
    onlooker. `pace_s`: how long they have to see a move before the match goes on, in s; less once all `people` are out.
    `least_s`: how long at least a window takes in which one of `people` is asked, so that a fast answer of one tells
    the others nothing. No clock runs meanwhile.
    """

    def __init__(
        self,
        spec: MatchSpec,
        far: Collection[int],
        launch: Callable[[int], Box],
        tell: Callable[[Happening], None],
        eyes: Collection[int | None] = (),
        pace_s: float = 0.0,
        people: Collection[int] = (),
        least_s: float = 0.0,
    ) -> None:
        self.spec = spec
        self.games: list[GameRecord] = []
        self.logs: tuple[tuple[int, int, bytes], ...] = ()
        self._tell = tell
        self._eyes = eyes
        self._launch = launch
        self._boxes: list[Box] = []  # of the others
        self._abandoned = False
        self._pace_s = pace_s
        self._people, self._least_s = frozenset(people), least_s
        self._closes_at = 0.0  # the window that is open, at the earliest
        self._minds: dict[int, Knowledge] = {}  # of those for whom moves are told, by bot; of one game
        self._ending = threading.Event()
        self._wants: SimpleQueue[bool] = SimpleQueue()
        self._left = False
        self._far = {bot: Far(partial(self._line, bot)) for bot in far}
        self._thread = threading.Thread(target=self._play, name="referee", daemon=True)
        self._thread.start()

    @property
    def record(self) -> Record:
        """Return what was played to its end so far."""
        return Record(self.spec.header, tuple(self.games))

    def answer(self, bot: int, line: bytes) -> None:
        """Send a far seat's line."""
        self._far[bot].answer(line)

    def go_on(self) -> None:
        """Have the next game begin."""
        self._wants.put(True)

    def leave(self, bot: int) -> None:
        """Forfeit what a far seat is playing; the others play it to its end, and then the match is over."""
        self._left = True
        self._far[bot].leave()
        self._wants.put(False)

    def end_process(self, bot: int) -> None:
        """Forfeit the game that a far seat is playing, as a program does that ends; it is greeted anew for the next."""
        self._far[bot].end()

    def give_up(self) -> None:
        """End the match at its next step, without the game that is being played."""
        self._ending.set()
        self._wants.put(False)  # also where no seat is far
        for bot in self._far:
            self.leave(bot)

    def close(self) -> None:
        """End the match at its next step, and wait for that: as long as a bot may take for an answer.

        An interrupt ends the wait, and the bots.
        """
        self.give_up()
        try:
            self._thread.join()
        except KeyboardInterrupt:
            self.abandon()
            raise
        for far in self._far.values():
            far.close()

    def abandon(self) -> None:
        """End the bots' processes under the referee's hands, which can't be waited for."""
        self._abandoned = True
        self.give_up()
        for box in self._boxes:
            box.close()
        self._thread.join(_ABANDONED_S)

    # --- the referee's thread

    def asked(self, bots: Sequence[int]) -> None:
        """See who is waited for."""
        if self._ending.is_set():
            raise _GivenUpError
        if not self._people.isdisjoint(bots):
            self._closes_at = time.monotonic() + self._least_s
        self._tell(Waiting(tuple(bots)))

    def answered(self) -> None:
        """Keep the window open for its least time."""
        self._ending.wait(max(0.0, self._closes_at - time.monotonic()))

    def moved(self, game: int, state: State, first: int, events: Sequence[Event]) -> None:
        """Tell each listener what it may know."""
        if not self._eyes:
            return
        if first == 0 and not events:  # a game begins
            self._minds = {}
        seating = self.spec.seatings[game]
        handles = [self.spec.handles[bot] for bot in seating]
        views: dict[int | None, Message] = {}
        for bot in self._eyes:
            seat = None if bot is None else seating.index(bot)
            sight = None if seat is None else view(state, seat)
            known = NOTHING_KNOWN if bot is None or sight is None else self._known(bot, sight, events)
            views[bot] = messages.moment(game, handles, state.board, sight, known, first, events)
        self._tell(Progress(views))
        if events:
            plays = any(state.board.influence[seating.index(bot)] for bot in self._people)
            self._ending.wait(self._pace_s if plays else self._pace_s / _HURRIES)

    def _known(self, bot: int, sight: View, events: Sequence[Event]) -> Known:
        """Return what is certain to a bot's seat; it is called once for each move."""
        if bot not in self._minds:
            self._minds[bot] = Knowledge(sight)
        kinds = concerning(sight.board.rules)
        return self._minds[bot].known(sight, [seen(event, sight.seat) for event in events if type(event) in kinds])

    def game_over(self, game: GameRecord) -> bool:
        """Keep a game, and wait until the next one is wanted."""
        if self._ending.is_set():  # the game isn't kept: it may have ended because its bots were ended
            return False
        self.games.append(game)
        self._tell(GameOver(game))
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
            if not self._abandoned:  # else the boxes close while the referee uses them
                raise
        finally:
            self._tell(MatchEnd(problem))

    def _start(self, bot: int) -> Box:
        if bot in self._far:
            return self._far[bot].start()
        box = self._launch(bot)
        self._boxes.append(box)
        return box

    def _line(self, bot: int, line: bytes) -> None:
        self._tell(Line(bot, line))
