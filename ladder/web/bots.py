"""Bots: all of them, and one with its versions."""

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from ladder import views
from ladder.service import Ladder, due_of_bot
from ladder.views import Bot, BotList, Reader
from ladder.web.reads import read
from ladder.web.visit import Id, RefusedError, Visit, gate

router = APIRouter()


@read(router, "/bots", "bots.html")
def bots(ladder: Ladder, reader: Reader, search: str = "", after: str | None = None) -> BotList:
    """Return the bots in order of name, fifty after the one called `after`; those with these words in their names."""
    return views.bot_list(reader, search, after)


@read(router, "/bots/{name}", "bot.html", fresh_s=60)
def bot(ladder: Ladder, reader: Reader, name: str) -> Bot | None:
    """Return a bot, with the examination of its newest version for who may see that."""
    return views.bot(reader, name, due=due_of_bot(ladder, reader, name))


@read(router, "/bots/{name}/{number}", "bot.html", fresh_s=60)
def version(ladder: Ladder, reader: Reader, name: str, number: Id) -> Bot | None:
    """Return a bot, with the examination of one of its versions."""
    return views.bot(reader, name, number, due=due_of_bot(ladder, reader, name))


@router.get("/bots/{name}/{number}/build-log", include_in_schema=False)
def build_log(visit: Annotated[Visit, Depends(gate)], name: str, number: Id) -> Response:
    """Return what the build of a version printed, as text."""
    with visit.ladder.reading(visit.viewer) as reader:
        log = views.build_log(reader, name, number)
    if log is None:
        raise RefusedError(404, "There is nothing here, or it isn't yours to see.", visit)
    return Response(log.text, media_type="text/plain; charset=utf-8", headers={"Cache-Control": "private, no-cache"})
