"""Finals: how far they are, and what came of them."""

from fastapi import APIRouter

from ladder.service import Ladder, read_final
from ladder.views import FinalList, FinalState, Reader, final_list
from ladder.web.reads import read

router = APIRouter()


@read(router, "/finals", "finals.html", shared=True)
def finals(ladder: Ladder, reader: Reader, after: str | None = None) -> FinalList:
    """Return how far the finals are, in order of time."""
    return final_list(reader, after, 50)


@read(router, "/finals/{name}", "final.html", shared=True)
def final(ladder: Ladder, reader: Reader, name: str) -> FinalState | None:
    """Return a final: how far it is, and its table once it has ended."""
    return read_final(ladder, reader, name)
