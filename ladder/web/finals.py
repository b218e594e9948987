"""Finals: how far they are, what came of them, and how staff holds one."""

from typing import Annotated

from fastapi import APIRouter, Form
from fastapi.responses import RedirectResponse, Response

from ladder.service import Ladder, commitment_file, hold_final, read_final, replay, reveal
from ladder.views import FinalList, FinalState, Reader, final_list
from ladder.web.draw import page
from ladder.web.forms import Visited, who
from ladder.web.reads import read
from ladder.web.visit import Gated, RefusedError

router = APIRouter(route_class=Gated)


@read(router, "/finals", "finals.html", shared=True, fresh_s=60)
def finals(ladder: Ladder, reader: Reader, after: str | None = None) -> FinalList:
    """Return how far the finals are, in order of time."""
    return final_list(reader, after, 50)


@read(router, "/finals/{name}", "final.html", shared=True)
def final(ladder: Ladder, reader: Reader, name: str) -> FinalState | None:
    """Return a final: how far it is, and its table once it has ended."""
    return read_final(ladder, reader, name)


@router.get("/finals/{name}/screen", include_in_schema=False)
def screen(visit: Visited, name: str) -> Response:
    """Show a final on a projector: how far it is; once it is revealed its table, the last first."""
    return page(visit, "screen.html", lambda reader: read_final(visit.ladder, reader, name), shared=True)


@router.get("/finals/{name}/published", include_in_schema=False)
def published(visit: Visited, name: str) -> Response:
    """Give the file that was published before the final was played: its versions, terms, and the key's SHA-256."""
    with visit.ladder.reading(visit.viewer) as reader:
        if all(final.name != name for final in final_list(reader).rows):
            raise RefusedError(404, "There is no such final.", visit)
    text = commitment_file(visit.ladder, name).read_text(encoding="utf-8")
    file = {"Content-Disposition": f'attachment; filename="final-{name}.txt"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=file)


@router.post("/finals", include_in_schema=False)
def hold(
    visit: Visited,
    name: Annotated[str, Form()],
    games: Annotated[int, Form(ge=1, le=10_000)],
    deadline: Annotated[str, Form()] = "",
) -> Response:
    """Hold a final of the versions that count at a deadline, or now."""
    state = hold_final(visit.ladder, name, deadline or None, games, who(visit))
    return RedirectResponse(f"/finals/{state.name}", 303)


@router.post("/finals/{name}/replay", include_in_schema=False)
def play_again(visit: Visited, name: str) -> Response:
    """Let the matches of a final be played again that were given up."""
    return RedirectResponse(f"/finals/{replay(visit.ladder, name, who(visit)).name}", 303)


@router.post("/finals/{name}/reveal", include_in_schema=False)
def tell(visit: Visited, name: str, as_is: Annotated[bool, Form()] = False) -> Response:
    """Reveal a final that has ended; `as_is` also where matches were given up."""
    reveal(visit.ladder, name, who(visit), visit.viewer, as_is)
    return RedirectResponse(f"/finals/{name}", 303)
