"""Add users to teams and remove them, one by one or from a CSV file.

Bots of a team never meet in a rated match, and quotas apply to the team.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.escaping import escape_control, escape_csv_cell
from ladder import store
from ladder.bot_quotas import enable_surplus_bots
from ladder.clock import format_local_time, require_past
from ladder.ladder import Ladder, get_user, transaction
from ladder.settings import LadderError
from ladder.users import roster
from ladder.users.pseudonyms import fold_name

TEAM_COLUMNS = {
    **dict.fromkeys(("login", "login id", "username", "sis login id"), "login"),
    **dict.fromkeys(("email", "e mail", "email address"), "email"),
    **dict.fromkeys(("number", "student id", "id number", "sis user id", "user id"), "student_id"),
    **dict.fromkeys(("team", "group", "group name"), "team"),
}
_NAME_KEYS = (fold_name, str.casefold, str)  # what names of one team have in common; the last is the first to be tried
_MAX_TEAM_CHARS = 100  # characters of a name, as in the database
_MAX_LISTED = 3  # wrong lines in a message; the others are counted


@dataclass(frozen=True, slots=True)
class TeamChanges:
    """The numbers of users that joined a team and that left one, and of cancelled rated matches.

    A user that moved counts as both; one whose time was corrected counts as joined. A waiting match is cancelled if two
    members of a team would meet in it.
    """

    joined: int
    left: int
    cancelled: int

    @property
    def changed(self) -> bool:
        """Return whether anything has changed."""
        return self.joined + self.left > 0


@transaction
def join_teams(
    connection: Connection,
    ladder: Ladder,
    wanted: Mapping[str, str],
    actor: str,
    reason: str,
    move: bool = False,
    since: float | None = None,
) -> TeamChanges:
    """Add users to teams, given as team names by login. New names create teams. All users are added or none.

    since: the Unix time of joining, None for now; grades use the members at the deadline. Raises LadderError for an
    unknown user, staff, or, unless `move`, a member of another team; if `since` isn't past; or if the members of a team
    formed it, unless all of them are named.
    """
    people = [(get_user(connection, login), team) for login, team in wanted.items()]
    return _join_teams(connection, ladder, people, actor, reason, move=move, since=since)


def _join_teams(
    connection: Connection,
    ladder: Ladder,
    people: Sequence[tuple[store.User, str]],
    actor: str,
    reason: str,
    *,
    move: bool,
    since: float | None,
) -> TeamChanges:
    """Add users to teams, given by name, as `join_teams` does."""
    require_past(since, ladder.clock())
    _refuse_foreign_teams(connection, people)
    return add_members(connection, people, actor, reason=reason, move=move, now=ladder.clock(), since=since)


@transaction
def leave_teams(connection: Connection, ladder: Ladder, logins: Sequence[str], actor: str, reason: str) -> TeamChanges:
    """Remove users from their teams; their bots that a team's quota disabled play again.

    Raises LadderError for an unknown login.
    """
    now, memberships = ladder.clock(), current_memberships(connection)
    users = [get_user(connection, login) for login in dict.fromkeys(logins)]
    for user in users:
        leave_current_team(connection, user, actor, reason, now)
        enable_surplus_bots(ladder, connection, user)
    return TeamChanges(joined=0, left=len(memberships.keys() & {user.login for user in users}), cancelled=0)


def leave_current_team(connection: Connection, user: store.User, actor: str, reason: str, now: float) -> None:
    """Remove a user from the current team, if any."""
    membership = current_memberships(connection).get(user.login)
    if membership is not None:
        store.leave_team(connection, user.id, now)
        text = f"left {membership.team}: {reason}"
        store.log_action(connection, store.AuditEntry(actor, "team", text, now, user_id=user.id))


def import_teams(
    ladder: Ladder, data: bytes, file: str, actor: str, move: bool = False, since: float | None = None
) -> TeamChanges:
    """Add users to the teams in a CSV, with a column login, email or student_id, and a column team.

    Rows without a team are skipped. All users are added or none. Raises LadderError with the invalid lines, or as
    `join_teams` does.
    """
    rows = _parse_rows(data, file)  # before the transaction, for which other writers wait

    def join_all(connection: Connection) -> TeamChanges:
        people = _match_people(connection, rows, file)
        return _join_teams(connection, ladder, people, actor, file, move=move, since=since)

    return ladder.database.write(join_all)


def _match_people(
    connection: Connection, rows: Sequence[tuple[roster.RosterEntry, str]], file: str
) -> list[tuple[store.User, str]]:
    """Return the user and the team of each row, each user once.

    Raises LadderError with the first lines that name no user, or a user in two teams.
    """
    users = store.all_users(connection, merged=True)
    matcher, signed_up_ids = roster.UserMatcher(users), roster.list_signed_up(connection, users)
    people, problems = dict[int, tuple[store.User, str]](), []
    for person, team in rows:
        try:
            user = _match_person(person, matcher, signed_up_ids)
            if people.setdefault(user.id, (user, team))[1] != team:
                raise ValueError(f'"{escape_control(user.login)}" is in two teams')
        except ValueError as error:
            problems.append(f"line {person.line}: {error}")
    if problems:
        more = f"; and {len(problems) - _MAX_LISTED} more" if len(problems) > _MAX_LISTED else ""
        raise LadderError(
            f"{file}, {'; '.join(problems[:_MAX_LISTED])}{more}.\nNo user joined. Correct the lines, and try again."
        )
    return list(people.values())


def _match_person(person: roster.RosterEntry, matcher: roster.UserMatcher, signed_up_ids: set[int]) -> store.User:
    """Return the user of an entry. signed_up_ids: of users that may be other persons.

    Raises ValueError without a user, or for one that may be another person.
    """
    user = matcher.find(person)
    if user is None:
        identifiers = " ".join(filter(None, (person.student_id, person.email, person.login)))
        raise ValueError(f'no user has the identifier "{escape_control(identifiers)}"')
    if user.id in signed_up_ids:
        raise ValueError(f"{escape_control(user.login)} {roster.SIGNED_UP}: {roster.TAKE_OVER_FIRST}")
    return user


def add_members(
    connection: Connection,
    people: Sequence[tuple[store.User, str]],
    actor: str,
    *,
    reason: str,
    move: bool,
    now: float,
    since: float | None,
) -> TeamChanges:
    """Add users to teams, given by name, in an open transaction, as `join_teams` does. now, since: Unix times.

    Raises LadderError if a team's name isn't valid, or a user is staff, is in another team without `move`, or was in
    one after `since`.
    """
    memberships = store.list_memberships(connection)
    current = current_memberships(connection)
    teams = [membership.team for membership in memberships]
    team_names = {key(team): team for key in _NAME_KEYS for team in teams}
    joined_at = now if since is None else since
    joined_count = left_count = 0
    for user, name in people:
        valid_name = normalize_team_name(name)
        _require_no_staff(user)
        names = (team_names.get(key(valid_name)) for key in reversed(_NAME_KEYS))
        team = next(filter(None, names), valid_name)
        team_names.setdefault(fold_name(team), team)
        present = current.get(user.login)
        replaced = present if present is not None and present.team == team else None  # by one with another time
        if replaced is not None and since in (None, replaced.joined_at):
            continue
        left_team = None if present is None or present == replaced else present.team
        earlier = [row for row in memberships if row.login == user.login and row != replaced]
        _require_may_join(user, left_team, earlier, move=move, joined_at=joined_at)
        text = _describe_change(team, left_team, since)
        store.log_action(connection, store.AuditEntry(actor, "team", f"{text}: {reason}", now, user_id=user.id))
        store.join_team(connection, team, user.id, joined_at)
        current[user.login] = store.Membership(team, user.login, user.name, joined_at, None)
        joined_count += 1
        left_count += left_team is not None
    return TeamChanges(joined_count, left_count, store.cancel_unplayable(connection, now) if joined_count else 0)


def _describe_change(team: str, left_team: str | None, since: float | None) -> str:
    """Return a user's change of teams as the audit log has it. since: the given Unix time of joining, None for now."""
    change = f"joined {team}" if left_team is None else f"left {left_team}, joined {team}"
    return change if since is None else f"{change} as of {format_local_time(since)}"


