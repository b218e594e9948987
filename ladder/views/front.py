"""The front of a ladder: what it is, who leads, what was played last, and what is due."""

from dataclasses import dataclass

from ladder.store.database import all_finals
from ladder.views.final import FinalState, state_of
from ladder.views.match import MatchLine, match_list
from ladder.views.reader import Reader
from ladder.views.standings import StandingsPage, standings_page

TOP = 10  # rows of the table


@dataclass(frozen=True, slots=True)
class Due:
    """A deadline: when it is, and until when what is late is in its grace. Times are seconds since 1970.

    extended: why it is a person's own, and later than the class's; None if it isn't. counts: the person's versions that
    count, as it stands now; waiting: those that will count if they pass their examination.
    """

    name: str
    at: float
    closes: float
    extended: str | None = None
    counts: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class About:
    """What a ladder is. commitment: the SHA-256 of the key of its deals, in hex. submissions: allowed on a day."""

    name: str
    rules: str
    seats: int
    match_games: int
    limit_ms: int
    isolated: bool
    commitment: str
    submissions: int
    due: tuple[Due, ...]


@dataclass(frozen=True, slots=True)
class Front:
    """What a newcomer sees first: the first rows of the table, the newest match that was played, finals, deadlines."""

    about: About
    top: StandingsPage
    newest: MatchLine | None
    finals: tuple[FinalState, ...]
    change: int | None = None


def front(reader: Reader, about: About) -> Front:
    """Return the front of the ladder that this is about."""
    ended = match_list(reader, kind="rated", limit=1).rows
    finals = tuple(state_of(reader.connection, final) for final in all_finals(reader.connection))
    return Front(
        about, standings_page(reader, rows=TOP),
        next((line for line in ended if line.cause == "played"), None), finals, reader.change,
    )  # fmt: skip
