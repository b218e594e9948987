"""What an owner does with a bot: challenge others, choose which version plays, download the files of a version."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from ladder import views
from ladder.service import challenge, choose_version
from ladder.web.forms import Visited, go_on, who
from ladder.web.sign_in import count_try
from ladder.web.visit import Gated, RefusedError

router = APIRouter(route_class=Gated, include_in_schema=False)


@router.post("/bots/{name}/challenges")
def ask(
    visit: Visited,
    name: str,
    opponents: Annotated[str, Form(max_length=400)] = "",
    count: Annotated[int, Form(ge=1, le=10)] = 1,
) -> Response:
    """Queue challenges, and go on to the first."""
    named = [each.strip() for each in opponents.split(",") if each.strip()]
    asked = challenge(visit.ladder, name, named, who(visit), count)
    return RedirectResponse(f"/matches/{asked.matches[0]}", 303)


@router.post("/bots/{name}/choose")
def choose(visit: Visited, name: str, version: Annotated[int, Form(ge=1, le=2**31 - 1)]) -> Response:
    """Let another fit version of one's own bot play."""
    new = choose_version(visit.ladder, name, version, who(visit))
    return go_on(visit, new, f"{name}@{version} plays", f"/bots/{quote(name, safe='')}")


@router.get("/bots/{name}/{number}/files.tar")
def files(visit: Visited, name: str, number: int) -> Response:
    """Return a version's files as they are kept."""
    count_try(visit, "files")
    with visit.ladder.reading(visit.viewer) as reader:
        data = views.archive(reader, name, number)
    if data is None:
        raise RefusedError(404, "There is nothing here, or it isn't yours to see.", visit)
    named = f"attachment; filename*=UTF-8''{quote(f'{name}-{number}.tar', safe='')}"
    headers = {"Content-Disposition": named, "Cache-Control": "private, no-store"}
    return Response(data, media_type="application/x-tar", headers=headers)
