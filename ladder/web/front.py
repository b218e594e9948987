"""The first page, and the files that pages load."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from ladder import views
from ladder.service import Ladder, about
from ladder.views import Front, Reader
from ladder.web.draw import form, static
from ladder.web.reads import read
from ladder.web.visit import RefusedError, Visit, gate

router = APIRouter()

FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@read(router, "/", "front.html", shared=True, fresh_s=60)
def front(ladder: Ladder, reader: Reader) -> Front:
    """Return what a newcomer sees first: what this is, who leads, what was played last, what is due."""
    return views.front(reader, about(ladder))


@router.get("/static/{tag}/{name}", include_in_schema=False, dependencies=[Depends(gate)])
def file(tag: str, name: str) -> Response:
    """Return a file that pages load."""
    if name not in static():
        raise RefusedError(404, "There is no such file.")
    data, kind = static()[name]
    return Response(data, media_type=kind, headers=FOR_EVER)


@router.get("/openapi.json", include_in_schema=False, dependencies=[Depends(gate)])
def schema(request: Request) -> Response:
    """Return the API's description in OpenAPI's form."""
    return JSONResponse(request.app.openapi())


@router.get("/api-docs", include_in_schema=False)
def api(visit: Annotated[Visit, Depends(gate)]) -> Response:
    """Show the API's routes, and how a program asks."""
    return form(visit, "api.html", spec=visit.request.app.openapi())
