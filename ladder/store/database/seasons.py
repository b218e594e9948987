"""The next season: people, and bots, of one ladder's database are copied into a new one's."""

from typing import Any

from sqlalchemy import Connection, Table, insert, select

from ladder.store.database.credentials import PASSWORD
from ladder.store.database.tables import credentials, owners, team_members, teams
from ladder.store.database.versions import (
    EXAMINED,
    QUEUED,
    add_version,
    all_bots,
    get_file,
    put_bot,
    put_file,
    versions_of,
)


def copy_people(source: Connection, target: Connection, at: float) -> tuple[dict[int, int], list[str]]:
    """Copy the people who take part, with their pseudonyms, teams and passwords.

    Return the ids there by those here, and the logins of the suspended, who are left out, as is who has left. An
    owner who became one of those is copied, too, and not returned. What let people in but for passwords isn't copied.
    """
    ids, suspended = {}, []
    there = {login: id for id, login in target.execute(select(owners.c.id, owners.c.login))}  # the staff
    rows = source.execute(select(owners).order_by(owners.c.id)).mappings().all()
    for row in rows:
        if row["gone"] or row["merged"] is not None:
            continue
        if row["suspended"]:
            suspended.append(row["login"])
        else:
            ids[row["id"]] = there.get(row["login"]) or _copy_row(target, owners, row, at=at)
    for row in rows:
        if row["merged"] in ids:
            _copy_row(target, owners, row, merged=ids[row["merged"]], at=at)
    named: dict[int, int] = {}
    together = team_members.join(teams, teams.c.id == team_members.c.team)
    open_now = select(teams, team_members.c.owner).select_from(together).where(team_members.c.until.is_(None))
    for row in source.execute(open_now.order_by(team_members.c.id)).mappings():
        if row["owner"] in ids:
            if row["id"] not in named:
                named[row["id"]] = _copy_row(target, teams, row, at=at)
            values = {"team": named[row["id"]], "owner": ids[row["owner"]], "since": at}
            target.execute(insert(team_members).values(values))
    kept = credentials.c.kind == PASSWORD, credentials.c.revoked.is_(False), credentials.c.ends > at
    for row in source.execute(select(credentials).where(*kept)).mappings():
        if row["owner"] in ids:
            _copy_row(target, credentials, row, owner=ids[row["owner"]])
    return ids, suspended


def copy_bots(source: Connection, target: Connection, ids: dict[int, int], at: float, people: bool) -> int:
    """Submit the versions that play as first ones, of the reference bots and where `people` says so of all others.

    Of a bot that nobody has examined yet, the newest. ids: of owners there by those here. Return how many.
    """
    count = 0
    for bot in all_bots(source):
        versions = versions_of(source, bot.id)
        newest = versions[-1] if versions[-1].state in (QUEUED, EXAMINED) else None
        version = next((each for each in versions if each.active), newest)
        if version is not None and bot.owner in ids and (bot.reference or people):
            id = put_bot(target, bot.name, ids[bot.owner], at, bot.reference)
            put_file(target, version.digest, version.file, get_file(source, version.digest, version.file))
            add_version(target, id, version.digest, version.file, at)
            count += 1
    return count


def _copy_row(target: Connection, table: Table, row: Any, **other: object) -> int:
    """Write a row of a table, with other values in these columns, under a new id; return that."""
    values = {column.name: row[column.name] for column in table.c if column.name != "id"} | other
    return int(target.execute(insert(table).values(values).returning(table.c.id)).scalar_one())
