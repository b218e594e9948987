"""What every store promises. A new one is tried here by its line of STORES."""

from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest

from ladder.store import RunFolder, Store, VoidMatch
from tests.ladder.store.matches import match_of, results_of
from tests.ladder.store.memory import MemoryStore


def folder(path: Path) -> RunFolder:
    store = RunFolder(path / "run", results_of)
    store.create({"run": 1})
    return store


STORES: dict[str, Callable[[Path], Store]] = {"folder": folder, "memory": lambda path: MemoryStore()}

every_store = pytest.mark.parametrize("name", STORES)


@pytest.fixture
def store(name: str, tmp_path: Path) -> Store:
    return STORES[name](tmp_path)


@every_store
def test_a_new_store_holds_nothing(store: Store) -> None:
    """Everything is still to play."""
    assert list(store.todo(range(3))) == [0, 1, 2]
    assert list(store.kept()) == []
    assert list(store.voids()) == []
    store.finish()
    assert list(store.kept()) == []


@every_store
@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_matches_are_kept_in_the_order_in_which_they_end(store: Store, order: tuple[int, ...]) -> None:
    """So that whoever has folded over some of them finds the others behind those."""
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
    """Of a match that was played twice the first counts."""
    store.keep(match_of(0, "ab"))
    store.keep(match_of(0, "cd"))
    assert list(store.kept()) == [0]
    assert [result.reason for result in store.results(0)] == ["a", "b"]


@every_store
def test_a_match_that_is_not_kept_has_no_results(store: Store) -> None:
    """A void one neither."""
    store.void(VoidMatch(0, "no memory", True))
    for match in (0, 1):
        with pytest.raises(KeyError):
            store.results(match)


@every_store
def test_void_matches_are_facts_and_still_to_play(store: Store) -> None:
    """All attempts are known, those too after which the match was played or given up."""
    attempts = [VoidMatch(1, "no memory", False), VoidMatch(0, "no room", True), VoidMatch(1, "no memory", False)]
    for attempt in attempts:
        store.void(attempt)
    assert list(store.voids()) == attempts
    assert list(store.todo(range(2))) == [0, 1]
    store.keep(match_of(1))
    assert list(store.voids()) == attempts
    assert list(store.todo(range(2))) == [0]


@every_store
def test_a_session_may_be_finished_twice(store: Store) -> None:
    """Nothing changes by it."""
    store.keep(match_of(1))
    for _ in range(2):
        store.finish()
        assert list(store.kept()) == [1]
        assert store.results(1) == match_of(1).results
