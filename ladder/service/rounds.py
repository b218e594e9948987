"""Which matches a ladder plays next: a round of tables of all that play now.

Who has met whom is counted once over all matches, and from then on over new ones. So a round costs the same after a
million games as after a thousand.

A version that takes far longer than others, such as one that hangs until it is stopped, would make all others wait: it
is left out of rounds as long as matches with such versions have had their part of the time, a tenth.
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from itertools import permutations
from statistics import median

from sqlalchemy import Connection

from arena.run import keyed_shuffle
from ladder.schedule import Entrant, next_round, why_no_round
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

_COSTLY_US, _COSTLY_TIMES = 1_000_000, 10  # of its own in a match: at least, and times as much as most versions take
_PART = 0.1  # of the time, for matches with costly versions
_SAVED_US = 60_000_000  # how much of that part is kept for later, at most
_LATELY = 4  # matches: a version that begins to hang is known by the first
_CHARGED = 5000  # matches before a runner's start that it still charges


class Rounds:
    """Queues rounds. It belongs to one runner; several of them may queue for one ladder."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._met: defaultdict[int, Counter[int]] = defaultdict(Counter)  # matches of two versions
        self._played: Counter[int] = Counter()  # matches of a version
        self._seen = 0  # the last match that is counted
        self._ended = 0  # the last one whose times are, in the order of their ends
        self._timed: Counter[int] = Counter()  # those matches of a version
        self._mean_us: defaultdict[int, float] = defaultdict(float)  # what it took of its own, of late
        self._left_us = 0.0  # what is left of the part of costly versions

    def queue(self, connection: Connection) -> int:
        """Queue the next round; return how many matches it has: none where `why_none` says why."""
        self._count(connection)
        field, seats = self._field(connection), self._ladder.play.seats
        costly = self._costly(connection, [entrant.version for entrant in field if not entrant.reference])
        cheap = [entrant for entrant in field if entrant.version not in costly]
        if self._left_us < 0 and why_no_round(cheap, seats) is None:
            field = cheap
        number = last_round(connection) + 1
        shuffle = keyed_shuffle(self._ladder.round_key(), "rounds")
        tables = next_round(field, seats, self._met, shuffle, f"round/{number}")
        return len(put_matches(connection, RATED, tables, self._ladder.clock(), round=number))

    def why_none(self) -> str | None:
        """Say why those that play now play no round, None where they do."""
        return why_no_round(self._ladder.database.look(self._field), self._ladder.play.seats)

    def _field(self, connection: Connection) -> list[Entrant]:
        games = self._ladder.play.match_games
        return [
            Entrant(version.id, version.party, self._played[version.id] * games, version.reference)
            for version in active_versions(connection)
        ]

    def _count(self, connection: Connection) -> None:
        """Count the tables that were queued since the last round; given up and cancelled ones count, too."""
        for match, table in tables_after(connection, self._seen, RATED):
            self._seen = match
            self._played.update(table)
            for one, other in permutations(table, 2):
                self._met[one][other] += 1

    def _costly(self, connection: Connection, versions: Collection[int]) -> set[int]:
        """Return which of these versions take far longer for a match than most do, and charge what has ended since."""
        first = max(self._ended, last_ended(connection) - _CHARGED)
        spent = list(spent_after(connection, first))
        for ended, seats in spent:
            for version, own_us in seats:
                self._timed[version] += 1
                self._mean_us[version] += (own_us - self._mean_us[version]) / min(self._timed[version], _LATELY)
            self._ended = ended
        means = {version: self._mean_us[version] for version in versions if self._timed[version]}
        most = max(_COSTLY_US, _COSTLY_TIMES * median(means.values())) if means else 0
        costly = {version for version, mean in means.items() if mean > most}
        for _, seats in spent:
            took_us = sum(own_us for _, own_us in seats)
            charged = any(version in costly for version, _ in seats)
            self._left_us = min(_SAVED_US, self._left_us + took_us * (_PART - charged))
        return costly