FORMED, INVITED = "formed it", "invited by"  # why users joined by themselves, in the audit log


def _require_no_staff(user: store.User) -> None:
    if user.staff:
        login = escape_control(user.login)
        raise LadderError(f"{login} is staff, and staff can't join a team.\nNo user joined. Leave this login out.")


def _require_may_join(
    user: store.User, left_team: str | None, earlier: Sequence[store.Membership], *, move: bool, joined_at: float
) -> None:
    """Raise LadderError if a user may not join a team at this Unix time.

    left_team: the team that the user leaves, which needs `move`; None without one. earlier: the user's memberships that
    the new one must not overlap.
    """
    login = escape_control(user.login)
    if left_team is not None and not move:
        raise LadderError(
            f"{login} is in the team {escape_control(left_team)}.\n"
            "No user joined. Choose to move users who are in another team."
        )
    if any(joined_at < (row.left_at or row.joined_at) for row in earlier):
        raise LadderError(f"{login} was in a team after that time.\nNo user joined. Give a later time.")


def _refuse_foreign_teams(connection: Connection, people: Sequence[tuple[store.User, str]]) -> None:
    """Raise LadderError if `people` are added to a team that its members formed, unless all of these are in `people`.

    Otherwise a user could form a team under another group's name, and see the bots of users that staff adds to it.
    """
    named_logins = {user.login for user, _ in people}
    wanted_teams = {fold_name(normalize_team_name(team)) for _, team in people}
    for members in _list_teams_formed_by_members(connection):
        team = members[0].team
        if fold_name(team) in wanted_teams and not {member.login for member in members} <= named_logins:
            logins = ", ".join(escape_control(member.login) for member in members)
            raise LadderError(
                f"the team {escape_control(team)} was formed by its members: {logins}.\nNo user joined. "
                "Name them as well, or use another name for the team."
            )


