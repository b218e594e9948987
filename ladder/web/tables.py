"""Tables for people and programs from home: opened, sat down at, looked at; what is played goes over `sockets`."""

from dataclasses import asdict, dataclass
from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from arena.coup import PRESETS, card
from arena.page import page, table_page
from ladder import views
from ladder.service import (
    Ladder,
    Opened,
    Wanted,
    close_evening,
    known_rules,
    new_secret,
    open_evening,
    seat_of,
    sit,
)
from ladder.store.database import OVER, PROGRAM, EveningPlace
from ladder.views import Reader, TableList, TablePage, TableReplay
from ladder.web.draw import answer, document, form
from ladder.web.forms import Visited, go_on, who
from ladder.web.reads import read
from ladder.web.sign_in import count_try
from ladder.web.visit import Gated, Id, RefusedError, Visit

router = APIRouter(route_class=Gated)

ROWS = 30
GUEST_S = 86_400  # that a guest's browser keeps his place


@dataclass(frozen=True, slots=True)
class Way:
    """A place of a table, and how somebody sits down there: by a link; a program at a socket, by a token.

    link, token: None where they aren't told.
    """

    place: int
    kind: str
    name: str | None
    link: str | None = None
    socket: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """A table that was opened: its page, and where the opener's own program comes in, as paths; and its places."""

    id: int
    page: str
    program: str | None
    places: tuple[Way, ...]


@read(router, "/tables", "tables.html")
def tables(ladder: Ladder, reader: Reader, after: Id | None = None) -> TableList:
    """Return the tables that are open, and those that ended, thirty after the one whose number is `after`."""
    return views.table_list(reader, after, ROWS)


@router.get("/tables/new", include_in_schema=False)
def new(visit: Visited) -> Response:
    """Show the form that opens a table."""
    with visit.ladder.reading(visit.viewer) as reader:
        bots = [line.bot for line in views.bot_list(reader, "", None).rows if line.playing]
    own = visit.ladder.play.terms.rules.name
    return form(visit, "new_table.html", rules=[own, *(name for name in PRESETS if name != own)], bots=bots)


@router.post("/tables", include_in_schema=False)
def open_by_form(
    visit: Visited,
    rules: Annotated[str, Form(max_length=100)],
    games: Annotated[int, Form(ge=1, le=20)] = 1,
    clock_s: Annotated[int, Form(ge=0, le=600)] = 0,
    bots: Annotated[str, Form(max_length=1200)] = "",
    people: Annotated[int, Form(ge=0, le=10)] = 0,
    programs: Annotated[int, Form(ge=0, le=10)] = 0,
    me: Annotated[bool, Form()] = False,
    program: Annotated[str, Form(max_length=60)] = "",
    watch: Annotated[bool, Form()] = False,
) -> Response:
    """Open a table, and show the links of its places this once."""
    named = tuple(name.strip() for name in bots.split(",") if name.strip())
    count_try(visit, "table")
    opened = open_evening(
        visit.ladder,
        Wanted(
            rules=rules, games=games, clock_s=max(5, clock_s) if clock_s else None, bots=named, people=people,
            programs=programs, me=me, program=program.strip() or None, watch=watch,
        ),
        who(visit),
    )  # fmt: skip
    return form(visit, "opened.html", id=opened.evening.id, ways=_ways(visit, opened), new=True)


@router.post("/api/tables", status_code=201)
def open_plain(visit: Visited, wanted: Wanted) -> OpenedTable:
    """Open a table; what lets somebody sit down is told this once."""
    count_try(visit, "table")
    opened = open_evening(visit.ladder, wanted, who(visit))
    page = f"/tables/{opened.evening.id}"
    program = None if wanted.program is None else f"{page}/program"
    return OpenedTable(opened.evening.id, page, program, tuple(_ways(visit, opened)))


@read(router, "/tables/{id}", "table.html", fresh_s=1)
def table(ladder: Ladder, reader: Reader, id: Id) -> TablePage | None:
    """Return a table: who sits there, what was played, why it ended."""
    return views.table_page(reader, id)


