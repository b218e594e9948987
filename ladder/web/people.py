"""People, for staff: who they are, what lets them in, and who is suspended, left, or is somebody else."""

import io
from datetime import UTC, datetime
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, UploadFile
from fastapi.responses import Response

from ladder import views
from ladder.service import (
    ASK,
    STAFF,
    Ladder,
    LadderError,
    TakenIn,
    allowance,
    approve,
    extend,
    import_teams,
    issue,
    issue_each,
    join_teams,
    leave_teams,
    merge_people,
    one_person,
    parse_roster,
    read_time,
    refuse,
    revoke_credential,
    set_gone,
    set_suspended,
    take_back,
    take_in_people,
    write_csv,
)
from ladder.views import OwnerLine, People, PersonPage, Reader
from ladder.web.draw import form
from ladder.web.forms import Visited, Why, go_on, who
from ladder.web.reads import read
from ladder.web.visit import Gated, Id, Visit

router = APIRouter(route_class=Gated)

DAY_S = 86_400.0
ROSTER_BYTES = 2 << 20
CARD_COLUMNS = ("login", "name", "email", "section", "link", "until")


@read(router, "/admin/people", "people.html")
def people(ladder: Ladder, reader: Reader, search: str = "", after: str | None = None) -> People:
    """Return people with these words in what is known of them, fifty after the one whose pseudonym is `after`."""
    return views.people(reader, search, after)


@read(router, "/admin/people/{login:path}", "person.html", fresh_s=1)
def person(ladder: Ladder, reader: Reader, login: str) -> PersonPage | None:
    """Return a person, with bots, with what lets him in, and with what was decided."""
    return views.person(reader, login, allowance(ladder, reader, login))


@router.post("/admin/people", include_in_schema=False)
def add(
    visit: Visited,
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    pseudonym: Annotated[str, Form()] = "",
) -> Response:
    """Add a person, or bring one up to date: a field that is empty stays as it was."""
    values = (name.strip() or None, email.strip() or None, section.strip() or None, pseudonym.strip() or None)
    taken = take_in_people(visit.ladder, [one_person(login.strip(), *values)], who(visit), "one person")
    return _taken(visit, taken, login.strip(), _page(login.strip()))


@router.post("/admin/people/import", include_in_schema=False, max_body_size=ROSTER_BYTES)
def take_in(visit: Visited, roster: UploadFile, partial: Annotated[bool, Form()] = False) -> Response:
    """Import a class's roster: all of it or, where a line is wrong, none, or with `partial` the others."""
    name = roster.filename or "the roster"
    people = parse_roster(roster.file.read(), name)
    return _taken(visit, take_in_people(visit.ladder, people, who(visit), name, partial=partial), name, "/admin/people")


def _taken(visit: Visit, taken: TakenIn, of: str, to: str) -> Response:
    return form(visit, "taken_in.html", taken=taken, of=of, to=to)


@router.post("/admin/people/teams", include_in_schema=False, max_body_size=ROSTER_BYTES)
def take_in_teams(visit: Visited, teams: UploadFile, move: Annotated[bool, Form()] = False) -> Response:
    """Let people be in the teams that a CSV tells: all of them or, where a line is wrong, none."""
    name = teams.filename or "the file"
    new = import_teams(visit.ladder, teams.file.read(), name, who(visit), move)
    return go_on(visit, new.changed, f"all of {name} are in their teams", "/admin/people")


@router.post("/admin/people/{login:path}/team", include_in_schema=False)
def team(
    visit: Visited, login: str, why: Why, team: Annotated[str, Form()] = "", since: Annotated[str, Form()] = ""
) -> Response:
    """Let a person be in a team, whichever it was before; in none if none is named."""
    if team.strip():
        at = read_time(visit.ladder, since) if since else None
        new, now = join_teams(visit.ladder, {login: team}, who(visit), why, True, at), f"in the team {team}"
    else:
        new, now = leave_teams(visit.ladder, [login], who(visit), why), "in no team"
    return go_on(visit, new.changed, f"{login} is {now}", _page(login))


