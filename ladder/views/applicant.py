"""Who asked to join, for staff."""

from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import ASKS, all_applicants, all_owners
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class ApplicantLine:
    """Somebody who asked. state: waiting, taken, refused; why: the reason of a refusal.

    known: the login or the email is that of somebody who is here already.
    """

    id: int
    login: str
    name: str
    email: str | None
    at: float
    state: str
    why: str | None
    known: bool


@dataclass(frozen=True, slots=True)
class Applicants:
    """All who asked, in order of time."""

    rows: tuple[ApplicantLine, ...]


def applicant_list(reader: Reader) -> Applicants:
    """Return who asked to join."""
    here = {word.casefold() for owner in all_owners(reader.connection) for word in (owner.login, owner.email) if word}
    rows = []
    for each in all_applicants(reader.connection):
        known = each.state == ASKS and not here.isdisjoint((each.login.casefold(), (each.email or "").casefold()))
        line = ApplicantLine(each.id, each.login, each.name, each.email, each.at, each.state, each.why, known)
        rows.append(visible(line, reader.viewer))
    return visible(Applicants(tuple(rows)), reader.viewer)
