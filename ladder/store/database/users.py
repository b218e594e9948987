"""Store users, their credentials, teams and deadline extensions.

A credential is a link for one sign-in, a browser's session or a program's token. Its secret is shown once and only
its SHA-256 is stored, so a copy of the database admits no user. A password is stored as a hash; its digest identifies
only the write, to recognise a retry. A user is in one team at a time. Rows of extensions never change: a user's
newest one for a deadline applies."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from ladder.store.database.events import SIGNED_IN, USERS_CHANGED, record_event
from ladder.store.database.schema_tables import (
    bots,
    credentials,
    evening_places,
    evenings,
    extensions,
    matches,
    owners,
    team_members,
    teams,
)

LINK, SESSION, TOKEN, PASSWORD = "link", "session", "token", "password"
OPENID = "openid"  # an account at a provider; its digest is that of issuer and subject
JOIN = "join"  # a link of the staff's by which any number of people sign up; it signs nobody in


@dataclass(frozen=True, slots=True)
class Credential:
    """One of them. scope: read, or submit, which may read too; of a link to join: join, or ask.

    by: who made it. session: what a link was changed into. Times are seconds since 1970.
    """

    owner: int
    login: str
    kind: str
    digest: str
    scope: str
    by: str
    at: float
    ends: float
    revoked: bool = False
    session: int | None = None
    id: int = 0
    hash: str | None = field(default=None, repr=False)

    def holds(self, now: float) -> bool:
        """Return whether it still lets somebody in; a link does so once."""
        return not self.revoked and now < self.ends and self.session is None


_ALL = select(
    credentials.c.owner, owners.c.login, credentials.c.kind, credentials.c.digest, credentials.c.scope,
    credentials.c.by, credentials.c.at, credentials.c.ends, credentials.c.revoked, credentials.c.session,
    credentials.c.id, credentials.c.hash,
).join(owners, owners.c.id == credentials.c.owner)  # fmt: skip


def insert_credential(connection: Connection, new: Credential) -> int:
    """Write a credential once, and a session as an event; return its id: of the same digest it is the same."""
    known = find_credential(connection, new.digest)
    if known is not None:
        return known.id
    values = {
        "owner": new.owner, "kind": new.kind, "digest": new.digest, "scope": new.scope, "by": new.by,
        "at": new.at, "ends": new.ends, "revoked": False, "hash": new.hash,
    }  # fmt: skip
    id = int(connection.execute(insert(credentials).values(values).returning(credentials.c.id)).scalar_one())
    if new.kind == SESSION:
        record_event(connection, SIGNED_IN, new.at, said=f"{new.login}, session {id}, by {new.by}")
    return id


def find_credential(connection: Connection, digest: str) -> Credential | None:
    """Return the credential of a digest, None if there is none."""
    row = connection.execute(_ALL.where(credentials.c.digest == digest)).one_or_none()
    return None if row is None else Credential(*row)


def all_credentials(connection: Connection, login: str | None = None) -> list[Credential]:
    """Return the credentials of an owner, or all, in order of id."""
    query = _ALL.order_by(credentials.c.id)
    rows = connection.execute(query if login is None else query.where(owners.c.login == login))
    return [Credential(*row) for row in rows]


def record_session(connection: Connection, link: int, session: int) -> None:
    """Note that a link was changed into a session."""
    connection.execute(update(credentials).where(credentials.c.id == link).values(session=session))


def set_expiry(connection: Connection, id: int, ends: float) -> None:
    """Let a credential end at another time."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(ends=ends))


def expire_credential(connection: Connection, id: int) -> None:
    """End a credential; a password's hash is forgotten."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(revoked=True, hash=None))


# Nothing of such a person's plays, is submitted or counts.
IS_ACTIVE_USER = and_(owners.c.suspended.is_(False), owners.c.gone.is_(False), owners.c.waiting.is_(False))


@dataclass(frozen=True, slots=True)
class User:
    """A person: `login` is what the teacher and the commands call them, `pseudonym` what tables for everybody show.

    `number` is the school's own of the person. suspended: nothing of the person's plays, is submitted or counts.
    canvas: Canvas' ID of the person; moodle: the Identifier in Moodle's grading worksheet. gone: left the course, with
    the same consequence. merged: the id of the owner that this one became. waiting: staff hasn't approved the account.
    """

    login: str
    name: str
    pseudonym: str
    email: str | None = None
    section: str | None = None
    staff: bool = False
    number: str | None = None
    suspended: bool = False
    id: int = 0
    canvas: str | None = None
    moodle: str | None = None
    gone: bool = False
    merged: int | None = None
    waiting: bool = False


_COLUMNS = (
    owners.c.login, owners.c.name, owners.c.pseudonym, owners.c.email, owners.c.section, owners.c.staff,
    owners.c.number, owners.c.suspended, owners.c.id, owners.c.canvas, owners.c.moodle, owners.c.gone,
    owners.c.merged, owners.c.waiting,
)  # fmt: skip


def save_users(connection: Connection, people: Iterable[User], at: float) -> tuple[int, int]:
    """Add owners, and bring those whose login is known up to date; return how many of each.

    A known owner keeps the pseudonym: it stands in tables that people have seen.
    """
    added = changed = 0
    for person in people:
        known = find_user(connection, person.login)
        values = {
            "name": person.name, "email": person.email, "section": person.section, "staff": person.staff,
            "number": person.number, "canvas": person.canvas, "moodle": person.moodle,
        }  # fmt: skip
        if known is None:
            own = {"login": person.login, "pseudonym": person.pseudonym, "waiting": person.waiting, "at": at}
            connection.execute(insert(owners).values(own | values))
            added += 1
        elif any(getattr(known, name) != value for name, value in values.items()):
            connection.execute(update(owners).where(owners.c.id == known.id).values(**values))
            changed += 1
    if added or changed:
        record_event(connection, USERS_CHANGED, at)
    return added, changed


def set_user_suspended(connection: Connection, owner: int, suspended: bool) -> None:
    """Let nothing of an owner play, or let it play again. The act that says so is the caller's to note."""
    connection.execute(update(owners).where(owners.c.id == owner).values(suspended=suspended))


