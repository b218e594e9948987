"""Grades: all of them for staff, with the files that gradebooks import, and each participant's own."""

import threading
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from ladder.service import Ladder, LadderError, gradebook
from ladder.service import grades as all_grades
from ladder.views import Grades, GradesPage, Reader, final_list
from ladder.web.forms import Visited
from ladder.web.reads import read

router = APIRouter()

FRESH_S = 60  # that what was measured holds: of a term's games it takes seconds
MOST = 16  # that are kept

_kept: dict[Any, Grades] = {}
_measuring = threading.Lock()

Name = str | None


@read(router, "/admin/grades", "all_grades.html", fresh_s=1)
def everybodys(ladder: Ladder, reader: Reader, final: Name = None, deadline: Name = None) -> GradesPage:
    """Return the grades of a final, of a deadline, or of now."""
    return _page(ladder, reader, final, deadline)


@read(router, "/grades", "grades.html", fresh_s=1)
def own(ladder: Ladder, reader: Reader, final: Name = None, deadline: Name = None) -> GradesPage:
    """Return the grade of who asks."""
    try:
        return _page(ladder, reader, final, deadline)
    except LadderError:  # it may tell what only the machine's owner should know
        raise LadderError("There are no such grades now.\nAsk the staff, if there should be.") from None


@router.get("/admin/grades.csv", include_in_schema=False)
def as_csv(
    visit: Visited,
    final: Name = None,
    deadline: Name = None,
    form: Annotated[
        Literal["plain", "canvas", "canvas-api", "moodle", "moodle-worksheet"], Query(alias="format")
    ] = "plain",
) -> Response:
    """Return the grades as a file: whole, or as Canvas or Moodle takes them; for Canvas' API that is JSON."""
    with visit.ladder.reading(visit.viewer) as reader:
        told = _page(visit.ladder, reader, final, deadline).told
    if told is None:
        raise LadderError("No baseline says what points are for.\nWrite [[baselines]] into ladder.toml.")
    kind, media = ("json", "application/json") if form == "canvas-api" else ("csv", "text/csv; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="grades-{form}.{kind}"', "Cache-Control": "no-store"}
    return Response(gradebook(told, form) + "\n", media_type=media, headers=headers)


def _page(ladder: Ladder, reader: Reader, final: Name, deadline: Name) -> GradesPage:
    """Return the grades that the reader may see. To look at them reveals no final. Raises LadderError."""
    settings = ladder.last_settings if not reader.viewer.staff else ladder.settings
    finals = tuple(each.name for each in final_list(reader).rows if each.key is not None)
    deadlines = tuple(each.name for each in settings.deadlines)
    if not settings.baselines:
        return GradesPage(None, deadlines, finals)
    if final is not None and (final not in finals or deadline is not None):
        raise LadderError(f'There is no final "{final}" that is revealed; and a final has no deadline.')
    of = (ladder.path, settings, final, deadline, reader.now // FRESH_S)
    with _measuring:
        if of not in _kept:
            _kept[of] = all_grades(ladder, "staff", final, deadline)
            while len(_kept) > MOST:
                del _kept[next(iter(_kept))]
        found = _kept[of]
    mine = tuple(grade for grade in found.grades if reader.viewer.may("see grades", grade.owner.login))
    return GradesPage(replace(found, grades=mine), deadlines, finals)
