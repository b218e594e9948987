"""Show users, credentials and teams, and stream the tables of an export.

Credentials are listed without their secrets. A team lists its present and former members. The export yields all
matches, versions, audit entries and users one by one, whatever their number."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, true

from ladder.permissions import Viewer, hide_fields
from ladder.store.database import (
    METADATA,
    Membership,
    User,
    all_credentials,
    all_users,
    list_memberships,
    suspension_reason,
    withdrawal_reason,
)
from ladder.views.context import ViewContext, paginate


@dataclass(frozen=True, slots=True)
class UserSummary:
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
class UserList:
    """Owners, in order of login."""

    rows: tuple[UserSummary, ...]
    next: str | None = None
    change: int | None = None


def list_users(reader: ViewContext, after: str | None = None, limit: int | None = None) -> UserList:
    """Return the owners, as the reader may know them."""
    part, more = paginate(all_users(reader.connection), lambda owner: owner.pseudonym, after, limit)
    rows = tuple(summarize_user(reader.connection, owner, reader.viewer) for owner in part)
    return UserList(rows, more, reader.change)


def summarize_user(connection: Connection, owner: User, viewer: Viewer) -> UserSummary:
    """Return an owner as a viewer may know the person."""
    line = UserSummary(
        owner.login, owner.name, owner.pseudonym, owner.staff, owner.email, owner.number, owner.section,
        suspension_reason(connection, owner), owner.canvas, owner.moodle, withdrawal_reason(connection, owner),
        owner.waiting,
    )  # fmt: skip
    return hide_fields(line, viewer, owner.login)


@dataclass(frozen=True, slots=True)
class CredentialSummary:
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
class CredentialList:
    """All of them, in order of id."""

    rows: tuple[CredentialSummary, ...]


def list_credentials(reader: ViewContext, login: str | None = None) -> CredentialList:
    """Return what lets people in: all, or what is a person's; less what isn't the reader's to see."""
    rows = (
        (
            CredentialSummary(
                each.id, each.login, each.kind, each.scope, each.by, each.at, each.ends, each.holds(reader.now)
            )
        )
        for each in all_credentials(reader.connection, login)
    )
    lines = (hide_fields(row, reader.viewer, row.login) for row in rows)
    return CredentialList(tuple(line for line in lines if line.id is not None))


@dataclass(frozen=True, slots=True)
class TeamList:
    """Who is and was in teams, in order of the teams' names."""

    rows: tuple[Membership, ...]
    change: int | None = None


def list_teams(reader: ViewContext) -> TeamList:
    """Return who is and was in teams, as far as the reader may know it: a mate isn't told what was."""
    rows = [
        hide_fields(each, reader.viewer, each.login)
        for each in list_memberships(reader.connection)
        if each.until is None or reader.viewer.sees(Membership, "until", each.login)
    ]
    return TeamList(tuple(row for row in rows if row.team is not None), reader.change)


acts, bots, matches, owners, versions = (
    METADATA.tables[name] for name in ("acts", "bots", "matches", "owners", "versions")
)


def make_export_queries(reader: ViewContext) -> dict[str, Select[Any]]:
    """Return a query for each table, by its name; owners are logins for who may know them, else pseudonyms.

    In matches, `ended_as` counts those that were played. Who decided is called as an owner is; others, such as staff
    and the ladder, as the decision says.
    """
    logins = reader.viewer.sees(UserSummary, "login")
    owner = owners.c.login if logins else owners.c.pseudonym
    of = owners.alias()  # whom a decision is about: decisions about people are told with logins alone
    tables: dict[str, Select[Any]] = {
        "matches": select(
            matches.c.id.label("match"), matches.c.kind, matches.c.round, matches.c.final, owner.label("by"),
            matches.c.state, matches.c.cause, matches.c.reason, matches.c.rates, matches.c.attempts,
            matches.c.at.label("queued"), matches.c.ended_at.label("ended"), matches.c.ended.label("ended_as"),
        ).outerjoin(owners, owners.c.id == matches.c.by).order_by(matches.c.id),
        "versions": select(
            bots.c.name.label("bot"), versions.c.number.label("version"), owner.label("owner"), bots.c.reference,
            func.coalesce(bots.c.active == versions.c.id, False).label("active"), versions.c.state, versions.c.reason,
            versions.c.at.label("submitted"), versions.c.examined_at.label("examined"), versions.c.digest,
        )
        .select_from(versions.join(bots, bots.c.id == versions.c.bot).join(owners, owners.c.id == bots.c.owner))
        .order_by(versions.c.id),
        "acts": select(
            acts.c.id.label("act"), acts.c.at, func.coalesce(owner, acts.c.who).label("who"), acts.c.what,
            bots.c.name.label("bot"), versions.c.number.label("version"), acts.c.match, of.c.login.label("owner"),
            acts.c.why,
        )
        .outerjoin(of, of.c.id == acts.c.owner)
        .outerjoin(owners, (owners.c.login == acts.c.who) & owners.c.staff.is_(False))
        .outerjoin(bots, bots.c.id == acts.c.bot)
        .outerjoin(versions, versions.c.id == acts.c.version)
        .where(true() if logins else acts.c.owner.is_(None))
        .order_by(acts.c.id),
    }  # fmt: skip
    if logins:
        columns = (
            owners.c.login, owners.c.name, owners.c.pseudonym, owners.c.section, owners.c.email, owners.c.number,
            owners.c.staff, owners.c.suspended, owners.c.gone,
        )  # fmt: skip
        people = (
            owners.c.merged.is_(None) & owners.c.waiting.is_(False) & (owners.c.login != "staff")
        )  # who owns the reference bots
        tables["owners"] = select(*columns).where(people).order_by(owners.c.login)
    return tables
