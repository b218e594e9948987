"""Signing up by a link, signing in by a link for one sign-in or by a password, and signing out."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Form
from fastapi.responses import RedirectResponse, Response

from ladder.service import (
    ASK,
    Issued,
    NotLetInError,
    join_link,
    note_failed,
    sign_in,
    sign_in_by_password,
    sign_out,
    sign_up,
)
from ladder.web.draw import form
from ladder.web.visit import Gated, RefusedError, Visit, address_of, gate, local

router = APIRouter(route_class=Gated, include_in_schema=False)
Visited = Annotated[Visit, Depends(gate)]


@router.get("/sign-in")
def show(visit: Visited, link: str = "", then: str = "/") -> Response:
    """Show the page: the link is used up by its button, not by programs that look at addresses in letters."""
    return form(visit, "sign_in.html", link=link, then=local(then))


@router.post("/sign-in")
def enter(visit: Visited, link: Annotated[str, Form()], then: Annotated[str, Form()] = "/") -> Response:
    """Change a link into a session."""
    count_try(visit, "sign in")
    return let_in(visit, then, lambda: sign_in(visit.ladder, link.strip().rpartition("link=")[2]))


@router.post("/sign-in/password")
def enter_by_password(
    visit: Visited,
    login: Annotated[str, Form()],
    password: Annotated[str, Form()],
    then: Annotated[str, Form()] = "/",
) -> Response:
    """Begin a session for who knows a person's password."""
    count_try(visit, "sign in")
    count_try(visit, "password", login.strip())
    return let_in(visit, then, lambda: sign_in_by_password(visit.ladder, login.strip(), password), login.strip())


@router.get("/join")
def join(visit: Visited, link: str = "") -> Response:
    """Show the form by which people sign up."""
    return form(visit, "join.html", link=link, asks=_demand(visit, link))


@router.post("/join")
def make_account(
    visit: Visited,
    link: Annotated[str, Form()],
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
) -> Response:
    """Make an account, and go on to it, signed in."""
    count_try(visit, "sign in")
    _demand(visit, link)
    return _begin(visit, "/account", sign_up(visit.ladder, link, login, name, email))


def _demand(visit: Visit, link: str) -> bool:
    """Return whether staff approves those who sign up by a link. Raises RefusedError for no such link."""
    found = join_link(visit.ladder, link)
    if found is None:
        raise RefusedError(404, "This link to join isn't known, or its time is over: ask who gave it to you.", visit)
    return found.scope == ASK


@router.post("/sign-out")
def leave(visit: Visited) -> Response:
    """End the session."""
    if visit.session is not None:
        sign_out(visit.ladder, visit.session)
    return visit.let_out(RedirectResponse("/", 303))


def let_in(visit: Visit, then: str, enter: Callable[[], Issued], login: str | None = None) -> Response:
    """Go on, signed in, to a page. Raises RefusedError for whom `enter` doesn't let in."""
    try:
        issued = enter()
    except NotLetInError as problem:
        what = str(problem)
        note_failed(visit.ladder, what, login)
        raise RefusedError(403, f"{what[0].upper()}{what[1:]}.", visit) from None
    return _begin(visit, then, issued)


def _begin(visit: Visit, then: str, issued: Issued) -> Response:
    """Go on with a new session, which takes the place of the one that the browser had."""
    if visit.session is not None:
        sign_out(visit.ladder, visit.session)
    return visit.let_in(RedirectResponse(local(then), 303), issued)


def count_try(visit: Visit, what: str, name: str | None = None) -> None:
    """Count a try of a person, else of an address, or of an address at a name. Raises RefusedError for one too many.

    A name alone has no count: any visitor could use up its owner's tries.
    """
    who = visit.sender if name is None else f"{address_of(visit.request)} {name}"
    wait = visit.door.limits.wait_s(what, who[:100])
    if wait:
        raise RefusedError(429, f"That was too often. Try again in {wait} s.", visit, wait)
