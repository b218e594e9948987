"""Serve the staff pages: dashboard, users and moderation.

The dashboard shows health, recent decisions and the settings of ladder.toml. User pages manage credentials,
suspension, withdrawal and merging. Moderation requires a reason, as the commands of the same names do."""

import base64
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from arena.checks import Finding
from arena.escaping import escape_control
from ladder import dashboards
from ladder.activation import activate_version, disable_bot
from ladder.audit_log import AuditLog, list_audit_log
from ladder.bot_pages import list_bots
from ladder.bots import (
    SimilarityReport,
    align_sources,
    count_compared_versions,
    find_similar_versions,
    get_remaining_quota,
)
from ladder.checkup import check_ladder, hide_folders
from ladder.clock import DAY_S, parse_time
from ladder.deadlines import UnconfirmedError, extend_deadline, withdraw_extension
from ladder.exports import write_csv
from ladder.grading import list_final_states
from ladder.home import describe_ladder
from ladder.ladder import STAFF_USER, Ladder, set_frozen
from ladder.match_pages import set_void
from ladder.settings import SETTINGS_FILE, LadderError
from ladder.settings_forms import SettingField, SettingForm, change_settings, hash_settings, list_setting_forms
from ladder.users import (
    APPROVAL_SCOPE,
    RosterEncodingError,
    UnfinishedTasksError,
    UserImport,
    UserSummary,
    approve_applicant,
    erase_user,
    import_teams,
    import_users,
    issue_secret,
    issue_secrets,
    join_teams,
    leave_teams,
    list_users,
    make_roster_entry,
    merge_users,
    parse_roster,
    refuse_applicant,
    revoke_credential,
    set_suspended,
    set_withdrawn,
)
from ladder.view_context import ViewContext
from ladder.web.grading_pages import make_grades_page
from ladder.web.rendering import page_and_json, render_form
from ladder.web.request_context import (
    AuthorizedRoute,
    Confirmed,
    CurrentContext,
    Reason,
    RequestContext,
    RowId,
    redirect_after,
)

admin_router = APIRouter(route_class=AuthorizedRoute)

MAX_AUDIT_ROWS = 100_000  # of a download
CHECKUP_FRESH_S = 60.0  # for which a checkup is reused: on a large ladder it takes seconds

_checkups: dict[Path, tuple[float, tuple[Finding, ...]]] = {}


@page_and_json(admin_router, "/admin", "admin.html", fresh_s=1)
def overview(ladder: Ladder, context: ViewContext, check: bool = False) -> dashboards.Dashboard:
    """Return the dashboard. check: it has the findings of `arena ladder doctor`, which runs at most once a minute."""
    finals = list_final_states(ladder, context).items
    findings = _get_checkup(ladder) if check else None
    return dashboards.view_dashboard(context, findings, _find_settings_problem(ladder), finals)


def _find_settings_problem(ladder: Ladder) -> str | None:
    """Return why ladder.toml can't be read, as text, None if it can."""
    try:
        _ = ladder.settings
    except LadderError as error:
        return hide_folders(ladder, str(error))
    return None


def _get_checkup(ladder: Ladder) -> tuple[Finding, ...]:
    """Return the findings of `arena ladder doctor`, at most CHECKUP_FRESH_S old, without folders of this machine."""
    now = ladder.clock()
    checked_at, cached_findings = _checkups.get(ladder.path, (0.0, ()))
    if 0 <= now - checked_at < CHECKUP_FRESH_S:
        return cached_findings
    findings = tuple(
        replace(
            finding,
            message=hide_folders(ladder, finding.message),
            fix_command=hide_folders(ladder, finding.fix_command),
        )
        for finding in check_ladder(ladder.path)
    )
    _checkups[ladder.path] = (now, findings)
    return findings


@page_and_json(admin_router, "/admin/audit-log", "audit_log.html")
def acts(
    ladder: Ladder, context: ViewContext, after: RowId | None = None, login: str = "", action: str = ""
) -> AuditLog:
    """Return fifty entries of the audit log, newest first, older than entry `after`, of a user and of an action."""
    return list_audit_log(context, after, login=login.strip() or None, action=action or None)


