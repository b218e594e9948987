"""Store users, their credentials, teams and deadline extensions.

A credential is a link for one sign-in, a browser's session or a program's token. Its secret is shown once and only its
SHA-256 is stored, so a copy of the database is no use for signing in. A password is stored as a hash; its digest only
identifies the write, to recognise a retry. A user is in one team at a time. Rows of extensions never change: a user's
newest one for a deadline applies."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from ladder.store.events import SIGNED_IN, USERS_CHANGED, list_audit_entries, record_event
from ladder.store.schema_tables import (
    bots,
    chat_messages,
    credentials,
    deadline_extensions,
    matches,
    session_players,
    session_slots,
    table_sessions,
    team_members,
    teams,
    users,
)

LINK, SESSION, TOKEN, PASSWORD = "link", "session", "token", "password"
SESSION_IDLE_S = 7 * 86_400.0  # an unused session expires after this time, to within a day
OPENID = "openid"  # an account at an identity provider; its digest is that of issuer and subject
TEAM = "team"  # an invitation to the team of the user that created it; it starts no session
JOIN = "join"  # a sign-up link, created by staff, for any number of users; it starts no session


@dataclass(frozen=True, slots=True)
class Credential:
    """A link, session, token, password or provider account.

    scope: read, or submit, which includes read; of a sign-up link: join or ask. created_by: a login. session_id: the
    session that a link was exchanged for. Times are Unix times.
    """

    user_id: int
    login: str
    kind: str
    token_sha256: str
    scope: str
    created_by: str
    created_at: float
    expires_at: float
    revoked: bool = False
    session_id: int | None = None
    id: int = 0
    password_hash: str | None = field(default=None, repr=False)

    def is_valid(self, now: float) -> bool:
        """Return whether the credential is valid: not revoked or expired, and, if a link, not used."""
        return not self.revoked and now < self.expires_at and self.session_id is None


_CREDENTIALS = select(
    *(users.c.login if name == "login" else credentials.c[name] for name in Credential.__dataclass_fields__)
).join(users, users.c.id == credentials.c.user_id)


def insert_credential(connection: Connection, new: Credential) -> int:
    """Insert a credential (of a session with an event); return its id, or that of an existing one with its digest."""
    stored = find_credential(connection, new.token_sha256)
    if stored is not None:
        return stored.id
    values = {
        "user_id": new.user_id, "kind": new.kind, "token_sha256": new.token_sha256, "scope": new.scope,
        "created_by": new.created_by, "created_at": new.created_at, "expires_at": new.expires_at, "revoked": False,
        "password_hash": new.password_hash,
    }  # fmt: skip
    id = int(connection.execute(insert(credentials).values(values).returning(credentials.c.id)).scalar_one())
    if new.kind == SESSION:
        record_event(connection, SIGNED_IN, new.created_at, details=f"{new.login}, session {id}, by {new.created_by}")
    return id


def find_credential(connection: Connection, token_sha256: str) -> Credential | None:
    """Return the credential with this digest, None without one."""
    row = connection.execute(_CREDENTIALS.where(credentials.c.token_sha256 == token_sha256)).one_or_none()
    return None if row is None else Credential(*row)


def all_credentials(connection: Connection, login: str | None = None) -> list[Credential]:
    """Return the credentials of the user with a login, or of all users for None, in order of id."""
    query = _CREDENTIALS.order_by(credentials.c.id)
    rows = connection.execute(query if login is None else query.where(users.c.login == login))
    return [Credential(*row) for row in rows]


def list_last_seen(connection: Connection) -> dict[int, float]:
    """Return, by user id, when a user that ever signed in was last seen with a session, to within a day."""
    query = select(credentials.c.user_id, func.max(credentials.c.created_at), func.max(credentials.c.expires_at))
    rows = connection.execute(query.where(credentials.c.kind == SESSION).group_by(credentials.c.user_id))
    return {user_id: max(created_at, expires_at - SESSION_IDLE_S) for user_id, created_at, expires_at in rows}


def record_session(connection: Connection, link_id: int, session_id: int) -> None:
    """Record that a link was exchanged for a session."""
    connection.execute(update(credentials).where(credentials.c.id == link_id).values(session_id=session_id))


def set_expiry(connection: Connection, id: int, expires_at: float) -> None:
    """Change the expiry of a credential."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(expires_at=expires_at))


