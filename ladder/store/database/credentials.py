"""What lets people in without the ladder's file: a link for one sign-in, a browser's session, a program's token.

Each is a secret that is shown once. Only its SHA-256 is kept, so that a copy of the ladder lets nobody in. So does a
password; of it a hash is kept, and its digest is that of nothing: it only tells a write from its second try.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection, insert, select, update

from ladder.store.database.events import SIGNED_IN, note_event
from ladder.store.database.tables import credentials, owners

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
        """Tell whether it still lets somebody in; a link does so once."""
        return not self.revoked and now < self.ends and self.session is None


_ALL = select(
    credentials.c.owner, owners.c.login, credentials.c.kind, credentials.c.digest, credentials.c.scope,
    credentials.c.by, credentials.c.at, credentials.c.ends, credentials.c.revoked, credentials.c.session,
    credentials.c.id, credentials.c.hash,
).join(owners, owners.c.id == credentials.c.owner)  # fmt: skip


def put_credential(connection: Connection, new: Credential) -> int:
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
        note_event(connection, SIGNED_IN, new.at, said=f"{new.login}, session {id}, by {new.by}")
    return id


def find_credential(connection: Connection, digest: str) -> Credential | None:
    """Return the credential of a digest, None if there is none."""
    row = connection.execute(_ALL.where(credentials.c.digest == digest)).one_or_none()
    return None if row is None else Credential(*row)


def credentials_of(connection: Connection, login: str | None = None) -> list[Credential]:
    """Return the credentials of an owner, or all, in order of id."""
    query = _ALL.order_by(credentials.c.id)
    rows = connection.execute(query if login is None else query.where(owners.c.login == login))
    return [Credential(*row) for row in rows]


def set_session(connection: Connection, link: int, session: int) -> None:
    """Note that a link was changed into a session."""
    connection.execute(update(credentials).where(credentials.c.id == link).values(session=session))


def set_ends(connection: Connection, id: int, ends: float) -> None:
    """Let a credential end at another time."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(ends=ends))


def revoke(connection: Connection, id: int) -> None:
    """End a credential; a password's hash is forgotten."""
    connection.execute(update(credentials).where(credentials.c.id == id).values(revoked=True, hash=None))
