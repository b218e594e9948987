"""Apply decisions of people: active versions, suspended users, void matches, freezes and deadline extensions.

Each decision has a reason and becomes an entry of the audit log. A decision that already applies adds no second
entry, so a command can be repeated. An extension gives one user more time before a deadline, and can be withdrawn."""

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import escape_control
from ladder.service.evaluation import DAY_S, format_deadline_time, remaining_late_days
from ladder.service.ladder import (
    STAFF_USER,
    Ladder,
    get_acting_user,
    get_bot,
    get_user,
    make_viewer,
    require_unsuspended,
)
from ladder.service.settings import Deadline, LadderError
from ladder.service.submissions import parse_time
from ladder.store.database import (
    ACCEPTED,
    CHALLENGE,
    PLAYED,
    RATED,
    REJECTED,
    AuditEntry,
    BotRecord,
    Extension,
    User,
    Version,
    all_bots,
    barred_versions,
    cancel_queued_matches,
    deactivate_bot,
    extensions_in_force,
    get_version_by_id,
    insert_extension,
    is_frozen,
    list_audit_entries,
    log_action,
    set_active_version,
    set_match_rated,
    set_user_suspended,
    set_user_withdrawn,
    versions_of,
)
from ladder.views import find_match_summary


@dataclass(frozen=True, slots=True)
class ActionResult:
    """Whether a decision changed anything: it may have been so already."""

    changed: bool


def choose_version(ladder: Ladder, name: str, number: int, login: str) -> bool:
    """Let an accepted version of a person's own bot, or a teammate's, play; return False if it does already.

    One that was disabled or auto-disabled isn't the owner's to choose. Raises LadderError.
    """

    def check(connection: Connection, bot: BotRecord, version: Version) -> None:
        owner = get_acting_user(connection, login)
        if not make_viewer(connection, owner).can("bot:choose_version", bot.login):
            raise LadderError(f'the bot "{escape_control(name)}" is another\'s.\nName one of yours.')
        require_unsuspended(connection, bot)
        why = barred_versions(connection, bot.id).get(version.id)
        if why is not None:
            raise LadderError(
                f"{escape_control(version.version_ref)} was {escape_control(why)}.\nAsk the staff, who can activate it."
            )

    return activate_version(ladder, name, number, login, "its owner's choice", check)


def activate_version(
    ladder: Ladder,
    name: str,
    number: int,
    who: str,
    why: str,
    check: Callable[[Connection, BotRecord, Version], None] = lambda connection, bot, version: None,
) -> bool:
    """Let an accepted version of a bot play, whatever played before, unless `check` raises; return False if it plays.

    Raises LadderError.
    """

    def act(connection: Connection) -> bool:
        bot = get_bot(connection, name)
        versions = versions_of(connection, bot.id)
        wanted = next((each for each in versions if each.number == number), None)
        if wanted is None:
            raise LadderError(
                f"{escape_control(name)} has no version {number}: it has 1 to {len(versions)}.\nName one of them."
            )
        check(connection, bot, wanted)
        if wanted.status != ACCEPTED:
            raise LadderError(
                f"{escape_control(wanted.version_ref)} can't play: "
                f"it {_rejection(wanted.status, wanted.rejection_reason)}.\n"
                "Activate an accepted version."
            )
        if wanted.is_active and versions[-1].status in (ACCEPTED, REJECTED):
            return False  # a newer one that waits would take its place
        now = ladder.clock()
        _stop(connection, bot.active_version_id, f"{wanted.version_ref} plays now", now)
        set_active_version(connection, wanted, who, why, now)
        return True

    return ladder.database.write(act)


def disable_bot(ladder: Ladder, name: str, who: str, why: str) -> bool:
    """Disable a bot, and what it has queued; return False if it is disabled already. Raises LadderError."""

    def act(connection: Connection) -> bool:
        bot = get_bot(connection, name)
        decided = [
            each.action
            for each in list_audit_entries(connection, bot.id, actions=("activate", "auto_disable", "disable"))
        ]
        if decided[-1:] == ["disable"]:
            return False
        now = ladder.clock()
        if bot.active_version_id is not None:
            _stop(
                connection,
                bot.active_version_id,
                f"{get_version_by_id(connection, bot.active_version_id).version_ref} is disabled",
                now,
            )
        deactivate_bot(connection, bot.id, "disable", who, why, now)
        return True

    return ladder.database.write(act)


def set_frozen(ladder: Ladder, frozen: bool, who: str, why: str) -> bool:
    """Stop or resume starting rated matches; return False if it is so already.

    Checks, challenges and finals continue in a frozen ladder; what is being played is played to its end.
    """

    def act(connection: Connection) -> bool:
        if is_frozen(connection) == frozen:
            return False
        log_action(connection, AuditEntry(who, "freeze" if frozen else "unfreeze", why, ladder.clock()))
        return True

    return ladder.database.write(act)


def set_void(ladder: Ladder, match: int, void: bool, who: str, why: str) -> bool:
    """Take a match out of the ratings, or put it back; return False if it is so already. Its results stay.

    Raises LadderError for a match that doesn't rate.
    """

    def act(connection: Connection) -> bool:
        line = find_match_summary(connection, match)
        if line is None:
            raise LadderError(f"there is no match {match}.\nSee arena ladder matches {escape_control(ladder.path)}")
        if line.outcome != PLAYED:
            raise LadderError(f"match {match} wasn't played, so it doesn't rate.")
        if line.kind not in (RATED, "final"):
            raise LadderError(f"match {match} is a {line.kind} match: it doesn't rate.")
        if line.voided == void:
            return False
        log_action(connection, AuditEntry(who, "void" if void else "unvoid", why, ladder.clock(), match=match))
        set_match_rated(connection, match, not void)
        return True

    return ladder.database.write(act)