def expire_credential(connection: Connection, id: int) -> None:
    """Revoke a credential, and delete a password's hash."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(revoked=True, password_hash=None))


# The bots of other users don't play and don't count, and these users can't submit.
IS_ACTIVE_USER = and_(users.c.suspended.is_(False), users.c.withdrawn.is_(False), users.c.waiting.is_(False))


@dataclass(frozen=True, slots=True)
class User:
    """A user: staff and commands use the `login`, public standings show the `pseudonym`.

    student_id: the school's. suspended: the user can't submit, and the user's bots don't play or count; the same if
    withdrawn (left the course) or waiting (for staff's approval of the account). canvas_id: the user's ID in Canvas;
    moodle_id: the Identifier in Moodle's grading worksheet. merged_into: another user's id. shows_name: on podiums.
    """

    login: str
    name: str
    pseudonym: str
    email: str | None = None
    section: str | None = None
    staff: bool = False
    student_id: str | None = None
    suspended: bool = False
    id: int = 0
    canvas_id: str | None = None
    moodle_id: str | None = None
    withdrawn: bool = False
    merged_into: int | None = None
    waiting: bool = False
    shows_name: bool = False


_COLUMNS = [users.c[name] for name in User.__dataclass_fields__]


def save_users(connection: Connection, people: Iterable[User], timestamp: float) -> tuple[int, int]:
    """Add users, and update users whose login is known; return the numbers of added and changed users.

    A known user keeps the pseudonym, which is shown in standings.
    """
    added_count = changed_count = 0
    for person in people:
        user = find_user(connection, person.login)
        values = {name: getattr(person, name) for name in _UPDATED_COLUMNS}
        if user is None:
            lasting_values = {"login": person.login, "pseudonym": person.pseudonym, "waiting": person.waiting}
            connection.execute(insert(users).values(**lasting_values, **values, created_at=timestamp))
            added_count += 1
        elif any(getattr(user, name) != value for name, value in values.items()):
            connection.execute(update(users).where(users.c.id == user.id).values(**values))
            changed_count += 1
    if added_count or changed_count:
        record_event(connection, USERS_CHANGED, timestamp)
    return added_count, changed_count


_UPDATED_COLUMNS = ("name", "email", "section", "staff", "student_id", "canvas_id", "moodle_id")


def set_user_suspended(connection: Connection, user_id: int, *, suspended: bool) -> None:
    """Suspend or reinstate a user. The caller writes the audit log."""
    connection.execute(update(users).where(users.c.id == user_id).values(suspended=suspended))


def set_user_withdrawn(connection: Connection, user_id: int, *, withdrawn: bool) -> None:
    """Withdraw or reinstate a user. The caller writes the audit log."""
    connection.execute(update(users).where(users.c.id == user_id).values(withdrawn=withdrawn))


def set_user_shows_name(connection: Connection, login: str, *, shows_name: bool, timestamp: float) -> None:
    """Store whether a user agrees to have the name on podiums."""
    connection.execute(update(users).where(users.c.login == login).values(shows_name=shows_name))
    record_event(connection, USERS_CHANGED, timestamp)


def set_user_approved(connection: Connection, user_id: int) -> None:
    """Approve an account and remove its unverified email. The caller writes the audit log."""
    connection.execute(update(users).where(users.c.id == user_id).values(waiting=False, email=None))


def delete_applicant(connection: Connection, user_id: int) -> None:
    """Remove an account with its credentials, unless it is approved. The caller writes the audit log."""
    conditions = (users.c.id == user_id, users.c.waiting.is_(True))
    connection.execute(delete(credentials).where(credentials.c.user_id.in_(select(users.c.id).where(*conditions))))
    connection.execute(delete(users).where(*conditions))


def merge_user_rows(connection: Connection, old: User, new: User, timestamp: float) -> None:
    """Merge user `old` into `new`: move bots, challenges, tables, chat lines, extensions and team memberships.

    `new` gets the values that it lacks, and the account at an identity provider. All other credentials of `old` are
    revoked. The row of `old` stays, so that its login leads to `new`.
    """
    for table, column in (
        (bots, bots.c.owner_id), (matches, matches.c.requested_by), (table_sessions, table_sessions.c.opened_by),
        (deadline_extensions, deadline_extensions.c.user_id), (session_slots, session_slots.c.user_id),
        (session_players, session_players.c.user_id), (team_members, team_members.c.user_id),
        (users, users.c.merged_into), (chat_messages, chat_messages.c.user_id),
    ):  # fmt: skip
        connection.execute(update(table).where(column == old.id).values({column: new.id}))
    old_credentials = update(credentials).where(credentials.c.user_id == old.id)
    connection.execute(old_credentials.where(credentials.c.kind != OPENID).values(revoked=True, password_hash=None))
    connection.execute(old_credentials.where(credentials.c.kind == OPENID).values(user_id=new.id))
    values = {name: getattr(new, name) or getattr(old, name) for name in _MERGED_COLUMNS}
    connection.execute(update(users).where(users.c.id == new.id).values(**values))
    connection.execute(update(users).where(users.c.id == old.id).values(merged_into=new.id))
    record_event(connection, USERS_CHANGED, timestamp)


_MERGED_COLUMNS = ("email", "section", "student_id", "canvas_id", "moodle_id")


def find_user(connection: Connection, login: str) -> User | None:
    """Return the user with this login, or the one that it was merged into; None without one."""
    row = connection.execute(select(*_COLUMNS).where(users.c.login == login)).one_or_none()
    if row is not None and row.merged_into is not None:
        row = connection.execute(select(*_COLUMNS).where(users.c.id == row.merged_into)).one()
    return None if row is None else User(*row)


def find_login(connection: Connection, bot: int | None, user_id: int | None) -> str | None:
    """Return the login of a bot's owner or, without a bot, of a user; both by id. None without both."""
    owner = users.c.id == user_id if bot is None else users.c.id == select(bots.c.owner_id).where(bots.c.id == bot)
    return connection.scalar(select(users.c.login).where(owner))


def all_users(connection: Connection, merged: bool = False) -> list[User]:
    """Return all users, in order of login; with `merged` also users that were merged into others."""
    query = select(*_COLUMNS).order_by(users.c.login)
    if not merged:
        query = query.where(users.c.merged_into.is_(None))
    return [User(*row) for row in connection.execute(query)]


_IS_CURRENT = team_members.c.left_at.is_(None)

# The party of a bot: minus its owner's current team's id, or the owner's id. Two bots of a party never meet.
PARTY = func.coalesce(
    select(-func.max(team_members.c.team_id))
    .where(team_members.c.user_id == bots.c.owner_id, _IS_CURRENT)
    .correlate(bots)
    .scalar_subquery(),
    bots.c.owner_id,
).label("party")


@dataclass(frozen=True, slots=True)
class Membership:
    """A user's membership of a team. Times are Unix times; left_at: None for a current member."""

    team: str
    login: str
    name: str
    joined_at: float
    left_at: float | None


def join_team(connection: Connection, team: str, user_id: int, timestamp: float) -> None:
    """Add a user to a team from a Unix time on, and remove the user from any other; a new name creates the team.

    For a current member, only correct the time. The caller writes the audit log.
    """
    id = _get_or_create_team(connection, team, timestamp)
    membership = (team_members.c.user_id == user_id, team_members.c.team_id == id, _IS_CURRENT)
    if connection.execute(update(team_members).where(*membership).values(joined_at=timestamp)).rowcount:
        return
    leave_team(connection, user_id, timestamp)
    connection.execute(insert(team_members).values(team_id=id, user_id=user_id, joined_at=timestamp))


def _get_or_create_team(connection: Connection, name: str, timestamp: float) -> int:
    id: int | None = connection.scalar(select(teams.c.id).where(teams.c.name == name))
    if id is not None:
        return id
    query = insert(teams).values(name=name, created_at=timestamp).returning(teams.c.id)
    return int(connection.execute(query).scalar_one())


def leave_team(connection: Connection, user_id: int, timestamp: float) -> None:
    """Remove a user from the current team, if any. The caller writes the audit log."""
    connection.execute(
        update(team_members).where(team_members.c.user_id == user_id, _IS_CURRENT).values(left_at=timestamp)
    )


def list_memberships(connection: Connection) -> list[Membership]:
    """Return all current and former memberships, in order of team name, then of time."""
    query = (
        select(teams.c.name, users.c.login, users.c.name, team_members.c.joined_at, team_members.c.left_at)
        .join(team_members, team_members.c.team_id == teams.c.id)
        .join(users, users.c.id == team_members.c.user_id)
    )
    return [Membership(*row) for row in connection.execute(query.order_by(teams.c.name, team_members.c.id))]


def teammates_at(connection: Connection, timestamp: float) -> dict[int, set[int]]:
    """Return, by user id, the ids of all members of the user's team at a Unix time, including the user.

    Users who were in no team are left out.
    """
    is_member = (team_members.c.joined_at <= timestamp) & (_IS_CURRENT | (team_members.c.left_at > timestamp))
    members_by_team: defaultdict[int, set[int]] = defaultdict(set)
    for team_id, user_id in connection.execute(select(team_members.c.team_id, team_members.c.user_id).where(is_member)):
        members_by_team[team_id].add(user_id)
    mates: defaultdict[int, set[int]] = defaultdict(set)
    for team in members_by_team.values():
        for member in team:  # after a merge, a user may have been in two teams
            mates[member] |= team
    return dict(mates)


def get_party(connection: Connection, user: User) -> dict[int, str]:
    """Return logins by id of a user's party: the current members of the user's team, or only the user."""
    own_team = select(team_members.c.team_id).where(team_members.c.user_id == user.id, _IS_CURRENT)
    query = select(users.c.id, users.c.login).join(team_members, team_members.c.user_id == users.c.id)
    rows = connection.execute(query.where(_IS_CURRENT, team_members.c.team_id.in_(own_team)).order_by(users.c.id))
    return {user.id: user.login} | {row.id: row.login for row in rows}


@dataclass(frozen=True, slots=True)
class Extension:
    """A user's extension of the named deadline. extended_until: Unix time; None: the original deadline applies.

    late_days: late days of the user that it uses up. reason: shown to the user.
    """

    user_id: int
    deadline: str
    extended_until: float | None
    late_days: int
    reason: str


def insert_extension(connection: Connection, extension: Extension) -> None:
    """Insert an extension, which replaces earlier ones of the user and deadline. The caller writes the audit log."""
    columns = Extension.__dataclass_fields__
    connection.execute(insert(deadline_extensions).values({name: getattr(extension, name) for name in columns}))


def rename_extensions(connection: Connection, deadline: str, name: str) -> None:
    """Give the extensions of a deadline its new name."""
    connection.execute(
        update(deadline_extensions).where(deadline_extensions.c.deadline == deadline).values(deadline=name)
    )


def extensions_in_force(connection: Connection) -> list[Extension]:
    """Return the extensions in force, in the order of their insertion."""
    column = deadline_extensions.c
    newest = select(func.max(column.id)).group_by(column.user_id, column.deadline)
    query = select(*(column[name] for name in Extension.__dataclass_fields__)).order_by(column.id)
    rows = connection.execute(query.where(column.id.in_(newest), column.extended_until.is_not(None)))
    return [Extension(*row) for row in rows]


def set_users_seen(connection: Connection, logins: Sequence[str], timestamp: float) -> None:
    """Store when users had a page open; unknown logins are ignored."""
    connection.execute(update(users).where(users.c.login.in_(logins)).values(seen_at=timestamp))


def list_pseudonyms_seen(connection: Connection, since: float) -> list[str]:
    """Return the pseudonyms of users that have had a page open since a Unix time, in order."""
    query = select(users.c.pseudonym).where(users.c.seen_at >= since, ~(users.c.suspended | users.c.withdrawn))
    return list(connection.scalars(query.order_by(users.c.pseudonym)).all())


def suspension_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user is suspended, None if the user isn't."""
    return list_audit_entries(connection, user_id=user.id, actions=("suspend",))[-1].reason if user.suspended else None


def withdrawal_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user was withdrawn, None if the user wasn't."""
    return list_audit_entries(connection, user_id=user.id, actions=("leave",))[-1].reason if user.withdrawn else None


def lockout_reason(connection: Connection, user: User) -> str | None:
    """Return the reason why a user's bots may not play, be submitted or count; None if they may.

    For example "suspended: copied from bob" or "no longer in the course: moved away".
    """
    if user.waiting:
        return "waiting for the staff's approval"
    if user.suspended:
        return f"suspended: {suspension_reason(connection, user)}"
    return f"no longer in the course: {withdrawal_reason(connection, user)}" if user.withdrawn else None
