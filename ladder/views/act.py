"""All that was decided in a ladder, the last first, for whoever looks after it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import or_, select

from ladder.access import visible
from ladder.store.database import TABLES
from ladder.views.reader import Reader

acts, bots, owners, versions = (TABLES.tables[name] for name in ("acts", "bots", "owners", "versions"))


@dataclass(frozen=True, slots=True)
class ActLine:
    """One decision, and what it is about: a bot, a version of it, a match, a person. by: who decided."""

    id: int
    at: float
    by: str
    what: str
    bot: str | None
    version: int | None
    match: int | None
    login: str | None
    why: str


@dataclass(frozen=True, slots=True)
class ActList:
    """Decisions. next: what to give as `after` for those before, None if there are none."""

    rows: tuple[ActLine, ...]
    next: int | None = None
    change: int | None = None


def act_list(
    reader: Reader, after: int | None = None, limit: int = 50, login: str | None = None, without: Sequence[str] = ()
) -> ActList:
    """Return so many decisions, those before the one whose number is `after`; all, or those about a person.

    without: the kinds that are left out.
    """
    about = owners.alias()
    of = owners.alias()  # whose the bot is
    query = (
        select(
            acts.c.id, acts.c.at, acts.c.who, acts.c.what, bots.c.name, versions.c.number, acts.c.match, about.c.login,
            acts.c.why,
        )
        .outerjoin(about, about.c.id == acts.c.owner)
        .outerjoin(bots, bots.c.id == acts.c.bot)
        .outerjoin(of, of.c.id == bots.c.owner)
        .outerjoin(versions, versions.c.id == acts.c.version)
        .order_by(acts.c.id.desc())
        .limit(limit + 1)
    )  # fmt: skip
    if after is not None:
        query = query.where(acts.c.id < after)
    if without:
        query = query.where(acts.c.what.not_in(without))
    if login is not None:
        query = query.where(or_(about.c.login == login, of.c.login == login))
    lines = [ActLine(*row) for row in reader.connection.execute(query)]
    more = lines[limit - 1].id if len(lines) > limit else None
    rows = tuple(visible(line, reader.viewer) for line in lines[:limit])
    return visible(ActList(rows, more, reader.change), reader.viewer)
