"""An evening that this process plays: the boxes of its bots, its table, and what is kept of its matches."""

import io
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import BotCache, Bytecode, NotHereError, PortableBot
from arena.referee import UNTIMED_MS, MatchSpec, Record, Timing, write
from arena.run import keyed_shuffle
from arena.sandbox import Box, Program, Sandbox, SandboxError, make, programs_of, remove_tree
from ladder.schedule import seatings
from ladder.service import Ladder, known_rules, portable_of, why_not_playable
from ladder.store.database import (
    PERSON,
    Evening,
    claim_evening,
    find_version,
    get_file,
    keep_evening_match,
    set_playing,
)
from ladder.tables import Deal, Logs, Offer, Place, Table

Write = Callable[[Callable[[Connection], None], Callable[[], object] | None], None]


class UnplayableError(Exception):
    """Say in one line why an evening can't be played here."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """What plays at the places of bots, and where. Close it when nothing is played any more."""

    programs: Mapping[int, Program]
    sandbox: Sandbox
    ends: ExitStack


class Bots:
    """The bots of all evenings of this process, ready to start. For one thread's use."""

    def __init__(self, ladder: Ladder, cache: BotCache, scratch: Path) -> None:
        self._ladder = ladder
        self._cache = cache
        self._scratch = scratch
        self._bytecode = Bytecode()

    def claim(self, id: int, runner: str) -> tuple[Evening, Boxes] | None:
        """Make an evening this process's, with its bots ready; None if it is over, or another's.

        Raises UnplayableError, DatabaseError.
        """

        def act(connection: Connection) -> tuple[Evening, str | None, dict[int, PortableBot]] | None:
            evening = claim_evening(connection, id, runner)
            if evening is None:
                return None
            versions = {
                number: find_version(connection, place.version)
                for number, place in enumerate(evening.places)
                if place.version is not None
            }
            why = why_not_playable(connection, evening)
            return evening, why, {} if why else {number: portable_of(version) for number, version in versions.items()}

        claimed = self._ladder.database.write(act)
        if claimed is None:
            return None
        evening, why, bots = claimed
        if why is not None:
            raise UnplayableError(why)
        return evening, self._boxes(id, bots)

    def _boxes(self, id: int, bots: Mapping[int, PortableBot]) -> Boxes:
        choice = self._ladder.play.sandbox
        ends = ExitStack()
        try:
            for bot in bots.values():
                self._hold(bot, ends)
            folder = Path(tempfile.mkdtemp(prefix=f"table-{id}-", dir=self._scratch))
            ends.callback(remove_tree, folder)
            sandbox = make(choice, folder)
            ends.callback(_close, sandbox)
            programs = {
                number: self._bytecode.program(
                    bot.at(self._cache.place(bot), programs_of(choice.name)), choice, sandbox
                )
                for number, bot in bots.items()
            }
            return Boxes(programs, sandbox, ends.pop_all())
        except (NotHereError, SandboxError, OSError) as problem:
            raise UnplayableError(f"this machine can't start its bots: {problem}") from problem
        finally:
            ends.close()

    def _hold(self, bot: PortableBot, ends: ExitStack) -> None:
        try:
            ends.enter_context(self._cache.held(bot))
        except NotHereError:
            archive = self._ladder.database.look(lambda connection: get_file(connection, bot.digest, bot.file))
            self._cache.put(bot, io.BytesIO(archive))
            ends.enter_context(self._cache.held(bot))


def _close(sandbox: Sandbox) -> None:
    with suppress(OSError, SandboxError):  # what can't be closed is swept later
        sandbox.close()


class HostedEvening:
    """An evening with its table, in the event loop; `write` has the database changed, in order, and calls back."""

    def __init__(self, ladder: Ladder, evening: Evening, boxes: Boxes, write: Write) -> None:
        self.id = evening.id
        self.evening = evening
        self.boxes = boxes
        self.left_at: float | None = None  # since when nobody has been there
        self.ending = False
        self._ladder = ladder
        self._write = write
        self._last: Record | None = None
        said = ladder.last_settings.tables
        self._people = any(place.kind == PERSON for place in evening.places)
        pace_s = said.move_seconds if self._people else 0.0
        terms = replace(ladder.play.terms, rules=known_rules(ladder, evening.rules))
        clock = UNTIMED_MS if evening.clock_s is None else 1000 * evening.clock_s
        self._offer = Offer(terms, evening.games, Timing(limit_ms=clock, bank_ms=0))
        self.over = False  # a match was played to its end, and no person is there to want another
        self.table = Table(
            str(evening.id),
            _places(evening),
            self._offer,
            self._deal,
            self._changed,
            pace_s,
            said.window_seconds,
        )

    def called(self, place: int, name: str) -> None:
        """Give a place the name of the person who sits down there, until a match begins."""
        if self.table.state == "open":
            self.table.renamed(place, name)

    def _deal(self, number: int) -> Deal:
        """Return the `number`th match."""
        places, terms = self.table.places, self._offer.terms
        key = self._ladder.evening_key(self.id, number)
        games = -(-self._offer.games // len(places)) * len(places)
        rows = seatings(len(places), games, keyed_shuffle(key, "seats"))[: self._offer.games]
        names = tuple(place.name for place in places)
        self._last = None

        def launch(place: int) -> Box:
            return self.boxes.sandbox.start(self.boxes.programs[place], terms.limits)

        spec = MatchSpec(number, key, names, rows, terms, self._offer.timings(places))
        return Deal(spec, launch, self._keep)

    def _keep(self, record: Record, logs: Logs) -> str | None:
        """Have the games so far be kept; the table learns where they are shown once they may be read."""
        self._last = record
        self._put(record, False, None)
        return None

    def _put(self, record: Record, ended: bool, then: Callable[[], object] | None) -> None:
        number, games, now = record.header.match, len(record.games), self._ladder.clock()

        def act(connection: Connection) -> None:
            keep_evening_match(connection, self.id, number, write(record), games, ended, now)

        self._write(act, then)

    def _changed(self, table: Table) -> None:
        """Have the list of tables show the present state."""
        playing, now, record = table.state in ("playing", "between"), self._ladder.clock(), self._last
        self._write(lambda connection: set_playing(connection, self.id, playing, now), None)
        if table.state not in ("over", "void") or self.ending:
            return
        if record is not None:
            address = f"/tables/{self.id}/matches/{record.header.match}/replay"
            self._put(record, True, lambda: table.show_replay(record.header.match, address))
        if not self._people:
            self.over = True


def _places(evening: Evening) -> list[Place]:
    """Return the places of a table; their secrets are their numbers, since web servers alone show them."""
    names: list[str] = []
    for number, place in enumerate(evening.places):
        name = place.label or place.name or f"person {number + 1}"
        again = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({again + 1})" if again else name)
    return [
        Place("bot", name)
        if place.version is not None
        else Place("person" if place.kind == PERSON else "program", name, str(number))
        for number, (place, name) in enumerate(zip(evening.places, names, strict=True))
    ]
