"""Serve the staff pages: dashboard, users, moderation, grades and finals; and each user's own grades.

The dashboard shows health, recent decisions and the settings of ladder.toml. User pages manage credentials,
suspension, withdrawal and merging. Moderation requires a reason, as the commands of the same names do. Grades can be
downloaded as files that gradebooks import. Finals show their progress and results."""

import io
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, UploadFile
from fastapi.responses import RedirectResponse, Response

from arena.checks import Finding
from ladder import views
from ladder.service import (
    APPROVAL_SCOPE,
    STAFF_USER,
    Ladder,
    LadderError,
    UserImport,
    activate_version,
    approve_applicant,
    check_ladder,
    create_final,
    disable_bot,
    extend_deadline,
    find_final_state,
    find_newest_release,
    format_gradebook,
    get_commitment_file,
    get_published_grades,
    get_remaining_quota,
    import_teams,
    import_users,
    issue_secret,
    issue_secrets,
    join_teams,
    leave_teams,
    list_release_summaries,
    make_roster_entry,
    merge_users,
    parse_roster,
    parse_time,
    refuse_applicant,
    retry_final,
    reveal_final_results,
    revoke_credential,
    set_frozen,
    set_suspended,
    set_void,
    set_withdrawn,
    withdraw_extension,
    write_csv,
)
from ladder.service import find_similar_versions as all_similar
from ladder.service import get_grades as all_grades
from ladder.service import release_grades as hand_out
from ladder.views import (
    AuditLog,
    Dashboard,
    FinalList,
    FinalState,
    Grades,
    GradesPage,
    PublishedGrades,
    SimilarityReport,
    UserAdminList,
    UserAdminPage,
    UserSummary,
    ViewContext,
    list_finals,
)
from ladder.web.rendering import page_and_json, render_form, render_page
from ladder.web.request_context import (
    AuthorizedRoute,
    CurrentContext,
    HTTPError,
    Reason,
    RequestContext,
    RowId,
    actor_login,
    redirect_after,
)

admin_router = APIRouter()

CHECKUP_FRESH_S = 60.0  # for which a checkup is reused: on a large ladder it takes seconds

_checkups: dict[Path, tuple[float, tuple[Finding, ...]]] = {}


@page_and_json(admin_router, "/admin", "admin.html", fresh_s=1)
def overview(ladder: Ladder, reader: ViewContext, check: bool = False) -> Dashboard:
    """Return the dashboard. `check`: with the findings of `arena ladder doctor`, which is run at most once a minute."""
    quotas = views.QuotaSummary(**ladder.last_settings.quotas.model_dump())
    return views.view_dashboard(reader, quotas, _get_checkup(ladder) if check else None)


def _get_checkup(ladder: Ladder) -> tuple[Finding, ...]:
    now = ladder.clock()
    at, findings = _checkups.get(ladder.path, (0.0, ()))
    if not 0 <= now - at < CHECKUP_FRESH_S:
        findings = tuple(check_ladder(ladder.path))
        _checkups[ladder.path] = (now, findings)
    return findings


@page_and_json(admin_router, "/admin/audit-log", "audit_log.html")
def acts(ladder: Ladder, reader: ViewContext, after: RowId | None = None) -> AuditLog:
    """Return fifty entries of the audit log, newest first, older than entry `after`."""
    return views.list_audit_log(reader, after)


@page_and_json(admin_router, "/admin/similarity", "similarity.html", fresh_s=1)
def similar(ladder: Ladder, _reader: ViewContext, compare: bool = False) -> SimilarityReport:
    """Return similar versions of different owners. `compare`: compare them now, which takes seconds for a class."""
    return all_similar(ladder, compare)


