"""What waits: versions for their examination, and matches for their turn."""

from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import holders, unexamined
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
class RunnerLine:
    """A runner that hasn't ended. width: how many it plays and examines at a time; matches: those among its leases.

    leases: how many it holds now, also one that waits until another has ended. dead: None, if nobody knows.
    """

    id: str
    host: str
    pid: int
    width: int
    leases: int
    matches: tuple[int, ...]
    dead: bool | None


@dataclass(frozen=True, slots=True)
class Queue:
    """Examinations in order of their submission, and matches that are played now or wait, in order of id.

    next: what to give as `after` for the matches that follow, None if there are none. runners: who serves the ladder.
    """

    examinations: tuple[Submission, ...]
    matches: tuple[MatchLine, ...]
    next: int | None = None
    runners: tuple[RunnerLine, ...] | None = None


def queue(reader: Reader, after: int | None = None, limit: int = 20) -> Queue:
    """Return what waits, so many matches at most, from the one after `after`."""
    lines = match_list(reader, todo=True, after=after, limit=limit)
    waiting = unexamined(reader.connection, reader.now)
    whole = Queue(
        tuple(Submission(version.label, version.pseudonym, version.state, version.at) for version in waiting),
        lines.rows,
        lines.next,
        runner_lines(reader),
    )
    return visible(whole, reader.viewer)


def runner_lines(reader: Reader) -> tuple[RunnerLine, ...]:
    """Return the runners that haven't ended, in order of their begin."""
    return tuple(
        visible(
            RunnerLine(each.runner.id, each.runner.host.split()[0], each.runner.pid, each.runner.width, each.leases,
                       each.matches, each.dead),
            reader.viewer,
        )
        for each in holders(reader.connection)
    )  # fmt: skip