def set_user_withdrawn(connection: Connection, owner: int, gone: bool) -> None:
    """Let an owner be gone from the course, or be back. The act that says so is the caller's to note."""
    connection.execute(update(owners).where(owners.c.id == owner).values(gone=gone))


def set_user_approved(connection: Connection, owner: int) -> None:
    """Let an account that waited take part, without its email: no one verified it. The caller notes the act."""
    connection.execute(update(owners).where(owners.c.id == owner).values(waiting=False, email=None))


def delete_applicant(connection: Connection, owner: int) -> None:
    """Remove an account that waits, and its sessions. The act that says so is the caller's to note."""
    connection.execute(delete(credentials).where(credentials.c.owner == owner))
    connection.execute(delete(owners).where(owners.c.id == owner, owners.c.waiting.is_(True)))


def merge_user_rows(connection: Connection, old: User, new: User, at: float) -> None:
    """Let one owner become another: bots, challenges, tables, more time and memberships of teams are the other's.

    The old one is in no team any more. The other gets what is known of the old one alone. What let the old one in lets
    nobody in any more, but for an account at a provider, which is the other's now. The row of the old one stays, so
    that the login leads to the other.
    """
    for table, column in (
        (bots, bots.c.owner), (matches, matches.c.by), (evenings, evenings.c.owner), (extensions, extensions.c.owner),
        (evening_places, evening_places.c.owner), (team_members, team_members.c.owner), (owners, owners.c.merged),
    ):  # fmt: skip
        connection.execute(update(table).where(column == old.id).values({column: new.id}))
    of_old = update(credentials).where(credentials.c.owner == old.id)
    connection.execute(of_old.where(credentials.c.kind != OPENID).values(revoked=True, hash=None))
    connection.execute(of_old.where(credentials.c.kind == OPENID).values(owner=new.id))
    known = {name: getattr(new, name) or getattr(old, name) for name in _MERGED}
    connection.execute(update(owners).where(owners.c.id == new.id).values(**known))
    connection.execute(update(owners).where(owners.c.id == old.id).values(merged=new.id))
    record_event(connection, USERS_CHANGED, at)


_MERGED = ("email", "section", "number", "canvas", "moodle")


def find_user(connection: Connection, login: str) -> User | None:
    """Return the owner of a login, or the one that the login's became; None if there is none."""
    row = connection.execute(select(*_COLUMNS).where(owners.c.login == login)).one_or_none()
    if row is not None and row.merged is not None:
        row = connection.execute(select(*_COLUMNS).where(owners.c.id == row.merged)).one()
    return None if row is None else User(*row)


def all_users(connection: Connection, merged: bool = False) -> list[User]:
    """Return all owners, in order of login; with `merged` also those that became another."""
    query = select(*_COLUMNS).order_by(owners.c.login)
    if not merged:
        query = query.where(owners.c.merged.is_(None))
    return [User(*row) for row in connection.execute(query)]


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


def list_memberships(connection: Connection) -> list[Membership]:
    """Return who is and was in which team, in order of teams' names, then of time."""
    query = (
        select(teams.c.name, owners.c.login, owners.c.name, team_members.c.since, team_members.c.until)
        .join(team_members, team_members.c.team == teams.c.id)
        .join(owners, owners.c.id == team_members.c.owner)
    )
    return [Membership(*row) for row in connection.execute(query.order_by(teams.c.name, team_members.c.id))]


def teammates_at(connection: Connection, at: float) -> dict[int, set[int]]:
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


def get_party(connection: Connection, owner: User) -> dict[int, str]:
    """Return who counts as one with an owner, the owner among them: ids and logins of those who are in the team now."""
    mine = select(team_members.c.team).where(team_members.c.owner == owner.id, _NOW)
    query = select(owners.c.id, owners.c.login).join(team_members, team_members.c.owner == owners.c.id)
    rows = connection.execute(query.where(_NOW, team_members.c.team.in_(mine)).order_by(owners.c.id))
    return {owner.id: owner.login} | {row.id: row.login for row in rows}


@dataclass(frozen=True, slots=True)
class Extension:
    """A person's own end of a deadline, by the deadline's name. until: seconds since 1970, None: the deadline's own.

    late_days: of the person's own that it took. why: the reason, as it is told to the person.
    """

    owner: int
    deadline: str
    until: float | None
    late_days: int
    why: str


def insert_extension(connection: Connection, extension: Extension) -> None:
    """Let an extension hold from now on. The act that says so is the caller's to note."""
    columns = ("owner", "deadline", "until", "late_days", "why")
    connection.execute(insert(extensions).values({name: getattr(extension, name) for name in columns}))


def extensions_in_force(connection: Connection) -> list[Extension]:
    """Return the extensions that hold now, in the order in which they were given."""
    newest = select(func.max(extensions.c.id)).group_by(extensions.c.owner, extensions.c.deadline)
    query = select(
        extensions.c.owner, extensions.c.deadline, extensions.c.until, extensions.c.late_days, extensions.c.why
    ).where(extensions.c.id.in_(newest), extensions.c.until.is_not(None))  # fmt: skip
    return [Extension(*row) for row in connection.execute(query.order_by(extensions.c.id))]
