"""Serve the public pages: home, standings, head-to-head, bots, matches, replays, the queue and static files."""

import gzip
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from arena.playground import find_build
from arena.replay import replay_page
from ladder import match_pages
from ladder.bot_pages import BotList, BotPage, list_bots, view_bot, view_build_log
from ladder.bots import deadlines_of_bot, get_remaining_quota
from ladder.exports import write_csv
from ladder.home import HomePage, describe_ladder, view_home
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER
from ladder.standings import (
    STANDINGS_COLUMNS,
    HeadToHeadMatrix,
    StandingsPage,
    make_standings_cells,
    view_head_to_head,
    view_standings,
    view_standings_page,
)
from ladder.view_context import ViewContext
from ladder.web.rendering import json_response, page_and_json, render_form, static_document, static_files
from ladder.web.request_context import AuthorizedRoute, CurrentContext, HTTPError, RowId, authorize

standings_router = APIRouter(route_class=AuthorizedRoute)

Sort = Literal["rank", "win_rate", "games", "faults", "name", "age", "trend"]
First = Annotated[int, Query(ge=1)]
Day = Annotated[str | None, Query(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]


@page_and_json(standings_router, "/standings", "standings.html", shared=True, personal=True, fresh_s=3600)
def standings(
    ladder: Ladder,
    context: ViewContext,
    *,
    sort: Sort = "rank",
    day: Day = None,
    search: str = "",
    section: str = "",
    first: First = 1,
) -> StandingsPage:
    """Return one page of the standings, from position `first`: the current ones, or the last of `day`.

    `search` filters by bot name and pseudonym; staff can also filter by `section`.
    """
    return view_standings_page(context, sort, day=day, search=search, section=section, first=first)


@page_and_json(standings_router, "/head-to-head", "head_to_head.html", shared=True)
def head_to_head(ladder: Ladder, context: ViewContext, first: First = 1) -> HeadToHeadMatrix:
    """Return the head-to-head results of twenty bots of the standings, from position `first`."""
    return view_head_to_head(context, first)


@standings_router.get("/head-to-head.csv", include_in_schema=False)
def head_to_head_as_csv(request: CurrentContext) -> Response:
    """Return the results of all pairs of versions that met, as CSV."""
    with request.ladder.reading(request.viewer) as context:
        table = view_head_to_head(context, count=None)
    rows = (
        (one, other, record.wins, record.losses, record.games, record.matches)
        for one, row in zip(table.version_refs, table.rows, strict=True)
        for other, record in zip(table.version_refs, row, strict=True)
        if record is not None and record.games
    )
    return _csv(("version", "other", "wins", "losses", "games", "matches"), rows)


@standings_router.get("/standings.csv", include_in_schema=False)
def standings_as_csv(request: CurrentContext, day: Day = None) -> Response:
    """Return the standings, current or of `day`, as CSV."""
    with request.ladder.reading(request.viewer) as context:
        rows = view_standings(context, "rank", day).items
    return _csv(STANDINGS_COLUMNS, map(make_standings_cells, rows))


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    text = io.StringIO()
    write_csv(text, columns, rows)
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8")


bots_router = APIRouter(route_class=AuthorizedRoute)


@page_and_json(bots_router, "/bots", "bots.html")
def bots(ladder: Ladder, context: ViewContext, search: str = "", after: str | None = None) -> BotList:
    """Return fifty bots in order of name, from the one after `after`. `search` filters by bot name and owner."""
    return list_bots(context, search, after)


@page_and_json(bots_router, "/bots/{name}", "bot.html", fresh_s=60)
def bot(ladder: Ladder, context: ViewContext, name: str) -> BotPage | None:
    """Return a bot, None if it doesn't exist. Viewers with permission also get the check of its newest version."""
    return view_bot(context, name, deadlines=deadlines_of_bot(ladder, context, name))


@page_and_json(bots_router, "/bots/{name}/{number}", "bot.html", fresh_s=60)
def version(ladder: Ladder, context: ViewContext, name: str, number: RowId) -> BotPage | None:
    """Return a bot, None without it or this version. Viewers with permission also get the check of the version."""
    return view_bot(context, name, number, deadlines=deadlines_of_bot(ladder, context, name))


@bots_router.get("/bots/{name}/{number}/build-log", include_in_schema=False)
def build_log(request: CurrentContext, name: str, number: RowId) -> Response:
    """Return the output of a version's build, as text."""
    with request.ladder.reading(request.viewer) as context:
        log = view_build_log(context, name, number)
    if log is None:
        raise HTTPError(404, "This page doesn't exist, or you don't have access to it.", request)
    return Response(log.text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "private, no-cache"})


matches_router = APIRouter(route_class=AuthorizedRoute)

MATCHES_PER_PAGE = 50


@page_and_json(matches_router, "/matches", "matches.html", shared=True)
def matches(
    ladder: Ladder,
    context: ViewContext,
    kind: Literal["rated", "qualifying", "challenge", "final"] | None = None,
    after: RowId | None = None,
) -> match_pages.MatchList:
    """Return fifty ended matches, newest first, from the one after match `after`. `kind` filters them."""
    return match_pages.list_matches(context, kind=kind, after=after, limit=MATCHES_PER_PAGE)


