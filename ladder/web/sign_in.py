"""Signing in by a link for one sign-in, and signing out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Form
from fastapi.responses import RedirectResponse, Response

from ladder.service import NotLetInError, sign_in, sign_out
from ladder.web.draw import form
from ladder.web.visit import RefusedError, Visit, gate, local

router = APIRouter(include_in_schema=False)
Visited = Annotated[Visit, Depends(gate)]


@router.get("/sign-in")
def show(visit: Visited, link: str = "", then: str = "/") -> Response:
    """Show the page: the link is used up by its button, not by programs that look at addresses in letters."""
    return form(visit, "sign_in.html", link=link, then=local(then))


@router.post("/sign-in")
def enter(visit: Visited, link: Annotated[str, Form()], then: Annotated[str, Form()] = "/") -> Response:
    """Change a link into a session."""
    limited(visit, "sign in")
    try:
        issued = sign_in(visit.ladder, link.strip().rpartition("link=")[2])
    except NotLetInError as problem:
        raise RefusedError(403, f"{str(problem).capitalize()}.", visit) from None
    return visit.let_in(RedirectResponse(local(then), 303), issued)


@router.post("/sign-out")
def leave(visit: Visited) -> Response:
    """End the session."""
    if visit.session is not None:
        sign_out(visit.ladder, visit.session)
    return visit.let_out(RedirectResponse("/", 303))


def limited(visit: Visit, what: str) -> None:
    """Count a try of a person, or of an address. Raises RefusedError for one too many."""
    client = visit.request.client
    wait = visit.door.limits.wait_s(what, visit.viewer.login or (client.host if client else ""))
    if wait:
        raise RefusedError(429, f"That was too often. Try again in {wait} s.", visit, wait)
