"""A table: its places, and its matches, one after the other.

    the event loop                     the referee's thread, and one for each far seat
    join, take, frame <-- happenings -- lines, moments, ends of games
          `--------------- answers ---> far seats

A guest is one who looks at the table: from a place, or as an onlooker. Each gets frames that hold the whole of what is
to be shown, so a slow one gets fewer of them, and one that comes back needs the last alone. Nothing here tells who has
answered.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Literal

from arena.play import Ended, GameOver, Happening, Line, Message, Moved, Playing, Sight
from arena.referee import MatchSpec, Record, messages
from arena.sandbox import Box

Logs = Sequence[tuple[int, int, bytes]]


@dataclass(frozen=True, slots=True)
class Deal:
    """A match to play: `launch` starts the bots; `keep` takes the record as it grows, and tells where it is shown."""

    spec: MatchSpec
    launch: Callable[[int], Box]
    keep: Callable[[Record, Logs], str | None]


class Taken(Exception):  # noqa: N818  # no error: the guest is elsewhere now
    """Somebody else has shown the secret of this place: another tab, another device."""


@dataclass(eq=False)
class Guest:
    """One who looks on; `place` is where he sits. `changed` is set when there is something new for him."""

    place: int | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    taken: bool = False

    async def news(self) -> None:
        """Wait until there is something new. Raises Taken."""
        await self.changed.wait()
        self.changed.clear()
        if self.taken:
            raise Taken


@dataclass(eq=False)
class Place:
    """A place of a table. Who shows its secret sits there; a bot's has none."""

    kind: Literal["bot", "person"]
    name: str
    secret: str | None = None
    sight: Sight = field(default_factory=Sight)
    guest: Guest | None = None
    won: float = 0.0


