"""Owners, bots and versions by the names that people give, or LadderError with the likely name."""

from difflib import get_close_matches

from sqlalchemy import Connection

from arena.bots import shown
from ladder.access import Viewer
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import (
    FIT,
    KnownBot,
    Owner,
    Version,
    all_bots,
    all_owners,
    find_bot,
    find_owner,
    get_file,
    party_of,
    versions_of,
    why_out,
)


def known_owner(connection: Connection, login: str) -> Owner:
    """Return the owner of a login. Raises LadderError, also for an account that waits for approval."""
    owner = find_owner(connection, login)
    if owner is not None and owner.waiting:
        raise LadderError(f"{shown(login)} waits for approval.\nDecide first: arena ladder owners approve, or refuse")
    if owner is None:
        near = get_close_matches(login, [each.login for each in all_owners(connection)], 1)
        hint = f"Did you mean {shown(near[0])}?" if near else "Import the roster: arena ladder owners import"
        raise LadderError(f'there is no owner "{shown(login)}".\n{hint}')
    return owner


def acting_owner(connection: Connection, login: str) -> Owner:
    """Return the owner of a login, who wants something done. Raises LadderError, also for one who is out."""
    owner = known_owner(connection, login)
    out = why_out(connection, owner)
    if out is not None:
        raise LadderError(f"{shown(login)} is {shown(out)}.\nAsk the staff, who can change that.")
    return owner


def viewer_for(connection: Connection, owner: Owner) -> Viewer:
    """Return the viewer that a person is, with those who are in the person's team now."""
    mates = frozenset(party_of(connection, owner).values()) - {owner.login}
    return Viewer(owner.login, owner.staff, mates=mates)


def demand_unsuspended(connection: Connection, bot: KnownBot) -> None:
    """Raise LadderError where a bot's owner is suspended: the team does nothing with it either."""
    owner = find_owner(connection, bot.login)
    if owner is not None and (owner.suspended or owner.gone):
        raise LadderError(
            f"{shown(bot.login)}, whose bot it is, is suspended or has left.\nAsk the staff, who can lift it."
        )


def known_bot(connection: Connection, name: str) -> KnownBot:
    """Return the bot of a name. Raises LadderError."""
    bot = find_bot(connection, name)
    if bot is None:
        near = get_close_matches(name, [each.name for each in all_bots(connection)], 1)
        hint = f"Did you mean {shown(near[0])}?" if near else "See arena ladder standings."
        raise LadderError(f'there is no bot "{shown(name)}".\n{hint}')
    return bot


def known_version(connection: Connection, text: str) -> Version:
    """Return the version that a text names: "honest@3", or "honest" for its newest. Raises LadderError."""
    name, at, number = text.rpartition("@")
    bot = known_bot(connection, name if at else text)
    versions = versions_of(connection, bot.id)
    if not at:
        return versions[-1]
    version = next((each for each in versions if str(each.number) == number), None)
    if version is None:
        raise LadderError(f'there is no version "{shown(text)}": {shown(bot.name)} has 1 to {len(versions)}.')
    return version


def playing_version(connection: Connection, text: str) -> Version:
    """Return the fit version that a text names: "honest@3", or "honest" for the one that plays, else the newest fit.

    Raises LadderError.
    """
    if "@" in text:
        version = known_version(connection, text)
        if version.state != FIT or version.out:
            raise LadderError(f"{shown(version.label)} isn't fit to play.\nSee arena ladder bot.")
        return version
    fit = [
        each for each in versions_of(connection, known_bot(connection, text).id) if each.state == FIT and not each.out
    ]
    if not fit:
        raise LadderError(f"{shown(text)} has no version that is fit to play.\nSee arena ladder bot.")
    return next((each for each in fit if each.active), fit[-1])


def files_of(ladder: Ladder, text: str) -> tuple[Version, bytes]:
    """Return the version that a text names, as `known_version`, and the archive of its files. Raises LadderError."""

    def look(connection: Connection) -> tuple[Version, bytes]:
        version = known_version(connection, text)
        return version, get_file(connection, version.digest, version.file)

    return ladder.database.look(look)
