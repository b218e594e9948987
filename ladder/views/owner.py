"""Who owns bots."""

from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.access import Viewer, visible
from ladder.store.database import Owner, all_owners, why_gone, why_suspended
from ladder.views.cursor import cut
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class OwnerLine:
    """A person; all but staff, the person and his team know the pseudonym alone. number: the school's.

    canvas: Canvas' ID of the person; moodle: the Identifier in Moodle's grading worksheet.
    suspended: why nothing of the person's plays, is submitted or counts, None if it does. gone: why the person
    left the course, with the same consequence, None if the person didn't. waiting: staff hasn't approved the account.
    """

    login: str | None
    name: str | None
    pseudonym: str
    staff: bool
    email: str | None
    number: str | None
    section: str | None
    suspended: str | None
    canvas: str | None = None
    moodle: str | None = None
    gone: str | None = None
    waiting: bool | None = None


@dataclass(frozen=True, slots=True)
class OwnerList:
    """Owners, in order of login."""

    rows: tuple[OwnerLine, ...]
    next: str | None = None
    change: int | None = None


def owner_list(reader: Reader, after: str | None = None, limit: int | None = None) -> OwnerList:
    """Return the owners, as the reader may know them."""
    part, more = cut(all_owners(reader.connection), lambda owner: owner.pseudonym, after, limit)
    rows = tuple(owner_line(reader.connection, owner, reader.viewer) for owner in part)
    return OwnerList(rows, more, reader.change)


def owner_line(connection: Connection, owner: Owner, viewer: Viewer) -> OwnerLine:
    """Return an owner as a viewer may know the person."""
    line = OwnerLine(
        owner.login, owner.name, owner.pseudonym, owner.staff, owner.email, owner.number, owner.section,
        why_suspended(connection, owner), owner.canvas, owner.moodle, why_gone(connection, owner),
        owner.waiting,
    )  # fmt: skip
    return visible(line, viewer, owner.login)
