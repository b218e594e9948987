"""How many matches and versions there are, by what has become of them: for an operator, and for metrics."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from ladder.store.database.tables import matches, versions, voids


@dataclass(frozen=True, slots=True)
class Counts:
    """Matches by (kind, what became of them): queued, leased, played, given_up, cancelled; versions by state.

    voids: attempts that hosts failed.
    """

    matches: dict[tuple[str, str], int]
    versions: dict[str, int]
    voids: int


def count_all(connection: Connection) -> Counts:
    """Count everything: with 100,000 matches in some hundredths of a second."""
    ends = func.coalesce(matches.c.cause, matches.c.state)
    by_end = connection.execute(select(matches.c.kind, ends, func.count()).group_by(matches.c.kind, ends))
    by_state = connection.execute(select(versions.c.state, func.count()).group_by(versions.c.state))
    return Counts(
        {(kind, end): count for kind, end, count in by_end},
        {row[0]: row[1] for row in by_state},
        connection.scalar(select(func.count()).select_from(voids)) or 0,
    )