def set_suspended(ladder: Ladder, login: str, suspended: bool, who: str, why: str) -> bool:
    """Suspend a user, or undo it: no bot of theirs plays, is submitted or counts. Return False if it is so already.

    Matches with the person's bots that wait are cancelled, but for those of finals: others' results hang on them.
    Raises LadderError for an unknown login, and for the staff's own.
    """

    def act(connection: Connection) -> bool:
        owner = get_participant(connection, login)
        if owner.suspended == suspended:
            return False
        now = ladder.clock()
        log_action(connection, AuditEntry(who, "suspend" if suspended else "unsuspend", why, now, user_id=owner.id))
        set_user_suspended(connection, owner.id, suspended)
        if suspended:
            _stop_all(connection, owner, "its owner is suspended", now)
        return True

    return ladder.database.write(act)


def set_withdrawn(ladder: Ladder, login: str, gone: bool, who: str, why: str) -> bool:
    """Let a person leave the course, or come back; return False if it is so already.

    A withdrawn user isn't in grades; else it is as with a suspension. Raises LadderError as `set_suspended`.
    """

    def act(connection: Connection) -> bool:
        owner = get_participant(connection, login)
        if owner.withdrawn == gone:
            return False
        now = ladder.clock()
        log_action(connection, AuditEntry(who, "leave" if gone else "return", why, now, user_id=owner.id))
        set_user_withdrawn(connection, owner.id, gone)
        if gone:
            _stop_all(connection, owner, "its owner left the course", now)
        return True

    return ladder.database.write(act)


def get_participant(connection: Connection, login: str) -> User:
    """Return the owner of a login. Raises LadderError, also for the staff's own."""
    owner = get_user(connection, login)
    if owner.login == STAFF_USER.login:
        raise LadderError("the staff owns the reference bots, which fix the scale.\nDisable one: arena ladder disable")
    return owner


def _stop_all(connection: Connection, owner: User, reason: str, now: float) -> None:
    """Cancel what the bots of an owner have yet to begin, but for finals."""
    for bot in all_bots(connection):
        for version in versions_of(connection, bot.id) if bot.owner_id == owner.id else ():
            cancel_queued_matches(connection, reason, now, version.id, (RATED, CHALLENGE))


def _stop(connection: Connection, version: int | None, reason: str, now: float) -> None:
    """Cancel the rated matches that a version, which doesn't play any more, has yet to begin."""
    if version is not None:
        cancel_queued_matches(connection, reason, now, version=version, kinds=(RATED,))


def _rejection(state: str, reason: str | None) -> str:
    return f"failed its check ({escape_control(reason or '')})" if state == "rejected" else "waits for its check"


def extend_deadline(
    ladder: Ladder, login: str, name: str, until: str | None, days: int | None, late_days: int, who: str, why: str
) -> bool:
    """Give a person more time before a deadline; return False if it is so already.

    until: when it is over, as ISO 8601 has it, in the deadline's zone if it names none; or `days` after the deadline;
    or, without either, the person's own `late_days` after it. In any case they are used up. Raises LadderError.
    """
    settings = ladder.settings
    deadline = settings.deadline(name)
    if (until is None) + (days is None) != 1 and (until, days, late_days > 0) != (None, None, True):
        raise LadderError("an extension has one end.\nGive one of --until and --days, or --late-days alone.")
    due = deadline.at.timestamp()
    at = due + DAY_S * (late_days if days is None else days) if until is None else parse_time(ladder, until, name)
    if at <= due:
        raise LadderError(f"the deadline {name} is {format_deadline_time(due, deadline)}.\nGive a time after it.")

    def act(connection: Connection) -> bool:
        owner = get_user(connection, login)
        if owner.staff:
            raise LadderError(f"{escape_control(login)} is staff, who has no deadlines.\nName a participant.")
        left = remaining_late_days(connection, settings, without=name)[owner.id]
        if late_days > left:
            raise LadderError(
                f"{escape_control(login)} has {max(0, left)} late days left, not {late_days}.\nTake fewer."
            )
        return _put(ladder, connection, Extension(owner.id, name, at, late_days, why), deadline, who)

    return ladder.database.write(act)


def withdraw_extension(ladder: Ladder, login: str, name: str, who: str, why: str) -> bool:
    """Let a deadline be over for a person as for all; return False if it is so already. Raises LadderError."""
    deadline = ladder.settings.deadline(name)

    def act(connection: Connection) -> bool:
        none = Extension(get_user(connection, login).id, name, None, 0, why)
        return _put(ladder, connection, none, deadline, who)

    return ladder.database.write(act)


def _put(ladder: Ladder, connection: Connection, new: Extension, deadline: Deadline, who: str) -> bool:
    """Write an extension with its act, unless it holds already."""
    key = (new.user_id, new.deadline)
    old = next((each for each in extensions_in_force(connection) if (each.user_id, each.deadline) == key), None)
    if ((None, 0) if old is None else (old.extended_until, old.late_days)) == (new.extended_until, new.late_days):
        return False
    time = (
        "no more time"
        if new.extended_until is None
        else f"more time until {format_deadline_time(new.extended_until, deadline)}"
    )
    spent = f" for {new.late_days} late days" if new.late_days else ""
    why = f"{new.deadline}, {time}{spent}: {new.reason}"
    log_action(connection, AuditEntry(who, "extend", why, ladder.clock(), user_id=new.user_id))
    insert_extension(connection, new)
    return True
