"""Who owns bots."""

from dataclasses import dataclass

from ladder.access import Viewer, visible
from ladder.store.database import Owner, all_owners
from ladder.views.cursor import cut
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class OwnerLine:
    """A person; all but staff, and the person, know the pseudonym alone. number: the school's."""

    login: str | None
    name: str | None
    pseudonym: str
    staff: bool
    email: str | None
    number: str | None
    section: str | None


@dataclass(frozen=True, slots=True)
class OwnerList:
    """Owners, in order of login."""

    rows: tuple[OwnerLine, ...]
    next: str | None = None
    change: int | None = None


def owner_list(reader: Reader, after: str | None = None, limit: int | None = None) -> OwnerList:
    """Return the owners, as the reader may know them."""
    part, more = cut(all_owners(reader.connection), lambda owner: owner.pseudonym, after, limit)
    return OwnerList(tuple(told_owner(owner, reader.viewer) for owner in part), more)


def told_owner(owner: Owner, viewer: Viewer) -> OwnerLine:
    """Return an owner as a viewer may know the person."""
    told = OwnerLine(
        owner.login, owner.name, owner.pseudonym, owner.staff, owner.email, owner.number, owner.section
    )  # fmt: skip
    return visible(told, viewer, owner.login)
