"""Joining: people ask by a link of the staff's, and come back to their request; staff takes them in, or refuses."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from ladder import views
from ladder.service import STAFF, Ladder, approve, ask_to_join, issue, may_join, refuse, request_of
from ladder.views import Applicants, Reader
from ladder.web.account import AT_ONCE_S
from ladder.web.draw import form
from ladder.web.forms import Visited, Why, go_on, who
from ladder.web.reads import read
from ladder.web.sign_in import count_try
from ladder.web.visit import Id, RefusedError, Visit

router = APIRouter()

_DAY_S = 86_400.0
_LIST = "/admin/applicants"


@router.get("/join", include_in_schema=False)
def ask(visit: Visited, link: str = "") -> Response:
    """Show the form by which people ask to join."""
    _demand(visit, link)
    return form(visit, "join.html", link=link)


@router.post("/join", include_in_schema=False)
def send(
    visit: Visited,
    link: Annotated[str, Form()],
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
) -> Response:
    """Take a request in, whatever the login, and go on to its page."""
    count_try(visit, "sign in")
    _demand(visit, link)
    return RedirectResponse(f"/join/{ask_to_join(visit.ladder, login, name, email)}", 303)


@router.get("/join/{secret}", include_in_schema=False)
def request(visit: Visited, secret: str) -> Response:
    """Show what became of a request, and once it was granted the button that signs in."""
    applicant, signs_in = request_of(visit.ladder, secret)
    if applicant is None:
        raise RefusedError(404, "This is no address of a request to join. Copy the whole of it.", visit)
    return form(visit, "request.html", request=applicant, signs_in=signs_in, secret=secret)


def _demand(visit: Visit, link: str) -> None:
    if not may_join(visit.ladder, link):
        raise RefusedError(404, "This link to join isn't known, or its time is over: ask who gave it to you.", visit)


@read(router, _LIST, "applicants.html", fresh_s=AT_ONCE_S)
def applicants(ladder: Ladder, reader: Reader) -> Applicants:
    """Return who asked to join."""
    return views.applicant_list(reader)


@router.post("/admin/applicants/link", include_in_schema=False)
def make_link(visit: Visited, days: Annotated[float, Form(ge=0.01, le=3650)] = 14) -> Response:
    """Make a link to join, and show it this once."""
    issued = issue(visit.ladder, STAFF.login, "join", who(visit), lasts_s=days * _DAY_S)
    return form(visit, "join_link.html", made=issued, address=f"{visit.door.url}/join?link={issued.secret}")


@router.post("/admin/applicants/{id}/approve", include_in_schema=False)
def take_in(visit: Visited, id: Id, login: Annotated[str, Form()] = "") -> Response:
    """Take an applicant in, under another login if one is given."""
    new = approve(visit.ladder, id, who(visit), login or None)
    return go_on(visit, new, f"applicant {id} is taken in", _LIST)


@router.post("/admin/applicants/{id}/refuse", include_in_schema=False)
def turn_down(visit: Visited, id: Id, why: Why) -> Response:
    """Refuse an applicant, who reads the reason."""
    return go_on(visit, refuse(visit.ladder, id, who(visit), why), f"applicant {id} is refused", _LIST)