@admin_router.get("/admin/audit-log.csv", include_in_schema=False)
def download_audit_log(request: CurrentContext, login: str = "", action: str = "") -> Response:
    """Return the audit log of a user and of an action as CSV, newest first, at most MAX_AUDIT_ROWS entries."""
    with request.ladder.reading(request.viewer) as context:
        entries = list_audit_log(context, None, MAX_AUDIT_ROWS, login.strip() or None, action=action or None).items
    columns = ("actor", "action", "bot", "version", "match", "login", "reason")
    rows = (
        [_format_utc(entry.created_at, "seconds"), *(getattr(entry, name) for name in columns)] for entry in entries
    )
    return _make_csv_response("audit-log.csv", ("created_at", *columns), rows)


def _format_utc(timestamp: float, precision: Literal["seconds", "minutes"]) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec=precision)


def _make_csv_response(
    name: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, mark: str = ""
) -> Response:
    """Return a CSV file to download, which browsers don't store. mark: the text before the header."""
    text = io.StringIO()
    write_csv(text, columns, rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(mark + text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


@page_and_json(admin_router, "/admin/similarity", "similarity.html", fresh_s=1)
def similar(ladder: Ladder, _reader: ViewContext, compare: bool = False) -> SimilarityReport:
    """Return similar versions of different owners. compare: they are compared now, which takes seconds for a class."""
    return find_similar_versions(ladder) if compare else count_compared_versions(ladder)


@admin_router.get("/admin/similarity/files", include_in_schema=False)
def compare_files(request: CurrentContext, one: str, other: str) -> Response:
    """Show the sources of two versions side by side."""
    rows = align_sources(request.ladder, one, other)
    return render_form(request, "similar_files.html", rows=rows, names=(one, other))


@admin_router.get("/admin/settings", include_in_schema=False)
def settings(request: CurrentContext) -> Response:
    """Show a checklist of what a course needs, and a form for each table of ladder.toml."""
    return _render_settings(request)


def _render_settings(request: RequestContext, refused: dict[str, Any] | None = None) -> Response:
    """Return the page of settings. refused: a form that stays filled in, with the problem of a field."""
    current = request.ladder.settings
    with request.ladder.reading(request.viewer) as context:
        users = dashboards.view_dashboard(context).users
        bots = [bot.bot for bot in list_bots(context, limit=None).items]
    forms_by_table = groupby(list_setting_forms(current, bots), lambda form: form.table)
    return render_form(
        request,
        "settings.html",
        200 if refused is None else 400,
        refused=refused,
        tables={table: list(forms) for table, forms in forms_by_table},
        current=current,
        users=users,
        info=describe_ladder(request.ladder),
        sha256=hash_settings(request.ladder.path),
    )


def _differs(field: SettingField, values: Mapping[str, str]) -> bool:
    """Return whether a form was sent with another value of a setting than the one that is saved.

    The form sends the zone of a date-time apart, perhaps by its name, so local times are compared.
    """
    missing = "false" if field.kind == "boolean" else ""
    compared_chars = len("2026-12-01T23:59") if field.kind == "date-time" else None
    return values.get(field.name, missing)[:compared_chars] != (field.value or missing)[:compared_chars]


async def _read_form_values(http: Request) -> dict[str, str]:
    return {name: value for name, value in (await http.form()).items() if isinstance(value, str)}


@admin_router.post("/admin/settings", include_in_schema=False)
def save_settings(
    *,
    request: CurrentContext,
    values: Annotated[dict[str, str], Depends(_read_form_values)],
    table: Annotated[str, Form()],
    sha256: Annotated[str, Form()],
    index: Annotated[int | None, Form()] = None,
    remove: Annotated[bool, Form()] = False,
    confirmed: Confirmed = False,
) -> Response:
    """Change a table of ladder.toml, or an item of a list; `remove` it."""
    try:
        change_settings(
            request.ladder,
            table,
            index,
            values=values,
            sha256=sha256,
            actor=request.actor,
            remove=remove,
            confirmed=confirmed,
        )
    except UnconfirmedError:
        raise
    except LadderError as error:
        is_changed = sha256 != hash_settings(request.ladder.path)
        form = _find_setting_form(request.ladder, table, index)
        if form is None or (is_changed and _may_be_of_another_item(form, values, remove)):
            raise
        problem = hide_folders(request.ladder, str(error)).partition("\n")[0]
        return _render_settings(request, _describe_refusal(form, values, problem, is_changed))
    return RedirectResponse(f"/admin/settings?saved={table}#{table}", 303)


def _find_setting_form(ladder: Ladder, table: str, index: int | None) -> SettingForm | None:
    """Return the form of a table of ladder.toml, or of an item of a list, None if it doesn't exist."""
    forms = {(form.table, form.index): form for form in list_setting_forms(ladder.settings)}
    return forms.get((table, index))


def _may_be_of_another_item(form: SettingForm, values: Mapping[str, str], remove: bool) -> bool:
    """Return whether the form at this place of a list isn't certainly the one that was sent, since the file changed."""
    return form.index is not None and (remove or form.fields[0].value != values.get("name"))


def _describe_refusal(
    form: SettingForm, values: Mapping[str, str], problem: str, is_changed: bool
) -> dict[str, object]:
    """Return what the page of settings shows of a refused form, with the problem at the field that it names, if any.

    problem: the error's first line, which names the file, perhaps the field, and the cause. is_changed: whether the
    file was changed since the form was made.
    """
    named_field = next((name for name in values if re.search(rf"(^|[ .]){re.escape(name)}: ", problem)), None)
    text = problem.rpartition(f"{named_field or SETTINGS_FILE}: ")[2].rstrip(".")
    if is_changed:
        saved = [f"{field.label}: {field.value or 'none'}" for field in form.fields if _differs(field, values)]
        text += f". Saved is now: {', '.join(saved) or 'the same'}. Save again to replace it"
    for field in form.fields:  # a browser's user sees labels, not names
        text = text.replace(f"({field.name})", f"({field.label})")
    return {"table": form.table, "index": form.index, "values": values, "field": named_field, "problem": text}


users_router = APIRouter(route_class=AuthorizedRoute)

MAX_FILE_NAME_CHARS = 200  # of an uploaded file, in messages and the audit log
MAX_ROSTER_BYTES = 512 << 10  # a roster is sent back by its preview, in a field of at most 1 MiB
CARD_COLUMNS = ("login", "name", "email", "section", "link", "until")


@page_and_json(users_router, "/admin/users", "users.html")
def people(
    ladder: Ladder,
    context: ViewContext,
    search: str = "",
    section: str = "",
    state: Literal["", "never_signed_in", "not_submitted", "not_playing"] = "",
    after: str | None = None,
) -> dashboards.UserAdminList:
    """Return up to fifty users that match all words of `search`, a section and a state, after the pseudonym `after`."""
    try:
        current = make_grades_page(ladder, context, None, None).grades
    except LadderError:  # the page of grades shows it
        current = None
    points = None if current is None else {grade.user.login: grade.points for grade in current.grades}
    return dashboards.list_users_for_admin(context, search, after=after, section=section, state=state, points=points)


@page_and_json(users_router, "/admin/users/{login:path}", "user.html", fresh_s=1)
def person(ladder: Ladder, context: ViewContext, login: str) -> dashboards.UserAdminPage | None:
    """Return a user with bots, teams, credentials, remaining quota and audit log; None if the login is unknown."""
    return dashboards.view_user_for_admin(context, login, get_remaining_quota(ladder, context, login))


@users_router.post("/admin/users", include_in_schema=False)
def add_user(
    request: CurrentContext,
    login: Annotated[str, Form()] = "",
    name: Annotated[str, Form()] = "",
    email: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    pseudonym: Annotated[str, Form()] = "",
) -> Response:
    """Add or update a user; empty fields stay as they were."""
    values = (name.strip() or None, email.strip() or None, section.strip() or None, pseudonym.strip() or None)
    result = import_users(request.ladder, make_roster_entry(login.strip(), *values), request.actor, "one user")
    if result.remarks:
        return _show_import(request, result, f"&search={quote(name.strip() or login.strip())}")  # with namesakes
    return RedirectResponse(_make_user_url(login.strip()), 303)


@users_router.post("/admin/users/import", include_in_schema=False, max_body_size=2 * MAX_ROSTER_BYTES)
def preview_roster(request: CurrentContext, roster: UploadFile) -> Response:
    """Show what the import of a roster, in UTF-8 or Windows-1252, would change, with a form that imports it.

    Raises LadderError if it is too large, or no roster.
    """
    name = (roster.filename or "the roster")[:MAX_FILE_NAME_CHARS]
    utf8_file = file = roster.file.read()
    if len(file) > MAX_ROSTER_BYTES:
        raise LadderError(f"{name} is larger than {MAX_ROSTER_BYTES >> 10} KiB.\nImport it in parts.")
    try:
        people = parse_roster(file, name)
    except RosterEncodingError as error:
        utf8_file = error.converted
        people = parse_roster(utf8_file, name)
    return render_form(
        request,
        "import_preview.html",
        taken=import_users(request.ladder, people, request.actor, name, partial=True, dry_run=True),
        name=name,
        data=base64.b64encode(utf8_file).decode(),
        converted=utf8_file != file,
    )


@users_router.post("/admin/users/import/confirm", include_in_schema=False, max_body_size=4 * MAX_ROSTER_BYTES)
def import_roster(
    request: CurrentContext,
    name: Annotated[str, Form(max_length=MAX_FILE_NAME_CHARS)],
    data: Annotated[str, Form()],
    partial: Annotated[bool, Form()] = False,
    take_over: Annotated[tuple[str, ...], Form()] = (),
) -> Response:
    """Import a roster (in base64) after its preview; if a line is wrong, nothing, or with `partial` the others.

    take_over: logins of accounts that were made by a sign-up link, which a line of the roster takes over.
    """
    people = parse_roster(_decode_file(data), name)
    result = import_users(request.ladder, people, request.actor, name, partial=partial, take_over=take_over)
    return _show_import(request, result, "" if result.remarks or result.skipped else "#links")


def _decode_file(data: str) -> bytes:
    """Return a file from the base64 in a form. Raises LadderError if the base64 isn't valid."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise LadderError("The file isn't complete.\nUpload it again.") from None


def _show_import(request: RequestContext, result: UserImport, suffix: str) -> Response:
    """Redirect to the list of users, which shows the result of this session's last import. suffix: of the address."""
    request.state.imports[request.session] = result
    return RedirectResponse(f"/admin/users?added={result.added}&changed={result.changed}{suffix}", 303)


@users_router.post("/admin/users/teams", include_in_schema=False, max_body_size=2 * MAX_ROSTER_BYTES)
def import_team_file(
    request: CurrentContext,
    teams: UploadFile | None = None,
    name: Annotated[str, Form(max_length=MAX_FILE_NAME_CHARS)] = "the file",
    data: Annotated[str, Form()] = "",
    move: Annotated[bool, Form()] = False,
) -> Response:
    """Set the teams of users from a CSV file. If a line is wrong, change nothing.

    A file in Windows-1252 is converted, and shown first; `name` and `data`, in base64, then come back in place of it.
    """
    if teams is None:
        file_name, file = name, _decode_file(data)
    else:
        file_name, file = (teams.filename or name)[:MAX_FILE_NAME_CHARS], teams.file.read()
    try:
        changes = import_teams(request.ladder, file, file_name, request.actor, move)
    except RosterEncodingError as error:
        note = f"{file_name} isn't UTF-8, and is read as Windows-1252, as Excel saves CSV. Check the accented letters:"
        lines = [line for line in error.converted.decode().splitlines() if not line.isascii()]
        fields = [("name", file_name), ("data", base64.b64encode(error.converted).decode()), ("move", move)]
        return render_form(request, "confirm.html", 409, changes=[note, *lines], fields=fields)
    state = f"all users in {file_name} are in their teams"
    return redirect_after(request, changes.changed, state, "/admin/users?teams=set")


@users_router.post("/admin/users/{login:path}/team", include_in_schema=False)
def change_team(
    request: CurrentContext,
    login: str,
    reason: Reason,
    team: Annotated[str, Form()] = "",
    since: Annotated[str, Form()] = "",
    confirmed: Confirmed = False,
) -> Response:
    """Move a user to a team, from the time `since` if it is given, or out of any team if none is named.

    Raises UnconfirmedError before it changes grades of deadlines that are over.
    """
    if not team.strip():
        left = leave_teams(request.ladder, [login], request.actor, reason)
        return redirect_after(request, left.changed, f"{login} is in no team", _make_user_url(login))
    joined_at = parse_time(request.ladder.settings, since) if since else None
    deadlines = ", ".join(_list_closed_deadlines(request.ladder, joined_at))
    if deadlines and not confirmed:
        effect = f"Grades of {login} and of the team {team} at deadlines that are over change: {deadlines}"
        raise UnconfirmedError([effect])
    changes = join_teams(request.ladder, {login: team}, request.actor, reason, move=True, since=joined_at)
    return redirect_after(request, changes.changed, f"{login} is in the team {team}", _make_user_url(login))


def _list_closed_deadlines(ladder: Ladder, since: float | None) -> list[str]:
    """Return the names of the deadlines from this Unix time until now; none for None."""
    if since is None:
        return []
    now = ladder.clock()
    return [deadline.name for deadline in ladder.settings.deadlines if since <= deadline.at.timestamp() < now]


@users_router.post("/admin/users/links", include_in_schema=False)
def create_links(
    request: CurrentContext,
    login: Annotated[str, Form()] = "",
    section: Annotated[str, Form()] = "",
    days: Annotated[float, Form(ge=0.01, le=3650)] = 1,
    shape: Annotated[Literal["cards", "csv"], Form(alias="as")] = "cards",
) -> Response:
    """Create a sign-in link for one user, or, without a login, for each user of a section or of the ladder.

    Links are shown only this once. Without a login, staff and suspended, withdrawn or unapproved users get none.
    """
    with request.ladder.reading(request.viewer) as context:
        users = [_get_link_user(context, login)] if login else _list_link_users(context, section)
    logins = [user.login or "" for user in users]
    issued = issue_secrets(request.ladder, logins, "link", request.actor, lasts_s=days * DAY_S)
    cards = list(zip(users, issued, strict=True))
    address = f"{request.state.url}/sign-in?link="
    if shape == "cards":
        return render_form(request, "sign_in_links.html", cards=cards, address=address)
    rows = (
        (
            user.login,
            user.name,
            user.email,
            user.section,
            address + link.secret,
            _format_utc(link.expires_at, "minutes"),
        )
        for user, link in cards
    )
    return _make_csv_response("links.csv", CARD_COLUMNS, rows, mark="\ufeff")  # by it, Excel and Word read UTF-8


def _get_link_user(context: ViewContext, login: str) -> UserSummary:
    """Return the user of a login. Raises LadderError if the login is unknown, or the user can't sign in."""
    user = next((user for user in list_users(context).items if user.login == login), None)
    if user is None:
        raise LadderError(f'the ladder has no user "{escape_control(login)}".\nSee the list of users.')
    if user.is_locked_out:
        raise LadderError(f"{escape_control(login)} can't sign in, so a link is of no use.\nSee the user's page.")
    return user


def _list_link_users(context: ViewContext, section: str) -> list[UserSummary]:
    """Return the users of a section, "" for all, without staff and users that can't sign in.

    Raises LadderError if no user is left.
    """
    users = [
        user
        for user in list_users(context).items
        if section in ("", user.section) and not (user.staff or user.is_locked_out)
    ]
    if not users:
        raise LadderError("No user of this section needs a link.\nImport the roster, or choose another section.")
    return users


@users_router.post("/admin/users/{login:path}/suspend", include_in_schema=False)
def suspend(request: CurrentContext, login: str, reason: Reason, suspended: Annotated[bool, Form()] = True) -> Response:
    """Suspend a user, or lift the suspension."""
    changed = set_suspended(request.ladder, login, suspended, request.actor, reason)
    state = f"{login} is {'' if suspended else 'not '}suspended"
    return redirect_after(request, changed, state, _make_user_url(login))


@users_router.post("/admin/users/{login:path}/leave", include_in_schema=False)
def leave(request: CurrentContext, login: str, reason: Reason, withdrawn: Annotated[bool, Form()] = True) -> Response:
    """Withdraw a user from the course, or reinstate them."""
    changed = set_withdrawn(request.ladder, login, withdrawn, request.actor, reason)
    state = f"{login} is {'withdrawn from' if withdrawn else 'in'} the course"
    return redirect_after(request, changed, state, _make_user_url(login))


@users_router.post("/admin/users/{login:path}/erase", include_in_schema=False)
def erase(
    request: CurrentContext,
    login: str,
    reason: Reason,
    typed: Annotated[str, Form()] = "",
    confirmed: Confirmed = False,
) -> Response:
    """Erase the personal data of a user or, if it can't be erased yet, withdraw the user once this is `confirmed`.

    typed: the user's login. Raises LadderError for another one, UnconfirmedError before a user is only withdrawn.
    """
    if typed.strip() != login:
        raise LadderError(f"\"{typed.strip()}\" isn't this user's login.\nNothing was erased.")
    try:
        new_login = erase_user(request.ladder, login, request.actor, reason, later=confirmed)
    except UnfinishedTasksError as error:
        problem = str(error).partition("\n")[0]
        effect = f"{login} will be withdrawn, and the dashboard will say when the data can be erased"
        raise UnconfirmedError([f"Nothing can be erased now: {problem}", effect]) from None
    return RedirectResponse(_make_user_url(new_login), 303)


@users_router.post("/admin/users/join", include_in_schema=False)
def make_join_link(
    request: CurrentContext, days: Annotated[float, Form(ge=0.01, le=3650)] = 14, ask: Annotated[bool, Form()] = False
) -> Response:
    """Create a link to sign up with, and show it, only this once."""
    scope = APPROVAL_SCOPE if ask else "join"
    link = issue_secret(request.ladder, STAFF_USER.login, "join", request.actor, scope, lasts_s=days * DAY_S)
    address = f"{request.state.url}/join?link={link.secret}"
    return render_form(request, "join_link.html", made=link, asks=ask, address=address)


@users_router.post("/admin/users/{login:path}/approve", include_in_schema=False)
def approve(request: CurrentContext, login: str) -> Response:
    """Approve an account that awaits approval."""
    changed = approve_applicant(request.ladder, login, request.actor)
    return redirect_after(request, changed, f"{login} is approved", _make_user_url(login))


@users_router.post("/admin/users/{login:path}/refuse", include_in_schema=False)
def reject(request: CurrentContext, login: str, reason: Reason) -> Response:
    """Remove an account that awaits approval."""
    changed = refuse_applicant(request.ladder, login, request.actor, reason)
    return redirect_after(request, changed, f"{login} is removed", "/admin")


@users_router.post("/admin/users/{login:path}/merge", include_in_schema=False)
def merge(
    request: CurrentContext, login: str, reason: Reason, into: Annotated[str, Form()] = "", confirmed: Confirmed = False
) -> Response:
    """Merge the user `login` into the user `into`. Raises UnconfirmedError first, if both exist, to show both."""
    remaining = into.strip()
    with request.ladder.reading(request.viewer) as context:
        users = {user.login: user for user in list_users(context).items}
    if login in users and remaining in users and not confirmed:
        old, new = (_describe_user(users[name]) for name in (login, remaining))
        raise UnconfirmedError([f"{old} becomes part of {new}, for good"])
    changed = merge_users(request.ladder, login, remaining, request.actor, reason)
    return redirect_after(request, changed, f"{login} is merged into {remaining}", _make_user_url(remaining))


def _describe_user(user: UserSummary) -> str:
    return ", ".join(filter(None, (user.login, user.name, user.student_id, user.email, user.section)))


@users_router.post("/admin/users/{login:path}/extend", include_in_schema=False)
def set_extension(
    *,
    request: CurrentContext,
    login: str,
    reason: Reason,
    deadline: Annotated[str, Form()],
    until: Annotated[str, Form()] = "",
    days: Annotated[int | None, Form(ge=1, le=366)] = None,
    late_days: Annotated[int, Form(ge=0, le=366)] = 0,
    undo: Annotated[bool, Form()] = False,
    confirmed: Confirmed = False,
) -> Response:
    """Extend a deadline for a user by `days`, or `until` a time, or withdraw the extension."""
    if undo:
        changed = withdraw_extension(request.ladder, login, deadline, request.actor, reason, confirmed)
        return redirect_after(request, changed, f"{login} has no extension for {deadline}", _make_user_url(login))
    changed = extend_deadline(
        request.ladder,
        login,
        name=deadline,
        until=until or None,
        days=days,
        late_days=late_days,
        actor=request.actor,
        reason=reason,
        confirmed=confirmed,
    )
    return redirect_after(request, changed, f"{login} has this extension for {deadline}", _make_user_url(login))


@users_router.post("/admin/credentials/{id}/revoke", include_in_schema=False)
def revoke(request: CurrentContext, id: RowId, reason: Reason, login: Annotated[str, Form()] = "") -> Response:
    """Revoke a link, a session or a token."""
    changed = revoke_credential(request.ladder, id, request.actor, reason)
    return redirect_after(request, changed, f"credential {id} is revoked", _make_user_url(login))


def _make_user_url(login: str) -> str:
    return f"/admin/users/{quote(login, safe='')}"


moderation_router = APIRouter(route_class=AuthorizedRoute, include_in_schema=False)


@moderation_router.post("/bots/{name}/activate")
def activate(request: CurrentContext, name: str, reason: Reason, version: Annotated[RowId, Form()]) -> Response:
    """Make an accepted version of a bot the active one."""
    changed = activate_version(request.ladder, name, version, actor=request.actor, reason=reason)
    return redirect_after(request, changed, f"{name}@{version} is active", f"/bots/{quote(name, safe='')}")


@moderation_router.post("/bots/{name}/disable")
def disable(request: CurrentContext, name: str, reason: Reason) -> Response:
    """Disable a bot until staff activates a version."""
    changed = disable_bot(request.ladder, name, request.actor, reason)
    return redirect_after(request, changed, f"{name} is disabled", f"/bots/{quote(name, safe='')}")


@moderation_router.post("/matches/{id}/void")
def void(request: CurrentContext, id: RowId, reason: Reason, is_rated: Annotated[bool, Form()] = False) -> Response:
    """Take a match out of the ratings, or put it back."""
    changed = set_void(request.ladder, id, not is_rated, request.actor, reason)
    return redirect_after(request, changed, f"match {id} {'counts' if is_rated else 'is void'}", f"/matches/{id}")


@moderation_router.post("/admin/freeze")
def freeze(request: CurrentContext, reason: Reason, frozen: Annotated[bool, Form()] = True) -> Response:
    """Stop or resume starting rated matches."""
    changed = set_frozen(request.ladder, frozen, request.actor, reason)
    return redirect_after(request, changed, f"the ladder is {'' if frozen else 'not '}frozen", "/admin")
