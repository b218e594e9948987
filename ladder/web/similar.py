"""Which bots of different owners are alike in their sources, for staff, and two of them beside each other."""

from typing import Annotated

from fastapi import APIRouter, Query

from ladder.service import AT_LEAST, Ladder, side_by_side
from ladder.service import similar as all_similar
from ladder.views import Reader, SideBySide, Similar
from ladder.web.reads import read

router = APIRouter()


@read(router, "/admin/similar", "similar.html", fresh_s=1)
def similar(
    ladder: Ladder,
    reader: Reader,
    at_least: Annotated[float, Query(ge=0, le=100)] = AT_LEAST,
    compare: bool = False,
) -> Similar:
    """Return which versions are alike; what isn't known yet, with `compare` alone: of a class it takes seconds."""
    return all_similar(ladder, at_least, compare, reader.viewer)


@read(router, "/admin/similar/{one}/{other}", "side_by_side.html")
def beside(ladder: Ladder, reader: Reader, one: str, other: str) -> SideBySide:
    """Return what two versions have in common, passage by passage."""
    return side_by_side(ladder, one, other, reader.viewer)
