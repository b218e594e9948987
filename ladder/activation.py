"""Decide which version of a bot plays: activate and disable versions.

All code by which a version begins or stops playing is here. When it stops, its queued rated matches are cancelled, and
if its owner is suspended or withdrawn, also its challenges. Finals are played to the end.
"""

from collections.abc import Callable, Sequence

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.ladder import Ladder, get_acting_user, get_bot, is_owner_out, make_viewer, require_unsuspended, transaction
from ladder.settings import LadderError


def choose_version(ladder: Ladder, name: str, number: int, login: str) -> bool:
    """Activate a version of the user's or a teammate's bot, as `activate_version` does.

    Only staff can activate a version that was disabled, by staff or automatically. Raises LadderError also if the user
    may not activate the version.
    """

    def require_choice(connection: Connection, bot: store.BotRecord, version: store.Version) -> None:
        _require_may_choose(connection, login, bot, version)

    return activate_version(ladder, name, number, actor=login, reason="its owner's choice", check=require_choice)


def _require_may_choose(connection: Connection, login: str, bot: store.BotRecord, version: store.Version) -> None:
    """Raise LadderError if a user may not activate a version: it isn't theirs, or it or its owner is barred."""
    user = get_acting_user(connection, login)
    if not make_viewer(connection, user).can("bot:choose_version", bot.login):
        raise LadderError(f'the bot "{escape_control(bot.name)}" belongs to another user.\nName one of your bots.')
    require_unsuspended(connection, bot)
    reason = store.barred_versions(connection, bot.id).get(version.id)
    if reason is not None:
        raise LadderError(
            f"{escape_control(version.version_ref)} was {escape_control(reason)}.\nAsk the staff to activate it."
        )


@transaction
def activate_version(
    connection: Connection,
    ladder: Ladder,
    name: str,
    number: int,
    *,
    actor: str,
    reason: str,
    check: Callable[[Connection, store.BotRecord, store.Version], None] = lambda connection, bot, version: None,
) -> bool:
    """Activate an accepted version of a bot; return False if it is active already, and will stay so.

    An active version won't stay so if a version that waits for its check would replace it: this decision prevents that.
    `check` is called first, and may raise. Raises LadderError if the bot or version doesn't exist or isn't accepted, or
    its files were erased.
    """
    bot = get_bot(connection, name)
    versions = store.versions_of(connection, bot.id)
    version = next((version for version in versions if version.number == number), None)
    if version is None:
        raise LadderError(f"{escape_control(name)} has no version {number}.\nIts versions are 1 to {len(versions)}.")
    check(connection, bot, version)
    if version.status != store.ACCEPTED:
        problem = _describe_unaccepted(version.status, version.rejection_reason)
        raise LadderError(
            f"{escape_control(version.version_ref)} isn't accepted: it {problem}.\nActivate an accepted version."
        )
    if _is_owner_erased(connection, bot):
        raise LadderError(f"the files of {escape_control(version.version_ref)} were erased.\nActivate another bot.")
    if version.is_active and not _is_about_to_be_replaced(connection, versions):
        return False
    begin_playing(connection, version, actor, reason, ladder.clock())
    return True


def _is_about_to_be_replaced(connection: Connection, versions: Sequence[store.Version]) -> bool:
    """Return whether one of a bot's versions waits for its check, and will become active if it is accepted."""
    unchecked = [version for version in versions if version.status not in (store.ACCEPTED, store.REJECTED)]
    return any(should_be_activated(connection, version) for version in unchecked)


def should_be_activated(connection: Connection, version: store.Version) -> bool:
    """Return whether a version should become active once it is accepted.

    A version shouldn't if it is disabled, a version received later is accepted, or the owner or staff has activated or
    disabled a version of the bot since it was submitted.
    """
    is_disabled = version.id in store.disabled_versions(connection)
    return not (is_disabled or store.has_newer_version(connection, version) or store.is_overruled(connection, version))


def begin_playing(connection: Connection, version: store.Version, actor: str, reason: str, now: float) -> None:
    """Make an accepted version its bot's active one. now: Unix time."""
    previous = get_bot(connection, version.name).active_version_id
    if previous is not None and previous != version.id:
        _cancel_rated_matches(connection, previous, f"{version.version_ref} is active", now)
    store.set_active_version(connection, version, actor, reason, now)


@transaction
def disable_bot(connection: Connection, ladder: Ladder, name: str, actor: str, reason: str) -> bool:
    """Disable a bot and cancel its queued matches; return False if it is disabled already.

    Raises LadderError if the bot doesn't exist.
    """
    return disable_bot_row(connection, get_bot(connection, name), actor, reason, ladder.clock())


def find_disabling(connection: Connection, bot: store.BotRecord) -> store.AuditEntry | None:
    """Return the decision by which a bot is disabled; None if it isn't, or a version was activated since."""
    entries = store.list_audit_entries(connection, bot.id, actions=("activate", "auto_disable", "disable"))
    return entries[-1] if entries and entries[-1].action == "disable" else None


def list_blocked_permissions(connection: Connection, bot: store.BotRecord) -> set[str]:
    """Return those of PERMISSIONS that the state of a bot takes from all viewers, so that no page offers them."""
    blocked = {"bot:challenge", "bot:choose_version"} if is_owner_out(connection, bot) else set()
    if _is_owner_erased(connection, bot):
        blocked.add("bot:activate")
    return blocked if _may_disable(connection, bot) else blocked | {"bot:disable"}


def _is_owner_erased(connection: Connection, bot: store.BotRecord) -> bool:
    return bool(store.list_audit_entries(connection, user_id=bot.owner_id, actions=("erase",)))


def _may_disable(connection: Connection, bot: store.BotRecord) -> bool:
    """Return whether a bot isn't disabled, or only by its owner."""
    entry = find_disabling(connection, bot)
    return entry is None or entry.actor == bot.login


def disable_bot_row(connection: Connection, bot: store.BotRecord, actor: str, reason: str, now: float) -> bool:
    """Disable a bot in an open transaction; return False if it is disabled already. now: Unix time.

    Staff may disable a bot that its owner disabled.
    """
    if not _may_disable(connection, bot):
        return False
    if bot.active_version_id is not None:
        version = store.get_version_by_id(connection, bot.active_version_id)
        _cancel_rated_matches(connection, version.id, f"{version.version_ref} is disabled", now)
    store.deactivate_bot(connection, bot.id, "disable", actor, reason, now)
    return True


def auto_disable_version(connection: Connection, version: store.Version, reason: str, now: float) -> bool:
    """Disable a version; return False if it is a reference bot's or not active. now: Unix time."""
    if version.is_reference or not version.is_active:
        return False
    store.deactivate_bot(connection, version.bot, "auto_disable", store.LADDER_ACTOR, reason, now)
    _cancel_rated_matches(connection, version.id, f"{version.version_ref} is auto-disabled", now)
    return True


def stop_versions_of_user(connection: Connection, user_id: int, reason: str, now: float) -> None:
    """Cancel the queued matches of a user's bots, also challenges, but not those of finals. now: Unix time."""
    for bot in store.all_bots(connection):
        for version in store.versions_of(connection, bot.id) if bot.owner_id == user_id else ():
            store.cancel_queued_matches(connection, reason, now, version.id, (store.RATED, store.CHALLENGE))


def _cancel_rated_matches(connection: Connection, version: int, reason: str, now: float) -> None:
    store.cancel_queued_matches(connection, reason, now, version, (store.RATED,))


def _describe_unaccepted(status: str, reason: str | None) -> str:
    return f"failed its check ({escape_control(reason or '')})" if status == store.REJECTED else "isn't checked yet"
