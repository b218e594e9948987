"""Tests of the contract of every store. A new one is tested by adding it to STORES."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ladder.store import MAX_SAMPLES_PER_FAULT, FailedMatch, RunFolder, Store, StoredFaultSample
from tests.ladder.store.databases import ladder, numbered
from tests.ladder.store.ladder_store import LadderStore
from tests.ladder.store.matches import exchange_of, match_of, results_of
from tests.ladder.store.memory import MemoryStore


def folder(path: Path) -> RunFolder:
    store = RunFolder(path / "run", results_of)
    store.create({"run": 1})
    return store


STORES: dict[str, Callable[[Path], Store]] = {"folder": folder, "memory": lambda path: MemoryStore()}

every_store = pytest.mark.parametrize("name", [*STORES, "sqlite", "postgresql"])


@pytest.fixture
def store(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    if name in STORES:
        yield STORES[name](tmp_path)
        return
    url = request.getfixturevalue("postgres_url") if name == "postgresql" else f"sqlite:///{tmp_path}/ladder.db"
    with closing(ladder(url)) as database:
        numbered(database, range(6))
        yield LadderStore(database)


@every_store
def test_a_new_store_is_empty(store: Store) -> None:
    assert list(store.todo(range(3))) == [0, 1, 2]
    assert list(store.kept()) == []
    assert list(store.voids()) == []
    store.finish()
    assert list(store.kept()) == []


@every_store
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=str)
def test_matches_are_kept_in_the_order_in_which_they_end(store: Store, order: tuple[int, ...]) -> None:
    """A reader that has folded over some of them finds the others after those."""
    for count, match in enumerate(order, start=1):
        store.keep(match_of(match, "xyz"[match:]))
        assert list(store.kept()) == list(order[:count])
        assert list(store.todo([2, 1, 0])) == [other for other in (2, 1, 0) if other not in order[:count]]
    for match in range(3):
        assert store.results(match) == match_of(match, "xyz"[match:]).results
    store.finish()
    assert list(store.kept()) == list(order)


@every_store
def test_a_match_is_kept_once(store: Store) -> None:
    """If a match was played twice, the first result counts."""
    store.keep(match_of(0, "ab"))
    store.keep(match_of(0, "cd"))
    assert list(store.kept()) == [0]
    assert [result.reason for result in store.results(0)] == ["a", "b"]


@every_store
def test_a_match_that_is_not_kept_has_no_results(store: Store) -> None:
    store.void(FailedMatch(0, "no memory", True))
    for match in (0, 1):
        with pytest.raises(KeyError):
            store.results(match)


@every_store
def test_void_attempts_are_listed_and_their_matches_still_to_play(store: Store) -> None:
    """Attempts stay listed after the match was played or abandoned."""
    attempts = [FailedMatch(1, "no memory", False), FailedMatch(0, "no disk", True), FailedMatch(1, "no memory", False)]
    for attempt in attempts:
        store.void(attempt)
    assert list(store.voids()) == attempts
    assert list(store.todo(range(2))) == [0, 1]
    store.keep(match_of(1))
    assert list(store.voids()) == attempts
    assert list(store.todo(range(2))) == [0]


@every_store
def test_a_session_may_be_finished_twice(store: Store) -> None:
    store.keep(match_of(1))
    for _ in range(2):
        store.finish()
        assert list(store.kept()) == [1]
        assert store.results(1) == match_of(1).results


@every_store
@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (2, 0, 4, 1, 3)], ids=str)
def test_the_first_fault_samples_of_each_kind_and_bot_are_kept(store: Store, order: Iterable[int]) -> None:
    """A kind that first occurs late has its samples, too."""
    for match in order:
        rare = (exchange_of(match, "timeout", None),) if match == MAX_SAMPLES_PER_FAULT + 1 else ()
        store.keep(match_of(match, exchanges=(exchange_of(match), *rare, exchange_of(match, bot="b@1"))))
    common = [exchange_of(match) for match in range(MAX_SAMPLES_PER_FAULT)]
    assert list(store.exchanges("a@1")) == [*common, exchange_of(MAX_SAMPLES_PER_FAULT + 1, "timeout", None)]
    assert list(store.exchanges("b@1")) == [exchange_of(match, bot="b@1") for match in range(MAX_SAMPLES_PER_FAULT)]
    assert list(store.exchanges("c@1")) == []


@every_store
def test_a_repeated_match_has_its_fault_samples_once(store: Store) -> None:
    store.keep(match_of(0, exchanges=(exchange_of(0),)))
    store.keep(match_of(0, exchanges=(exchange_of(0, got=b"other"), exchange_of(0, "timeout"))))
    assert list(store.exchanges("a@1")) == [exchange_of(0)]


@every_store
@pytest.mark.parametrize("got", [None, b"", bytes(range(256)), b"\xed\xa0\x80", "\u2028 Zo\u00eb".encode()], ids=repr)
def test_a_fault_sample_is_kept_byte_for_byte(store: Store, got: bytes | None) -> None:
    exchange = replace(exchange_of(0, got=got), facts=(("own_ms", 500), ("unflushed", True)))
    store.keep(match_of(0, exchanges=(exchange,)))
    assert list(store.exchanges("a@1")) == [exchange]


def test_an_older_fault_sample_has_no_facts() -> None:
    """Arenas of its time recorded none."""
    line = exchange_of(0).to_line()
    assert StoredFaultSample.from_line(line.replace(',"facts":{}', "")) == exchange_of(0)
