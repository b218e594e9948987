"""A challenge: an unrated match that an owner asks for, against bots of the owner's choice. Also while frozen.

Whoever is challenged has nothing to lose: the match rates nobody and benches nobody. So bots of one owner or team, and
versions of one bot, may sit together here: to compare them is what a challenge is good for. A version sits there once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.known import acting_owner, playing_version, viewer_for
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.service.submit import DAY_S, team_or
from ladder.store.database import CHALLENGE, Version, active_versions, challenges_since, party_of, put_matches


@dataclass(frozen=True, slots=True)
class Challenge:
    """Matches that were asked for, and the table that plays them. left: how many more today, None for the staff."""

    matches: tuple[int, ...]
    labels: tuple[str, ...]
    left: int | None


def challenge(ladder: Ladder, bot: str, opponents: Sequence[str], login: str, count: int = 1) -> Challenge:
    """Queue challenges of an owner's bot; reference bots fill the table up. They are the next to be played.

    `bot` and `opponents` are names ("honest": the version that plays) or versions ("honest@3"). Raises LadderError.
    """
    most, now = ladder.settings.quotas.challenges_per_day, ladder.clock()

    def act(connection: Connection) -> Challenge:
        owner = acting_owner(connection, login)
        table = _table(connection, ladder.play.seats, bot, opponents)
        if not viewer_for(connection, owner).may("challenge", table[0].login):
            raise LadderError(
                f'the bot "{shown(table[0].name)}" is another\'s.\nName your own bot first, then opponents.'
            )
        labels = tuple(version.label for version in table)
        party = party_of(connection, owner)
        asked = challenges_since(connection, party, now - now % DAY_S)
        ids, today = [id for id, by, at in asked if (by, at) == (owner.id, now)], len(asked)
        if not ids:  # else this is the second call of a function whose commit had no answer
            if not owner.staff and today + count > most:
                raise LadderError(
                    f"{team_or(login, party)} has asked for {today} challenges today, and {most} are allowed.\n"
                    f"Ask for {most - today} or fewer, or tomorrow (UTC)."
                )
            ids = put_matches(connection, CHALLENGE, [[each.id for each in table]] * count, now, by=owner.id)
            today += count
        return Challenge(tuple(ids), labels, None if owner.staff else most - today)

    return ladder.database.write(act)


def _table(connection: Connection, seats: int, bot: str, opponents: Sequence[str]) -> list[Version]:
    """Return the versions that will sit at the table. Raises LadderError."""
    table = [playing_version(connection, each) for each in (bot, *opponents)]
    for version in table:
        if sum(each.id == version.id for each in table) > 1:
            raise LadderError(f"{shown(version.label)} is named twice.\nA version sits at a table once.")
    if len(table) > seats:
        raise LadderError(f"a table has {seats} seats, and {len(table)} bots are named.\nName {seats - 1} opponents.")
    there = {version.bot for version in table}
    spare = [each for each in active_versions(connection) if each.reference and each.bot not in there]
    table += spare[: seats - len(table)]
    if len(table) < seats:
        raise LadderError(
            f"a table has {seats} seats, and the reference bots don't fill it.\nName {seats - 1} opponents."
        )
    return table
