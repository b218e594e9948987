"""The table: ranks, ratings and shares with their intervals; and who beats whom."""

import io
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from ladder import views
from ladder.service import Ladder, write_csv
from ladder.views import STANDINGS_COLUMNS, Duels, Reader, StandingsPage, standings_cells
from ladder.web.reads import read
from ladder.web.visit import Visit, gate

router = APIRouter()

Sort = Literal["rank", "share", "games", "faults", "name", "age", "trend"]
First = Annotated[int, Query(ge=1)]
Day = Annotated[str | None, Query(pattern=r"^\d{4}-\d\d-\d\d$")]


@read(router, "/standings", "standings.html", shared=True, fresh_s=3600)
def standings(
    ladder: Ladder,
    reader: Reader,
    sort: Sort = "rank",
    day: Day = None,
    search: str = "",
    section: str = "",
    first: First = 1,
) -> StandingsPage:
    """Return the table: the newest, or the last of a day; fifty rows from a place in it, of bots with these words.

    Staff asks for a section's, too.
    """
    return views.standings_page(reader, sort, day, search, section, first)


@read(router, "/duels", "duels.html", shared=True)
def duels(ladder: Ladder, reader: Reader, first: First = 1) -> Duels:
    """Return who beats whom: twenty of the table's bots, from a place in it, in games where both sat at the table."""
    return views.duels(reader, first)


@router.get("/duels.csv", include_in_schema=False)
def duels_as_csv(visit: Annotated[Visit, Depends(gate)]) -> Response:
    """Return all pairs that met as CSV."""
    with visit.ladder.reading(visit.viewer) as reader:
        table = views.duels(reader, count=None)
    rows = (
        (one, other, duel.wins, duel.losses, duel.games, duel.matches)
        for one, row in zip(table.labels, table.rows, strict=True)
        for other, duel in zip(table.labels, row, strict=True)
        if duel is not None and duel.games
    )
    return _csv(("version", "other", "wins", "losses", "games", "matches"), rows)


@router.get("/standings.csv", include_in_schema=False)
def as_csv(visit: Annotated[Visit, Depends(gate)], day: Day = None) -> Response:
    """Return all rows as CSV."""
    with visit.ladder.reading(visit.viewer) as reader:
        rows = views.standings(reader, "rank", day).rows
    return _csv(STANDINGS_COLUMNS, map(standings_cells, rows))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    out = io.StringIO()
    write_csv(out, columns, rows)
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8")
