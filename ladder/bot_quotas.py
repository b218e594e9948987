"""Find and disable the bots of a user or team that exceed their quota."""

from collections.abc import Collection

from sqlalchemy import Connection

from arena.formatting import format_count
from ladder import store
from ladder.activation import begin_playing, disable_bot_row, find_disabling
from ladder.ladder import Ladder


def bots_of_party(connection: Connection, party: Collection[int]) -> list[store.BotRecord]:
    """Return the bots of a user or team, by ids of users, without those of suspended or withdrawn users."""
    excluded_owners = {owner.id for owner in store.all_users(connection) if owner.suspended or owner.withdrawn}
    return [
        bot
        for bot in store.all_bots(connection)
        if bot.owner_id in party and not (bot.is_reference or bot.owner_id in excluded_owners)
    ]


def bots_in_quota(connection: Connection, party: Collection[int]) -> list[store.BotRecord]:
    """Return the bots that use up the quota of a user or team: those of `bots_of_party` that aren't disabled."""
    return [bot for bot in bots_of_party(connection, party) if find_disabling(connection, bot) is None]


def list_surplus_bots(
    ladder: Ladder, connection: Connection, joining: Collection[int], party: Collection[int]
) -> list[store.BotRecord]:
    """Return those bots, the newest ones, by which users exceed the quota of a party that they join.

    joining, party: ids of users. Disabled bots use up no quota.
    """
    joining_bots = bots_in_quota(connection, set(joining).difference(party))
    party_bots = bots_in_quota(connection, party)
    bots_left = max(0, ladder.settings.quotas.max_bots_per_user - len(party_bots))
    return sorted(joining_bots, key=lambda bot: bot.id)[bots_left:]


def disable_surplus_bots(
    ladder: Ladder, connection: Connection, bots: Collection[store.BotRecord], owner: str, cause: str = ""
) -> None:
    """Disable bots in the name of their owner, a login, so that they keep counting at deadlines that have closed.

    cause: what the reason begins with.
    """
    reason = f"{cause}the quota of {format_count(ladder.settings.quotas.max_bots_per_user, 'bot')} is used up"
    for bot in bots:
        disable_bot_row(connection, bot, owner, reason, ladder.clock())


def enable_surplus_bots(ladder: Ladder, connection: Connection, user: store.User) -> None:
    """Activate the newest accepted version of each bot of a user that a team's quota disabled, as the quota allows.

    A bot that was auto-disabled before waits for staff, as it would without the team.
    """
    party = store.get_party(connection, user)
    bots_left = ladder.settings.quotas.max_bots_per_user - len(bots_in_quota(connection, party))
    for bot in bots_of_party(connection, {user.id}):
        versions = [version for version in store.versions_of(connection, bot.id) if version.status == store.ACCEPTED]
        if bots_left > 0 and versions and _is_disabled_by_quota(connection, bot):
            begin_playing(connection, versions[-1], bot.login, "left the team", ladder.clock())
            bots_left -= 1


def _is_disabled_by_quota(connection: Connection, bot: store.BotRecord) -> bool:
    """Return whether a bot is disabled in its owner's name, and wasn't auto-disabled before."""
    entry = find_disabling(connection, bot)
    entries = store.list_audit_entries(connection, bot.id, actions=("activate", "auto_disable", "disable"))
    was_auto_disabled = [previous.action for previous in entries[-2:-1]] == ["auto_disable"]
    return entry is not None and entry.actor == bot.login and not was_auto_disabled
