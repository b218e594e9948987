"""Teams of owners, and who was in which when. An owner is in one team at a time."""

from collections import defaultdict
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from ladder.store.database.owners import Owner
from ladder.store.database.tables import bots, owners, team_members, teams

_NOW = team_members.c.until.is_(None)

# Whose a bot is, where two of one never meet: minus the team's id, of an owner without a team the owner's.
PARTY = func.coalesce(
    select(-func.max(team_members.c.team))
    .where(team_members.c.owner == bots.c.owner, _NOW)
    .correlate(bots)
    .scalar_subquery(),
    bots.c.owner,
).label("party")


@dataclass(frozen=True, slots=True)
class Membership:
    """An owner in a team, from a time on, in seconds since 1970. until: None while it holds."""

    team: str
    login: str
    name: str
    since: float
    until: float | None


def join_team(connection: Connection, team: str, owner: int, at: float) -> None:
    """Let an owner be in a team from a time on, and in no other; the team is made if there is none of the name.

    Who is in it is so since that time. The act that says so is the caller's to note.
    """
    id = connection.scalar(select(teams.c.id).where(teams.c.name == team))
    if id is None:
        id = connection.execute(insert(teams).values(name=team, at=at).returning(teams.c.id)).scalar_one()
    now_in = update(team_members).where(team_members.c.owner == owner, team_members.c.team == id, _NOW)
    if connection.execute(now_in.values(since=at)).rowcount:
        return
    leave_team(connection, owner, at)
    connection.execute(insert(team_members).values(team=id, owner=owner, since=at))


def leave_team(connection: Connection, owner: int, at: float) -> None:
    """Let an owner be in no team from now on. The act that says so is the caller's to note."""
    connection.execute(update(team_members).where(team_members.c.owner == owner, _NOW).values(until=at))


def memberships(connection: Connection) -> list[Membership]:
    """Return who is and was in which team, in order of teams' names, then of time."""
    query = (
        select(teams.c.name, owners.c.login, owners.c.name, team_members.c.since, team_members.c.until)
        .join(team_members, team_members.c.team == teams.c.id)
        .join(owners, owners.c.id == team_members.c.owner)
    )
    return [Membership(*row) for row in connection.execute(query.order_by(teams.c.name, team_members.c.id))]


def teams_at(connection: Connection, at: float) -> dict[int, set[int]]:
    """Return the ids of those with whom an owner was in a team at a time, the owner among them; by the owner's id."""
    then = (team_members.c.since <= at) & (_NOW | (team_members.c.until > at))
    members: defaultdict[int, set[int]] = defaultdict(set)
    for team, owner in connection.execute(select(team_members.c.team, team_members.c.owner).where(then)):
        members[team].add(owner)
    mates: defaultdict[int, set[int]] = defaultdict(set)
    for team in members.values():
        for owner in team:  # two owners who became one may have been in two teams
            mates[owner] |= team
    return dict(mates)


def party_of(connection: Connection, owner: Owner) -> dict[int, str]:
    """Return who counts as one with an owner, the owner among them: ids and logins of those who are in the team now."""
    mine = select(team_members.c.team).where(team_members.c.owner == owner.id, _NOW)
    query = select(owners.c.id, owners.c.login).join(team_members, team_members.c.owner == owners.c.id)
    rows = connection.execute(query.where(_NOW, team_members.c.team.in_(mine)).order_by(owners.c.id))
    return {owner.id: owner.login} | {row.id: row.login for row in rows}
