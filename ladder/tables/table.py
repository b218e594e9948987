"""Play matches at a table: its slots, its clients and the connections of remote programs.

    the event loop                     the referee's thread, and one for each remote seat
    join, take, frame <-- events ----- lines, steps, ends of games
          `--------------- answers --> remote seats

A slot's settings are those that people and programs accept by joining. A client is a browser, in a slot or as a
spectator. Each frame contains the whole state to show, so a slow client gets fewer frames, and one that reconnects
needs only the last. A program's lines go to its connection one by one. No frame reveals which players have answered:
a move changes no other client's frame before its window has closed."""

import asyncio
import hmac
import json
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from arena.play import GameEnded, LineReceived, LiveMatch, MatchEnd, MatchEvent, Message, PlayerView, StateUpdate
from arena.referee import UNTIMED_MS, MatchSettings, MatchSpec, Record, Timing, messages
from arena.sandbox import Box

PROGRAM_TIMING = Timing(limit_ms=5_000, bank_ms=60_000, start_ms=60_000)  # the way there and back costs it time, too
_START_MS = 3_600_000  # for a person's seat, which the table answers for: no busy machine may cost it a game
MATCH_OVER = '{"type":"match_over"}'
_MAX_KEPT_LINES = 24  # lines to a program; one that is away is asked until it is out of lives, and started again
_MAX_DELAY_MS = 60_000
_MIN_DELAY_MS = 100  # of a clock, to be shown; a line that is sent at once has its first bytes


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What players accept by joining: the terms of the bots, games a match, the clocks of people and programs.

    A person has `limit_ms` for each request, and no bank.
    """

    terms: MatchSettings
    games: int
    person: Timing
    program: Timing = PROGRAM_TIMING

    def timings(self, places: Sequence["Slot"]) -> tuple[Timing, ...]:
        """Return the times that the referee gives each place: people have no clock there, since the table keeps it."""
        person = replace(self.person, limit_ms=UNTIMED_MS, bank_ms=0, start_ms=_START_MS)
        of = {"bot": self.terms.timing, "person": person, "program": self.program}
        ponder = self.terms.timing.ponder  # one for all: the terms say who is frozen
        return tuple(replace(of[place.kind], ponder=ponder) for place in places)


class Superseded(Exception):  # noqa: N818  # no error: the client is elsewhere now
    """Another client has joined with this slot's secret: another tab, device or program."""


class TableClosed(Exception):  # noqa: N818  # no error: it is done
    """The table has nothing more for this client; `void`: its match came to no end."""

    def __init__(self, why: str, void: bool = False) -> None:
        super().__init__(why)
        self.void = void


@dataclass(eq=False)
class TableClient:
    """A connected browser or program; `place` is its slot, None for a spectator. `changed` is set for each update."""

    place: int | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    gone: Superseded | TableClosed | None = None

    async def news(self) -> None:
        """Wait for an update. Raises Superseded or TableClosed, after the updates before it."""
        if self.gone is not None and not self.changed.is_set():
            raise self.gone
        await self.changed.wait()
        self.changed.clear()
        if isinstance(self.gone, Superseded):
            raise self.gone

    def oust(self, why: Superseded | TableClosed) -> None:
        """Disconnect the client."""
        self.gone = why
        self.changed.set()


@dataclass(eq=False)
class ProgramConnection(TableClient):
    """The connection of a remote program; `next` is the number of its next line.

    `repeats` is the answer that the program may send once more, since its side can't know whether it had arrived.
    """

    next: int = 0
    repeats: str | None = None


