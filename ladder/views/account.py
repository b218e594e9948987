"""A person's own account: who he is to the ladder, his bots, and what lets him in."""

from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.access import visible
from ladder.store.database import KnownBot, Membership, acts_of, all_bots, find_owner, versions_of
from ladder.views.credential import CredentialLine, credential_list
from ladder.views.front import Due
from ladder.views.owner import OwnerLine, owner_line
from ladder.views.reader import Reader
from ladder.views.team import team_list


@dataclass(frozen=True, slots=True)
class OwnBot:
    """One of his bots, or of his team's. of: whose it is, by name, if it is a teammate's.

    playing: the number of the version that plays, None if none does.

    newest: the number of the newest, of this state, for a reason. stopped: why the bot was disabled or benched.
    """

    bot: str
    of: str | None
    playing: int | None
    newest: int
    state: str
    reason: str | None
    stopped: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account. team: who is in his team now, himself among them; empty if he is in none.

    credentials: what lets him in now. session: the number of the one that he reads this by.
    due: the deadlines, as they are for him.
    """

    person: OwnerLine
    team: tuple[Membership, ...]
    bots: tuple[OwnBot, ...]
    credentials: tuple[CredentialLine, ...]
    session: int | None
    due: tuple[Due, ...] = ()
    change: int | None = None


def account(reader: Reader, due: tuple[Due, ...] = ()) -> Account | None:
    """Return the reader's account, with the deadlines as they are for him; None if nobody has signed in."""
    viewer, connection = reader.viewer, reader.connection
    owner = None if viewer.login is None else find_owner(connection, viewer.login)
    if owner is None:
        return None
    known = viewer.mates | {owner.login}
    team = {each.login: each for each in team_list(reader).rows if each.until is None and each.login in known}
    listed = [bot for bot in all_bots(connection) if bot.owner == owner.id or bot.login in team]
    listed.sort(key=lambda bot: bot.owner != owner.id)
    of = {bot.name: None if bot.owner == owner.id else team[bot.login].name for bot in listed}
    result = Account(
        owner_line(connection, owner, viewer),
        tuple(team.values()),
        tuple(visible(_own_bot(connection, bot, of[bot.name]), viewer, bot.login) for bot in listed),
        tuple(row for row in credential_list(reader, owner.login).rows if row.holds),
        viewer.session,
        due,
        reader.change,
    )
    return visible(result, viewer, owner.login)


def _own_bot(connection: Connection, bot: KnownBot, of: str | None) -> OwnBot:
    versions = versions_of(connection, bot.id)
    newest = versions[-1]
    decided = acts_of(connection, bot.id, what=("activate", "bench", "disable"))
    last = decided[-1] if decided else None
    stopped = None if last is None or last.what == "activate" else last.why
    playing = next((version.number for version in versions if version.active), None)
    return OwnBot(bot.name, of, playing, newest.number, newest.state, newest.reason, stopped)
