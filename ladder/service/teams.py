"""Teams: people join one, and leave it. Bots of a team never meet in a rated match, and quotas are the team's."""

import csv
import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import cell, shown
from ladder.service.known import known_owner
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.service.submit import demand_past, told_at
from ladder.store.database import (
    Act,
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
PERSON = ("number", "email", "login")  # the first that is one person's alone tells who it is
_LONGEST = 100  # characters of a name, as the database has room for


@dataclass(frozen=True, slots=True)
class Teamed:
    """How many people joined a team, how many left one, and how many rated matches were cancelled for it.

    Who moved has done both. A match is cancelled that waits, and at whose table two of a team would sit.
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
            if (team := teams.pop(owner.login, None)) is not None:
                leave_team(connection, owner.id, now)
                note_act(connection, Act(who, "team", f"left {team}: {why}", now, owner=owner.id))
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
        owners, people, problems = all_owners(connection), dict[int, tuple[Owner, str]](), []
        for line, row in rows:
            owner = _person(owners, row)
            if owner is None:
                told = " ".join(row[column] for column in PERSON if row.get(column))
                problems.append(f'line {line}: nobody is known as "{shown(told)}"')
            elif people.setdefault(owner.id, (owner, row["team"]))[1] != row["team"]:
                problems.append(f'line {line}: "{shown(owner.login)}" is in two teams')
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
        name = _checked(name)
        team = known.setdefault(name.casefold(), name)
        was = before.get(owner.login)
        if owner.staff:
            raise LadderError(f"{shown(owner.login)} is staff, who is in no team.\nNobody joined.")
        if was == team:
            continue
        if was is not None and not move:
            raise LadderError(
                f"{shown(owner.login)} is in the team {shown(was)}.\nNobody joined. Let people move: --move"
            )
        if any(at < (row.until or row.since) for row in rows if row.login == owner.login):
            raise LadderError(f"{shown(owner.login)} was in a team after that time.\nNobody joined. Name a later one.")
        told = f"joined {team}" if was is None else f"left {was}, joined {team}"
        told += "" if since is None else f" as of {told_at(at)}"
        note_act(connection, Act(who, "team", f"{told}: {why}", now, owner=owner.id))
        join_team(connection, team, owner.id, at)
        before[owner.login] = team
        joined, left = joined + 1, left + (was is not None)
    return Teamed(joined, left, cancel_unplayable(connection, now) if joined else 0)


def _teams(connection: Connection) -> dict[str, str]:
    """Return the teams that people are in now, by their logins."""
    return {each.login: each.team for each in memberships(connection) if each.until is None}


def _checked(team: str) -> str:
    """Return a team's name as it is kept. Raises LadderError."""
    name = unicodedata.normalize("NFC", team.strip())
    if not name or not name.isprintable() or len(name) > _LONGEST or cell(name) != name:
        raise LadderError(
            f'a team can\'t be called "{shown(name[:_LONGEST])}".\n'
            f"Take 1 to {_LONGEST} characters that can be printed, and no formula of a spreadsheet."
        )
    return name


def _rows(data: bytes, file: str) -> list[tuple[int, dict[str, str]]]:
    """Return (line, cells by COLUMNS) of the rows that tell a team. Raises LadderError for what is no such CSV."""
    try:
        text = data.decode("utf-8-sig")
        separator = max(",;\t", key=text.split("\n")[0].count)
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        told = next(reader, [])
        header = [COLUMNS.get(re.sub(r"[\s_.-]+", " ", each).strip().casefold(), "") for each in told]
        rows = [(reader.line_num, dict(zip(header, map(str.strip, row), strict=False))) for row in reader]
    except (UnicodeDecodeError, csv.Error) as problem:
        raise LadderError(f"{file} is no CSV in UTF-8: {problem}.\nSave it as CSV UTF-8.") from None
    if "team" not in header or not set(header) & set(PERSON):
        raise LadderError(
            f"{file}, line 1: the header tells no team and person: {shown(', '.join(told))[:200]}.\n"
            "It needs team or group, and one of login, email and number, such as login,team."
        )
    return [(line, row) for line, row in rows if row.get("team")]


def _person(owners: Sequence[Owner], row: Mapping[str, str]) -> Owner | None:
    for column in PERSON:
        told = row.get(column, "").casefold()
        found = [owner for owner in owners if told and (getattr(owner, column) or "").casefold() == told]
        if len(found) == 1:
            return found[0]
    return None
