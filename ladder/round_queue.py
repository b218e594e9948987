"""Queue a ladder's rounds, as `ladder.rounds` plans them.

Past meetings are counted once over all matches, then incrementally, so a round costs the same after a million games as
after a thousand.
"""

from collections import Counter, defaultdict, deque
from itertools import permutations

from sqlalchemy import Connection

from arena.schedule import keyed_shuffle
from ladder import store
from ladder.ladder import Ladder
from ladder.rounds import RECENT_MATCHES, Entrant, is_slow, no_round_reason, plan_next_round

_MAX_TIMED_MATCHES = 5000  # the newest matches from which a new runner finds slow versions


class RoundQueue:
    """The rounds that one runner queues; several runners may queue rounds of the same ladder."""

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._met: defaultdict[int, Counter[int]] = defaultdict(Counter)  # matches of each pair of versions
        self._played: Counter[int] = Counter()  # matches of each version
        self._last_counted = 0  # the id of the last counted match
        self._last_timed = 0  # the end_sequence of the last match whose times were read
        self._spent: defaultdict[int, deque[tuple[int, int]]] = defaultdict(lambda: deque(maxlen=RECENT_MATCHES))

    def queue_next(self, connection: Connection) -> int:
        """Queue the next round; return the number of its matches, 0 if there is an `idle_reason`."""
        self._count_meetings(connection)
        self._read_times(connection)
        number = store.last_round_number(connection) + 1
        shuffle = keyed_shuffle(self._ladder.round_key(), "rounds")
        tables = plan_next_round(self._list_entrants(connection), self._ladder.play.seats, self._met, shuffle, number)
        return len(store.queue_matches(connection, store.RATED, tables, self._ladder.clock(), round=number))

    def idle_reason(self) -> str | None:
        """Return the reason why the active versions can't play a round, None if they can."""
        return no_round_reason(self._ladder.database.read_with_retry(self._list_entrants), self._ladder.play.seats)

    def _list_entrants(self, connection: Connection) -> list[Entrant]:
        """Return the active versions, with the games of the tables that `_count_meetings` has counted."""
        play = self._ladder.play
        return [
            Entrant(
                version=version.id,
                owner=version.party,
                games=self._played[version.id] * play.match_games,
                reference=version.is_reference,
                slow=not version.is_reference and is_slow(self._spent[version.id], play.settings.timing.limit_ms),
            )
            for version in store.active_versions(connection)
        ]

    def _count_meetings(self, connection: Connection) -> None:
        """Count the tables queued since the last call, including abandoned and cancelled ones."""
        for match, table in store.tables_after(connection, self._last_counted, store.RATED):
            self._last_counted = match
            self._played.update(table)
            for version, opponent in permutations(table, 2):
                self._met[version][opponent] += 1

    def _read_times(self, connection: Connection) -> None:
        """Read the versions' times in the matches that have ended since the last call, _MAX_TIMED_MATCHES at most."""
        start = max(self._last_timed, store.last_end_number(connection) - _MAX_TIMED_MATCHES)
        for end_number, seats in store.usage_after(connection, start):
            self._last_timed = end_number
            for version, time_us, requests in seats:
                self._spent[version].append((time_us, requests))
