"""A ladder's database as a store of its matches, by their IDs."""

import time
from collections.abc import Callable, Iterable

from sqlalchemy import insert, select

from arena.referee import FailedMatch, GameResult, PlayedMatch, StoredFaultSample
from ladder import store
from tests.ladder.version_refs import version_ids_by_ref

matches, failed_attempts = store.METADATA.tables["matches"], store.METADATA.tables["failed_attempts"]


class LadderStore:
    """Implements `Store` for a database. Raises DatabaseError for operations that a database doesn't support."""

    def __init__(self, database: store.Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def list_missing(self, asked: Iterable[int]) -> list[int]:
        """Return the given matches that haven't ended, in the same order."""
        wanted = list(asked)
        with self._database.read() as connection:
            query = select(matches.c.id).where(matches.c.id.in_(wanted), matches.c.status != store.ENDED)
            open_ones = set(connection.scalars(query))
        return [match for match in wanted if match in open_ones]

    def save(self, played: PlayedMatch) -> None:
        self._database.write(lambda connection: store.save_match(connection, played, self._clock()))

    def add_failed_attempt(self, void: FailedMatch) -> None:
        """Note that an attempt at a match was void. The queue counts attempts, so this does nothing."""
        values = {"match": void.match, "runner": "", "reason": void.reason, "is_last": void.is_last}
        new = insert(failed_attempts).values(**values, failed_at=self._clock())
        self._database.write(lambda connection: connection.execute(new))

    def list_matches(self) -> list[int]:
        """Return the matches that were played, in the order in which they ended."""
        with self._database.read() as connection:
            return list(
                connection.scalars(
                    select(matches.c.id).where(matches.c.outcome == store.PLAYED).order_by(matches.c.end_sequence)
                )
            )

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a match that was played. Raises KeyError for any other."""
        with self._database.read() as connection:
            return store.match_results(connection, match)

    def fault_samples(self, bot: str) -> list[StoredFaultSample]:
        """Return the first fault samples of each kind of a version, by its version ref."""
        with self._database.read() as connection:
            return store.list_fault_samples(connection, version_ids_by_ref(connection, [bot])[bot])

    def list_failed_attempts(self) -> list[FailedMatch]:
        query = select(failed_attempts.c.match, failed_attempts.c.reason, failed_attempts.c.is_last).order_by(
            failed_attempts.c.id
        )
        with self._database.read() as connection:
            return [FailedMatch(*row) for row in connection.execute(query)]

    def finish(self) -> None:
        """Do nothing: every write is already on the disk."""
