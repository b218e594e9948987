"""What follows a worker's death: after some, a version at the table is suspected, tried alone, and benched if guilty.

A version that kills only where others sit passes its trials. Then staff decides which it is: `arena ladder doctor`.
"""

from sqlalchemy import Connection

from ladder.service.news import Benched, News, Suspected
from ladder.store.database import (
    LADDER,
    RATED,
    TRIAL,
    cancel,
    convicts,
    find_version,
    put_matches,
    rest,
    suspects_of,
    table_of,
)


def after_death(connection: Connection, match: int, given_up: bool, now: float) -> list[News]:
    """Queue a trial for each version that a death in a match makes suspect; bench those that a trial convicts."""
    news: list[News] = []
    if given_up and convicts(connection, match):
        [version] = table_of(connection, match)
        return [*put_on_bench(connection, version, "its worker died whenever it played against itself", now)]
    for version, deaths in suspects_of(connection, match):
        put_matches(connection, TRIAL, [[version]], now)
        news.append(Suspected(find_version(connection, version).label, deaths))
    return news


def put_on_bench(connection: Connection, version: int, why: str, now: float) -> list[Benched]:
    """Let a version play no more, unless it is a reference, or doesn't play; return what was done."""
    row = find_version(connection, version)
    if row.reference or not row.active:
        return []
    rest(connection, row.bot, "bench", LADDER, why, now)
    cancel(connection, f"{row.label} is benched", now, version, (RATED,))
    return [Benched(row.label, why)]
