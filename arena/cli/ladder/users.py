"""Implement the `arena ladder` commands for users, teams, and the credentials of users without file access.

Credentials are sign-in links, tokens and sessions."""

from pathlib import Path

import click

from arena.bots import escape_control
from arena.cli import console
from arena.cli.console import format_count, option, print_note, print_text, usage_error
from arena.cli.json_output import json_option, print_json
from arena.cli.ladder.bots import print_decision
from arena.cli.ladder.common import ACTOR_OPTION, FOLDER_ARGUMENT, audited, format_time, open_ladder_or_exit, print_view
from ladder import views
from ladder.permissions import STAFF_VIEWER
from ladder.service import (
    APPROVAL_SCOPE,
    TOKEN_SCOPES,
    ActionResult,
    IssuedSecret,
    TeamChanges,
    UserImport,
    approve_applicant,
    import_teams,
    import_users,
    issue_secret,
    join_teams,
    leave_teams,
    make_roster_entry,
    merge_users,
    parse_roster,
    parse_time,
    refuse_applicant,
    revoke_credential,
    set_withdrawn,
)


@click.group()
def owners() -> None:
    """List the owners of bots, import a roster, approve accounts, merge two owners, let one leave."""


@owners.command("list")
@FOLDER_ARGUMENT
@json_option(views.UserList)
def list_owners(folder: Path, as_json: bool) -> None:
    """List all owners, with their pseudonyms: for the teacher."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as reader:
        listing = views.list_users(reader)
    print_view(listing, as_json)


@owners.command("add")
@FOLDER_ARGUMENT
@click.argument("login")
@option("--name", metavar="NAME", help="The person's name.  [the login]")
@option("--email", metavar="EMAIL", help="The person's email.")
@option("--section", metavar="NAME", help="The person's section of the class.")
@option("--pseudonym", metavar="NAME", help="What tables call the person.  [two words, drawn]")
@ACTOR_OPTION
@json_option(UserImport)
def add_owner(
    folder: Path,
    login: str,
    name: str | None,
    email: str | None,
    section: str | None,
    pseudonym: str | None,
    actor: str,
    as_json: bool,
) -> None:
    """Add one owner, or bring one up to date."""
    with open_ladder_or_exit(folder) as ladder:
        taken = import_users(ladder, [make_roster_entry(login, name, email, section, pseudonym)], actor, "one person")
    if as_json:
        print_json(taken)
    else:
        _print_import(taken)


@owners.command("import")
@FOLDER_ARGUMENT
@click.argument("roster", metavar="ROSTER", type=click.Path(path_type=Path))
@option("--partial", is_flag=True, help="Skip lines that can't be imported, and import the others.")
@ACTOR_OPTION
@json_option(UserImport)
def import_roster(folder: Path, roster: Path, partial: bool, actor: str, as_json: bool) -> None:
    """Import a class's roster, in CSV; those who are known are brought up to date.

    The header names the columns: login, email or number, and if there are any, name (or first and last name), section,
    pseudonym, staff. What Canvas and Moodle export is read as it is. Who is known by number, email or login is the same
    person, whichever roster names him. Pseudonyms that aren't told are drawn, and stay.
    """
    with open_ladder_or_exit(folder) as ladder:
        try:
            data = roster.read_bytes()
        except OSError as problem:
            console.usage_error(f"{roster} can't be read: {problem.strerror}")
        taken = import_users(ladder, parse_roster(data, roster.name), actor, roster.name, partial=partial)
    if as_json:
        print_json(taken)
        return
    _print_import(taken)
    if taken.absent:
        print_note(f"{format_count(taken.absent, 'owner')} not in {roster.name} stay as they were")


@owners.command("merge")
@FOLDER_ARGUMENT
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="INTO")
@audited
@json_option(ActionResult)
def merge(folder: Path, old: str, new: str, actor: str, reason: str, as_json: bool) -> None:
    """Let two owners be one person: all of FROM is INTO's from now on.

    The login FROM leads to INTO, and its links, sessions, tokens and password let nobody in any more. What was played
    stays; rated matches to come, at whose table bots of both would meet, are cancelled.
    """
    with open_ladder_or_exit(folder) as ladder:
        changed = merge_users(ladder, old, new, actor, reason)
    print_decision(changed, f"{old} is {new}", as_json)


@owners.command("leave")
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@option("--undo", is_flag=True, help="Let the person come back: what played before plays again.")
@audited
@json_option(ActionResult)
def leave(folder: Path, login: str, undo: bool, actor: str, reason: str, as_json: bool) -> None:
    """Let a person leave the course: as with a suspension, and without a line in grades.

    What was played stays, also in the ratings of others. A roster that names the person doesn't bring them back.
    """
    with open_ladder_or_exit(folder) as ladder:
        changed = set_withdrawn(ladder, login, not undo, actor, reason)
    print_decision(changed, f"{login} is {'' if undo else 'no longer '}in the course", as_json)


@owners.command("approve")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@ACTOR_OPTION
@json_option(ActionResult)
def approve_some(folder: Path, logins: tuple[str, ...], actor: str, as_json: bool) -> None:
    """Let accounts take part that wait for approval: their people signed up by a link."""
    with open_ladder_or_exit(folder) as ladder:
        new = sum(approve_applicant(ladder, login, actor) for login in logins) > 0
    print_decision(new, f"approved: {', '.join(logins)}", as_json)


@owners.command("refuse")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@audited
@json_option(ActionResult)
def refuse_some(folder: Path, logins: tuple[str, ...], actor: str, reason: str, as_json: bool) -> None:
    """Remove accounts that wait for approval; their logins are free then."""
    with open_ladder_or_exit(folder) as ladder:
        new = sum(refuse_applicant(ladder, login, actor, reason) for login in logins) > 0
    print_decision(new, f"removed: {', '.join(logins)}", as_json)


def _print_import(taken: UserImport) -> None:
    for each in taken.remarks:
        print_note(f"line {each.line}: {each.text}")
    for each in taken.left_out:
        print_note(f"line {each.line} is left out: {each.text}")
    left = f", {format_count(len(taken.left_out), 'line')} left out" if taken.left_out else ""
    print_note(f"{format_count(taken.added, 'owner')} added, {taken.changed} changed{left}")


_DAY_S = 86_400.0


@click.group()
def access() -> None:
    """Let people in who haven't the ladder's file: by links for one sign-in, and by tokens for programs."""


@access.command("list")
@FOLDER_ARGUMENT
@option("--owner", "login", metavar="LOGIN", help="Those of one person.")
@json_option(views.CredentialList)
def list_access(folder: Path, login: str | None, as_json: bool) -> None:
    """List links, sessions, tokens and passwords; their secrets aren't stored."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as reader:
        listed = views.list_credentials(reader, login)
    print_view(listed, as_json)


