"""Which matches a ladder plays next: a round of tables of all that play now.

Who has met whom is counted once over all matches, and from then on over new ones. So a round costs the same after a
million games as after a thousand.
"""

from collections import Counter, defaultdict, deque
from itertools import permutations

from sqlalchemy import Connection

from arena.run import keyed_shuffle
from ladder.schedule import LATELY, Entrant, is_slow, next_round, why_no_round
from ladder.service.ladder import Ladder
from ladder.store.database import (
    RATED,
    active_versions,
    last_ended,
    last_round,
    put_matches,
    spent_after,
    tables_after,
)

_TIMED = 5000  # matches before a runner's start by which it knows who is slow


class Rounds:
    """Queues rounds. It belongs to one runner; several of them may queue for one ladder."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._met: defaultdict[int, Counter[int]] = defaultdict(Counter)  # matches of two versions
        self._played: Counter[int] = Counter()  # matches of a version
        self._seen = 0  # the last match that is counted
        self._ended = 0  # the last one whose times are, in the order of their ends
        self._spent: defaultdict[int, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=LATELY))

    def queue(self, connection: Connection) -> int:
        """Queue the next round; return how many matches it has: none where `why_none` says why."""
        self._count(connection)
        self._time(connection)
        number = last_round(connection) + 1
        shuffle = keyed_shuffle(self._ladder.round_key(), "rounds")
        tables = next_round(self._field(connection), self._ladder.play.seats, self._met, shuffle, number)
        return len(put_matches(connection, RATED, tables, self._ladder.clock(), round=number))

    def why_none(self) -> str | None:
        """Say why those that play now play no round, None where they do."""
        return why_no_round(self._ladder.database.look(self._field), self._ladder.play.seats)

    def _field(self, connection: Connection) -> list[Entrant]:
        play = self._ladder.play
        return [
            Entrant(
                version.id,
                version.party,
                self._played[version.id] * play.match_games,
                version.reference,
                not version.reference and is_slow(self._spent[version.id], play.terms.timing.limit_ms),
            )
            for version in active_versions(connection)
        ]

    def _count(self, connection: Connection) -> None:
        """Count the tables that were queued since the last round; given up and cancelled ones count, too."""
        for match, table in tables_after(connection, self._seen, RATED):
            self._seen = match
            self._played.update(table)
            for one, other in permutations(table, 2):
                self._met[one][other] += 1

    def _time(self, connection: Connection) -> None:
        """Note what versions took in matches that have ended since."""
        first = max(self._ended, last_ended(connection) - _TIMED)
        for self._ended, seats in spent_after(connection, first):
            for version, *spent in seats:
                self._spent[version].append((spent[0], spent[1]))
