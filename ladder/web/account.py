"""A person's account: who he is, his bots, and what lets him in, which he makes and ends here."""

from typing import Annotated, Literal

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from ladder import views
from ladder.service import Ladder, allowance, issue, remove_password, revoke_credential, set_password
from ladder.views import Account, Reader
from ladder.web.draw import form
from ladder.web.forms import Visited, who
from ladder.web.reads import read
from ladder.web.sign_in import count_try
from ladder.web.visit import Gated, Id

router = APIRouter(route_class=Gated)

_DAY_S = 86_400.0
AT_ONCE_S = 1e-6  # credentials come and go without an event: the page is drawn anew each time


@read(router, "/account", "account.html", fresh_s=AT_ONCE_S)
def account(ladder: Ladder, reader: Reader) -> Account | None:
    """Return the asker's account: login, bots and their state, and what lets the person in."""
    return views.account(reader, allowance(ladder, reader).due)


@router.post("/account/tokens", include_in_schema=False)
def make_token(
    visit: Visited, scope: Annotated[Literal["read", "submit"], Form()], days: Annotated[int, Form(ge=1, le=365)]
) -> Response:
    """Make a token, and show it this once."""
    count_try(visit, "account")
    login = who(visit)
    issued = issue(visit.ladder, login, "token", login, scope, days * _DAY_S)
    return form(visit, "token.html", made=issued, url=visit.door.url)


@router.post("/account/password", include_in_schema=False)
def change_password(
    visit: Visited,
    new: Annotated[str, Form()],
    current: Annotated[str, Form()] = "",
    tokens: Annotated[bool, Form()] = False,
) -> Response:
    """Set a password, or change it."""
    count_try(visit, "password")
    set_password(visit.ladder, visit.viewer, new, current, tokens)
    return RedirectResponse("/account", 303)


@router.post("/account/password/remove", include_in_schema=False)
def forget_password(visit: Visited, current: Annotated[str, Form()]) -> Response:
    """Remove the password."""
    count_try(visit, "password")
    remove_password(visit.ladder, visit.viewer, current)
    return RedirectResponse("/account", 303)


@router.post("/account/credentials/{id}/revoke", include_in_schema=False)
def revoke(visit: Visited, id: Id) -> Response:
    """End a link, a session, a token or the password."""
    count_try(visit, "account")
    login = who(visit)
    revoke_credential(visit.ladder, id, login, "its owner ended it", login)
    return RedirectResponse("/account", 303)
