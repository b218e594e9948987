"""What tests share: rulesets to play by (the presets, and any number of random ones), and `needs`."""

import ctypes
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.coup import COUP, FIELDS, PRESETS, Ruleset, changed, plain
from arena.sandbox import PR_SET_CHILD_SUBREAPER, become_subreaper
from tests.place import Place

# What random rules choose from where a field is a number: little, much, and more than any preset has.
NUMBERS: dict[str, list[int | None]] = {
    "start_coins": [0, 2, 2, 5, 12],
    "two_player_starter_coins": [0, 1, 3],
    "forced_coup": [0, 7, 10, 12, 13],
    "exchange_draw": [None, 1, 2],
    "turn_limit": [None, None, 12, 60],
}


def rules_of(name: str, seats: int) -> Ruleset:
    """Return the preset of this name, or for "random 7" a ruleset that is made of that number, for so many seats."""
    if not name.startswith("random "):
        return PRESETS[name]
    rng = random.Random(name)
    fields: dict[str, Any] = {
        rule.name: rng.choice(NUMBERS.get(rule.name) or [plain(option.value) for option in rule.options])
        for rule in FIELDS
        if rule.name in NUMBERS or rule.options
    }
    if fields["exchange_return"] == "claimed_role":
        fields["exchange_draw"] = 1
    fields["draft"] = fields["draft"] and seats == 2
    rules = changed(COUP, {"name": name, **fields})
    assert rules.problem(seats) is None
    return rules


@pytest.fixture(scope="session")
def ruleset() -> Callable[[str, int], Ruleset]:
    """Give `rules_of(name, seats)`: tests can't import it."""
    return rules_of


@pytest.fixture(autouse=True)
def nobodys_reaper() -> Iterator[None]:
    """Stop being a child subreaper after each test, which starting a box in this process makes of it.

    Else it would take in, and never reap, the orphans of every arena that a later test kills.
    """
    yield
    if become_subreaper.cache_info().currsize:
        become_subreaper.cache_clear()
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.fixture(scope="session")
def needs() -> Callable[[str, str | None], None]:
    """Give `needs(what, why_not)`: skip the test, with the reason shown, where the host lacks what it is about.

    `why_not` is None where the host has it. ARENA_REQUIRE lists, with commas, what must be there: .ci/run sets it to
    all, and then what is missing is a failure.
    """

    def check(what: str, why_not: str | None) -> None:
        if why_not is None:
            return
        if what in os.environ.get("ARENA_REQUIRE", "").split(","):
            pytest.fail(f"{what} is required here (ARENA_REQUIRE), but: {why_not}")
        pytest.skip(f"{what}: {why_not}")

    return check


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Give a user's folder, and kill afterwards what a failed test left running."""
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Place]]:
    """Give a maker of users' folders that stay for all tests of a module."""
    made: list[Place] = []

    def make() -> Place:
        made.append(Place(tmp_path_factory.mktemp("place")))
        return made[-1]

    yield make
    for place in made:
        place.close()
