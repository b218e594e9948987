"""What forms of staff have in common: a reason, and what is said of a decision that was made already."""

from typing import Annotated

from fastapi import Depends, Form
from fastapi.responses import RedirectResponse, Response

from ladder.web.visit import RefusedError, Visit, gate

Visited = Annotated[Visit, Depends(gate)]


def _reason(visit: Visited, why: Annotated[str, Form()] = "") -> str:
    """Return the reason that a form gives. Raises RefusedError for one that says nothing."""
    if not why.strip() or not why.isprintable() or len(why) > 500:
        raise RefusedError(400, "Give a reason, in one line: it is kept, and shown to whom it is about.", visit)
    return why.strip()


Why = Annotated[str, Depends(_reason)]


def who(visit: Visit) -> str:
    """Return who decides: a login."""
    assert visit.viewer.login is not None, "who administers has signed in"
    return visit.viewer.login


def go_on(visit: Visit, new: bool, now: str, to: str) -> Response:
    """Go on to a page after a decision. Raises RefusedError where it was so before; `now` says what is so."""
    if not new:
        raise RefusedError(409, f"{now} already: nothing was decided.", visit)
    return RedirectResponse(to, 303)
