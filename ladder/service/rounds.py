"""Which matches a ladder plays next: a round of tables of all that play now.

Who has met whom is counted once over all matches, and from then on over new ones. So a round costs the same after a
million games as after a thousand.
"""

from collections import Counter, defaultdict
from itertools import permutations

from sqlalchemy import Connection

from arena.run import keyed_shuffle
from ladder.schedule import Entrant, next_round, why_no_round
from ladder.service.ladder import Ladder
from ladder.store.database import RATED, active_versions, last_round, put_matches, tables_after


class Rounds:
    """Queues rounds. It belongs to one runner; several of them may queue for one ladder."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._met: defaultdict[int, Counter[int]] = defaultdict(Counter)  # matches of two versions
        self._played: Counter[int] = Counter()  # matches of a version
        self._seen = 0  # the last match that is counted

    def queue(self, connection: Connection) -> int:
        """Queue the next round; return how many matches it has: none where too few owners have bots that play."""
        self._count(connection)
        field, seats = self._field(connection), self._ladder.play.seats
        number = last_round(connection) + 1
        shuffle = keyed_shuffle(self._ladder.round_key(), "rounds")
        tables = next_round(field, seats, self._met, shuffle, f"round/{number}")
        return len(put_matches(connection, RATED, tables, self._ladder.clock(), round=number))

    def why_none(self) -> str | None:
        """Say why those that play now can't fill a table, None where they can."""
        return why_no_round(self._ladder.database.look(self._field), self._ladder.play.seats)

    def _field(self, connection: Connection) -> list[Entrant]:
        games = self._ladder.play.match_games
        return [
            Entrant(version.id, version.owner, self._played[version.id] * games, version.reference)
            for version in active_versions(connection)
        ]

    def _count(self, connection: Connection) -> None:
        """Count the tables that were queued since the last round; given up and cancelled ones count, too."""
        for match, table in tables_after(connection, self._seen, RATED):
            self._seen = match
            self._played.update(table)
            for one, other in permutations(table, 2):
                self._met[one][other] += 1
