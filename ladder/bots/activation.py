"""Choose and activate versions, and disable bots."""

from collections.abc import Callable

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.bot_quotas import disable_bot_row, stop_version
from ladder.ladder import Ladder, get_acting_user, get_bot, make_viewer, require_unsuspended, transaction
from ladder.settings import LadderError


def choose_version(ladder: Ladder, name: str, number: int, login: str) -> bool:
    """Activate an accepted version of the user's or a teammate's bot; return False if it is active already.

    Only staff can activate a version that was disabled, by staff or automatically. Raises LadderError if the user may
    not activate it.
    """

    def check(connection: Connection, bot: store.BotRecord, version: store.Version) -> None:
        owner = get_acting_user(connection, login)
        if not make_viewer(connection, owner).can("bot:choose_version", bot.login):
            raise LadderError(f'the bot "{escape_control(name)}" belongs to another user.\nName one of your bots.')
        require_unsuspended(connection, bot)
        why = store.barred_versions(connection, bot.id).get(version.id)
        if why is not None:
            raise LadderError(
                f"{escape_control(version.version_ref)} was {escape_control(why)}.\nAsk the staff to activate it."
            )

    return activate_version(ladder, name, number, actor=login, reason="its owner's choice", check=check)


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
    """Activate an accepted version of a bot; return False if it is active already.

    `check` is called first, and may raise. Raises LadderError if the bot or version doesn't exist or isn't accepted.
    """
    bot = get_bot(connection, name)
    versions = store.versions_of(connection, bot.id)
    wanted = next((each for each in versions if each.number == number), None)
    if wanted is None:
        raise LadderError(f"{escape_control(name)} has no version {number}.\nIts versions are 1 to {len(versions)}.")
    check(connection, bot, wanted)
    if wanted.status != store.ACCEPTED:
        raise LadderError(
            f"{escape_control(wanted.version_ref)} isn't accepted: "
            f"it {_rejection(wanted.status, wanted.rejection_reason)}.\n"
            "Activate an accepted version."
        )
    if wanted.is_active and versions[-1].status in (store.ACCEPTED, store.REJECTED):
        return False  # a newer one that waits would take its place
    now = ladder.clock()
    stop_version(connection, bot.active_version_id, f"{wanted.version_ref} is active", now)
    store.set_active_version(connection, wanted, actor, reason, now)
    return True


def disable_bot(ladder: Ladder, name: str, actor: str, reason: str) -> bool:
    """Disable a bot and cancel its queued matches; return False if it is disabled already.

    Raises LadderError if the bot doesn't exist.
    """
    return ladder.database.write(
        lambda connection: disable_bot_row(connection, get_bot(connection, name), actor, reason, ladder.clock())
    )


def _rejection(state: str, reason: str | None) -> str:
    return f"failed its check ({escape_control(reason or '')})" if state == "rejected" else "isn't checked yet"