@admin_router.get("/admin/settings", include_in_schema=False)
def settings(visit: CurrentContext) -> Response:
    """Show the settings of ladder.toml without secrets: the database's address may contain one."""
    current = visit.ladder.settings
    tables = current.model_dump(exclude={"database", "deadlines", "baselines"}, exclude_none=True)
    tables.get("sign_in", {}).pop("client_secret", None)
    lists = {"deadlines": current.deadlines, "baselines": current.baselines}
    return render_form(
        visit, "settings.html", file=visit.ladder.path.absolute() / "ladder.toml", tables=tables, lists=lists
    )


users_router = APIRouter(route_class=AuthorizedRoute)

DAY_S = 86_400.0
MAX_UPLOADED_ROSTER_BYTES = 2 << 20
CARD_COLUMNS = ("login", "name", "email", "section", "link", "until")


@page_and_json(users_router, "/admin/users", "users.html")
def people(ladder: Ladder, reader: ViewContext, search: str = "", after: str | None = None) -> UserAdminList:
    """Return fifty users that match all words of `search`, after the user whose pseudonym is `after`."""
    return views.list_users_for_admin(reader, search, after)


@page_and_json(users_router, "/admin/users/{login:path}", "user.html", fresh_s=1)
def person(ladder: Ladder, reader: ViewContext, login: str) -> UserAdminPage | None:
    """Return a user with bots, teams, credentials, remaining quota and audit log."""
    return views.view_user_for_admin(reader, login, get_remaining_quota(ladder, reader, login))


@users_router.post("/admin/users", include_in_schema=False)
def add(
    visit: CurrentContext,
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    pseudonym: Annotated[str, Form()] = "",
) -> Response:
    """Add or update a user; empty fields stay as they were."""
    values = (name.strip() or None, email.strip() or None, section.strip() or None, pseudonym.strip() or None)
    taken = import_users(visit.ladder, [make_roster_entry(login.strip(), *values)], actor_login(visit), "one person")
    return _render_import_result(visit, taken, login.strip(), _user_url(login.strip()))


@users_router.post("/admin/users/import", include_in_schema=False, max_body_size=MAX_UPLOADED_ROSTER_BYTES)
def import_roster(visit: CurrentContext, roster: UploadFile, partial: Annotated[bool, Form()] = False) -> Response:
    """Import a roster. If a line is wrong, import nothing, or with `partial` all other lines."""
    name = roster.filename or "the roster"
    people = parse_roster(roster.file.read(), name)
    return _render_import_result(
        visit, import_users(visit.ladder, people, actor_login(visit), name, partial=partial), name, "/admin/users"
    )


def _render_import_result(visit: RequestContext, taken: UserImport, of: str, to: str) -> Response:
    return render_form(visit, "import_result.html", taken=taken, of=of, to=to)


@users_router.post("/admin/users/teams", include_in_schema=False, max_body_size=MAX_UPLOADED_ROSTER_BYTES)
def import_team_file(visit: CurrentContext, teams: UploadFile, move: Annotated[bool, Form()] = False) -> Response:
    """Set the teams of users from a CSV file. If a line is wrong, change nothing."""
    name = teams.filename or "the file"
    new = import_teams(visit.ladder, teams.file.read(), name, actor_login(visit), move)
    return redirect_after(visit, new.changed, f"all of {name} are in their teams", "/admin/users")


@users_router.post("/admin/users/{login:path}/team", include_in_schema=False)
def team(
    visit: CurrentContext,
    login: str,
    reason: Reason,
    team: Annotated[str, Form()] = "",
    since: Annotated[str, Form()] = "",
) -> Response:
    """Move a user to a team, or out of any team if none is named."""
    if team.strip():
        at = parse_time(visit.ladder, since) if since else None
        new, now = join_teams(visit.ladder, {login: team}, actor_login(visit), reason, True, at), f"in the team {team}"
    else:
        new, now = leave_teams(visit.ladder, [login], actor_login(visit), reason), "in no team"
    return redirect_after(visit, new.changed, f"{login} is {now}", _user_url(login))


