"""Finals: how far they are, and once one has ended its table and its key."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.standings import Standings
from ladder.store.database import ENDED, PLAYED, Final, all_finals, find_version, matches_of_final
from ladder.views.cursor import cut
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class FinalState:
    """How far a final is: how many matches were played, have yet to end, and ended otherwise: (match, reason).

    commitment: the SHA-256 of its key, in hex. key: in hex, None until it has ended. versions: the labels of those that
    play, each at least `games` games. table: once it has ended, where it is asked for.
    """

    name: str
    commitment: str
    key: str | None
    versions: tuple[str, ...]
    games: int
    matches: int
    played: int
    missing: int
    lost: tuple[tuple[int, str], ...]
    table: Standings | None = None
    isolated: bool | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class FinalList:
    """Finals, in order of time."""

    rows: tuple[FinalState, ...]
    next: str | None = None
    change: int | None = None


def final_list(reader: Reader, after: str | None = None, limit: int | None = None) -> FinalList:
    """Return how far all finals are."""
    part, more = cut(all_finals(reader.connection), lambda final: final.name, after, limit)
    return FinalList(tuple(state_of(reader.connection, final) for final in part), more, reader.change)


def state_of(connection: Connection, final: Final) -> FinalState:
    """Return how far a final is, for everybody: no result is shown before the final has ended."""
    matches = matches_of_final(connection, final.id)
    causes = Counter(match.cause for match in matches if match.state == ENDED)
    return FinalState(
        name=final.name,
        commitment=final.commitment,
        key=final.key.hex() if final.revealed else None,
        versions=tuple(find_version(connection, version).label for version in final.versions),
        games=final.games,
        matches=len(matches),
        played=causes[PLAYED],
        missing=sum(match.state != ENDED for match in matches),
        lost=tuple(
            (match.id, match.reason or str(match.cause))
            for match in matches
            if match.state == ENDED and match.cause != PLAYED
        ),
    )
