"""What waits: for an examination, or to be played."""

from fastapi import APIRouter

from ladder import views
from ladder.service import Ladder
from ladder.views import Queue, Reader
from ladder.web.reads import read
from ladder.web.visit import Id

router = APIRouter()


@read(router, "/queue", "queue.html", shared=True, fresh_s=5)
def queue(ladder: Ladder, reader: Reader, after: Id | None = None) -> Queue:
    """Return what waits, with fifty matches after the one whose number is `after`."""
    return views.queue(reader, after, 50)
