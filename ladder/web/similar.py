"""Which bots of different owners are alike in their sources, for staff."""

from typing import Annotated

from fastapi import APIRouter, Query

from ladder.service import AT_LEAST, Ladder
from ladder.service import similar as all_similar
from ladder.views import Reader, Similar
from ladder.web.reads import read

router = APIRouter()


@read(router, "/admin/similar", "similar.html", fresh_s=1)
def similar(
    ladder: Ladder, _reader: Reader, at_least: Annotated[float, Query(ge=0, le=100)] = AT_LEAST, compare: bool = False
) -> Similar:
    """Return which versions are alike; `compare` takes seconds, of a class."""
    return all_similar(ladder, at_least, compare)