def _list_teams_formed_by_members(connection: Connection) -> list[list[store.Membership]]:
    """Return the members of each team to which staff added none of them. Withdrawn users don't count as members."""
    logins = {user.id: user.login for user in store.all_users(connection) if not user.withdrawn}
    entries = store.list_audit_entries(connection, actions=("team",))  # oldest first, so a user's newest one stays
    reasons = {logins[entry.user_id]: entry.reason for entry in entries if entry.user_id in logins}
    teams: dict[str, list[store.Membership]] = {}
    for row in current_memberships(connection).values():
        if row.login in reasons:
            teams.setdefault(row.team.casefold(), []).append(row)
    return [members for members in teams.values() if all(_joined_by_itself(row, reasons[row.login]) for row in members)]


def _joined_by_itself(membership: store.Membership, reason: str) -> bool:
    """Return whether staff didn't add a member. reason: of the newest entry about the user's teams in the audit log."""
    team = membership.team
    return reason.startswith((f"joined {team}: {FORMED}", f"joined {team}: {INVITED} "))


def current_memberships(connection: Connection) -> dict[str, store.Membership]:
    """Return the current membership of each user in a team, by login."""
    memberships = store.list_memberships(connection)
    return {membership.login: membership for membership in memberships if membership.left_at is None}


def normalize_team_name(text: str) -> str:
    """Return a team's name in NFC, without space around it. Raises LadderError if it isn't valid."""
    name = unicodedata.normalize("NFC", text.strip())
    has_valid_length = 0 < len(name) <= _MAX_TEAM_CHARS
    if not has_valid_length or not name.isprintable() or escape_csv_cell(name) != name:
        raise LadderError(
            f'"{escape_control(name[:_MAX_TEAM_CHARS])}" isn\'t a valid name for a team.\n'
            f"Use 1 to {_MAX_TEAM_CHARS} printable characters that aren't a formula of a spreadsheet."
        )
    return name


def _parse_rows(data: bytes, file: str) -> list[tuple[roster.RosterEntry, str]]:
    """Return (entry, team) of each row with a team of a CSV.

    Raises LadderError for an invalid CSV, or a header without a column for the team or the user, or with two for one.
    """
    rows = roster.read_rows(data, file)
    headings = rows[0][1] if rows else []
    columns = [TEAM_COLUMNS.get(roster.normalize_heading(heading), "") for heading in headings]
    if "team" not in columns or not set(columns) & {"login", "email", "student_id"}:
        raise LadderError(
            f"{file}, line 1: the header has no column for the team or the user: "
            f"{escape_control(', '.join(headings))[:200]}.\n"
            "Add team or group, and login, email or student_id, such as login,team."
        )
    for column in filter(None, columns):
        if columns.count(column) > 1:
            raise LadderError(f"{file}, line 1: several columns are for the {column}.\nKeep one of them.")
    entries = []
    for line, row in rows[1:]:
        cells = dict(zip(columns, row, strict=False))
        if cells.get("team"):
            person = roster.RosterEntry(
                line, cells.get("login"), email=cells.get("email"), student_id=cells.get("student_id")
            )
            entries.append((person, cells["team"]))
    return entries
