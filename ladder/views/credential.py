"""Who is let in without the ladder's file, and by what. Of a secret nothing is told."""

from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import credentials_of
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class CredentialLine:
    """A link, a session or a token: whose, what for, who made it, until when. holds: it lets somebody in now."""

    id: int
    login: str
    kind: str
    scope: str
    by: str
    at: float
    ends: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Credentials:
    """All of them, in order of id."""

    rows: tuple[CredentialLine, ...]


def credential_list(reader: Reader, login: str | None = None) -> Credentials:
    """Return what lets people in: all, or what is a person's; less what isn't the reader's to see."""
    rows = (
        (
            CredentialLine(
                each.id, each.login, each.kind, each.scope, each.by, each.at, each.ends, each.holds(reader.now)
            )
        )
        for each in credentials_of(reader.connection, login)
    )
    lines = (visible(row, reader.viewer, row.login) for row in rows)
    return Credentials(tuple(line for line in lines if line.id is not None))