@users_router.post("/admin/users/links", include_in_schema=False)
def links(
    visit: CurrentContext,
    login: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    days: Annotated[float, Form(ge=0.01, le=3650)] = 1,
    shape: Annotated[Literal["cards", "csv"], Form(alias="as")] = "cards",
) -> Response:
    """Create a sign-in link for one user, or, without a login, for each user of a section or of the ladder.

    Links are shown only this once. Without a login, staff and suspended, withdrawn or unapproved users get none.
    """
    with visit.ladder.reading(visit.viewer) as reader:
        owners = views.list_users(reader).items
    if login:
        chosen = [owner for owner in owners if owner.login == login]
    else:
        chosen = [owner for owner in owners if _is_participant(owner) and section in ("", owner.section)]
    if not chosen:
        raise LadderError("No user needs a link.\nImport the roster, or choose another section.")
    logins = [owner.login or "" for owner in chosen]
    cards = list(
        zip(chosen, issue_secrets(visit.ladder, logins, "link", actor_login(visit), lasts_s=days * DAY_S), strict=True)
    )
    address = f"{visit.state.url}/sign-in?link="
    if shape == "cards":
        return render_form(visit, "sign_in_links.html", cards=cards, address=address)
    out = io.StringIO()
    rows = (
        (
            owner.login,
            owner.name,
            owner.email,
            owner.section,
            address + link.secret,
            datetime.fromtimestamp(link.expires_at, UTC).isoformat(timespec="minutes"),
        )
        for owner, link in cards
    )
    write_csv(out, CARD_COLUMNS, rows)
    headers = {"Content-Disposition": 'attachment; filename="links.csv"', "Cache-Control": "no-store"}
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _is_participant(owner: UserSummary) -> bool:
    out = owner.suspension_reason is not None or owner.withdrawal_reason is not None
    return not (owner.staff or out or owner.awaiting_approval)


@users_router.post("/admin/users/{login:path}/suspend", include_in_schema=False)
def suspend(visit: CurrentContext, login: str, reason: Reason, suspended: Annotated[bool, Form()] = True) -> Response:
    """Suspend a user, or lift the suspension."""
    new = set_suspended(visit.ladder, login, suspended, actor_login(visit), reason)
    return redirect_after(visit, new, f"{login} is {'' if suspended else 'not '}suspended", _user_url(login))


@users_router.post("/admin/users/{login:path}/leave", include_in_schema=False)
def leave(visit: CurrentContext, login: str, reason: Reason, withdrawn: Annotated[bool, Form()] = True) -> Response:
    """Withdraw a user from the course, or reinstate them."""
    new = set_withdrawn(visit.ladder, login, withdrawn, actor_login(visit), reason)
    return redirect_after(visit, new, f"{login} is {'no longer ' if withdrawn else ''}in the course", _user_url(login))


@users_router.post("/admin/users/join", include_in_schema=False)
def make_join_link(
    visit: CurrentContext, days: Annotated[float, Form(ge=0.01, le=3650)] = 14, ask: Annotated[bool, Form()] = False
) -> Response:
    """Create a link to sign up with, and show it, only this once."""
    made = issue_secret(
        visit.ladder, STAFF_USER.login, "join", actor_login(visit), APPROVAL_SCOPE if ask else "join", days * DAY_S
    )
    return render_form(
        visit, "join_link.html", made=made, asks=ask, address=f"{visit.state.url}/join?link={made.secret}"
    )


@users_router.post("/admin/users/{login:path}/approve", include_in_schema=False)
def approve(visit: CurrentContext, login: str) -> Response:
    """Approve an account that awaits approval."""
    return redirect_after(
        visit, approve_applicant(visit.ladder, login, actor_login(visit)), f"{login} is approved", _user_url(login)
    )