@access.command("add")
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@option("--kind", type=click.Choice(["link", "token", "join"]), default="link", help="What to make.")
@option("--scope", type=click.Choice(TOKEN_SCOPES), default="submit", help="What for: submit may read, too.")
@option("--days", type=click.FloatRange(0.01, 3650), metavar="N", help="For how long.  [link 1, join 14, token 180]")
@option("--require-approval", is_flag=True, help="With --kind join: staff approves each account.")
@ACTOR_OPTION
@json_option(IssuedSecret)
def add_access(
    folder: Path,
    login: str,
    kind: str,
    scope: str,
    days: float | None,
    require_approval: bool,
    actor: str,
    as_json: bool,
) -> None:
    """Make a link for one sign-in, or a token for a program. Its secret is printed this once.

    --kind join makes a link by which any number of people sign up. With --require-approval each of them waits until
    staff approves the account: arena ladder owners approve.
    """
    if require_approval and kind != "join":
        usage_error("--require-approval is for --kind join.")
    with open_ladder_or_exit(folder) as ladder:
        issued = issue_secret(
            ladder,
            login,
            kind,
            actor,
            APPROVAL_SCOPE if require_approval else scope,
            None if days is None else days * _DAY_S,
        )
        url = ladder.settings.web.base_url
    if as_json:
        print_json(issued)
        return
    print_text(issued.secret)
    print_note(
        f"{kind} of {escape_control(login)}, number {issued.id}, until {format_time(issued.ends)}; it isn't shown again"
    )
    if kind != "token":
        page = "join" if kind == "join" else "sign-in"
        print_note(f"{page.replace('-', ' ')}: {url or 'ADDRESS'}/{page}?link={issued.secret}")
        if url is None:
            print_note("ADDRESS is what arena ladder serve prints; set [web] base_url in ladder.toml to have it here")


