"""Serve the pages of grades and finals, and each user's own grades.

Grades can be downloaded as files that gradebooks import. Finals show their progress and results."""

import threading
from dataclasses import replace
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query
from fastapi.responses import RedirectResponse, Response

from ladder import grading
from ladder.checkup import hide_folders
from ladder.deadlines import find_check_problem
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER
from ladder.settings import LadderError, LadderSettings
from ladder.store import HistoryPoint, last_audit_id
from ladder.view_context import ViewContext
from ladder.web.rendering import page_and_json, render_form, render_page
from ladder.web.request_context import AuthorizedRoute, CurrentContext, HTTPError, RequestContext

grades_router = APIRouter(route_class=AuthorizedRoute)

GRADES_FRESH_S = 60  # for which computed grades are reused: with a term's games they take seconds
MAX_CACHED_GRADES = 16

_cached_grades: dict[Any, tuple[grading.Grades, float]] = {}  # with the time of their computation
_grades_lock = threading.Lock()


@page_and_json(grades_router, "/admin/grades", "all_grades.html", fresh_s=1)
def all_users_grades(
    ladder: Ladder,
    context: ViewContext,
    final: str | None = None,
    deadline: str | None = None,
    release: str | None = None,
) -> grading.GradesPage:
    """Return the grades of a final, of a deadline or of now, or those of a release."""
    return make_grades_page(ladder, context, final, deadline, release)


@page_and_json(grades_router, "/grades", "grades.html", fresh_s=1)
def own(
    ladder: Ladder, context: ViewContext, final: str | None = None, deadline: str | None = None
) -> grading.GradesPage:
    """Return the viewer's grade: the newest released one and the current one."""
    kind, name = ("final", final) if final is not None else ("deadline", deadline)
    release = grading.find_newest_release(context.connection, kind, name)
    published = None if release is None else grading.get_published_grades(context.connection, release, context.viewer)
    try:
        return replace(make_grades_page(ladder, context, final, deadline), published=published)
    except LadderError:  # it may contain what only the machine's owner should know
        if published is not None:  # of a deadline that was removed
            return grading.GradesPage(None, (), (), published)
        raise LadderError("These grades don't exist.\nIf you expect them, ask the staff.") from None