@router.get("/tables/{id}/sit", include_in_schema=False)
def invited(visit: Visited, id: Id, link: str = "") -> Response:
    """Show who comes by a link how to sit down: a button does it, not programs that look at addresses in letters."""
    guests = visit.ladder.last_settings.tables.guests
    return form(visit, "sit.html", id=id, link=link, guests=guests)


@router.post("/tables/{id}/sit", include_in_schema=False)
def sit_down(
    visit: Visited, id: Id, link: Annotated[str, Form(max_length=100)] = "", name: Annotated[str, Form()] = ""
) -> Response:
    """Sit down, and go on to the table."""
    count_try(visit, "table")
    secret = sit(visit.ladder, id, link, visit.viewer.login, name.strip())
    response = RedirectResponse(f"/tables/{id}/play", 303)
    if secret is not None:
        response.set_cookie(
            visit.door.guest_cookie(id), secret, GUEST_S, secure=visit.door.secure, httponly=True, samesite="lax"
        )
    return response


@router.get("/tables/{id}/play", include_in_schema=False)
def play(visit: Visited, id: Id) -> Response:
    """Return the page at which one plays, or looks on."""
    seat = seat_of(visit.ladder, id, visit.viewer, visit.request.cookies.get(visit.door.guest_cookie(id)))
    if seat is None:
        raise RefusedError(404, "There is no such table.", visit)
    may = seat.place is not None or (seat.evening.watch and visit.reads)
    if seat.evening.state == OVER or not may:
        return RedirectResponse(f"/tables/{id}", 303)
    rules = known_rules(visit.ladder, seat.evening.rules)
    rows, home = [asdict(row) for row in card(rules)], (f"/tables/{id}", f"table {id}")
    text = table_page(rules.name, visit.door.sheet(rules), f"/tables/{id}/socket", rows, home)
    headers = {"Content-Security-Policy": "frame-ancestors 'none'", "Cache-Control": "private, no-store"}
    return Response(text, 200, headers, "text/html; charset=utf-8")


@router.post("/tables/{id}/places/{place}/link", include_in_schema=False)
def link_anew(visit: Visited, id: Id, place: Id) -> Response:
    """Make a place's link or token anew, and show it this once."""
    count_try(visit, "table")
    secret = new_secret(visit.ladder, id, place, visit.viewer)
    seat = seat_of(visit.ladder, id, visit.viewer, None)
    assert seat is not None
    ways = _ways(visit, Opened(seat.evening, {place: secret}))
    return form(visit, "opened.html", id=id, ways=ways, new=False)


@router.post("/tables/{id}/close", include_in_schema=False)
def close(visit: Visited, id: Id) -> Response:
    """End a table."""
    new = close_evening(visit.ladder, id, visit.viewer)
    return go_on(visit, new, f"table {id} has ended", f"/tables/{id}")


@router.get("/tables/{id}/matches/{number}/replay", include_in_schema=False)
def replay(visit: Visited, id: Id, number: Id) -> Response:
    """Return the games of a match that was played at a table, step by step, as its reader may know them."""
    return document(visit, lambda reader: _replay(reader, id, number))


@router.get("/api/tables/{id}/matches/{number}/replay", response_model=TableReplay)
def replay_as_json(visit: Visited, id: Id, number: Id) -> Response:
    """Return the games of a match that was played at a table, step by step, as its reader may know them."""
    return answer(visit, TableReplay, lambda reader: views.table_replay(reader, id, number))


def _replay(reader: Reader, id: int, number: int) -> str | None:
    told = views.table_replay(reader, id, number)
    return None if told is None or told.match is None else page([told.match], f"Table {id}, match {number + 1}")


def _ways(visit: Visit, opened: Opened) -> list[Way]:
    """Return of each place what it is, and how somebody sits down there."""
    id, places = opened.evening.id, opened.evening.places
    return [_way(visit, id, number, place, opened.secrets.get(number)) for number, place in enumerate(places)]


def _way(visit: Visit, id: int, number: int, place: EveningPlace, secret: str | None) -> Way:
    name, url = place.label or place.name, visit.door.url
    if place.kind == PROGRAM:
        socket = f"ws{url.removeprefix('http')}/tables/{id}/program"
        return Way(number, place.kind, name, socket=socket, token=secret)
    return Way(number, place.kind, name, link=f"{url}/tables/{id}/sit?link={secret}" if secret else None)
