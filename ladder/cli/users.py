"""Implement `arena ladder users`, `teams` and `access`: manage users, teams, sign-in links and tokens."""

from pathlib import Path

import click

from arena.cli.console import json_option, option, print_json, print_note, print_text, usage_error
from arena.escaping import escape_control
from arena.formatting import format_count
from ladder.cli.common import (
    ACTOR_OPTION,
    FOLDER_ARGUMENT,
    audited,
    format_time,
    open_ladder_or_exit,
    print_decision,
    print_result,
    print_view,
)
from ladder.clock import DAY_S, parse_time
from ladder.ladder import ActionResult, Ladder
from ladder.permissions import STAFF_VIEWER
from ladder.settings import LadderError
from ladder.users import (
    APPROVAL_SCOPE,
    TOKEN_SCOPES,
    CredentialList,
    IssuedSecret,
    Roster,
    RosterEntry,
    RosterImportError,
    TeamChanges,
    TeamList,
    UserImport,
    UserList,
    approve_applicant,
    import_teams,
    import_users,
    issue_secret,
    join_teams,
    leave_teams,
    list_credentials,
    list_teams,
    list_users,
    make_roster_entry,
    merge_users,
    parse_roster,
    refuse_applicant,
    revoke_credential,
    set_withdrawn,
)


@click.group()
def users() -> None:
    """List, import, approve, merge and withdraw users."""


TAKE_OVER_OPTION = option(
    "--take-over",
    metavar="LOGIN",
    multiple=True,
    help="Also change this account, which was made by a sign-up link, and end all its sign-ins. Repeatable.",
)


def _import_users(
    ladder: Ladder,
    people: Roster | RosterEntry,
    actor: str,
    source: str,
    take_over: tuple[str, ...],
    partial: bool = False,
) -> UserImport:
    """Do `import_users`; the LadderError that it raises also names the options that help."""
    try:
        return import_users(ladder, people, actor, source, partial=partial, take_over=take_over)
    except RosterImportError as error:
        options = f"\nOptions for this: {', '.join(error.options)}" if error.options else ""
        raise LadderError(f"{error}{options}") from None


def _read_file(path: Path) -> bytes:
    """Return the content of a file. Exits with 2 if it can't be read."""
    try:
        return path.read_bytes()
    except OSError as problem:
        usage_error(f"{path} can't be read: {problem.strerror}.\nCheck the path and its permissions.")


