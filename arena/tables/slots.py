"""A table's slots: the settings that their players accept, and the connections of browsers and remote programs."""

import asyncio
import hmac
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from arena import play, referee

PROGRAM_TIMING = referee.Timing(limit_ms=5_000, bank_ms=60_000, start_ms=60_000)  # includes the network delay
_PERSON_START_MS = 3_600_000  # the table greets for a person; a busy machine must not make them forfeit
_MAX_KEPT_LINES = 24  # lines to a program; a disconnected one gets requests until it has lost its lives
_MAX_DELAY_MS = 60_000
_MIN_DELAY_INTERVAL_S = 5.0  # between two accepted delays
_MIN_DELAY_MS = 100  # a request that is sent again sooner keeps its clock, and so its exact bytes


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The settings that players accept by joining: of the match, its number of games, clocks of people and programs.

    A person has `limit_ms` for each request, and no bank. min_window_s: for how long a window in which people may react
    stays open at least. absence_s: how long a person is away before others, at a table without a clock, can continue
    without them.
    """

    match_settings: referee.MatchSettings
    games: int
    person: referee.Timing
    program: referee.Timing = PROGRAM_TIMING
    min_window_s: float = 0.0
    absence_s: float = 60.0

    def timings(self, slots: Sequence["Slot"]) -> tuple[referee.Timing, ...]:
        """Return the timing that the referee applies to each slot. People are untimed there: the table times them."""
        person = replace(self.person, limit_ms=referee.UNTIMED_MS, bank_ms=0, start_ms=_PERSON_START_MS)
        timing_by_kind = {"bot": self.match_settings.timing, "person": person, "program": self.program}
        ponder = self.match_settings.timing.ponder  # the same for all slots
        return tuple(replace(timing_by_kind[slot.kind], ponder=ponder) for slot in slots)


class RateLimit:
    """Allows `burst` uses at once, and beyond that `per_s` a second. clock: in seconds."""

    def __init__(self, burst: int, per_s: float, clock: Callable[[], float]) -> None:
        self._burst, self._per_s, self._clock = burst, per_s, clock
        self._left, self._counted_at = float(burst), clock()

    def count_use(self) -> bool:
        """Count a use, and return True; return False if there were too many."""
        now = self._clock()
        left = min(self._burst, self._left + (now - self._counted_at) * self._per_s)
        is_allowed = left >= 1
        self._left, self._counted_at = left - is_allowed, now
        return is_allowed


class Superseded(Exception):  # noqa: N818  # not an error: the client has moved
    """Another client has joined with this slot's secret: another tab, device or program."""


class TableClosed(Exception):  # noqa: N818  # not an error: the client is done
    """The table has nothing more for this client; `void`: its match ended without a result."""

    def __init__(self, reason: str, *, void: bool = False) -> None:
        super().__init__(reason)
        self.void = void


@dataclass(eq=False)
class TableClient:
    """A connected browser or program; `slot`: its index, None for a spectator. `changed` is set for each update.

    login: of the user whose browser it is, None for a guest or an unknown spectator. manages: whether the user opened
    the table.
    """

    slot: int | None
    manages: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: Superseded | TableClosed | None = None
    login: str | None = None

    async def wait_for_update(self) -> None:
        """Wait for an update. Raises Superseded at once, TableClosed after the updates before it."""
        if self.gone is not None and not self.changed.is_set():
            raise self.gone
        await self.changed.wait()
        self.changed.clear()
        if isinstance(self.gone, Superseded):
            raise self.gone

    def disconnect(self, reason: Superseded | TableClosed) -> None:
        self.gone = reason
        self.changed.set()


@dataclass(eq=False)
class ProgramConnection(TableClient):
    """The connection of a remote program; `next` is the number of its next line.

    `repeats` is the answer that the program may send again, because its client can't know whether it arrived.
    """

    next: int = 0
    repeats: str | None = None


