"""Who asked to join by a link, and what staff decided. Of the secret that leads back to a request, a digest is kept."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from ladder.store.database.events import PEOPLE, note_event
from ladder.store.database.tables import applicants

ASKS, TAKEN, REFUSED = "waiting", "taken", "refused"


@dataclass(frozen=True, slots=True)
class Applicant:
    """Somebody who asked to join. state: waiting, taken, refused. why: the reason of a refusal."""

    id: int
    login: str
    name: str
    email: str | None
    digest: str
    state: str
    why: str | None
    at: float


def put_applicant(connection: Connection, login: str, name: str, email: str | None, digest: str, at: float) -> None:
    """Write a request to join."""
    values = {"login": login, "name": name, "email": email, "digest": digest, "state": ASKS, "at": at}
    connection.execute(insert(applicants).values(values))
    note_event(connection, PEOPLE, at)


def all_applicants(connection: Connection) -> list[Applicant]:
    """Return all applicants, in order of id."""
    return [Applicant(**row) for row in connection.execute(select(applicants).order_by(applicants.c.id)).mappings()]


def decide_applicant(connection: Connection, id: int, state: str, why: str | None = None) -> None:
    """Let an applicant be taken, or refused. The act is the caller's to note."""
    connection.execute(update(applicants).where(applicants.c.id == id).values(state=state, why=why))
