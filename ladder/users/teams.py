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

TEAM_COLUMNS = {
    **dict.fromkeys(("login", "login id", "username", "sis login id"), "login"),
    **dict.fromkeys(("email", "e mail", "email address"), "email"),
    **dict.fromkeys(("number", "student id", "id number", "sis user id", "user id"), "student_id"),
    **dict.fromkeys(("team", "group", "group name"), "team"),
}
_MAX_TEAM_CHARS = 100  # characters of a name, as in the database


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


def join_teams(
    ladder: Ladder, wanted: Mapping[str, str], actor: str, reason: str, move: bool = False, since: float | None = None
) -> TeamChanges:
    """Add users to teams, given as team names by login. New names create teams. All users are added or none.

    since: the Unix time of joining, None for now; grades use the members at the deadline. Raises LadderError for an
    unknown user, staff, or, unless `move`, a member of another team.
    """

    def act(connection: Connection) -> TeamChanges:
        people = [(get_user(connection, login), team) for login, team in wanted.items()]
        _require_known_teams(connection, people)
        return add_members(connection, people, actor, reason=reason, move=move, now=ladder.clock(), since=since)

    require_past(since, ladder.clock())
    return ladder.database.write(act)


@transaction
def leave_teams(connection: Connection, ladder: Ladder, logins: Sequence[str], actor: str, reason: str) -> TeamChanges:
    """Remove users from their teams; their bots that a team's quota disabled play again.

    Raises LadderError for an unknown login.
    """
    now, left, teams = ladder.clock(), 0, current_memberships(connection)
    for user in [get_user(connection, login) for login in dict.fromkeys(logins)]:
        left += teams.pop(user.login, None) is not None
        leave_current_team(connection, user, actor, reason, now)
        enable_surplus_bots(ladder, connection, user)
    return TeamChanges(0, left, 0)


def leave_current_team(connection: Connection, user: store.User, actor: str, reason: str, now: float) -> None:
    """Remove a user from the current team, if any."""
    if (old := current_memberships(connection).get(user.login)) is not None:
        store.leave_team(connection, user.id, now)
        store.log_action(
            connection, store.AuditEntry(actor, "team", f"left {old.team}: {reason}", now, user_id=user.id)
        )


def import_teams(
    ladder: Ladder, data: bytes, file: str, actor: str, move: bool = False, since: float | None = None
) -> TeamChanges:
    """Add users to the teams in a CSV, with a column login, email or student_id, and a column team.

    Rows without a team are skipped. All users are added or none. Raises LadderError with the invalid lines.
    """
    rows = _read_rows(data, file)

    def act(connection: Connection) -> TeamChanges:
        people = _match_people(connection, rows, file)
        _require_known_teams(connection, people)
        return add_members(connection, people, actor, reason=file, move=move, now=ladder.clock(), since=since)

    require_past(since, ladder.clock())
    return ladder.database.write(act)


def _match_people(
    connection: Connection, rows: Sequence[tuple[roster.RosterEntry, str]], file: str
) -> list[tuple[store.User, str]]:
    """Return the user and the team of each row. Raises LadderError with the first three lines that name no user."""
    owners = store.all_users(connection, merged=True)
    directory, signed_up = roster.UserMatcher(owners), roster.list_signed_up(connection, owners)
    people, problems = dict[int, tuple[store.User, str]](), []
    for person, team in rows:
        try:
            user = directory.find(person)
        except ValueError as error:
            problems.append(f"line {person.line}: {error}")
            continue
        if user is None:
            text = " ".join(filter(None, (person.student_id, person.email, person.login)))
            problems.append(f'line {person.line}: no user has the identifier "{escape_control(text)}"')
        elif user.id in signed_up:
            problems.append(
                f"line {person.line}: {escape_control(user.login)} {roster.SIGNED_UP}: {roster.TAKE_OVER_FIRST}"
            )
        elif people.setdefault(user.id, (user, team))[1] != team:
            problems.append(f'line {person.line}: "{escape_control(user.login)}" is in two teams')
    if problems:
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise LadderError(
            f"{file}, {'; '.join(problems[:3])}{more}.\nNo user joined. Correct the lines, and try again."
        )
    return list(people.values())


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
    """Add users to teams, given by name, in an open transaction, as `join_teams` does.

    Raises LadderError if a user is staff, is in another team without `move`, or was in one after `since`.
    """
    joined = left = 0
    before, rows = current_memberships(connection), store.list_memberships(connection)
    known = {each.team.casefold(): each.team for each in rows}
    at = now if since is None else since
    for user, name in people:
        name = _check_team(name)
        team = known.setdefault(name.casefold(), name)
        old = before.get(user.login)
        was = None if old is None else old.team
        if user.staff:
            raise LadderError(
                f"{escape_control(user.login)} is staff, and staff can't join a team.\n"
                "No user joined. Leave this login out."
            )
        if was == team and (old is None or since in (None, old.joined_at)):
            continue
        if was not in (None, team) and not move:
            raise LadderError(
                f"{escape_control(user.login)} is in the team {escape_control(was)}.\n"
                "No user joined. Choose to move users who are in another team."
            )
        others = [row for row in rows if row.login == user.login and (row != old or was != team)]
        if any(at < (row.left_at or row.joined_at) for row in others):
            raise LadderError(
                f"{escape_control(user.login)} was in a team after that time.\nNo user joined. Give a later time."
            )
        text = f"left {was}, joined {team}" if was not in (None, team) else f"joined {team}"
        text += "" if since is None else f" as of {format_local_time(at)}"
        store.log_action(connection, store.AuditEntry(actor, "team", f"{text}: {reason}", now, user_id=user.id))
        store.join_team(connection, team, user.id, at)
        before[user.login] = store.Membership(team, user.login, user.name, at, None)
        joined, left = joined + 1, left + (was not in (None, team))
    return TeamChanges(joined, left, store.cancel_unplayable(connection, now) if joined else 0)


