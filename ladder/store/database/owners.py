"""The people who own bots."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, insert, select, update

from ladder.store.database.credentials import OPENID
from ladder.store.database.events import PEOPLE, note_event
from ladder.store.database.tables import (
    bots,
    credentials,
    evening_places,
    evenings,
    extensions,
    matches,
    owners,
    team_members,
)

# Nothing of such a person's plays, is submitted or counts.
TAKES_PART = and_(owners.c.suspended.is_(False), owners.c.gone.is_(False), owners.c.waiting.is_(False))


@dataclass(frozen=True, slots=True)
class Owner:
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


def put_owners(connection: Connection, people: Iterable[Owner], at: float) -> tuple[int, int]:
    """Add owners, and bring those whose login is known up to date; return how many of each.

    A known owner keeps the pseudonym: it stands in tables that people have seen.
    """
    added = changed = 0
    for person in people:
        known = find_owner(connection, person.login)
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
        note_event(connection, PEOPLE, at)
    return added, changed


def put_suspended(connection: Connection, owner: int, suspended: bool) -> None:
    """Let nothing of an owner play, or let it play again. The act that says so is the caller's to note."""
    connection.execute(update(owners).where(owners.c.id == owner).values(suspended=suspended))


def put_gone(connection: Connection, owner: int, gone: bool) -> None:
    """Let an owner be gone from the course, or be back. The act that says so is the caller's to note."""
    connection.execute(update(owners).where(owners.c.id == owner).values(gone=gone))


def set_approved(connection: Connection, owner: int) -> None:
    """Let an account that waited take part, without its email: no one verified it. The caller notes the act."""
    connection.execute(update(owners).where(owners.c.id == owner).values(waiting=False, email=None))


def remove_waiting(connection: Connection, owner: int) -> None:
    """Remove an account that waits, and its sessions. The act that says so is the caller's to note."""
    connection.execute(delete(credentials).where(credentials.c.owner == owner))
    connection.execute(delete(owners).where(owners.c.id == owner, owners.c.waiting.is_(True)))


def merge_owners(connection: Connection, old: Owner, new: Owner, at: float) -> None:
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
    note_event(connection, PEOPLE, at)


_MERGED = ("email", "section", "number", "canvas", "moodle")


def find_owner(connection: Connection, login: str) -> Owner | None:
    """Return the owner of a login, or the one that the login's became; None if there is none."""
    row = connection.execute(select(*_COLUMNS).where(owners.c.login == login)).one_or_none()
    if row is not None and row.merged is not None:
        row = connection.execute(select(*_COLUMNS).where(owners.c.id == row.merged)).one()
    return None if row is None else Owner(*row)


def all_owners(connection: Connection, merged: bool = False) -> list[Owner]:
    """Return all owners, in order of login; with `merged` also those that became another."""
    query = select(*_COLUMNS).order_by(owners.c.login)
    if not merged:
        query = query.where(owners.c.merged.is_(None))
    return [Owner(*row) for row in connection.execute(query)]
