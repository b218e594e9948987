"""What waits: versions for their examination, and matches for their turn."""

from dataclasses import dataclass

from ladder.store.database import unexamined
from ladder.views.match import MatchLine, match_list
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class Submission:
    """A version whose examination hasn't ended. state: queued, or examined at the moment."""

    label: str
    pseudonym: str
    state: str
    submitted: float


@dataclass(frozen=True, slots=True)
class Queue:
    """Examinations in order of their submission, and matches that are played now or wait, in order of id.

    next: what to give as `after` for the matches that follow, None if there are none.
    """

    examinations: tuple[Submission, ...]
    matches: tuple[MatchLine, ...]
    next: int | None = None


def queue(reader: Reader, after: int | None = None, limit: int = 20) -> Queue:
    """Return what waits, so many matches at most, from the one after `after`."""
    lines = match_list(reader, todo=True, after=after, limit=limit)
    waiting = unexamined(reader.connection, reader.now)
    return Queue(
        tuple(Submission(version.label, version.pseudonym, version.state, version.at) for version in waiting),
        lines.rows,
        lines.next,
    )
