"""What people decide in a ladder: who plays, which matches rate, whether rated matches begin. Each decision is an act.

A decision that already holds makes no second act, so a command may be given twice.
"""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.known import (
    acting_owner,
    demand_unsuspended,
    known_bot,
    known_owner,
    viewer_for,
)
from ladder.service.ladder import STAFF, Ladder
from ladder.service.settings import LadderError
from ladder.store.database import (
    CHALLENGE,
    FIT,
    PLAYED,
    RATED,
    UNFIT,
    Act,
    KnownBot,
    Owner,
    Version,
    activate,
    acts_of,
    all_bots,
    barred_versions,
    cancel,
    find_version,
    is_frozen,
    note_act,
    put_gone,
    put_suspended,
    rest,
    set_rates,
    versions_of,
)
from ladder.views import find_match


@dataclass(frozen=True, slots=True)
class Decided:
    """Whether a decision changed anything: it may have been so already."""

    changed: bool


def choose_version(ladder: Ladder, name: str, number: int, login: str) -> bool:
    """Let a fit version of a person's own bot, or a teammate's, play; return False if it does already.

    One that was disabled or benched isn't the owner's to choose. Raises LadderError.
    """

    def check(connection: Connection, bot: KnownBot, version: Version) -> None:
        owner = acting_owner(connection, login)
        if not viewer_for(connection, owner).may("choose a version", bot.login):
            raise LadderError(f'the bot "{shown(name)}" is another\'s.\nName one of yours.')
        demand_unsuspended(connection, bot)
        why = barred_versions(connection, bot.id).get(version.id)
        if why is not None:
            raise LadderError(f"{shown(version.label)} was {shown(why)}.\nAsk the staff, who can let it play.")

    return activate_version(ladder, name, number, login, "its owner's choice", check)


def activate_version(
    ladder: Ladder,
    name: str,
    number: int,
    who: str,
    why: str,
    check: Callable[[Connection, KnownBot, Version], None] = lambda connection, bot, version: None,
) -> bool:
    """Let a fit version of a bot play, whatever played before, unless `check` raises; return False if it does already.

    Raises LadderError.
    """

    def act(connection: Connection) -> bool:
        bot = known_bot(connection, name)
        versions = versions_of(connection, bot.id)
        wanted = next((each for each in versions if each.number == number), None)
        if wanted is None:
            raise LadderError(f"{shown(name)} has no version {number}: it has 1 to {len(versions)}.\nName one of them.")
        check(connection, bot, wanted)
        if wanted.state != FIT:
            raise LadderError(
                f"{shown(wanted.label)} can't play: it {_unfit(wanted.state, wanted.reason)}.\nActivate a fit version."
            )
        if wanted.active and versions[-1].state in (FIT, UNFIT):
            return False  # a newer one that waits would take its place
        now = ladder.clock()
        _stop(connection, bot.active, f"{wanted.label} plays now", now)
        activate(connection, wanted, who, why, now)
        return True

    return ladder.database.write(act)


def disable_bot(ladder: Ladder, name: str, who: str, why: str) -> bool:
    """Let no version of a bot play, nor one that waits; return False if it is disabled. Raises LadderError."""

    def act(connection: Connection) -> bool:
        bot = known_bot(connection, name)
        decided = [each.what for each in acts_of(connection, bot.id, what=("activate", "bench", "disable"))]
        if decided[-1:] == ["disable"]:
            return False
        now = ladder.clock()
        if bot.active is not None:
            _stop(connection, bot.active, f"{find_version(connection, bot.active).label} is disabled", now)
        rest(connection, bot.id, "disable", who, why, now)
        return True

    return ladder.database.write(act)


def set_frozen(ladder: Ladder, frozen: bool, who: str, why: str) -> bool:
    """Let no rated match begin, or let them begin again; return False if it is so already.

    Examinations, challenges and finals go on in a frozen ladder; what is being played is played to its end.
    """

    def act(connection: Connection) -> bool:
        if is_frozen(connection) == frozen:
            return False
        note_act(connection, Act(who, "freeze" if frozen else "unfreeze", why, ladder.clock()))
        return True

    return ladder.database.write(act)


def set_void(ladder: Ladder, match: int, void: bool, who: str, why: str) -> bool:
    """Take a match out of the ratings, or put it back; return False if it is so already. Its results stay.

    Raises LadderError for a match that doesn't rate.
    """

    def act(connection: Connection) -> bool:
        line = find_match(connection, match)
        if line is None:
            raise LadderError(f"there is no match {match}.\nSee arena ladder matches {shown(ladder.path)}")
        if line.cause != PLAYED:
            raise LadderError(f"match {match} wasn't played, so it doesn't rate.")
        if line.kind not in (RATED, "final"):
            raise LadderError(f"match {match} is a {line.kind} match: it doesn't rate.")
        if line.voided == void:
            return False
        note_act(connection, Act(who, "void" if void else "unvoid", why, ladder.clock(), match=match))
        set_rates(connection, match, not void)
        return True

    return ladder.database.write(act)


def set_suspended(ladder: Ladder, login: str, suspended: bool, who: str, why: str) -> bool:
    """Suspend a person, or undo it: no bot of his plays, is submitted or counts. Return False if it is so already.

    Matches with the person's bots that wait are cancelled, but for those of finals: others' results hang on them.
    Raises LadderError for an unknown login, and for the staff's own.
    """

    def act(connection: Connection) -> bool:
        owner = participant(connection, login)
        if owner.suspended == suspended:
            return False
        now = ladder.clock()
        note_act(connection, Act(who, "suspend" if suspended else "unsuspend", why, now, owner=owner.id))
        put_suspended(connection, owner.id, suspended)
        if suspended:
            _stop_all(connection, owner, "its owner is suspended", now)
        return True

    return ladder.database.write(act)


def set_gone(ladder: Ladder, login: str, gone: bool, who: str, why: str) -> bool:
    """Let a person leave the course, or come back; return False if it is so already.

    Who left isn't in grades; else it is as with a suspension. Raises LadderError as `set_suspended`.
    """

    def act(connection: Connection) -> bool:
        owner = participant(connection, login)
        if owner.gone == gone:
            return False
        now = ladder.clock()
        note_act(connection, Act(who, "leave" if gone else "return", why, now, owner=owner.id))
        put_gone(connection, owner.id, gone)
        if gone:
            _stop_all(connection, owner, "its owner left the course", now)
        return True

    return ladder.database.write(act)


def participant(connection: Connection, login: str) -> Owner:
    """Return the owner of a login. Raises LadderError, also for the staff's own."""
    owner = known_owner(connection, login)
    if owner.login == STAFF.login:
        raise LadderError("the staff owns the reference bots, which fix the scale.\nDisable one: arena ladder disable")
    return owner


def _stop_all(connection: Connection, owner: Owner, reason: str, now: float) -> None:
    """Cancel what the bots of an owner have yet to begin, but for finals."""
    for bot in all_bots(connection):
        for version in versions_of(connection, bot.id) if bot.owner == owner.id else ():
            cancel(connection, reason, now, version.id, (RATED, CHALLENGE))


def _stop(connection: Connection, version: int | None, reason: str, now: float) -> None:
    """Cancel the rated matches that a version, which doesn't play any more, has yet to begin."""
    if version is not None:
        cancel(connection, reason, now, version=version, kinds=(RATED,))


def _unfit(state: str, reason: str | None) -> str:
    return f"failed its examination ({shown(reason or '')})" if state == "unfit" else "waits for its examination"
