"""Grades: all of them for staff, with the files that gradebooks import, and each participant's own."""

import threading
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from ladder.service import Ladder, LadderError, gradebook, handed_out, newest_release, release_lines
from ladder.service import grades as all_grades
from ladder.service import release as hand_out
from ladder.views import Grades, GradesPage, HandedOut, Reader, final_list
from ladder.web.forms import Visited, who
from ladder.web.reads import read
from ladder.web.visit import Gated

router = APIRouter(route_class=Gated)

FRESH_S = 60  # that what was measured holds: of a term's games it takes seconds
MOST = 16  # that are kept

_kept: dict[Any, Grades] = {}
_measuring = threading.Lock()

Name = str | None


@read(router, "/admin/grades", "all_grades.html", fresh_s=1)
def everybodys(
    ladder: Ladder, reader: Reader, final: Name = None, deadline: Name = None, release: Name = None
) -> GradesPage:
    """Return the grades of a final, of a deadline, or of now; or those that were handed out under a name."""
    return _page(ladder, reader, final, deadline, release)


@read(router, "/grades", "grades.html", fresh_s=1)
def own(ladder: Ladder, reader: Reader, final: Name = None, deadline: Name = None) -> GradesPage:
    """Return the grade of who asks: as it was handed out last, and as it stands now."""
    kind, name = ("final", final) if final is not None else ("deadline", deadline)
    release = newest_release(reader.connection, kind, name)
    handed = None if release is None else handed_out(reader.connection, release, reader.viewer)
    try:
        return replace(_page(ladder, reader, final, deadline), handed=handed)
    except LadderError:  # it may tell what only the machine's owner should know
        raise LadderError("There are no such grades now.\nAsk the staff, if there should be.") from None


@router.get("/admin/grades.csv", include_in_schema=False)
def as_csv(
    visit: Visited,
    final: Name = None,
    deadline: Name = None,
    release: Name = None,
    form: Annotated[
        Literal["plain", "canvas", "canvas-api", "moodle", "moodle-worksheet"], Query(alias="format")
    ] = "plain",
) -> Response:
    """Return the grades as a file: whole, or as Canvas or Moodle takes them; for Canvas' API that is JSON."""
    with visit.ladder.reading(visit.viewer) as reader:
        page = _page(visit.ladder, reader, final, deadline, release)
    grades = page.told if page.handed is None else page.handed.told
    if grades is None:
        raise LadderError("No baseline says what points are for.\nWrite [[baselines]] into ladder.toml.")
    name = "grades" if page.handed is None else f"grades-{page.handed.line.name}"
    kind, media = ("json", "application/json") if form == "canvas-api" else ("csv", "text/csv; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}-{form}.{kind}"', "Cache-Control": "no-store"}
    return Response(gradebook(grades, form) + "\n", media_type=media, headers=headers)


@router.post("/admin/grades", include_in_schema=False)
def release(
    visit: Visited,
    name: Annotated[str, Form()],
    final: Annotated[str, Form()] = "",
    deadline: Annotated[str, Form()] = "",
    why: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Hand out the grades of a final that is revealed, or of a deadline, as they are now."""
    with visit.ladder.reading(visit.viewer) as reader:
        _demand_revealed(final or None, _revealed(reader))
    made = hand_out(visit.ladder, name, who(visit), why.strip() or None, final or None, deadline or None)
    return RedirectResponse(f"/admin/grades?release={made.line.name}", 303)


def _revealed(reader: Reader) -> tuple[str, ...]:
    return tuple(each.name for each in final_list(reader).rows if each.key is not None)


def _demand_revealed(final: Name, finals: tuple[str, ...]) -> None:
    if final is not None and final not in finals:
        raise LadderError(f'There is no final "{final}" that is revealed.')


def _page(ladder: Ladder, reader: Reader, final: Name, deadline: Name, release: Name = None) -> GradesPage:
    """Return the grades that the reader may see. To look at them reveals no final. Raises LadderError."""
    settings = ladder.last_settings if not reader.viewer.staff else ladder.settings
    finals = _revealed(reader)
    deadlines = tuple(each.name for each in settings.deadlines)
    lines = release_lines(reader.connection, reader.viewer)
    if release is not None:
        handed: HandedOut = handed_out(reader.connection, release, reader.viewer)
        return GradesPage(None, deadlines, finals, handed, lines)
    if not settings.baselines:
        return GradesPage(None, deadlines, finals, None, lines)
    _demand_revealed(final, finals)
    if final is not None and deadline is not None:
        raise LadderError("A final has no deadline.\nName one of both.")
    of = (ladder.path, settings, final, deadline, reader.now // FRESH_S)
    with _measuring:
        if of not in _kept:
            _kept[of] = all_grades(ladder, "staff", final, deadline)
            while len(_kept) > MOST:
                del _kept[next(iter(_kept))]
        page = _kept[of]
    mine = tuple(grade for grade in page.grades if reader.viewer.may("see grades", grade.owner.login))
    return GradesPage(replace(page, grades=mine), deadlines, finals, None, lines)