@router.post("/admin/people/links", include_in_schema=False)
def links(
    visit: Visited,
    login: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    days: Annotated[float, Form(ge=0.01, le=3650)] = 1,
    shape: Annotated[Literal["cards", "csv"], Form(alias="as")] = "cards",
) -> Response:
    """Make a link for one sign-in for a person; or, where no login is given, for each of a section, or of all.

    It is shown this once. Who is suspended or left gets none of those for many, and neither does staff.
    """
    with visit.ladder.reading(visit.viewer) as reader:
        owners = views.owner_list(reader).rows
    if login:
        chosen = [owner for owner in owners if owner.login == login]
    else:
        chosen = [owner for owner in owners if _takes_part(owner) and section in ("", owner.section)]
    if not chosen:
        raise LadderError(
            "There is nobody for whom a link could be made.\nImport the roster, or choose another section."
        )
    logins = [owner.login or "" for owner in chosen]
    cards = list(zip(chosen, issue_each(visit.ladder, logins, "link", who(visit), lasts_s=days * DAY_S), strict=True))
    address = f"{visit.door.url}/sign-in?link="
    if shape == "cards":
        return form(visit, "links.html", cards=cards, address=address)
    out = io.StringIO()
    rows = (
        (
            owner.login,
            owner.name,
            owner.email,
            owner.section,
            address + link.secret,
            datetime.fromtimestamp(link.ends, UTC).isoformat(timespec="minutes"),
        )
        for owner, link in cards
    )
    write_csv(out, CARD_COLUMNS, rows)
    headers = {"Content-Disposition": 'attachment; filename="links.csv"', "Cache-Control": "no-store"}
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _takes_part(owner: OwnerLine) -> bool:
    return not owner.staff and owner.suspended is None and owner.gone is None and not owner.waiting


@router.post("/admin/people/{login:path}/suspend", include_in_schema=False)
def suspend(visit: Visited, login: str, why: Why, suspended: Annotated[bool, Form()] = True) -> Response:
    """Let nothing of a person play, be submitted or count; or let it again."""
    new = set_suspended(visit.ladder, login, suspended, who(visit), why)
    return go_on(visit, new, f"{login} is {'' if suspended else 'not '}suspended", _page(login))


@router.post("/admin/people/{login:path}/leave", include_in_schema=False)
def leave(visit: Visited, login: str, why: Why, gone: Annotated[bool, Form()] = True) -> Response:
    """Let a person leave the course, or come back."""
    new = set_gone(visit.ladder, login, gone, who(visit), why)
    return go_on(visit, new, f"{login} is {'no longer ' if gone else ''}in the course", _page(login))


@router.post("/admin/people/join", include_in_schema=False)
def make_join_link(
    visit: Visited, days: Annotated[float, Form(ge=0.01, le=3650)] = 14, ask: Annotated[bool, Form()] = False
) -> Response:
    """Make a link by which people sign up, and show it this once."""
    made = issue(visit.ladder, STAFF.login, "join", who(visit), ASK if ask else "join", days * DAY_S)
    return form(visit, "join_link.html", made=made, asks=ask, address=f"{visit.door.url}/join?link={made.secret}")


@router.post("/admin/people/{login:path}/approve", include_in_schema=False)
def take_part(visit: Visited, login: str) -> Response:
    """Approve an account that waits."""
    return go_on(visit, approve(visit.ladder, login, who(visit)), f"{login} is approved", _page(login))


@router.post("/admin/people/{login:path}/refuse", include_in_schema=False)
def turn_down(visit: Visited, login: str, why: Why) -> Response:
    """Remove an account that waits."""
    return go_on(visit, refuse(visit.ladder, login, who(visit), why), f"{login} is removed", "/admin")


@router.post("/admin/people/{login:path}/merge", include_in_schema=False)
def merge(visit: Visited, login: str, why: Why, into: Annotated[str, Form()] = "") -> Response:
    """Merge a person with another owner, by login."""
    new = merge_people(visit.ladder, login, into.strip(), who(visit), why)
    return go_on(visit, new, f"{login} is {into.strip()}", _page(into.strip()))


@router.post("/admin/people/{login:path}/extend", include_in_schema=False)
def more_time(
    visit: Visited,
    login: str,
    why: Why,
    deadline: Annotated[str, Form()],
    until: Annotated[str, Form()] = "",
    late_days: Annotated[int, Form(ge=0, le=366)] = 0,
    undo: Annotated[bool, Form()] = False,
) -> Response:
    """Give a person more time before a deadline, or take it back."""
    if undo:
        new = take_back(visit.ladder, login, deadline, who(visit), why)
    else:
        new = extend(visit.ladder, login, deadline, until or None, None, late_days, who(visit), why)
    return go_on(visit, new, f"{login} has {'no more time' if undo else 'that time'} for {deadline}", _page(login))


@router.post("/admin/credentials/{id}/revoke", include_in_schema=False)
def revoke(visit: Visited, id: Id, why: Why, login: Annotated[str, Form()] = "") -> Response:
    """Let a link, a session or a token let nobody in any more."""
    new = revoke_credential(visit.ladder, id, who(visit), why)
    return go_on(visit, new, f"{id} lets nobody in", _page(login))


def _page(login: str) -> str:
    return f"/admin/people/{quote(login, safe='')}"
