"""The rulesets by which tests play: the presets by their names, and any number of random ones."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from arena.coup import COUP, PRESETS, Ruleset
from arena.coup.ruleset_data import FIELDS, changed, plain

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