class Table:
    """A table: made in an event loop, whose thread alone calls its methods.

    `deal` makes a match by its number at this table; `pace_s` is how long people have to see a move, in s. A match
    begins as soon as nobody is awaited. State: open, playing, between (two games), over, void.
    """

    def __init__(self, name: str, places: Sequence[Place], deal: Callable[[int], Deal], pace_s: float = 0.0) -> None:
        self.name = name
        self.places = tuple(places)
        self.state = "open"
        self.why: str | None = None
        self.replay: str | None = None
        self.matches = 0
        self._deal = deal
        self._pace_s = pace_s
        self._dealt: Deal | None = None
        self._playing: Playing | None = None
        self._public = Sight()  # what an onlooker sees
        self._guests: set[Guest] = set()
        self._loop = asyncio.get_running_loop()
        self._begin_if_all_here()

    # --- guests

    def join(self, secret: str | None) -> Guest:
        """Let somebody look on, from the place whose secret he shows; who sat there before is told so.

        Raises KeyError for a secret of no place.
        """
        guest = Guest(None if secret is None else self._place_of(secret))
        if guest.place is not None:
            place = self.places[guest.place]
            if place.guest is not None:
                place.guest.taken = True
                place.guest.changed.set()
            place.guest = guest
        self._guests.add(guest)
        self._begin_if_all_here()
        self._wake()
        return guest

    def part(self, guest: Guest) -> None:
        """Have a guest go away; his place is kept for him."""
        self._guests.discard(guest)
        if guest.place is not None and self.places[guest.place].guest is guest:
            self.places[guest.place].guest = None
        self._wake()

    @property
    def watched(self) -> bool:
        """Tell whether anybody looks on."""
        return bool(self._guests)

    def _place_of(self, secret: str) -> int:
        for number, place in enumerate(self.places):
            if place.secret == secret:
                return number
        raise KeyError("no place has this secret")

    def _begin_if_all_here(self) -> None:
        if self.state == "open" and all(place.kind == "bot" or place.guest for place in self.places):
            self._begin()

    def _begin(self) -> None:
        dealt = self._dealt = self._deal(self.matches)
        self.matches += 1
        self.state, self.why, self.replay = "playing", None, None
        for place in self.places:
            place.sight, place.won = Sight(), 0.0
        self._public = Sight()
        rules = dealt.spec.terms.rules
        self._public.take({"type": "hello", "ruleset": messages.ruleset(rules, dealt.spec.seats)})
        people = [number for number, place in enumerate(self.places) if place.kind == "person"]
        self._playing = Playing(dealt.spec, people, dealt.launch, self._soon, (None, *people), self._pace_s)

    # --- what guests do

    def take(self, guest: Guest, message: Message) -> Message | None:
        """Do what a seated guest asks for, if it can be done now; return what he alone is answered."""
        place = None if guest.place is None else self.places[guest.place]
        if place is None or guest.place is None or place.guest is not guest:
            return None
        playing = self._playing
        match message:
            case {"answer": dict(answer)} if playing is not None:
                self._answer(guest.place, answer)
            case {"hint": True} if place.sight.seen() is not None:
                return {"hint": list(place.sight.hint(80))}
            case {"go_on": True} if self.state == "between" and playing is not None:
                self.state = "playing"
                playing.go_on()
            case {"leave": True} if playing is not None and self.state in ("playing", "between"):
                playing.leave(guest.place)
            case {"rematch": True} if self.state in ("over", "void"):
                self.state = "open"
                self._begin_if_all_here()
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
        assert self._playing is not None
        self._playing.answer(number, json.dumps(sight.answer(choice)).encode() + b"\n")
        sight.request = {}

    # --- what happens

    def _soon(self, happening: Happening) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._happened, happening)

    def _happened(self, happening: Happening) -> None:
        playing = self._playing
        if playing is None or self._dealt is None:
            return
        match happening:
            case Line(bot):
                self._take_line(bot, happening)
            case Moved(told):
                for eyes, message in told.items():
                    (self._public if eyes is None else self.places[eyes].sight).take(message)
            case GameOver(game):
                for seat in game.survivors:
                    self.places[game.seating[seat]].won += 1 / len(game.survivors)
                more = len(playing.games) < len(playing.spec.seatings)
                self.state = "between" if more else "playing"
                self._dealt.keep(playing.record, ())
            case Ended(problem):
                self.state, self.why = ("over", None) if problem is None else ("void", problem)
                self.replay = self._dealt.keep(playing.record, playing.logs) if playing.games else None
                self._playing = None
                playing.close()
            case _:
                return
        self._wake()

    def _take_line(self, bot: int, line: Line) -> None:
        place, message = self.places[bot], line.message
        if message["type"] == "hello":
            place.sight = Sight()
        answer = place.sight.take(message)
        if answer is not None and self._playing is not None:
            self._playing.answer(bot, json.dumps(answer).encode() + b"\n")

    def _wake(self) -> None:
        for guest in self._guests:
            guest.changed.set()

    # --- what is shown

    def frame(self, guest: Guest) -> Message:
        """Return the whole of what a guest is to be shown."""
        spec = self._dealt.spec if self._dealt is not None else None
        told = self.state in ("over", "void") or (spec is not None and spec.terms.open_names)
        rows = [
            {
                "handle": spec.handles[number] if spec is not None else "",
                "name": place.name if told or place.kind != "bot" else None,
                "kind": place.kind,
                "here": place.kind == "bot" or place.guest is not None,
                "you": number == guest.place,
                "won": place.won,
            }
            for number, place in enumerate(self.places)
        ]
        rules = None if spec is None else spec.terms.rules
        sight = self._public if guest.place is None else self.places[guest.place].sight
        seen = sight.seen()
        return {
            "table": {
                "id": self.name,
                "rules": None if rules is None else rules.name,
                "games": 0 if spec is None else len(spec.seatings),
                "state": self.state,
                "why": self.why,
                "places": sorted(rows, key=lambda row: str(row["handle"])),
                "replay": self.replay,
            },
            "game": None if seen is None else asdict(seen),
        }

    def close(self) -> None:
        """End what is played, without the game that goes on; blocks as long as a bot may take for an answer."""
        playing, self._playing = self._playing, None
        if playing is not None:
            playing.close()
