"""Time the requests of people at a table, and play the default move when their time ends.

So a person never forfeits on a slow machine, and other players can't see that the time ran out. After some missed
requests in a row, a seat plays by itself until its player takes it back. At a table without a clock only such seats
have a limit: those of absent players that the others continue without."""

import asyncio
from collections.abc import Callable, Iterable

from arena import play, referee
from arena.tables.slots import Slot

MAX_MISSES = 3  # in a row, after which a seat plays by itself
_ABSENT_LIMIT_MS = 2_000  # the time per move of such a seat


class PersonClock:
    """The time limits of the people at one table. Only the thread of its event loop may call the methods.

    timing: of people's requests. absence_s: how long a person is away before the others, at a table without a clock,
    can continue without them. answer: sends a slot's answer to the match that is played.
    """

    def __init__(
        self, timing: referee.Timing, absence_s: float, answer: Callable[[Slot, play.Message], object]
    ) -> None:
        self._timing, self._absence_s, self._answer = timing, absence_s, answer
        self._loop = asyncio.get_running_loop()

    def start(self, slot: Slot) -> None:
        """Start the time of a slot's open request, instead of any that ran; without a request, stop it.

        A seat that plays by itself has a limit, also at a table without a clock.
        """
        self.stop(slot)
        request, plays_alone = slot.view.request, slot.missed >= MAX_MISSES
        if not request:
            return
        if not plays_alone and not self._timing.timed:
            slot.view.set_time_limit(referee.UNTIMED_MS)
            return
        limit_ms = min(self._timing.limit_ms, _ABSENT_LIMIT_MS) if plays_alone else self._timing.limit_ms
        slot.view.set_time_limit(limit_ms)
        slot.request_timer = self._loop.call_later(limit_ms / 1000, self._play_default_move, slot, request)

    def stop(self, slot: Slot) -> None:
        """Cancel the timer of a slot's request, if it has one."""
        if slot.request_timer is not None:
            slot.request_timer.cancel()

    def _play_default_move(self, slot: Slot, request: play.Message) -> None:
        """Answer the request whose time has ended, unless its player has."""
        if slot.view.request is request:
            slot.missed += 1
            self._answer(slot, slot.view.answer(slot.view.choose_default_move()))
            if slot.guest is not None:
                slot.guest.changed.set()

    def return_seat(self, slot: Slot) -> None:
        """Give a seat that missed requests back to its player, with the full time for the open one."""
        slot.missed = 0
        self.start(slot)

    def play_for(self, slots: Iterable[Slot]) -> None:
        """Let the seats of absent people play by themselves, from their open requests on."""
        for slot in slots:
            slot.missed = MAX_MISSES
            self.start(slot)

    def list_absent(self, people: Iterable[Slot]) -> list[Slot]:
        """Return the people, at a table without a clock, that have been away for long and aren't played for yet."""
        if self._timing.timed:
            return []
        left_before = self._loop.time() - self._absence_s
        return [slot for slot in people if slot.is_away(left_before) and not slot.missed]
