"""All matches, versions, decisions and owners, one after the other, however many there are: the tables of an export."""

from typing import Any

from sqlalchemy import Select, func, select, true

from ladder.store.database import TABLES
from ladder.views.owner import OwnerLine
from ladder.views.reader import Reader

acts, bots, matches, owners, versions = (
    TABLES.tables[name] for name in ("acts", "bots", "matches", "owners", "versions")
)


def lists(reader: Reader) -> dict[str, Select[Any]]:
    """Return a query for each table, by its name; owners are logins for who may know them, else pseudonyms.

    In matches, `ended_as` counts those that were played. Who decided is called as an owner is; others, such as staff
    and the ladder, as the decision says.
    """
    logins = reader.viewer.sees(OwnerLine, "login")
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
