"""What happened, one event after the other: to be followed from a number on."""

from dataclasses import dataclass

from sqlalchemy import select

from ladder.access import visible
from ladder.store.database import (
    NOT_SIGNED_IN,
    PEOPLE,
    SIGNED_IN,
    STEP,
    TABLES,
    Event,
    events_after,
    find_act,
    find_version,
)
from ladder.views.bot import Examination
from ladder.views.decision import Decision, decisions
from ladder.views.reader import Reader

bots, matches, owners = (TABLES.tables[name] for name in ("bots", "matches", "owners"))


@dataclass(frozen=True, slots=True)
class EventLine:
    """One event.

    what: submitted, begun (an examination), step (it has come further), examined, match (it was played or given up),
    decided, rated (the table is new), people (owners came, or changed), table (one for people was opened, plays, or
    ended), signed in, not signed in. version: its label. table: its number. decision: what was decided. said: of a
    sign-in, whose it was and by what.
    """

    id: int
    at: float
    what: str
    version: str | None
    match: int | None
    decision: Decision | None
    table: int | None
    said: str | None


@dataclass(frozen=True, slots=True)
class EventList:
    """Events in order. next: what to give as `after` for those that follow, also for those that are yet to happen."""

    rows: tuple[EventLine, ...]
    next: int


def event_list(reader: Reader, after: int = 0, limit: int = 100) -> EventList:
    """Return what happened after an event, `limit` events at most; less what the reader may not hear of."""
    happened = events_after(reader.connection, after, limit)
    rows = tuple(line for line in (_line(reader, event) for event in happened) if line is not None)
    return EventList(rows, happened[-1].id if happened else after)


def _line(reader: Reader, event: Event) -> EventLine | None:
    """Return an event as the reader may know it, None if it isn't the reader's to hear of."""
    connection = reader.connection
    if event.what in (PEOPLE, SIGNED_IN, NOT_SIGNED_IN) and not reader.viewer.may("hear of people"):
        return None
    if event.match is not None and reader.sealed:
        final = connection.scalar(select(matches.c.final).where(matches.c.id == event.match))
        if final in reader.sealed:
            return None
    version = None if event.version is None else find_version(connection, event.version)
    act = None if event.act is None else find_act(connection, event.act)
    owner = None if version is None else version.login
    if event.what == STEP and not reader.viewer.sees(Examination, "steps", owner):
        return None
    if act is not None and version is None:
        of = select(owners.c.login)
        if act.bot is not None:
            owner = connection.scalar(of.join(bots, bots.c.owner == owners.c.id).where(bots.c.id == act.bot))
        elif act.owner is not None:
            owner = connection.scalar(of.where(owners.c.id == act.owner))
    decision: Decision | None = None
    of_person = act is not None and act.owner is not None and act.bot is None
    if act is not None and not (of_person and not reader.viewer.may("hear what was decided about a person", owner)):
        number = {} if version is None else {version.id: version.number}
        [decision] = decisions(reader, [act], number, owner)
    label = None if version is None else version.label
    line = EventLine(event.id, event.at, event.what, label, event.match, decision, event.evening, event.said)
    return visible(line, reader.viewer, owner)
