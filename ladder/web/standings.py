"""The table: ranks, ratings and shares with their intervals."""

import io
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response

from ladder import views
from ladder.service import Ladder, write_csv
from ladder.views import STANDINGS_COLUMNS, Reader, StandingsPage, standings_cells
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
    first: Annotated[int, Query(ge=1)] = 1,
) -> StandingsPage:
    """Return the table: the newest, or the last of a day; fifty rows from a place in it, of bots with these words."""
    return views.standings_page(reader, sort, day, search, first)


@router.get("/standings.csv", include_in_schema=False)
def as_csv(visit: Annotated[Visit, Depends(gate)], day: Day = None) -> Response:
    """Return all rows as CSV."""
    out = io.StringIO()
    with visit.ladder.reading(visit.viewer) as reader:
        write_csv(out, STANDINGS_COLUMNS, map(standings_cells, views.standings(reader, "rank", day).rows))
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8")