FORMED, INVITED = "formed it", "invited by"  # why users joined by themselves, in the audit log


def _require_known_teams(connection: Connection, people: Sequence[tuple[store.User, str]]) -> None:
    """Raise LadderError for a team that staff may not mean: no member was added by staff, and not all are in `people`.

    Otherwise a user could form a team under another group's name, and see the bots of users that staff adds to it.
    """
    logins = {user.id: user.login for user in store.all_users(connection) if not user.withdrawn}
    reasons = {entry.user_id: entry.reason for entry in store.list_audit_entries(connection, actions=("team",))}
    joined = {logins[id]: reason for id, reason in reasons.items() if id in logins}
    named, memberships = {user.login for user, _ in people}, current_memberships(connection).values()
    for wanted in {_check_team(team).casefold() for _, team in people}:
        current = [each for each in memberships if each.team.casefold() == wanted and each.login in joined]
        why = [(f"joined {each.team}: {FORMED}", f"joined {each.team}: {INVITED} ") for each in current]
        formed = all(joined[each.login].startswith(words) for each, words in zip(current, why, strict=True))
        if formed and not {each.login for each in current} <= named:
            members = ", ".join(escape_control(each.login) for each in current)
            raise LadderError(
                f"the team {escape_control(current[0].team)} was formed by its members: {members}.\nNo user joined. "
                "Name them as well, or use another name for the team."
            )


def current_memberships(connection: Connection) -> dict[str, store.Membership]:
    """Return the current membership of each user in a team, by login."""
    return {each.login: each for each in store.list_memberships(connection) if each.left_at is None}


def _check_team(team: str) -> str:
    name = unicodedata.normalize("NFC", team.strip())
    if not name or not name.isprintable() or len(name) > _MAX_TEAM_CHARS or escape_csv_cell(name) != name:
        raise LadderError(
            f'"{escape_control(name[:_MAX_TEAM_CHARS])}" isn\'t a valid name for a team.\n'
            f"Use 1 to {_MAX_TEAM_CHARS} printable characters that aren't a formula of a spreadsheet."
        )
    return name


def _read_rows(data: bytes, file: str) -> list[tuple[roster.RosterEntry, str]]:
    """Return (entry, team) of each row of a CSV. Raises LadderError for an invalid CSV."""
    rows = roster.read_rows(data, file)
    found = rows[0][1] if rows else []
    header = [TEAM_COLUMNS.get(roster.normalize_heading(heading), "") for heading in found]
    if "team" not in header or not set(header) & {"login", "email", "student_id"}:
        raise LadderError(
            f"{file}, line 1: the header has no column for the team or the user: "
            f"{escape_control(', '.join(found))[:200]}.\n"
            "Add team or group, and login, email or student_id, such as login,team."
        )
    cells = [(line, dict(zip(header, row, strict=False))) for line, row in rows[1:]]
    return [
        (
            roster.RosterEntry(line, row.get("login"), email=row.get("email"), student_id=row.get("student_id")),
            row["team"],
        )
        for line, row in cells
        if row.get("team")
    ]
