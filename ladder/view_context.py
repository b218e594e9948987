"""Define the context of a view (the viewer and the database state that is read) and the pagination of lists."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from sqlalchemy import Connection

from ladder.permissions import Viewer
from ladder.store import all_finals, find_freeze_entry, has_live_runner, last_event_id


@dataclass(frozen=True)
class ViewContext:
    """The viewer of a ladder, one state of its database, and a time in seconds since 1970.

    seats: of a rated table. limit_ms: a bot's time limit per request. sandbox: its name. isolated: whether the sandbox
    isolates bots.
    """

    viewer: Viewer
    connection: Connection
    now: float
    seats: int
    limit_ms: int
    sandbox: str
    isolated: bool

    @cached_property
    def revision(self) -> int:
        """The number of the ladder's newest event. The end of a match is an event; queueing or leasing it isn't."""
        return last_event_id(self.connection)

    @cached_property
    def sealed_finals(self) -> Sequence[int]:
        """The ids of finals whose matches the viewer may not see yet, since their results are revealed together."""
        if self.viewer.can("final:preview"):
            return ()
        return [final.id for final in all_finals(self.connection) if not final.shows_results]

    @cached_property
    def stall_reason(self) -> str | None:
        """Why no checks and matches run; None if they may run."""
        return None if has_live_runner(self.connection) else NO_RUNNER

    @cached_property
    def freeze_reason(self) -> str | None:
        """That and why the ladder is frozen; None if it isn't."""
        entry = find_freeze_entry(self.connection)
        return None if entry is None else f"The ladder is frozen ({entry.reason}): {FROZEN}"

    @cached_property
    def rated_stall_reason(self) -> str | None:
        """Why no rated matches start; None if they may start."""
        return self.stall_reason or self.freeze_reason


FROZEN = "no rated matches start, and no tables open. Checks, challenges and finals continue."
NO_RUNNER = "No runner is active, so no checks or matches run."

T = TypeVar("T")


def paginate(
    rows: Sequence[T], name: Callable[[T], str], after: str | None, limit: int | None
) -> tuple[Sequence[T], str | None]:
    """Return up to `limit` rows after the one named `after`, and the cursor of the next page, None at the end.

    name: returns a row's name. Without a row named `after` the page starts with the first row. limit: None for no end.
    """
    names = list(map(name, rows))
    start = names.index(after) + 1 if after in names else 0
    page = rows[start:][:limit]
    has_next_page = bool(page) and start + len(page) < len(rows)
    next_cursor = name(page[-1]) if has_next_page else None
    return page, next_cursor
