"""Queue challenges.

A challenge is an unrated match that an owner requests against chosen bots, also while the ladder is frozen. It has no
effect on ratings and disables no bot, so bots of one owner or team, and versions of one bot, may meet. A version
plays in one slot only.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.bots import describe_party
from ladder.clock import DAY_S
from ladder.ladder import Ladder, get_accepted_version, get_acting_user, make_viewer, transaction
from ladder.settings import LadderError


@dataclass(frozen=True, slots=True)
class QueuedChallenge:
    """Queued challenges: their matches and table. remaining: today's remaining challenges, None for staff."""

    matches: tuple[int, ...]
    version_refs: tuple[str, ...]
    remaining: int | None


def queue_challenges(ladder: Ladder, bot: str, opponents: Sequence[str], login: str, count: int = 1) -> QueuedChallenge:
    """Queue challenges of a user's bot, ahead of all other matches; reference bots fill the table.

    `bot` and `opponents`: names, for the active version, or version refs. Raises LadderError if the bot belongs to
    another user, an opponent can't play, or the quota is used up.
    """
    return _queue_challenges(ladder, bot, opponents, login, count=count, now=ladder.clock())


@transaction
def _queue_challenges(
    connection: Connection, ladder: Ladder, bot: str, opponents: Sequence[str], login: str, *, count: int, now: float
) -> QueuedChallenge:
    """Do `queue_challenges`, and raise as it does.

    `now` also identifies a second call, made because the first one's commit had no answer.
    """
    owner = get_acting_user(connection, login)
    table = _seat_challenge(connection, ladder.play.seats, bot, opponents)
    if not make_viewer(connection, owner).can("bot:challenge", table[0].login):
        raise LadderError(
            f'the bot "{escape_control(table[0].name)}" belongs to another user.\n'
            "Name your own bot first, then its opponents."
        )
    party = store.get_party(connection, owner)
    challenges = store.challenges_since(connection, party, now - now % DAY_S)
    stored_ids = [id for id, user_id, queued_at in challenges if (user_id, queued_at) == (owner.id, now)]
    max_challenges = ladder.settings.quotas.max_challenges_per_day
    remaining = max_challenges - len(challenges) + len(stored_ids)
    if not (stored_ids or owner.staff) and count > remaining:
        advice = f"Queue {remaining} or fewer, or wait" if remaining > 0 else "Wait"
        raise LadderError(
            f"{describe_party(login, party)} has queued {len(challenges)} of {max_challenges} challenges allowed today."
            f"\n{advice} until tomorrow (UTC)."
        )
    tables = [[version.id for version in table]] * count
    ids = stored_ids or store.queue_matches(connection, store.CHALLENGE, tables, now, requested_by=owner.id)
    version_refs = tuple(version.version_ref for version in table)
    return QueuedChallenge(tuple(ids), version_refs, None if owner.staff else remaining - count)


def _seat_challenge(connection: Connection, seats: int, bot: str, opponents: Sequence[str]) -> list[store.Version]:
    """Return the versions that play a challenge: the named ones, and reference bots in the other seats.

    Raises LadderError if a version can't play or is named twice, or the table can't be filled.
    """
    table = [get_accepted_version(connection, name) for name in (bot, *opponents)]
    counts = Counter(version.id for version in table)
    for version in table:
        if counts[version.id] > 1:
            raise LadderError(f"{escape_control(version.version_ref)} is named twice.\nName each version once.")
    if len(table) > seats:
        raise LadderError(
            f"a table has {seats} seats, but {len(table)} bots are named.\nOpponents to name: {seats - 1}."
        )
    named_bots = {version.bot for version in table}
    active_versions = store.active_versions(connection)
    references = [version for version in active_versions if version.is_reference and version.bot not in named_bots]
    table += references[: seats - len(table)]
    if len(table) < seats:
        raise LadderError(
            f"a table has {seats} seats: too few reference bots to fill it.\nOpponents to name: {seats - 1}."
        )
    return table
