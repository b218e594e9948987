"""Submitting a bot: the form, and what takes it in, for people and for programs."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse, RedirectResponse, Response

from ladder.service import Ladder, allowance
from ladder.views import Allowance, Reader
from ladder.web.reads import read
from ladder.web.uploads import take
from ladder.web.visit import Gated, Visit, gate

router = APIRouter(route_class=Gated)

BOUNDED = 1 << 40  # by `take`, as ladder.toml says


@read(router, "/submit", "submit.html", fresh_s=60)
def show_form(ladder: Ladder, reader: Reader) -> Allowance:
    """Return what the person may submit now."""
    return allowance(ladder, reader)


@router.post("/submit", include_in_schema=False, max_body_size=BOUNDED)
async def send(visit: Annotated[Visit, Depends(gate)]) -> Response:
    """Take a bot in, and go on to its examination."""
    taken = await take(visit)
    return RedirectResponse(f"/bots/{quote(taken.name, safe='')}/{taken.number}#examination", 303)


@router.post("/api/submissions", max_body_size=BOUNDED)
async def send_plain(visit: Annotated[Visit, Depends(gate)]) -> Response:
    """Take a bot in, and say which version it became: 201, or 200 where the last version has the same files."""
    taken = await take(visit)
    names = ("label", "name", "number", "again", "late", "left", "disabled")
    return JSONResponse({word: getattr(taken, word) for word in names}, 200 if taken.again else 201)