class OutboundBuffer:
    """The numbered lines to a program. The newest _MAX_KEPT_LINES are kept, to send again after a reconnection."""

    def __init__(self, count: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = count
        self._clock = clock
        self._kept: deque[str] = deque(maxlen=_MAX_KEPT_LINES)
        self._added_at = 0.0  # when the last line was added
        self._answer: tuple[int, str] | None = None

    @property
    def last(self) -> str | None:
        """Return the last line, None if no line was added."""
        return self._kept[-1] if self._kept else None

    def add(self, line: str) -> None:
        self._kept.append(line)
        self._added_at = self._clock()
        self.count += 1

    def note_answer(self, line: str) -> None:
        """Store the program's newest answer, with the number of lines that it had received."""
        self._answer = (self.count, line)

    def answer_to(self, number: int) -> str | None:
        """Return the newest answer if a program that has received `number` lines may repeat it, else None."""
        return self._answer[1] if self._answer is not None and number <= self._answer[0] else None

    def keeps_from(self, number: int) -> bool:
        """Return whether all lines from `number` on are kept."""
        return self.count - len(self._kept) <= number <= self.count

    def list_from(self, number: int) -> list[str]:
        """Return the kept lines from `number` on; if the last is a request, its clock shows the remaining time."""
        first_kept = self.count - len(self._kept)
        lines = list(self._kept)[max(0, number - first_kept) :]
        elapsed_ms = int((self._clock() - self._added_at) * 1000)
        if lines and elapsed_ms >= _MIN_DELAY_MS and lines[-1].startswith('{"type":"request"'):
            lines[-1] = _charge_request(lines[-1], elapsed_ms)
        return lines


def _charge_request(line: str, elapsed_ms: int) -> str:
    """Return a request's line with `elapsed_ms` taken from its time: first from its limit, then from the bank."""
    message = json.loads(line)
    clock = message["clock"]
    bank_used_ms = max(0, elapsed_ms - clock["limit_ms"])
    clock["limit_ms"] = max(0, clock["limit_ms"] - elapsed_ms)
    clock["bank_ms"] = max(0, clock["bank_ms"] - bank_used_ms)
    return json.dumps(message, separators=(",", ":"))


@dataclass(eq=False)
class Slot:
    """A player's position at a table. A client joins with its secret; a bot's slot has none."""

    kind: Literal["bot", "person", "program"]
    name: str
    secret: str | None = None
    view: play.PlayerView = field(default_factory=play.PlayerView)
    lines: OutboundBuffer = field(default_factory=OutboundBuffer)
    guest: TableClient | None = None
    won: float = 0.0
    wants_next: bool = False  # the player wants the next game, or a rematch
    pace: str | None = None  # of PACES, as a person chose it
    missed: int = 0  # requests in a row whose time a person let run out
    left_at: float | None = None  # the loop's time since which no client of a person is connected
    request_timer: asyncio.TimerHandle | None = None  # fires when the time of the open request ends
    delay_ms: int | None = None  # the round trip, as measured by a program's client
    measures_at: float = 0.0  # the loop's time from which on the next delay is accepted
    number: int = -1  # it stays while other slots come and go; a new table numbers its slots from 0
    free: bool = False  # no person has it

    def admit(self, client: TableClient) -> None:
        """Connect a client that showed the slot's secret; it supersedes the slot's client before."""
        if self.guest is not None:
            self.guest.disconnect(Superseded())
        self.guest, self.left_at = client, None

    def release(self, client: TableClient, now: float) -> bool:
        """Disconnect a client at `now`, a loop's time; the slot stays reserved. Return False if it was superseded."""
        if self.guest is not client:
            return False
        self.guest, self.left_at = None, now
        return True

    def is_present(self, left_after: float) -> bool:
        """Return whether a bot has the slot, or a client that is connected or left after that time of the loop."""
        return self.kind == "bot" or self.guest is not None or (self.left_at is not None and self.left_at > left_after)

    def is_away(self, left_before: float) -> bool:
        """Return whether no client of the slot's person has been connected since that time of the loop, or longer."""
        return self.left_at is not None and self.left_at <= left_before

    def describe(self, handle: str, number: int | None, name: str | None, is_viewer: bool) -> play.TablePlace:
        """Return the slot as a frame shows it; `number` and `name`: None where a viewer may not know them."""
        return play.TablePlace(
            handle=handle,
            number=number,
            name=name,
            kind=self.kind,
            free=self.free,
            here=self.kind == "bot" or self.guest is not None,
            you=is_viewer,
            won=self.won,
            again=self.wants_next,
            delay_ms=self.delay_ms,
        )

    def set_delay(self, line: str, now: float) -> None:
        """Set the delay that a program's client reports at `now`, a loop's time; ignore a wrong or an early one.

        The delay is shown with the next frame: a frame of its own would reveal activity.
        """
        if now < self.measures_at:
            return
        self.measures_at = now + _MIN_DELAY_INTERVAL_S
        with suppress(ValueError, RecursionError, AttributeError):
            delay = json.loads(line).get("ms")
            if type(delay) is int and 0 <= delay <= _MAX_DELAY_MS:
                self.delay_ms = delay


@dataclass(frozen=True, slots=True)
class SlotChange:
    """A change of slots between matches, or of the rules before the first one.

    bots: names to add. draw: how many other bots to add. place: the kind of a free slot to add. remove, free: the
    numbers of slots to remove, and to take from their players. start: whether a match begins then. rules: the name of
    the new ruleset.
    """

    bots: tuple[str, ...] = ()
    draw: int = 0
    place: Literal["person", "program"] | None = None
    remove: tuple[int, ...] = ()
    free: tuple[int, ...] = ()
    start: bool = False
    rules: str | None = None


def find_slot(slots: Sequence[Slot], secret: str, kind: Literal["person", "program"]) -> int:
    """Return the index of the slot of this kind with this secret. Raises KeyError if no slot has it."""
    for index, slot in enumerate(slots):
        if slot.kind == kind and slot.secret and hmac.compare_digest(slot.secret.encode(), secret.encode()):
            return index
    raise KeyError("no player has this secret")


def read_slot_change(message: play.Message) -> SlotChange | None:
    """Return the change of slots that a browser's message asks for; None if it is another message."""
    match message:
        case {"add": {"bot": str(name)}}:
            return SlotChange(bots=(name,))
        case {"add": {"place": True}}:
            return SlotChange(place="person")
        case {"add": {"program": True}}:
            return SlotChange(place="program")
        case {"remove": int(number)} if not isinstance(number, bool):
            return SlotChange(remove=(number,))
        case {"rules": str(rules)}:
            return SlotChange(rules=rules)
    return None


def describe_clock(timing: referee.Timing) -> play.Message | None:
    """Return a timing as clients show it, in seconds; None without a clock."""
    return {"move_s": timing.limit_ms / 1000, "game_s": timing.bank_ms / 1000} if timing.timed else None