class OutboundBuffer:
    """The lines to a program, by number. The last ones are kept for a carrier whose socket was cut."""

    def __init__(self, count: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.count = count
        self._clock = clock
        self._kept: deque[str] = deque(maxlen=_MAX_KEPT_LINES)
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
        """Return whether all lines from a number on are kept."""
        return self.count - len(self._kept) <= number <= self.count

    def since(self, number: int) -> list[str]:
        """Return the lines from a number on, as far as they are kept; a request's clock is what is left of it."""
        lines = list(self._kept)[max(0, len(self._kept) - (self.count - number)) :]
        gone_ms = int((self._clock() - self._at) * 1000)
        if lines and gone_ms >= _MIN_DELAY_MS and lines[-1].startswith('{"type":"request"'):
            message = json.loads(lines[-1])
            clock = message["clock"]
            over_ms = max(0, gone_ms - clock["limit_ms"])
            clock["limit_ms"] = max(0, clock["limit_ms"] - gone_ms)
            clock["bank_ms"] = max(0, clock["bank_ms"] - over_ms)
            lines[-1] = json.dumps(message, separators=(",", ":"))
        return lines


@dataclass(eq=False)
class Slot:
    """A player's position at a table. A client joins with its secret; a bot's slot has none."""

    kind: Literal["bot", "person", "program"]
    name: str
    secret: str | None = None
    sight: PlayerView = field(default_factory=PlayerView)
    lines: OutboundBuffer = field(default_factory=OutboundBuffer)
    guest: TableClient | None = None
    won: float = 0.0
    again: bool = False  # the player wants the next game, or a rematch
    missed: int = 0  # requests in a row whose time a person let run out
    ends: asyncio.TimerHandle | None = None  # the time of the request that is open
    delay_ms: int | None = None  # there and back, as a program's client has measured it
    measures_at: float = 0.0  # when the next delay is taken, by the loop's clock

    def measured(self, delay: object) -> None:
        """Take a delay that a client says it has measured; nothing else."""
        if type(delay) is int and 0 <= delay <= _MAX_DELAY_MS:
            self.delay_ms = delay


ProcessLogs = Sequence[tuple[int, int, bytes]]
TableState = Literal["open", "playing", "between", "over", "void"]
_BETWEEN_S = 20.0  # two games, where people have a clock
_MAX_MISSES = 3  # in a row, after which a seat plays by itself
_ALONE_MS = 2_000  # that such a seat takes for an answer
_DELAY = '{"type":"delay"'  # what a program's client says for itself
_MIN_DELAY_INTERVAL_S = 5.0  # between two delays that are taken


@dataclass(frozen=True, slots=True)
class MatchSetup:
    """A match to play: `launch` starts the bots; `keep` stores the growing record, and returns where it is shown."""

    spec: MatchSpec
    launch: Callable[[int], Box]
    keep: Callable[[Record, ProcessLogs], str | None]


class LiveTable:
    """A table: made in an event loop, whose thread alone calls its methods.

    `deal` makes a match by its number at this table, as `offer` says. `changed` is called whenever the state has
    changed. `pace_s` is how long people have to see a move, `least_s` how long at least a window stays open in which
    people are asked, in s.

    A match begins as soon as all have joined. State: open, playing, between (two games), over, void; a table that
    was ended stays void.
    """

    def __init__(
        self,
        name: str,
        places: Sequence[Slot],
        offer: TableSettings,
        deal: Callable[[int], MatchSetup],
        changed: Callable[["LiveTable"], object] = lambda table: None,
        pace_s: float = 0.0,
        least_s: float = 0.0,
    ) -> None:
        self.name = name
        self.places = tuple(places)
        self.offer = offer
        self.state: TableState = "open"
        self.why: str | None = None
        self.replay: str | None = None
        self.matches = 0
        self._deal = deal
        self._on_change = changed
        self._pace_s, self._least_s = pace_s, least_s
        self._dealt: MatchSetup | None = None
        self._playing: LiveMatch | None = None
        self._public = PlayerView()  # what a spectator sees
        self._guests: set[TableClient] = set()
        self._ended = False
        self._loop = asyncio.get_running_loop()
        self._begin_if_all_here()

    def _be(self, state: TableState, why: str | None = None) -> None:
        self.state, self.why = state, why
        for place in self.places:
            place.again = False
        self._on_change(self)

    # --- guests

    def join(self, secret: str | None) -> TableClient:
        """Add a spectator, or the player of the slot with this secret, whose client before is superseded.

        Raises KeyError if no person's slot has the secret.
        """
        guest = TableClient(None if secret is None else self._place_of(secret, "person"))
        self._seat(guest)
        return guest

    def attach(self, secret: str, after: int | None = None) -> ProgramConnection:
        """Connect the program of the slot with this secret. It has received the first `after` lines.

        Without `after` its program knows nothing, or too little where those lines aren't kept any more: the one before
        counts as ended, and this one is greeted for the next game. Raises KeyError if no program's slot has it.
        """
        number = self._place_of(secret, "program")
        place = self.places[number]
        if after is None or not place.lines.reach(after):
            place.lines = OutboundBuffer(after or 0)  # the client counts on from there
            if self._playing is not None:
                self._playing.end_process(number)
        carrier = ProgramConnection(number, next=place.lines.count if after is None else after)
        carrier.repeats = place.lines.answer_to(carrier.next)
        self._seat(carrier)
        self._close_if_done(carrier)
        return carrier

    def _close_if_done(self, carrier: TableClient) -> None:
        """Disconnect a program when no other match can follow."""
        if self._playing is None and (self._ended or (self.state != "open" and not self._of("person"))):
            carrier.oust(TableClosed(self.why or "the match is over", void=self.state == "void"))

    def _seat(self, guest: TableClient) -> None:
        if guest.place is not None:
            place = self.places[guest.place]
            if place.guest is not None:
                place.guest.oust(Superseded())
            place.guest = guest
        self._guests.add(guest)
        self._begin_if_all_here()
        self._wake()

    def part(self, guest: TableClient) -> None:
        """Remove a client; its slot stays reserved."""
        self._guests.discard(guest)
        if guest.place is not None and self.places[guest.place].guest is guest:
            self.places[guest.place].guest = None
            if any(self.places[number].guest and self.places[number].again for number in self._of("person")):
                self._continue_if_all_want()  # the others needn't wait for this one any more
        self._wake()

    def detach(self, carrier: ProgramConnection, left: bool) -> None:
        """Remove a program's connection. The table waits for the program, unless it left."""
        place = carrier.place
        if left and place is not None and self.places[place].guest is carrier and self._playing is not None:
            self._playing.leave(place)
        self.part(carrier)

    def renamed(self, number: int, name: str) -> None:
        """Rename the player of a slot."""
        self.places[number].name = name
        self._wake()

    def show_replay(self, match: int, address: str) -> None:
        """Send where the replay of the `match`th match is, now that it may be shown; ignored after the next begins."""
        if self.matches == match + 1 and self.state in ("over", "void"):
            self.replay = address
            self._wake()

    def dismiss(self, why: str) -> None:
        """Disconnect all clients, with the reason."""
        for guest in tuple(self._guests):
            guest.oust(TableClosed(why))

    @property
    def watched(self) -> bool:
        """Return whether the table has a client."""
        return bool(self._guests)

    def _place_of(self, secret: str, kind: str) -> int:
        for number, place in enumerate(self.places):
            shown = (place.secret or "").encode()
            if place.kind == kind and place.secret and hmac.compare_digest(shown, secret.encode()):
                return number
        raise KeyError("no place has this secret")

    def _begin_if_all_here(self) -> None:
        if self.state == "open" and all(place.kind == "bot" or place.guest for place in self.places):
            self._begin()

    def _begin(self) -> None:
        dealt = self._dealt = self._deal(self.matches)
        self.matches += 1
        self.replay = None
        for place in self.places:
            place.sight, place.won, place.missed = PlayerView(), 0.0, 0
        self._public = PlayerView()
        rules = dealt.spec.terms.rules
        self._public.take({"type": "hello", "ruleset": messages.make_ruleset(rules, dealt.spec.seats)})
        people = self._of("person")
        self._playing = LiveMatch(
            dealt.spec,
            [*people, *self._of("program")],
            dealt.launch,
            self._soon,
            (None, *people),
            self._pace_s,
            people,
            self._least_s,
        )
        self._be("playing")

    def _of(self, kind: str) -> list[int]:
        return [number for number, place in enumerate(self.places) if place.kind == kind]

    # --- what guests do

    def take(self, guest: TableClient, message: Message) -> Message | None:
        """Do what a seated client requests, if possible now; return the reply to that client alone."""
        place = None if guest.place is None else self.places[guest.place]
        if place is None or guest.place is None or place.guest is not guest:
            return None
        playing = self._playing
        match message:
            case {"answer": dict(answer)} if playing is not None:
                self._answer(guest.place, answer)
                guest.changed.set()  # no frame for others: the time of an answer is secret
                return None
            case {"back": True} if place.missed >= _MAX_MISSES:
                place.missed = 0
                self._time(guest.place)
                guest.changed.set()
                return None
            case {"hint": True} if place.sight.seen() is not None:
                return {"hint": list(place.sight.hint(80))}
            case {"go_on": True} if self.state == "between":
                place.again = True
                self._continue_if_all_want()
            case {"leave": True} if playing is not None and self.state in ("playing", "between"):
                playing.leave(guest.place)
            case {"rematch": True} if self.state in ("over", "void") and not self._ended:
                place.again = True
                if all(self.places[number].again for number in self._of("person")):
                    self._be("open")
                    self._begin_if_all_here()
            case _:
                return None
        self._wake()
        return None

    def _answer(self, number: int, answer: Message) -> None:
        """Pass an answer on, if it is to the request that is open, and one of its moves."""
        sight = self.places[number].sight
        request, choice = sight.request, answer.get("choice")
        if not request or answer.get("id") != request["id"] or type(choice) is not int:
            return
        if not 0 <= choice < len(request["legal"]):
            return
        self.places[number].missed = 0
        self._send(number, sight.answer(choice, _words(answer.get("say"))))

    def _send(self, number: int, answer: Message) -> None:
        """Send a person's answer, which closes the request."""
        assert self._playing is not None
        self._playing.answer(number, json.dumps(answer).encode() + b"\n")
        self.places[number].sight.request = {}

    def _time(self, number: int) -> None:
        """Begin the time of a person's open request, after which the seat answers by itself, as if they had.

        So a slow machine forfeits no person, and the other players don't notice.
        """
        place, limit_ms = self.places[number], self.offer.person.limit_ms
        request = place.sight.request
        if place.ends is not None:
            place.ends.cancel()
        if not request or not self.offer.person.timed:
            return

        def end() -> None:
            if self._playing is not None and place.sight.request is request:
                place.missed += 1
                self._send(number, place.sight.answer(place.sight.quiet()))
                if place.guest is not None:
                    place.guest.changed.set()

        limit_ms = min(limit_ms, _ALONE_MS) if place.missed >= _MAX_MISSES else limit_ms
        place.sight.allow(limit_ms)
        place.ends = self._loop.call_later(limit_ms / 1000, end)

    def _continue_if_all_want(self) -> None:
        """Begin the next game if all connected players want it."""
        if all(self.places[number].again for number in self._of("person") if self.places[number].guest):
            self._go_on(self._playing)

    def _go_on(self, playing: LiveMatch | None, games: int | None = None) -> None:
        """Begin a match's next game; with `games`, only if as many are over."""
        if playing is None or playing is not self._playing or self.state != "between":
            return
        if games in (None, len(playing.games)):
            self._be("playing")
            playing.resume()
            self._wake()

    # --- what programs do

    def lines(self, carrier: ProgramConnection) -> list[str]:
        """Return the lines that a program's connection hasn't received."""
        assert carrier.place is not None
        lines = self.places[carrier.place].lines
        fresh = lines.since(carrier.next)
        carrier.next = lines.count
        return fresh

    def say(self, carrier: ProgramConnection, line: str) -> None:
        """Pass on a line of a program, or note the delay that its client has measured."""
        assert carrier.place is not None
        place = self.places[carrier.place]
        line = line.rstrip("\n")
        if line.startswith(_DELAY):  # shown with what happens next: by itself it would reveal something to the others
            now = self._loop.time()
            if now >= place.measures_at:
                place.measures_at = now + _MIN_DELAY_INTERVAL_S
                with suppress(ValueError, RecursionError, AttributeError):
                    place.measured(json.loads(line).get("ms"))
        elif self._playing is not None and place.guest is carrier:
            repeats, carrier.repeats = carrier.repeats, None
            if line != repeats:
                place.lines.note_answer(line)
                self._playing.answer(carrier.place, line.encode("utf-8", "replace") + b"\n")

    # --- what happens

    def _soon(self, happening: MatchEvent) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._happened, happening)

    def _happened(self, happening: MatchEvent) -> None:
        playing = self._playing
        if playing is None or self._dealt is None:
            return
        match happening:
            case LineReceived(bot):
                self._take_line(bot, happening)
                return
            case StateUpdate(messages_by_seat):
                for eyes, message in messages_by_seat.items():
                    (self._public if eyes is None else self.places[eyes].sight).take(message)
            case GameEnded(game):
                for seat in game.survivors:
                    self.places[game.seating[seat]].won += 1 / len(game.survivors)
                ended = {"type": "game_over", "winner": game.winner, "survivors": list(game.survivors), "events": []}
                self._public.take(ended)  # no seat's line is for a spectator
                self._dealt.keep(playing.record, ())
                if len(playing.games) < len(playing.spec.seatings):
                    self._be_between(playing)
            case MatchEnd(problem):
                self._finish(playing, problem)
            case _:
                return
        self._wake()

    def _be_between(self, playing: LiveMatch) -> None:
        if self._ended:
            return
        self._be("between")
        if not self._of("person"):
            self._go_on(playing)
        elif self.offer.person.timed:
            self._loop.call_later(_BETWEEN_S, self._go_on, playing, len(playing.games))

    def _finish(self, playing: LiveMatch, problem: str | None) -> None:
        assert self._dealt is not None
        self.replay = self._dealt.keep(playing.record, playing.logs) if playing.games else None
        self._playing = None
        playing.close()
        if not self._ended:
            self._be("over" if problem is None else "void", problem)
        for number in self._of("program"):
            place = self.places[number]
            if place.lines.last != MATCH_OVER:  # it had forfeited, or this machine failed
                place.lines.add(MATCH_OVER)
            if place.guest is not None:
                self._close_if_done(place.guest)

    def _take_line(self, bot: int, line: LineReceived) -> None:
        place = self.places[bot]
        if place.kind == "program":
            place.lines.add(line.data.decode().rstrip("\n"))
        else:
            message = line.message
            if message["type"] == "hello":
                place.sight = PlayerView()
            answer = place.sight.take(message)
            if answer is not None and self._playing is not None:
                self._playing.answer(bot, json.dumps(answer).encode() + b"\n")
            self._time(bot)
        if place.guest is not None:
            place.guest.changed.set()

    def _wake(self) -> None:
        for guest in self._guests:
            guest.changed.set()

    # --- what is shown

    def frame(self, guest: TableClient) -> Message:
        """Return all that a client shows, with the end of its request's time by the monotonic clock."""
        sight = self._public if guest.place is None else self.places[guest.place].sight
        seen = sight.seen()
        missed = 0 if guest.place is None else self.places[guest.place].missed
        rows = [self._row(number, place, guest) for number, place in enumerate(self.places)]
        return {
            "table": {
                "id": self.name,
                "rules": self.offer.terms.rules.name,
                "games": self.offer.games,
                "clock": _clock(self.offer.person),
                "program_clock": _clock(self.offer.program),
                "talk": str(self.offer.terms.rules.talk),
                "open_names": self.offer.terms.open_names,
                "state": self.state,
                "why": self.why,
                "again": not self._ended,
                "places": sorted(rows, key=lambda row: str(row["handle"])),
                "replay": self.replay,
                "missed": missed,
                "spare": max(0, _MAX_MISSES - missed),
            },
            "game": None if seen is None else asdict(seen),
        }

    def _row(self, number: int, place: Slot, guest: TableClient) -> Message:
        spec = self._dealt.spec if self._dealt is not None else None
        shows = place.kind == "person" or self.state in ("over", "void") or self.offer.terms.open_names
        return {
            "handle": spec.handles[number] if spec is not None else "",
            "name": place.name if shows else None,
            "kind": place.kind,
            "here": place.kind == "bot" or place.guest is not None,
            "you": number == guest.place,
            "won": place.won,
            "again": place.again,
            "delay_ms": place.delay_ms,
        }

    # --- the end

    def end(self, why: str) -> None:
        """End the table as void, with the reason that all are shown; whole games are kept. No match follows."""
        if not self._ended:
            self._ended = True
            self._be("void", why)
            if self._playing is not None:
                self._playing.give_up()
            self._wake()

    def close(self) -> None:
        """End the match without its unfinished game. Blocks as long as a bot may take for an answer."""
        dealt, playing, self._playing = self._dealt, self._playing, None
        if playing is None:
            return
        playing.close()
        if dealt is not None and playing.games:  # one may have ended of which the loop hasn't heard
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(dealt.keep, playing.record, playing.logs)


def _words(statements: object) -> str | None:
    """Return the statement in an answer, None if it isn't text."""
    return statements if isinstance(statements, str) and statements.strip() else None


def _clock(timing: Timing) -> Message | None:
    """Return times as shown, in s; None without a clock."""
    return {"move_s": timing.limit_ms / 1000, "game_s": timing.bank_ms / 1000} if timing.timed else None
