"""The people who own bots."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from ladder.store.database.events import PEOPLE, note_event
from ladder.store.database.tables import owners


@dataclass(frozen=True, slots=True)
class Owner:
    """A person: `login` is what the teacher and the commands call them, `pseudonym` what tables for everybody show.

    `number` is the school's own of the person. suspended: nothing of the person's plays, is submitted or counts.
    canvas: Canvas' ID of the person; moodle: the Identifier in Moodle's grading worksheet. gone: left the course.
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


_COLUMNS = (
    owners.c.login, owners.c.name, owners.c.pseudonym, owners.c.email, owners.c.section, owners.c.staff,
    owners.c.number, owners.c.suspended, owners.c.id, owners.c.canvas, owners.c.moodle, owners.c.gone,
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
            connection.execute(insert(owners).values(login=person.login, pseudonym=person.pseudonym, at=at, **values))
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


def find_owner(connection: Connection, login: str) -> Owner | None:
    """Return the owner of a login, None if there is none."""
    row = connection.execute(select(*_COLUMNS).where(owners.c.login == login)).one_or_none()
    return None if row is None else Owner(*row)


def all_owners(connection: Connection) -> list[Owner]:
    """Return all owners, in order of login."""
    return [Owner(*row) for row in connection.execute(select(*_COLUMNS).order_by(owners.c.login))]