@page_and_json(matches_router, "/matches/{id}", "match.html")
def match(ladder: Ladder, context: ViewContext, id: RowId) -> match_pages.MatchPage | None:
    """Return a match with its results, None if it doesn't exist or its final is unrevealed."""
    return match_pages.view_match(context, id)


@matches_router.get("/matches/{id}/replay", include_in_schema=False)
def replay(request: CurrentContext, id: RowId, public: bool = False) -> Response:
    """Return the replay of a match as an HTML page, redacted for the viewer. public: for all, even if staff asks."""
    viewer = PUBLIC_VIEWER if public else request.viewer
    return static_document(replace(request, viewer=viewer), lambda context: _replay_html(context, id))


@matches_router.get("/api/matches/{id}/replay", response_model=match_pages.MatchReplay)
def replay_as_json(request: CurrentContext, id: RowId) -> Response:
    """Return the games of a match, step by step, redacted for the viewer."""
    return json_response(request, match_pages.MatchReplay, lambda context: match_pages.view_match_replay(context, id))


def _replay_html(context: ViewContext, id: int) -> str | None:
    view = match_pages.view_match_replay(context, id)
    return None if view is None or view.replay is None else replay_page([view.replay], f"Match {id}")


queue_router = APIRouter(route_class=AuthorizedRoute)


@page_and_json(queue_router, "/queue", "queue.html", shared=True, fresh_s=5)
def queue(ladder: Ladder, context: ViewContext, after: RowId | None = None) -> match_pages.QueuePage:
    """Return the checks and matches that are queued or running; of the matches fifty, from the one after `after`."""
    return match_pages.view_queue(context, after, 50)


home_router = APIRouter(route_class=AuthorizedRoute)

PLAYGROUND_TYPES = {
    "html": "text/html", "js": "text/javascript", "mjs": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
    "wasm": "application/wasm", "zip": "application/zip",
}  # fmt: skip
CACHE_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@page_and_json(home_router, "/", "home.html", shared=True, personal=True, fresh_s=60)
def home(ladder: Ladder, context: ViewContext) -> HomePage:
    """Return the ladder's description, the leaders, the latest match, the finals, and the user's account."""
    return view_home(context, describe_ladder(ladder), get_remaining_quota(ladder, context).deadlines)


@home_router.get("/static/{tag}/{name}", include_in_schema=False, dependencies=[Depends(authorize)])
def static_file(tag: str, name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """Return a file that pages load, cached forever: its address changes with each build. Raises HTTPError 404."""
    if name not in static_files():
        raise HTTPError(404, "This file doesn't exist.")
    data, media_type = static_files()[name]
    headers = {**CACHE_FOREVER, "Vary": "Accept-Encoding"}
    if "gzip" in accept_encoding:
        return Response(_compress(data), media_type=media_type, headers={**headers, "Content-Encoding": "gzip"})
    return Response(data, media_type=media_type, headers=headers)


@cache
def _compress(data: bytes) -> bytes:
    return gzip.compress(data)


@home_router.get("/playground/{name:path}", include_in_schema=False, dependencies=[Depends(authorize)])
def playground_file(name: str, accept_encoding: Annotated[str, Header()] = "") -> Response:
    """Return a file of the playground, from disk; names with a hash are cached forever. Pages have their own policy.

    Raises HTTPError 404 for another name.
    """
    file = _find_playground_file(name or "index.html")
    if file is None:
        raise HTTPError(404, "This file doesn't exist.")
    media_type = PLAYGROUND_TYPES[file.suffix.removeprefix(".")]
    is_hashed = re.search(r"\.[0-9a-f]{12}\.", file.name) is not None
    caching = CACHE_FOREVER if is_hashed else {"Cache-Control": "no-cache"}
    headers = {**caching, "Vary": "Accept-Encoding", "Content-Security-Policy": "frame-ancestors 'self'"}
    compressed = file.with_name(f"{file.name}.br")
    if re.search(r"\bbr\b", accept_encoding) and compressed.is_file():
        return FileResponse(compressed, media_type=media_type, headers={**headers, "Content-Encoding": "br"})
    return FileResponse(file, media_type=media_type, headers=headers)


def _find_playground_file(name: str) -> Path | None:
    """Return a file of the built playground; None without a build, for other names and types."""
    folder = find_build()
    is_valid_name = re.fullmatch(r"\w[\w.-]{0,200}", name, re.ASCII) is not None  # a longer one is an OSError
    is_served = is_valid_name and name.rpartition(".")[2] in PLAYGROUND_TYPES
    if folder is None or not is_served or not (folder / name).is_file():
        return None
    return folder / name


@home_router.get("/openapi.json", include_in_schema=False, dependencies=[Depends(authorize)])
def openapi_schema(request: Request) -> Response:
    """Return the OpenAPI document of the API."""
    return JSONResponse(request.app.openapi())


@home_router.get("/api-docs", include_in_schema=False)
def api_docs(request: CurrentContext) -> Response:
    """Show the documentation of the API."""
    return render_form(request, "api.html", spec=request.http.app.openapi())