@users.command("list")
@FOLDER_ARGUMENT
@json_option(UserList)
def print_users(folder: Path, as_json: bool) -> None:
    """List all users with their logins and pseudonyms."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        listing = list_users(context)
    print_view(listing, as_json)


@users.command("add")
@FOLDER_ARGUMENT
@click.argument("login")
@option("--name", metavar="NAME", help="The user's name.  [the login]")
@option("--email", metavar="EMAIL", help="The user's email.")
@option("--section", metavar="NAME", help="The user's section of the class.")
@option("--pseudonym", metavar="NAME", help="The user's name in the standings.  [two random words]")
@TAKE_OVER_OPTION
@ACTOR_OPTION
@json_option(UserImport)
def add_user(
    *,
    folder: Path,
    login: str,
    name: str | None,
    email: str | None,
    section: str | None,
    pseudonym: str | None,
    take_over: tuple[str, ...],
    actor: str,
    as_json: bool,
) -> None:
    """Add or update a user."""
    with open_ladder_or_exit(folder) as ladder:
        entry = make_roster_entry(login, name, email, section, pseudonym)
        result = _import_users(ladder, entry, actor, "one user", take_over)
    print_result(result, as_json, *_describe_import(result))


@users.command("import")
@FOLDER_ARGUMENT
@click.argument("roster", metavar="ROSTER", type=click.Path(path_type=Path))
@option("--partial", is_flag=True, help="Skip lines with errors, and import the others.")
@TAKE_OVER_OPTION
@ACTOR_OPTION
@json_option(UserImport)
def import_roster(
    folder: Path, roster: Path, partial: bool, take_over: tuple[str, ...], actor: str, as_json: bool
) -> None:
    """Import a roster in CSV, and update users that exist.

    The header names the columns: login, email or student_id, and optionally name (or first and last name), section,
    pseudonym, staff. Exports of Canvas and Moodle need no changes. Users match by student_id, email or login.
    Without a pseudonym a user keeps the old one, or gets two random words.
    """
    with open_ladder_or_exit(folder) as ladder:
        people = parse_roster(_read_file(roster), roster.name)
        result = _import_users(ladder, people, actor, roster.name, take_over, partial)
    absent = [f"{format_count(result.absent, 'user')} not in {roster.name}: unchanged"] if result.absent else []
    print_result(result, as_json, *_describe_import(result), *absent)


@users.command("merge")
@FOLDER_ARGUMENT
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="INTO")
@audited("the user")
@json_option(ActionResult)
def merge(folder: Path, old: str, new: str, actor: str, reason: str, as_json: bool) -> None:
    """Merge the user FROM into the user INTO.

    INTO then owns everything that FROM owned, and the login FROM is an alias of INTO. Links, sessions, tokens and
    password of FROM are revoked. Results stay. Queued rated matches in which bots of both would meet are cancelled.
    """
    with open_ladder_or_exit(folder) as ladder:
        is_changed = merge_users(ladder, old, new, actor, reason)
    print_decision(is_changed, f"{old} is merged into {new}", as_json)


@users.command("withdraw")
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@option("--undo", is_flag=True, help="Readmit the user: versions that were active play again.")
@audited("the user")
@json_option(ActionResult)
def withdraw(folder: Path, login: str, undo: bool, actor: str, reason: str, as_json: bool) -> None:
    """Withdraw a user from the course.

    The user is suspended, too, and left out of grades. Results stay, also in the ratings of others. Importing a roster
    doesn't readmit the user.
    """
    with open_ladder_or_exit(folder) as ladder:
        is_changed = set_withdrawn(ladder, login, not undo, actor, reason)
    print_decision(is_changed, f"{login} is {'in' if undo else 'withdrawn from'} the course", as_json)


@users.command("approve")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@ACTOR_OPTION
@json_option(ActionResult)
def approve_users(folder: Path, logins: tuple[str, ...], actor: str, as_json: bool) -> None:
    """Approve accounts of users that signed up by a link."""
    with open_ladder_or_exit(folder) as ladder:
        is_changed = sum(approve_applicant(ladder, login, actor) for login in logins) > 0
    print_decision(is_changed, f"approved: {', '.join(logins)}", as_json)


@users.command("refuse")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@audited("the user")
@json_option(ActionResult)
def refuse_users(folder: Path, logins: tuple[str, ...], actor: str, reason: str, as_json: bool) -> None:
    """Reject requests to join. The accounts are removed, and their logins become free."""
    with open_ladder_or_exit(folder) as ladder:
        is_changed = sum(refuse_applicant(ladder, login, actor, reason) for login in logins) > 0
    print_decision(is_changed, f"removed: {', '.join(logins)}", as_json)


def _describe_import(result: UserImport) -> list[str]:
    """Return the lines about an import: its remarks, the skipped lines, and the numbers of users."""
    remarks = [f"line {remark.line}: {remark.text}" for remark in result.remarks]
    errors = [f"line {error.line}: skipped: {error.text}" for error in result.skipped]
    skipped = f", {format_count(len(errors), 'line')} skipped" if errors else ""
    return [*remarks, *errors, f"{format_count(result.added, 'user')} added, {result.changed} changed{skipped}"]


@click.group()
def access() -> None:
    """Manage sign-in links, API tokens and sessions."""


@access.command("list")
@FOLDER_ARGUMENT
@option("--owner", "login", metavar="LOGIN", help="Only credentials of this user.")
@json_option(CredentialList)
def list_access(folder: Path, login: str | None, as_json: bool) -> None:
    """List sign-in links, sessions, tokens and passwords, without their secrets."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        credentials = list_credentials(context, login)
    print_view(credentials, as_json)


@access.command("add")
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@option("--kind", type=click.Choice(["link", "token", "join"]), default="link", help="Kind of credential.")
@option(
    "--scope", type=click.Choice(TOKEN_SCOPES), default="submit", help="Permission of a token; submit includes read."
)
@option(
    "--days", type=click.FloatRange(0.01, 3650), metavar="N", help="Days of validity.  [link 1, join 14, token 180]"
)
@option("--require-approval", is_flag=True, help="With --kind join: staff must approve each account.")
@ACTOR_OPTION
@json_option(IssuedSecret)
def add_access(
    *,
    folder: Path,
    login: str,
    kind: str,
    scope: str,
    days: float | None,
    require_approval: bool,
    actor: str,
    as_json: bool,
) -> None:
    """Create a sign-in link or an API token. Its secret is printed only once.

    --kind join creates a link with which any number of users can sign up. With --require-approval, each account waits
    for `arena ladder users approve`.
    """
    if require_approval and kind != "join":
        usage_error("--require-approval works only with --kind join.\nAdd --kind join, or leave it out.")
    with open_ladder_or_exit(folder) as ladder:
        lasts_s = None if days is None else days * DAY_S
        issued = issue_secret(
            ladder, login, kind, actor, APPROVAL_SCOPE if require_approval else scope, lasts_s=lasts_s
        )
        url = ladder.settings.web.base_url
    if as_json:
        print_json(issued)
    else:
        _print_secret(issued, login, kind, url)