@users_router.post("/admin/users/{login:path}/refuse", include_in_schema=False)
def reject(visit: CurrentContext, login: str, reason: Reason) -> Response:
    """Remove an account that awaits approval."""
    return redirect_after(
        visit, refuse_applicant(visit.ladder, login, actor_login(visit), reason), f"{login} is removed", "/admin"
    )


@users_router.post("/admin/users/{login:path}/merge", include_in_schema=False)
def merge(visit: CurrentContext, login: str, reason: Reason, into: Annotated[str, Form()] = "") -> Response:
    """Merge the user `login` into the user `into`."""
    new = merge_users(visit.ladder, login, into.strip(), actor_login(visit), reason)
    return redirect_after(visit, new, f"{login} is {into.strip()}", _user_url(into.strip()))


@users_router.post("/admin/users/{login:path}/extend", include_in_schema=False)
def set_extension(
    visit: CurrentContext,
    login: str,
    reason: Reason,
    deadline: Annotated[str, Form()],
    until: Annotated[str, Form()] = "",
    late_days: Annotated[int, Form(ge=0, le=366)] = 0,
    undo: Annotated[bool, Form()] = False,
) -> Response:
    """Extend a deadline for a user, or withdraw the extension."""
    if undo:
        new = withdraw_extension(visit.ladder, login, deadline, actor_login(visit), reason)
    else:
        new = extend_deadline(visit.ladder, login, deadline, until or None, None, late_days, actor_login(visit), reason)
    return redirect_after(
        visit, new, f"{login} has {'no more time' if undo else 'that time'} for {deadline}", _user_url(login)
    )


@users_router.post("/admin/credentials/{id}/revoke", include_in_schema=False)
def revoke(visit: CurrentContext, id: RowId, reason: Reason, login: Annotated[str, Form()] = "") -> Response:
    """Revoke a link, a session or a token."""
    new = revoke_credential(visit.ladder, id, actor_login(visit), reason)
    return redirect_after(visit, new, f"{id} is revoked", _user_url(login))


def _user_url(login: str) -> str:
    return f"/admin/users/{quote(login, safe='')}"


moderation_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)


@moderation_router.post("/bots/{name}/activate")
def activate(visit: CurrentContext, name: str, reason: Reason, version: Annotated[RowId, Form()]) -> Response:
    """Make an accepted version of a bot the active one."""
    new = activate_version(visit.ladder, name, version, actor_login(visit), reason)
    return redirect_after(visit, new, f"{name}@{version} plays", f"/bots/{quote(name, safe='')}")


@moderation_router.post("/bots/{name}/disable")
def disable(visit: CurrentContext, name: str, reason: Reason) -> Response:
    """Disable a bot until staff activates a version."""
    new = disable_bot(visit.ladder, name, actor_login(visit), reason)
    return redirect_after(visit, new, f"{name} doesn't play", f"/bots/{quote(name, safe='')}")


@moderation_router.post("/matches/{id}/void")
def void(visit: CurrentContext, id: RowId, reason: Reason, is_rated: Annotated[bool, Form()] = False) -> Response:
    """Take a match out of the ratings, or put it back."""
    new = set_void(visit.ladder, id, not is_rated, actor_login(visit), reason)
    return redirect_after(visit, new, f"match {id} {'is rated' if is_rated else 'is void'}", f"/matches/{id}")


@moderation_router.post("/admin/freeze")
def freeze(visit: CurrentContext, reason: Reason, frozen: Annotated[bool, Form()] = True) -> Response:
    """Stop or resume starting rated matches."""
    new = set_frozen(visit.ladder, frozen, actor_login(visit), reason)
    return redirect_after(visit, new, f"the ladder is {'' if frozen else 'not '}frozen", "/admin")


grades_router = APIRouter(route_class=AuthorizedRoute)

GRADES_FRESH_S = 60  # for which computed grades are reused: with a term's games they take seconds
MAX_CACHED_GRADES = 16

_cached_grades: dict[Any, Grades] = {}
_grades_lock = threading.Lock()