@grades_router.get("/admin/grades.csv", include_in_schema=False)
def download_grades(
    request: CurrentContext,
    final: str | None = None,
    deadline: str | None = None,
    release: str | None = None,
    form: Annotated[
        Literal["plain", "canvas", "canvas-api", "moodle", "moodle-worksheet"], Query(alias="format")
    ] = "plain",
) -> Response:
    """Return the grades as a CSV file, complete or for import into Canvas or Moodle; for Canvas' API as JSON.

    Raises LadderError without baselines, or as `make_grades_page` does.
    """
    with request.ladder.reading(request.viewer) as context:
        page = make_grades_page(request.ladder, context, final, deadline, release)
    if page.published is not None:
        grades: grading.Grades | None = page.published.grades
        name = f"grades-{page.published.release.name}"
    else:
        grades, name = page.grades, "grades"
    if grades is None:
        raise LadderError("No baselines are configured, so there are no points.\nAdd [[baselines]] to ladder.toml.")
    suffix, media_type = ("json", "application/json") if form == "canvas-api" else ("csv", "text/csv; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}-{form}.{suffix}"', "Cache-Control": "no-store"}
    return Response(grading.format_gradebook(grades, form) + "\n", media_type=media_type, headers=headers)


@grades_router.post("/admin/grades", include_in_schema=False)
def release(
    *,
    request: CurrentContext,
    name: Annotated[str, Form()],
    final: Annotated[str, Form()] = "",
    deadline: Annotated[str, Form()] = "",
    reason: Annotated[str, Form(max_length=500)] = "",
    end: Annotated[int | None, Form(ge=0, lt=2**31)] = None,
    audit: Annotated[int | None, Form(ge=0, lt=2**31)] = None,
) -> Response:
    """Show what a release of a revealed final or of a deadline would be; with the moment of that page, release it."""
    with request.ladder.reading(request.viewer) as context:
        _require_revealed(final or None, _list_revealed_finals(context))
    if end is None or audit is None:
        return _render_release_preview(request, name, final, deadline, reason)
    grading.release_grades(
        request.ladder,
        name,
        request.actor,
        reason.strip() or None,
        final=final or None,
        deadline=deadline or None,
        incomplete=True,
        moment=HistoryPoint(end, audit),
    )
    return RedirectResponse(f"/admin/grades?release={name}", 303)


def _render_release_preview(request: RequestContext, name: str, final: str, deadline: str, reason: str) -> Response:
    """Return the page of what a release would be now, with a form that sends the same values and the moment."""
    draft, moment = grading.preview_release(
        request.ladder, name, request.actor, reason.strip() or None, final or None, deadline or None
    )
    fields = [("name", name), ("final", final), ("deadline", deadline), ("reason", reason)]
    fields += [("end", str(moment.end_sequence)), ("audit", str(moment.audit_id))]
    effect = f'The grades of the {draft.release.scope} are released as "{name}", and users see theirs at once'
    return render_form(request, "confirm.html", 409, changes=[effect, *draft.summarize()], fields=fields)


def _list_revealed_finals(context: ViewContext) -> tuple[str, ...]:
    return tuple(final.name for final in grading.list_finals(context).items if final.key is not None)


def _require_revealed(final: str | None, revealed_finals: tuple[str, ...]) -> None:
    if final is not None and final not in revealed_finals:
        raise LadderError(f"The final \"{final}\" isn't revealed, or doesn't exist.")


def make_grades_page(
    ladder: Ladder, context: ViewContext, final: str | None, deadline: str | None, release: str | None = None
) -> grading.GradesPage:
    """Return the grades that the viewer may see, of revealed finals only.

    If a release is named, return its grades, not the current ones. Raises LadderError if one of the three names doesn't
    exist, `final` and `deadline` are combined, or, for staff, ladder.toml isn't valid.
    """
    settings = ladder.settings if context.viewer.staff else ladder.last_settings
    finals = _list_revealed_finals(context)
    page = grading.GradesPage(
        grades=None,
        deadlines=tuple(deadline.name for deadline in settings.deadlines),
        finals=finals,
        releases=grading.list_release_summaries(context.connection, context.viewer),
    )
    if release is not None:
        return replace(page, published=grading.get_published_grades(context.connection, release, context.viewer))
    if not settings.baselines:
        return page
    _require_revealed(final, finals)
    if final is not None and deadline is not None:
        raise LadderError("A final and a deadline can't be combined.\nChoose one of them.")
    all_grades, computed_at = _get_cached_grades(ladder, context, settings, final, deadline)
    visible = tuple(grade for grade in all_grades.grades if context.viewer.can("grades:read", grade.user.login))
    current_page = replace(page, grades=replace(all_grades, grades=visible), computed_at=computed_at)
    return current_page if deadline is None else _add_deadline(context, settings, current_page, deadline)


def _add_deadline(
    context: ViewContext, settings: LadderSettings, page: grading.GradesPage, name: str
) -> grading.GradesPage:
    """Return the page of a deadline's grades with the end of its measured hours, and what hinders staff's release."""
    deadline = settings.deadline(name)
    problem = None
    if context.viewer.staff:
        problem = find_check_problem(context.connection, settings, deadline, context.now, "LADDER")
    return replace(page, measured_until=deadline.measured_until, release_problem=problem)


def _get_cached_grades(
    ladder: Ladder, context: ViewContext, settings: LadderSettings, final: str | None, deadline: str | None
) -> tuple[grading.Grades, float]:
    """Return all users' grades, at most GRADES_FRESH_S old, and the time at which they were computed.

    Raises LadderError if the final or the deadline doesn't exist.
    """
    audit_id = last_audit_id(context.connection)  # decisions of staff apply at once
    key = (ladder.path, settings, final, deadline, audit_id, context.now // GRADES_FRESH_S)
    with _grades_lock:
        if key not in _cached_grades:
            _cached_grades[key] = grading.get_grades(ladder, "staff", final, deadline), context.now
            while len(_cached_grades) > MAX_CACHED_GRADES:
                del _cached_grades[next(iter(_cached_grades))]
        return _cached_grades[key]


finals_router = APIRouter(route_class=AuthorizedRoute)


@page_and_json(finals_router, "/finals", "finals.html", shared=True, fresh_s=60)
def finals(ladder: Ladder, context: ViewContext, after: str | None = None) -> grading.FinalList:
    """Return fifty finals with their progress, in order of creation, from the one after `after`."""
    return grading.list_final_states(ladder, context, after, 50)


@page_and_json(finals_router, "/finals/{name}", "final.html", shared=True, fresh_s=5)
def final(ladder: Ladder, context: ViewContext, name: str) -> grading.FinalState | None:
    """Return a final: its progress, and its standings once it has ended. None if it doesn't exist."""
    return grading.find_final_state(ladder, context, name)


@finals_router.get("/finals/{name}/projector", include_in_schema=False)
def show_projector(request: CurrentContext, name: str) -> Response:
    """Show a final for a projector, also for staff as the public sees it: progress, standings, and the last games."""
    public = replace(request, viewer=PUBLIC_VIEWER)
    return render_page(
        public,
        "projector.html",
        lambda context: grading.find_final_state(request.ladder, context, name),
        shared=True,
        fresh_s=5,
    )


@finals_router.get("/finals/{name}/published", include_in_schema=False)
def published(request: CurrentContext, name: str) -> Response:
    """Return the file published before the final: its versions, match settings and the key's SHA-256.

    Raises HTTPError 404 without the final, or if the ladder's folder doesn't have the file any more.
    """
    with request.ladder.reading(request.viewer) as context:
        if all(final.name != name for final in grading.list_finals(context).items):
            raise HTTPError(404, "This final doesn't exist.", request)
    try:
        text = grading.get_commitment_file(request.ladder, name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise HTTPError(404, "The file of this final is missing. Ask the staff.", request) from None
    headers = {"Content-Disposition": f'attachment; filename="final-{name}.txt"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=headers)


@finals_router.get("/admin/finals/new", include_in_schema=False)
def show_new_final(
    request: CurrentContext,
    deadline: str | None = None,
    games: Annotated[int, Query(ge=1, le=10_000)] = grading.FINAL_GAMES,
    extra_rounds: Annotated[int, Query(ge=0, le=20)] = grading.EXTRA_ROUNDS,
) -> Response:
    """Show what a final of a deadline ("": of now) would be, with a form that creates it."""
    with request.ladder.reading(request.viewer) as context:
        stall_reason = context.stall_reason
    preview = grading.preview_final(request.ladder, deadline, games)
    return render_form(
        request,
        "new_final.html",
        stall_reason=stall_reason,
        preview=preview,
        problem=preview.problem and hide_folders(request.ladder, preview.problem),
        deadlines=request.ladder.settings.deadlines,
        extra_rounds=extra_rounds,
    )


@finals_router.post("/finals", include_in_schema=False)
def add_final(
    request: CurrentContext,
    name: Annotated[str, Form()],
    games: Annotated[int, Form(ge=1, le=10_000)],
    deadline: Annotated[str, Form()] = "",
    is_open: Annotated[bool, Form()] = False,
    extra_rounds: Annotated[int, Form(ge=0, le=20)] = grading.EXTRA_ROUNDS,
    shown: Annotated[str, Form()] = "",
) -> Response:
    """Create a final of the versions that count at a deadline, or now.

    shown: the games and the deadline of the preview on the form's page; if others are given, show their preview first.
    """
    if shown and shown != f"{games} {deadline}":
        fields = {"deadline": deadline, "games": games, "name": name, "extra_rounds": extra_rounds, "changed": "yes"}
        query = urlencode(fields | ({"is_open": "true"} if is_open else {}))
        return RedirectResponse(f"/admin/finals/new?{query}", 303)
    state = grading.create_final(
        request.ladder,
        name,
        deadline or None,
        games=games,
        actor=request.actor,
        is_open=is_open,
        extra_rounds=extra_rounds,
    )
    return RedirectResponse(f"/finals/{state.name}", 303)


@finals_router.post("/finals/{name}/retry", include_in_schema=False)
def retry(request: CurrentContext, name: str) -> Response:
    """Queue the abandoned matches of a final again."""
    return RedirectResponse(f"/finals/{grading.retry_final(request.ladder, name, request.actor).name}", 303)


@finals_router.post("/finals/{name}/reveal", include_in_schema=False)
def reveal(request: CurrentContext, name: str, incomplete: Annotated[bool, Form()] = False) -> Response:
    """Reveal a final that has ended; `incomplete`: even if matches were abandoned. A tie shows the extra matches."""
    grading.extend_finals(request.ladder)
    if not grading.get_final_state(request.ladder, name).pending:
        grading.reveal_final_results(request.ladder, name, request.actor, request.viewer, incomplete)
    return RedirectResponse(f"/finals/{name}", 303)
