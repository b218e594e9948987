"""Who beats whom: of pairs of versions, how often one won a game at a table where both sat, and how often the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from ladder.board import Duel
from ladder.store.database import TABLES
from ladder.views.match import outside_finals
from ladder.views.reader import Reader
from ladder.views.standings import ROWS, standings

MATRIX = 20  # bots of a page

bots, match_bots, matches, versions = (TABLES.tables[name] for name in ("bots", "match_bots", "matches", "versions"))


@dataclass(frozen=True, slots=True)
class Against:
    """One pair: the label of the other version, and how the two fared. Only matches that rate count."""

    label: str
    duel: Duel


@dataclass(frozen=True, slots=True)
class Duels:
    """The pairs of some versions that play, in the order of the table: `rows[a][b]` is a against b, None for itself.

    first: the place of the first; next: what to give as `first` for those that follow, None if there are none.
    """

    labels: tuple[str, ...]
    rows: tuple[tuple[Duel | None, ...], ...]
    first: int
    next: int | None
    change: int | None = None


def duels(reader: Reader, first: int = 1, count: int | None = MATRIX) -> Duels:
    """Return who beats whom among so many of the table's bots, from a place on."""
    rows = standings(reader).rows
    part = rows[first - 1 :][:count]
    matrix = pairs(reader, [row.version for row in part], [row.version for row in part])
    none = Duel(0.0, 0.0, 0, 0)
    return Duels(
        tuple(row.label for row in part),
        tuple(tuple(None if a is b else matrix.get((a.version, b.version), none) for b in part) for a in part),
        first,
        first + len(part) if first - 1 + len(part) < len(rows) else None,
        reader.change,
    )


def against(reader: Reader, version: int) -> tuple[Against, ...]:
    """Return how a version fared against each other one: first whom it met most."""
    matrix = pairs(reader, [version])
    met = sorted(matrix.items(), key=lambda pair: (-pair[1].games, pair[0]))[:ROWS]
    query = select(versions.c.id, bots.c.name, versions.c.number).join(bots, bots.c.id == versions.c.bot)
    named = {
        id: f"{name}@{number}"
        for id, name, number in reader.connection.execute(query.where(versions.c.id.in_([pair[1] for pair, _ in met])))
    }
    return tuple(Against(named[other], duel) for (_, other), duel in met)


def pairs(reader: Reader, ones: Sequence[int], others: Sequence[int] | None = None) -> dict[tuple[int, int], Duel]:
    """Return how pairs of versions fared in matches that rate; None: against all others."""
    one, other = match_bots.alias(), match_bots.alias()
    query = (
        select(
            one.c.version, other.c.version, func.sum(one.c.wins), func.sum(other.c.wins), func.sum(one.c.games),
            func.count(),
        )
        .join(other, (other.c.match == one.c.match) & (other.c.place != one.c.place))
        .join(matches, matches.c.id == one.c.match)
        .where(one.c.version.in_(ones), matches.c.rates, outside_finals(reader.sealed))
        .group_by(one.c.version, other.c.version)
    )  # fmt: skip
    if others is not None:
        query = query.where(other.c.version.in_(others))
    return {
        (mine, its): Duel(float(wins), float(losses), int(games), count)
        for mine, its, wins, losses, games, count in reader.connection.execute(query)
    }