OptionalName = str | None


@page_and_json(grades_router, "/admin/grades", "all_grades.html", fresh_s=1)
def all_users_grades(
    ladder: Ladder,
    reader: ViewContext,
    final: OptionalName = None,
    deadline: OptionalName = None,
    release: OptionalName = None,
) -> GradesPage:
    """Return the grades of a final, of a deadline or of now, or those of a release."""
    return _make_grades_page(ladder, reader, final, deadline, release)


@page_and_json(grades_router, "/grades", "grades.html", fresh_s=1)
def own(ladder: Ladder, reader: ViewContext, final: OptionalName = None, deadline: OptionalName = None) -> GradesPage:
    """Return the viewer's grade: the newest released one and the current one."""
    kind, name = ("final", final) if final is not None else ("deadline", deadline)
    release = find_newest_release(reader.connection, kind, name)
    handed = None if release is None else get_published_grades(reader.connection, release, reader.viewer)
    try:
        return replace(_make_grades_page(ladder, reader, final, deadline), published=handed)
    except LadderError:  # it may contain what only the machine's owner should know
        raise LadderError("There are no such grades now.\nAsk the staff, if there should be.") from None


@grades_router.get("/admin/grades.csv", include_in_schema=False)
def as_csv(
    visit: CurrentContext,
    final: OptionalName = None,
    deadline: OptionalName = None,
    release: OptionalName = None,
    form: Annotated[
        Literal["plain", "canvas", "canvas-api", "moodle", "moodle-worksheet"], Query(alias="format")
    ] = "plain",
) -> Response:
    """Return the grades as a CSV file, complete or for import into Canvas or Moodle; for Canvas' API as JSON."""
    with visit.ladder.reading(visit.viewer) as reader:
        page = _make_grades_page(visit.ladder, reader, final, deadline, release)
    grades = page.grades if page.published is None else page.published.grades
    if grades is None:
        raise LadderError("No baseline says what points are for.\nWrite [[baselines]] into ladder.toml.")
    name = "grades" if page.published is None else f"grades-{page.published.release.name}"
    kind, media = ("json", "application/json") if form == "canvas-api" else ("csv", "text/csv; charset=utf-8")
    headers = {"Content-Disposition": f'attachment; filename="{name}-{form}.{kind}"', "Cache-Control": "no-store"}
    return Response(format_gradebook(grades, form) + "\n", media_type=media, headers=headers)


@grades_router.post("/admin/grades", include_in_schema=False)
def release(
    visit: CurrentContext,
    name: Annotated[str, Form()],
    final: Annotated[str, Form()] = "",
    deadline: Annotated[str, Form()] = "",
    reason: Annotated[str, Form(max_length=500)] = "",
) -> Response:
    """Release the grades of a revealed final, or of a deadline, as they are now."""
    with visit.ladder.reading(visit.viewer) as reader:
        _require_revealed(final or None, _list_revealed_finals(reader))
    made = hand_out(visit.ladder, name, actor_login(visit), reason.strip() or None, final or None, deadline or None)
    return RedirectResponse(f"/admin/grades?release={made.release.name}", 303)


def _list_revealed_finals(reader: ViewContext) -> tuple[str, ...]:
    return tuple(each.name for each in list_finals(reader).items if each.key is not None)


def _require_revealed(final: OptionalName, finals: tuple[str, ...]) -> None:
    if final is not None and final not in finals:
        raise LadderError(f'There is no final "{final}" that is revealed.')