def _print_secret(issued: IssuedSecret, login: str, kind: str, base_url: str | None) -> None:
    """Print a new secret on stdout, and notes on its use. base_url: of the ladder's pages, None if it isn't set."""
    print_text(issued.secret)
    expiry = format_time(issued.expires_at)
    print_note(f"{kind} {issued.id} of {escape_control(login)}, until {expiry}; the secret isn't shown again")
    if kind == "token":
        return
    page = "join" if kind == "join" else "sign-in"
    print_note(f"{page.replace('-', ' ')}: {base_url or 'ADDRESS'}/{page}?link={issued.secret}")
    if base_url is None:
        print_note("ADDRESS is what `arena ladder serve` prints; set [web] base_url in ladder.toml to print it here")


@access.command("revoke")
@FOLDER_ARGUMENT
@click.argument("id", metavar="N", type=click.IntRange(1))
@audited("the user")
@json_option(ActionResult)
def revoke_access(folder: Path, id: int, actor: str, reason: str, as_json: bool) -> None:
    """Revoke a link, session, token or password. Sessions that began with it end."""
    with open_ladder_or_exit(folder) as ladder:
        is_changed = revoke_credential(ladder, id, actor, reason)
    print_decision(is_changed, f"credential {id} is revoked", as_json)


MOVE_OPTION = option("--move", is_flag=True, help="Move users who are in another team.")
SINCE_OPTION = option("--since", metavar="TIME", help="Start of the membership, for grades.  [now]")


@click.group()
def teams() -> None:
    """List teams and change their members.

    Bots of a team never meet in a rated match. Members share quotas, and can manage each other's bots.
    """


@teams.command("list")
@FOLDER_ARGUMENT
@json_option(TeamList)
def print_teams(folder: Path, as_json: bool) -> None:
    """List all teams with their present and former members."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        listing = list_teams(context)
    print_view(listing, as_json)


@teams.command("join")
@FOLDER_ARGUMENT
@click.argument("team", metavar="TEAM")
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@MOVE_OPTION
@SINCE_OPTION
@audited("the user")
@json_option(TeamChanges)
def join(
    *,
    folder: Path,
    team: str,
    logins: tuple[str, ...],
    move: bool,
    since: str | None,
    actor: str,
    reason: str,
    as_json: bool,
) -> None:
    """Add users to a team, and create the team if it doesn't exist.

    When you first add a user to a team that users formed themselves, name all its members, too.

    Queued rated matches in which two bots of the team would meet are cancelled. Finals continue.
    """
    with open_ladder_or_exit(folder) as ladder:
        since_s = parse_time(ladder.settings, since) if since else None
        changes = join_teams(ladder, dict.fromkeys(logins, team), actor, reason, move, since_s)
    _print_team_changes(changes, as_json)


@teams.command("leave")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@audited("the user")
@json_option(TeamChanges)
def leave_team(folder: Path, logins: tuple[str, ...], actor: str, reason: str, as_json: bool) -> None:
    """Remove users from their teams. They no longer see the team's bots, and can meet them in matches."""
    with open_ladder_or_exit(folder) as ladder:
        changes = leave_teams(ladder, logins, actor, reason)
    _print_team_changes(changes, as_json)


@teams.command("import")
@FOLDER_ARGUMENT
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@MOVE_OPTION
@SINCE_OPTION
@ACTOR_OPTION
@json_option(TeamChanges)
def import_members(folder: Path, file: Path, move: bool, since: str | None, actor: str, as_json: bool) -> None:
    """Add users to teams from a CSV file.

    Its header names login, email or student_id, and team or group. If a line has an error, no user joins. Canvas'
    export of a group set needs no changes.
    """
    with open_ladder_or_exit(folder) as ladder:
        data = _read_file(file)
        since_s = parse_time(ladder.settings, since) if since else None
        changes = import_teams(ladder, data, file.name, actor, move, since_s)
    _print_team_changes(changes, as_json)


def _print_team_changes(changes: TeamChanges, as_json: bool) -> None:
    if as_json:
        print_json(changes)
    elif not changes.changed:
        print_note("no change")
    else:
        print_note(f"{changes.joined} joined a team, {changes.left} left one")
        if changes.cancelled:
            print_note(f"{format_count(changes.cancelled, 'rated match', 'es')} cancelled")
