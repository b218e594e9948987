"""Tests of what the folder of a run and the database of a ladder have in common."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from arena.referee import MAX_SAMPLES_PER_FAULT, FailedMatch, GameResult, PlayedMatch, StoredFaultSample
from arena.run import RunFolder, Store
from ladder import store as database
from tests.ladder.store.databases import ladder, queue_numbered
from tests.ladder.store.matches import match_of, results_of, sample_of
from tests.ladder.version_refs import version_ids_by_ref

matches, failed_attempts = (database.METADATA.tables[name] for name in ("matches", "failed_attempts"))


class LadderStore:
    """A ladder's database as a store of its matches, by their IDs."""

    def __init__(self, opened: database.Database) -> None:
        self._database = opened

    def list_missing(self, asked: Iterable[int]) -> list[int]:
        wanted = list(asked)
        with self._database.read() as connection:
            query = select(matches.c.id).where(matches.c.id.in_(wanted), matches.c.status != database.ENDED)
            open_ones = set(connection.scalars(query))
        return [match for match in wanted if match in open_ones]

    def save(self, played: PlayedMatch) -> None:
        self._database.write(lambda connection: database.save_match(connection, played, 5.0))

    def add_failed_attempt(self, void: FailedMatch) -> None:
        values = {"match": void.match, "runner": "", "reason": void.reason, "is_last": void.is_last}
        new = insert(failed_attempts).values(**values, failed_at=5.0)
        self._database.write(lambda connection: connection.execute(new))

    def list_matches(self) -> list[int]:
        with self._database.read() as connection:
            query = select(matches.c.id).where(matches.c.outcome == database.PLAYED)
            return list(connection.scalars(query.order_by(matches.c.end_sequence)))

    def results(self, match: int) -> tuple[GameResult, ...]:
        with self._database.read() as connection:
            return database.match_results(connection, match)

    def fault_samples(self, bot: str) -> list[StoredFaultSample]:
        with self._database.read() as connection:
            return database.list_fault_samples(connection, version_ids_by_ref(connection, [bot])[bot])

    def list_failed_attempts(self) -> list[FailedMatch]:
        query = select(failed_attempts.c.match, failed_attempts.c.reason, failed_attempts.c.is_last)
        with self._database.read() as connection:
            return [FailedMatch(*row) for row in connection.execute(query.order_by(failed_attempts.c.id))]

    def finish(self) -> None:
        """Do nothing: every write is already on the disk."""


def folder(path: Path) -> RunFolder:
    store = RunFolder(path / "run", results_of)
    store.create({"run": 1})
    return store


every_store = pytest.mark.parametrize("name", ["folder", "sqlite", "postgresql"])


@pytest.fixture
def store(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    if name == "folder":
        yield folder(tmp_path)
        return
    url = request.getfixturevalue("postgres_url") if name == "postgresql" else f"sqlite:///{tmp_path}/ladder.db"
    with closing(ladder(url)) as made:
        queue_numbered(made, range(6))
        yield LadderStore(made)


@every_store
def test_a_new_store_is_empty(store: Store) -> None:
    assert list(store.list_missing(range(3))) == [0, 1, 2]
    assert list(store.list_matches()) == []
    assert list(store.list_failed_attempts()) == []
    store.finish()
    assert list(store.list_matches()) == []


@every_store
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=str)
def test_matches_are_kept_in_the_order_in_which_they_end(store: Store, order: tuple[int, ...]) -> None:
    """A reader that has folded over some of them finds the others after those."""
    for count, match in enumerate(order, start=1):
        store.save(match_of(match, "xyz"[match:]))
        assert list(store.list_matches()) == list(order[:count])
        assert list(store.list_missing([2, 1, 0])) == [other for other in (2, 1, 0) if other not in order[:count]]
    for match in range(3):
        assert store.results(match) == match_of(match, "xyz"[match:]).results
    store.finish()
    assert list(store.list_matches()) == list(order)


@every_store
def test_a_match_is_kept_once(store: Store) -> None:
    """If a match was played twice, the first result counts."""
    store.save(match_of(0, "ab"))
    store.save(match_of(0, "cd"))
    assert list(store.list_matches()) == [0]
    assert [result.reason for result in store.results(0)] == ["a", "b"]


@every_store
def test_a_match_that_is_not_kept_has_no_results(store: Store) -> None:
    store.add_failed_attempt(FailedMatch(0, "no memory", True))
    for match in (0, 1):
        with pytest.raises(KeyError):
            store.results(match)


@every_store
def test_void_attempts_are_listed_and_their_matches_still_to_play(store: Store) -> None:
    """Attempts stay listed after the match was played or abandoned."""
    attempts = [FailedMatch(1, "no memory", False), FailedMatch(0, "no disk", True), FailedMatch(1, "no memory", False)]
    for attempt in attempts:
        store.add_failed_attempt(attempt)
    assert list(store.list_failed_attempts()) == attempts
    assert list(store.list_missing(range(2))) == [0, 1]
    store.save(match_of(1))
    assert list(store.list_failed_attempts()) == attempts
    assert list(store.list_missing(range(2))) == [0]


@every_store
def test_a_session_may_be_finished_twice(store: Store) -> None:
    store.save(match_of(1))
    for _ in range(2):
        store.finish()
        assert list(store.list_matches()) == [1]
        assert store.results(1) == match_of(1).results


@every_store
@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (2, 0, 4, 1, 3)], ids=str)
def test_the_first_fault_samples_of_each_kind_and_bot_are_kept(store: Store, order: Iterable[int]) -> None:
    """A kind that first occurs late has its samples, too."""
    for match in order:
        rare = (sample_of(match, "timeout", None),) if match == MAX_SAMPLES_PER_FAULT + 1 else ()
        store.save(match_of(match, fault_samples=(sample_of(match), *rare, sample_of(match, bot="b@1"))))
    common = [sample_of(match) for match in range(MAX_SAMPLES_PER_FAULT)]
    assert list(store.fault_samples("a@1")) == [*common, sample_of(MAX_SAMPLES_PER_FAULT + 1, "timeout", None)]
    assert list(store.fault_samples("b@1")) == [sample_of(match, bot="b@1") for match in range(MAX_SAMPLES_PER_FAULT)]
    assert list(store.fault_samples("c@1")) == []


@every_store
def test_a_repeated_match_has_its_fault_samples_once(store: Store) -> None:
    store.save(match_of(0, fault_samples=(sample_of(0),)))
    store.save(match_of(0, fault_samples=(sample_of(0, got=b"other"), sample_of(0, "timeout"))))
    assert list(store.fault_samples("a@1")) == [sample_of(0)]


@every_store
@pytest.mark.parametrize("got", [None, b"", bytes(range(256)), b"\xed\xa0\x80", "\u2028 Zo\u00eb".encode()], ids=repr)
def test_a_fault_sample_is_kept_byte_for_byte(store: Store, got: bytes | None) -> None:
    sample = replace(sample_of(0, got=got), facts=(("own_ms", 500), ("unflushed", True)))
    store.save(match_of(0, fault_samples=(sample,)))
    assert list(store.fault_samples("a@1")) == [sample]


def test_an_older_fault_sample_has_no_facts() -> None:
    """Arenas of its time recorded none."""
    line = sample_of(0).to_line()
    assert StoredFaultSample.from_line(line.replace(',"facts":{}', "")) == sample_of(0)
