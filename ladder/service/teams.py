"""Teams: people join one, and leave it. Bots of a team never meet in a rated match, and quotas are the team's."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import cell, shown
from ladder.service.directory import Directory
from ladder.service.known import known_owner
from ladder.service.ladder import Ladder
from ladder.service.roster import Person, plain, read_rows
from ladder.service.settings import LadderError
from ladder.service.submit import demand_past, local_time
from ladder.store.database import (
    Act,
    Membership,
    Owner,
    all_owners,
    cancel_unplayable,
    join_team,
    leave_team,
    memberships,
    note_act,
)

COLUMNS = {
    **dict.fromkeys(("login", "login id", "username", "sis login id"), "login"),
    **dict.fromkeys(("email", "e mail", "email address"), "email"),
    **dict.fromkeys(("number", "id number", "sis user id", "user id"), "number"),
    **dict.fromkeys(("team", "group", "group name"), "team"),
}
_LONGEST = 100  # characters of a name, as the database has room for


@dataclass(frozen=True, slots=True)
class Teamed:
    """How many people joined a team, how many left one, and how many rated matches were cancelled for it.

    Somebody who moved counts in both; somebody whose time was corrected counts as joined. A waiting match is cancelled
    where two of a team would sit at its table.
    """

    joined: int
    left: int
    cancelled: int

    @property
    def changed(self) -> bool:
        """Whether anything is otherwise than it was."""
        return self.joined + self.left > 0


def join_teams(
    ladder: Ladder, wanted: Mapping[str, str], who: str, why: str, move: bool = False, since: float | None = None
) -> Teamed:
    """Let people be in teams: logins with teams' names. Teams that there aren't are made; all join or none.

    since: from when on, in seconds since 1970, as staff says: grades ask who was in it at the deadline. None: now.
    Raises LadderError for who is unknown, or in another team, unless with `move`; and for staff, who is in none.
    """

    def act(connection: Connection) -> Teamed:
        people = [(known_owner(connection, login), team) for login, team in wanted.items()]
        return _join(connection, people, who, why, move, ladder.clock(), since)

    demand_past(ladder, since)
    return ladder.database.write(act)


def leave_teams(ladder: Ladder, logins: Sequence[str], who: str, why: str) -> Teamed:
    """Let these people be in no team. Raises LadderError for a login that isn't known."""

    def act(connection: Connection) -> Teamed:
        now, left, teams = ladder.clock(), 0, _teams(connection)
        for owner in [known_owner(connection, login) for login in dict.fromkeys(logins)]:
            if (old := teams.pop(owner.login, None)) is not None:
                leave_team(connection, owner.id, now)
                note_act(connection, Act(who, "team", f"left {old.team}: {why}", now, owner=owner.id))
                left += 1
        return Teamed(0, left, 0)

    return ladder.database.write(act)


def import_teams(
    ladder: Ladder, data: bytes, file: str, who: str, move: bool = False, since: float | None = None
) -> Teamed:
    """Let people be in the teams that a CSV tells: its columns are a person's login, email or number, and the team.

    A row without a team is passed over. Raises LadderError, with lines: all join or none.
    """
    rows = _rows(data, file)

    def act(connection: Connection) -> Teamed:
        directory = Directory(all_owners(connection, merged=True))
        people, problems = dict[int, tuple[Owner, str]](), []
        for person, team in rows:
            try:
                owner = directory.who(person)
            except ValueError as problem:
                problems.append(f"line {person.line}: {problem}")
                continue
            if owner is None:
                text = " ".join(filter(None, (person.number, person.email, person.login)))
                problems.append(f'line {person.line}: nobody is known as "{shown(text)}"')
            elif people.setdefault(owner.id, (owner, team))[1] != team:
                problems.append(f'line {person.line}: "{shown(owner.login)}" is in two teams')
        if problems:
            more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
            raise LadderError(f"{file}, {'; '.join(problems[:3])}{more}.\nNobody joined: mend it, and try again.")
        return _join(connection, list(people.values()), who, file, move, ladder.clock(), since)

    demand_past(ladder, since)
    return ladder.database.write(act)


def _join(
    connection: Connection,
    people: Sequence[tuple[Owner, str]],
    who: str,
    why: str,
    move: bool,
    now: float,
    since: float | None,
) -> Teamed:
    joined = left = 0
    before, rows = _teams(connection), memberships(connection)
    known = {each.team.casefold(): each.team for each in rows}
    at = now if since is None else since
    for owner, name in people:
        name = _check_team(name)
        team = known.setdefault(name.casefold(), name)
        old = before.get(owner.login)
        was = None if old is None else old.team
        if owner.staff:
            raise LadderError(f"{shown(owner.login)} is staff, who is in no team.\nNobody joined.")
        if was == team and (old is None or since in (None, old.since)):
            continue
        if was not in (None, team) and not move:
            raise LadderError(
                f"{shown(owner.login)} is in the team {shown(was)}.\nNobody joined. Let people move: --move"
            )
        others = [row for row in rows if row.login == owner.login and (row != old or was != team)]
        if any(at < (row.until or row.since) for row in others):
            raise LadderError(f"{shown(owner.login)} was in a team after that time.\nNobody joined. Name a later one.")
        text = f"left {was}, joined {team}" if was not in (None, team) else f"joined {team}"
        text += "" if since is None else f" as of {local_time(at)}"
        note_act(connection, Act(who, "team", f"{text}: {why}", now, owner=owner.id))
        join_team(connection, team, owner.id, at)
        before[owner.login] = Membership(team, owner.login, owner.name, at, None)
        joined, left = joined + 1, left + (was not in (None, team))
    return Teamed(joined, left, cancel_unplayable(connection, now) if joined else 0)


def _teams(connection: Connection) -> dict[str, Membership]:
    """Return who is in which team now, by login."""
    return {each.login: each for each in memberships(connection) if each.until is None}


def _check_team(team: str) -> str:
    """Return a team's name as it is kept. Raises LadderError."""
    name = unicodedata.normalize("NFC", team.strip())
    if not name or not name.isprintable() or len(name) > _LONGEST or cell(name) != name:
        raise LadderError(
            f'a team can\'t be called "{shown(name[:_LONGEST])}".\n'
            f"Take 1 to {_LONGEST} characters that can be printed, and no formula of a spreadsheet."
        )
    return name


def _rows(data: bytes, file: str) -> list[tuple[Person, str]]:
    """Return the people of a CSV who are in a team, each with the team. Raises LadderError for what is no such CSV."""
    rows = read_rows(data, file)
    told = rows[0][1] if rows else []
    header = [COLUMNS.get(plain(heading), "") for heading in told]
    if "team" not in header or not set(header) & {"login", "email", "number"}:
        raise LadderError(
            f"{file}, line 1: the header tells no team and person: {shown(', '.join(told))[:200]}.\n"
            "It needs team or group, and one of login, email and number, such as login,team."
        )
    cells = [(line, dict(zip(header, row, strict=False))) for line, row in rows[1:]]
    return [
        (Person(line, row.get("login"), email=row.get("email"), number=row.get("number")), row["team"])
        for line, row in cells
        if row.get("team")
    ]