@access.command("revoke")
@FOLDER_ARGUMENT
@click.argument("id", metavar="NUMBER", type=click.IntRange(1))
@audited
@json_option(ActionResult)
def revoke_access(folder: Path, id: int, actor: str, reason: str, as_json: bool) -> None:
    """Let a link, a session, a token or a password let nobody in any more, nor sessions that began by it."""
    with open_ladder_or_exit(folder) as ladder:
        new = revoke_credential(ladder, id, actor, reason)
    print_decision(new, f"{id} lets nobody in", as_json)


MOVE_OPTION = option("--move", is_flag=True, help="Let people who are in another team leave it.")
SINCE_OPTION = option("--since", metavar="TIME", help="From when on: a grade asks who was in a team then.  [now]")


@click.group()
def teams() -> None:
    """Let people be in teams, and list them.

    Bots of a team never meet in a rated match; quotas are the team's; members see one another's bots as their own.
    """


@teams.command("list")
@FOLDER_ARGUMENT
@json_option(views.TeamList)
def list_teams(folder: Path, as_json: bool) -> None:
    """List all teams, with who is in them since when, and who was until when."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as reader:
        listed = views.list_teams(reader)
    print_view(listed, as_json)


@teams.command("join")
@FOLDER_ARGUMENT
@click.argument("team", metavar="TEAM")
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@MOVE_OPTION
@SINCE_OPTION
@audited
@json_option(TeamChanges)
def join(
    folder: Path,
    team: str,
    logins: tuple[str, ...],
    move: bool,
    since: str | None,
    actor: str,
    reason: str,
    as_json: bool,
) -> None:
    """Let people be in a team, which is made if there is none of the name.

    Rated matches that haven't begun are cancelled where two of the team would sit at one table. Finals go on.
    """
    with open_ladder_or_exit(folder) as ladder:
        at = parse_time(ladder, since) if since else None
        done = join_teams(ladder, dict.fromkeys(logins, team), actor, reason, move, at)
    _print_team(done, as_json)


@teams.command("leave")
@FOLDER_ARGUMENT
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@audited
@json_option(TeamChanges)
def leave_team(folder: Path, logins: tuple[str, ...], actor: str, reason: str, as_json: bool) -> None:
    """Let people be in no team: from now on they see nothing of the others' bots, and may meet them."""
    with open_ladder_or_exit(folder) as ladder:
        done = leave_teams(ladder, logins, actor, reason)
    _print_team(done, as_json)


@teams.command("import")
@FOLDER_ARGUMENT
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@MOVE_OPTION
@SINCE_OPTION
@ACTOR_OPTION
@json_option(TeamChanges)
def take_in(folder: Path, file: Path, move: bool, since: str | None, actor: str, as_json: bool) -> None:
    """Let people be in the teams of a CSV, whose header names login, email or student_id, and team or group.

    All join or none. What Canvas exports of a group set is read as it is.
    """
    with open_ladder_or_exit(folder) as ladder:
        try:
            data = file.read_bytes()
        except OSError as problem:
            usage_error(f"{file} can't be read: {problem.strerror}")
        done = import_teams(ladder, data, file.name, actor, move, parse_time(ladder, since) if since else None)
    _print_team(done, as_json)


def _print_team(done: TeamChanges, as_json: bool) -> None:
    if as_json:
        print_json(done)
    elif not done.changed:
        print_note("it is so already: nothing was decided")
    else:
        print_note(f"{done.joined} joined a team, {done.left} left one")
        if done.cancelled:
            print_note(f"{format_count(done.cancelled, 'rated match', 'es')} cancelled that can't be played any more")
