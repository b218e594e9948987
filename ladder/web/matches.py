"""Matches: those that ended, and one with its games."""

from typing import Literal

from fastapi import APIRouter

from ladder import views
from ladder.service import Ladder
from ladder.views import Match, MatchList, Reader
from ladder.web.reads import read

router = APIRouter()

ROWS = 50


@read(router, "/matches", "matches.html", shared=True)
def matches(
    ladder: Ladder,
    reader: Reader,
    kind: Literal["rated", "qualifying", "challenge", "final", "trial"] | None = None,
    after: int | None = None,
) -> MatchList:
    """Return the matches that ended, the newest first; fifty after the one whose number is `after`."""
    return views.match_list(reader, kind=kind, after=after, limit=ROWS)


@read(router, "/matches/{id}", "match.html")
def match(ladder: Ladder, reader: Reader, id: int) -> Match | None:
    """Return a match."""
    return views.match(reader, id)
