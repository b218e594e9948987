"""Who is in which team, and was."""

from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import Membership, memberships
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class TeamList:
    """Who is and was in teams, in order of the teams' names."""

    rows: tuple[Membership, ...]
    change: int | None = None


def team_list(reader: Reader) -> TeamList:
    """Return who is and was in teams, as far as the reader may know it: a mate isn't told what was."""
    rows = [
        visible(each, reader.viewer, each.login)
        for each in memberships(reader.connection)
        if each.until is None or reader.viewer.sees(Membership, "until", each.login)
    ]
    return TeamList(tuple(row for row in rows if row.team is not None), reader.change)
