"""What staff decides of bots, matches and the ladder, with a reason: as the commands of these names do."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form
from fastapi.responses import Response

from ladder.service import activate_version, disable_bot, set_frozen, set_void
from ladder.web.forms import Visited, Why, go_on, who
from ladder.web.visit import Gated, Id

router = APIRouter(route_class=Gated, include_in_schema=False)


@router.post("/bots/{name}/activate")
def activate(visit: Visited, name: str, why: Why, version: Annotated[Id, Form()]) -> Response:
    """Let another fit version of a bot play."""
    new = activate_version(visit.ladder, name, version, who(visit), why)
    return go_on(visit, new, f"{name}@{version} plays", f"/bots/{quote(name, safe='')}")


@router.post("/bots/{name}/disable")
def disable(visit: Visited, name: str, why: Why) -> Response:
    """Let no version of a bot play, until one is activated."""
    new = disable_bot(visit.ladder, name, who(visit), why)
    return go_on(visit, new, f"{name} doesn't play", f"/bots/{quote(name, safe='')}")


@router.post("/matches/{id}/void")
def void(visit: Visited, id: Id, why: Why, rates: Annotated[bool, Form()] = False) -> Response:
    """Take a match out of the ratings, or put it back."""
    new = set_void(visit.ladder, id, not rates, who(visit), why)
    return go_on(visit, new, f"match {id} {'rates' if rates else 'is void'}", f"/matches/{id}")


@router.post("/admin/freeze")
def freeze(visit: Visited, why: Why, frozen: Annotated[bool, Form()] = True) -> Response:
    """Let no rated match begin, or let them begin again."""
    new = set_frozen(visit.ladder, frozen, who(visit), why)
    return go_on(visit, new, f"the ladder is {'' if frozen else 'not '}frozen", "/admin")
