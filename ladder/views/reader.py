"""Who reads a ladder, and which state of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import Connection

from ladder.access import Viewer
from ladder.store.database import all_finals, last_event


@dataclass(frozen=True)
class Reader:
    """Somebody who looks at a ladder: at one state of its database, at a time in seconds since 1970.

    limit_ms: the time of a request. sandbox: its name; isolated: whether it keeps bots apart.
    """

    viewer: Viewer
    connection: Connection
    now: float
    seats: int
    limit_ms: int
    sandbox: str
    isolated: bool

    @cached_property
    def change(self) -> int:
        """The number of the ladder's last event. A match has one when it ends, none when it is queued or leased."""
        return last_event(self.connection)

    @cached_property
    def sealed(self) -> Sequence[int]:
        """The finals of which the viewer may not see a match: their results are told together, at the end."""
        if self.viewer.may("see a final's results before its end"):
            return ()
        return [final.id for final in all_finals(self.connection) if not final.revealed]
