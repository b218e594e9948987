"""Matches: those that ended, one with its games, and these played again."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from arena.page import page
from ladder import views
from ladder.service import Ladder
from ladder.views import Match, MatchList, Reader, Replay, find_replay
from ladder.web.draw import answer, document
from ladder.web.reads import read
from ladder.web.visit import Id, Visit, gate

router = APIRouter()
Visited = Annotated[Visit, Depends(gate)]

ROWS = 50


@read(router, "/matches", "matches.html", shared=True)
def matches(
    ladder: Ladder,
    reader: Reader,
    kind: Literal["rated", "qualifying", "challenge", "final"] | None = None,
    after: Id | None = None,
) -> MatchList:
    """Return the matches that ended, the newest first; fifty after the one whose number is `after`."""
    return views.match_list(reader, kind=kind, after=after, limit=ROWS)


@read(router, "/matches/{id}", "match.html")
def match(ladder: Ladder, reader: Reader, id: Id) -> Match | None:
    """Return a match."""
    return views.match(reader, id)


@router.get("/matches/{id}/replay", include_in_schema=False)
def replay(visit: Visited, id: Id) -> Response:
    """Return the games of a match, step by step: a page of its own, which shows what its reader may know."""
    return document(visit, lambda reader: _replay(reader, id))


@router.get("/api/matches/{id}/replay", response_model=Replay)
def replay_as_json(visit: Visited, id: Id) -> Response:
    """Return the games of a match, step by step, as its reader may know them."""
    return answer(visit, Replay, lambda reader: find_replay(reader, id))


def _replay(reader: Reader, id: int) -> str | None:
    view = find_replay(reader, id)
    return None if view is None or view.match is None else page([view.match], f"Match {id}")
