"""All versions, and all matches with their ends: one after the other, however many there are."""

from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from ladder.store.database import TABLES

AT_A_TIME = 1000  # rows in memory

bots, matches, owners, versions = (TABLES.tables[name] for name in ("bots", "matches", "owners", "versions"))

VERSION_COLUMNS = (
    "bot", "version", "owner", "reference", "active", "state", "reason", "submitted", "examined", "digest",
)  # fmt: skip
MATCH_COLUMNS = (
    "match", "kind", "round", "final", "by", "state", "cause", "reason", "rates", "attempts", "queued", "ended",
    "ended_as",
)  # fmt: skip


def version_rows(connection: Connection) -> Iterator[tuple[object, ...]]:
    """Yield VERSION_COLUMNS of all versions in order of id, the owner as the login."""
    columns = (
        bots.c.name, versions.c.number, owners.c.login, bots.c.reference,
        func.coalesce(bots.c.active == versions.c.id, False), versions.c.state, versions.c.reason, versions.c.at,
        versions.c.examined_at, versions.c.digest,
    )  # fmt: skip
    joined = versions.join(bots, bots.c.id == versions.c.bot).join(owners, owners.c.id == bots.c.owner)
    query = select(*columns).select_from(joined).order_by(versions.c.id)
    with connection.execute(query, execution_options={"yield_per": AT_A_TIME}) as rows:
        yield from map(tuple, rows)


def match_rows(connection: Connection) -> Iterator[tuple[object, ...]]:
    """Yield MATCH_COLUMNS of all matches in order of id; `by` is a login, `ended_as` counts those that were played."""
    columns = (
        matches.c.id, matches.c.kind, matches.c.round, matches.c.final, owners.c.login, matches.c.state,
        matches.c.cause, matches.c.reason, matches.c.rates, matches.c.attempts, matches.c.at, matches.c.ended_at,
        matches.c.ended,
    )  # fmt: skip
    query = select(*columns).outerjoin(owners, owners.c.id == matches.c.by).order_by(matches.c.id)
    with connection.execute(query, execution_options={"yield_per": AT_A_TIME}) as rows:
        yield from map(tuple, rows)
