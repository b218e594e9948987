"""A match's record: as a page plays it again, cut for who looks; and whole, for who may read it."""

from dataclasses import dataclass
from typing import Any

from arena.referee import RecordError, read
from arena.tell import as_object
from ladder.access import visible
from ladder.store.database import ENDED, PLAYED, find_version, get_log, get_record
from ladder.views.match import MatchLine, find_match
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class Replay:
    """A match to be played again, with what of standard error is the viewer's to read.

    match: from `arena.tell.as_object`, for the viewer's own bots or with all cards. why: if there is none, "unended";
    "unplayed", where it was given up or cancelled; of its record "not kept", or "unreadable" for this arena.
    """

    line: MatchLine
    why: str | None
    match: dict[str, Any] | None
    change: int | None = None


def find_replay(reader: Reader, id: int) -> Replay | None:
    """Return a match to be played again, None if there is none of the id, or it is sealed.

    The public is told what everybody at the table could know, an owner also what his bots could, staff all cards.
    """
    line = find_match(reader.connection, id, reader.sealed)
    if line is None:
        return None
    match = None
    if line.state != ENDED:
        why: str | None = "unended"
    elif line.cause != PLAYED:
        why = "unplayed"
    else:
        text = get_record(reader.connection, id)
        try:
            why, match = ("not kept", None) if text is None else (None, _as_object(reader, line, text))
        except RecordError:
            why = "unreadable"
    change = reader.change if line.state == ENDED else None
    return visible(Replay(visible(line, reader.viewer), why, match, change), reader.viewer)


def record_text(reader: Reader, id: int) -> str | None:
    """Return the record of a match, None if there is none that the reader may read: it has all cards, and the key."""
    if not reader.viewer.may("read a record") or find_match(reader.connection, id, reader.sealed) is None:
        return None
    return get_record(reader.connection, id)


def _as_object(reader: Reader, line: MatchLine, text: str) -> dict[str, Any]:
    """Return the record as the reader may know it. Raises RecordError."""
    record, viewer = read(text), reader.viewer
    owners = {seat.label: find_version(reader.connection, seat.version).login for seat in line.seats}
    logs = {
        seat.label: [written for _, written in get_log(reader.connection, line.id, seat.version)]
        for seat in line.seats
        if viewer.may("read a log", owners[seat.label])
    }
    if viewer.may("read a record"):
        return as_object(record, logs)
    bots = enumerate(record.header.bots)
    eyes = [place for place, label in bots if viewer.may("see a bot's cards", owners.get(label))]
    return as_object(record, logs, eyes)