def _make_grades_page(
    ladder: Ladder, reader: ViewContext, final: OptionalName, deadline: OptionalName, release: OptionalName = None
) -> GradesPage:
    """Return the grades that the viewer may see, of revealed finals only. Raises LadderError."""
    settings = ladder.last_settings if not reader.viewer.staff else ladder.settings
    finals = _list_revealed_finals(reader)
    deadlines = tuple(each.name for each in settings.deadlines)
    lines = list_release_summaries(reader.connection, reader.viewer)
    if release is not None:
        handed: PublishedGrades = get_published_grades(reader.connection, release, reader.viewer)
        return GradesPage(None, deadlines, finals, handed, lines)
    if not settings.baselines:
        return GradesPage(None, deadlines, finals, None, lines)
    _require_revealed(final, finals)
    if final is not None and deadline is not None:
        raise LadderError("A final has no deadline.\nName one of both.")
    of = (ladder.path, settings, final, deadline, reader.now // GRADES_FRESH_S)
    with _grades_lock:
        if of not in _cached_grades:
            _cached_grades[of] = all_grades(ladder, "staff", final, deadline)
            while len(_cached_grades) > MAX_CACHED_GRADES:
                del _cached_grades[next(iter(_cached_grades))]
        page = _cached_grades[of]
    mine = tuple(grade for grade in page.grades if reader.viewer.can("grades:read", grade.user.login))
    return GradesPage(replace(page, grades=mine), deadlines, finals, None, lines)


finals_router = APIRouter(route_class=AuthorizedRoute)


@page_and_json(finals_router, "/finals", "finals.html", shared=True, fresh_s=60)
def finals(ladder: Ladder, reader: ViewContext, after: str | None = None) -> FinalList:
    """Return fifty finals with their progress, in order of creation, from the one after `after`."""
    return list_finals(reader, after, 50)


@page_and_json(finals_router, "/finals/{name}", "final.html", shared=True)
def final(ladder: Ladder, reader: ViewContext, name: str) -> FinalState | None:
    """Return a final: its progress, and its standings once it has ended."""
    return find_final_state(ladder, reader, name)


@finals_router.get("/finals/{name}/projector", include_in_schema=False)
def screen(visit: CurrentContext, name: str) -> Response:
    """Show a final for a projector: its progress or, once it is revealed, its standings, last place first."""
    return render_page(
        visit, "projector.html", lambda reader: find_final_state(visit.ladder, reader, name), shared=True
    )


@finals_router.get("/finals/{name}/published", include_in_schema=False)
def published(visit: CurrentContext, name: str) -> Response:
    """Return the file published before the final: its versions, match settings and the key's SHA-256."""
    with visit.ladder.reading(visit.viewer) as reader:
        if all(final.name != name for final in list_finals(reader).items):
            raise HTTPError(404, "There is no such final.", visit)
    text = get_commitment_file(visit.ladder, name).read_text(encoding="utf-8")
    file = {"Content-Disposition": f'attachment; filename="final-{name}.txt"'}
    return Response(text, media_type="text/plain; charset=utf-8", headers=file)


@finals_router.post("/finals", include_in_schema=False)
def hold(
    visit: CurrentContext,
    name: Annotated[str, Form()],
    games: Annotated[int, Form(ge=1, le=10_000)],
    deadline: Annotated[str, Form()] = "",
) -> Response:
    """Create a final of the versions that count at a deadline, or now."""
    state = create_final(visit.ladder, name, deadline or None, games, actor_login(visit))
    return RedirectResponse(f"/finals/{state.name}", 303)


@finals_router.post("/finals/{name}/retry", include_in_schema=False)
def retry(visit: CurrentContext, name: str) -> Response:
    """Queue the abandoned matches of a final again."""
    return RedirectResponse(f"/finals/{retry_final(visit.ladder, name, actor_login(visit)).name}", 303)


@finals_router.post("/finals/{name}/reveal", include_in_schema=False)
def reveal(visit: CurrentContext, name: str, incomplete: Annotated[bool, Form()] = False) -> Response:
    """Reveal a final that has ended; `incomplete`: even if matches were abandoned."""
    reveal_final_results(visit.ladder, name, actor_login(visit), visit.viewer, incomplete)
    return RedirectResponse(f"/finals/{name}", 303)
