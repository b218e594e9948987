"""The places of a table, the terms that people and programs agree on by sitting down, the carriers of their lines."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from arena.play import Sight
from arena.referee import UNTIMED_MS, Terms, Timing

PROGRAM = Timing(limit_ms=5_000, bank_ms=60_000, start_ms=60_000)  # the way there and back costs it time, too
_START_MS = 3_600_000  # for a person's seat, which the table answers for: no busy machine may cost it a game
MATCH_OVER = '{"type":"match_over"}'
_KEPT = 24  # lines to a program; one that is away is asked until it is out of lives, and started anew
_MOST_DELAY_MS = 60_000
_WORTH_MS = 100  # of a clock, to be told; a line that is sent at once has its first bytes


@dataclass(frozen=True, slots=True)
class Offer:
    """What is agreed on by sitting down: the terms of the bots, games a match, the clocks of people and programs.

    A person has `limit_ms` for each request, and no bank.
    """

    terms: Terms
    games: int
    person: Timing
    program: Timing = PROGRAM

    def timings(self, places: Sequence["Place"]) -> tuple[Timing, ...]:
        """Return the times that the referee gives each place: people have no clock there, since the table keeps it."""
        person = replace(self.person, limit_ms=UNTIMED_MS, bank_ms=0, start_ms=_START_MS)
        of = {"bot": self.terms.timing, "person": person, "program": self.program}
        ponder = self.terms.timing.ponder  # one for all: the terms say who is frozen
        return tuple(replace(of[place.kind], ponder=ponder) for place in places)


class Taken(Exception):  # noqa: N818  # no error: he is elsewhere now
    """Somebody else has shown the secret of this place: another tab, another device, another client."""


class Closed(Exception):  # noqa: N818  # no error: it is done
    """The table has nothing more for this guest; `void`: its match came to no end."""

    def __init__(self, why: str, void: bool = False) -> None:
        super().__init__(why)
        self.void = void


@dataclass(eq=False)
class Guest:
    """One who looks on; `place` is where he sits. `changed` is set when there is something new for him."""

    place: int | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: Taken | Closed | None = None

    async def news(self) -> None:
        """Wait until there is something new. Raises Taken or Closed, once he was shown what was new before."""
        if self.gone is not None and not self.changed.is_set():
            raise self.gone
        await self.changed.wait()
        self.changed.clear()
        if isinstance(self.gone, Taken):
            raise self.gone

    def oust(self, why: Taken | Closed) -> None:
        """Have him go."""
        self.gone = why
        self.changed.set()


@dataclass(eq=False)
class Carrier(Guest):
    """What carries a program's lines; `next` is the number of the line that it gets next.

    `repeats` is what its program may say once more, since nobody can know on that side whether it had arrived.
    """

    next: int = 0
    repeats: str | None = None


class Lines:
    """The lines to a program, by number. The last ones are kept for a carrier whose socket was cut."""

    def __init__(self, count: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = count
        self._clock = clock
        self._kept: deque[str] = deque(maxlen=_KEPT)
        self._at = 0.0  # when the last line was added
        self._answer: tuple[int, str] | None = None

    @property
    def last(self) -> str | None:
        """Return the last line, None if there was none."""
        return self._kept[-1] if self._kept else None

    def add(self, line: str) -> None:
        """Add the next line."""
        self._kept.append(line)
        self._at = self._clock()
        self.count += 1

    def note_answer(self, line: str) -> None:
        """Keep what the program has said last."""
        self._answer = (self.count, line)

    def answer_to(self, number: int) -> str | None:
        """Return what the program has said last, if it had no more lines then than those before a number."""
        return self._answer[1] if self._answer is not None and number <= self._answer[0] else None

    def reach(self, number: int) -> bool:
        """Tell whether all lines from a number on are kept."""
        return self.count - len(self._kept) <= number <= self.count

    def since(self, number: int) -> list[str]:
        """Return the lines from a number on, as far as they are kept; a request's clock is what is left of it."""
        lines = list(self._kept)[max(0, len(self._kept) - (self.count - number)) :]
        gone_ms = int((self._clock() - self._at) * 1000)
        if lines and gone_ms >= _WORTH_MS and lines[-1].startswith('{"type":"request"'):
            message = json.loads(lines[-1])
            clock = message["clock"]
            over_ms = max(0, gone_ms - clock["limit_ms"])
            clock["limit_ms"] = max(0, clock["limit_ms"] - gone_ms)
            clock["bank_ms"] = max(0, clock["bank_ms"] - over_ms)
            lines[-1] = json.dumps(message, separators=(",", ":"))
        return lines


@dataclass(eq=False)
class Place:
    """A place of a table. Who shows its secret sits there; a bot's has none."""

    kind: Literal["bot", "person", "program"]
    name: str
    secret: str | None = None
    sight: Sight = field(default_factory=Sight)
    lines: Lines = field(default_factory=Lines)
    guest: Guest | None = None
    won: float = 0.0
    again: bool = False  # who sits there wants to go on
    missed: int = 0  # requests in a row whose time a person let run out
    ends: asyncio.TimerHandle | None = None  # the time of the request that is open
    delay_ms: int | None = None  # there and back, as a program's client has measured it
    measures_at: float = 0.0  # when the next delay is taken, by the loop's clock

    def measured(self, delay: object) -> None:
        """Take a delay that a client says it has measured; nothing else."""
        if type(delay) is int and 0 <= delay <= _MOST_DELAY_MS:
            self.delay_ms = delay
