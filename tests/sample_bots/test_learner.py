"""The trained sample bot plays legal moves at every table, and its weights are small. Its scores: tests/training."""

from typing import Any

import pytest

from arena.local import play, sample
from arena.samples import sample_folder


@pytest.mark.parametrize("seats", range(2, 7))
def test_it_plays(seats: int) -> None:
    others = {f"honest-{at}": "sample:honest" for at in range(1, seats)}
    assert len(play({"learner": "sample:learner", **others}, games=seats, seed=1).games) >= seats


def test_in_other_rules_it_plays_too() -> None:
    assert play(["sample:learner", "sample:honest"], games=2, rules="inquisitor", seed=1)


def test_it_is_weaker_with_less_skill() -> None:
    learner: Any = sample("sample:learner")
    assert play({"learner": learner, "novice": lambda: learner(0.3)}, games=24, seed=1).win_rates["novice"].value < 0.3


def test_its_weights_are_small() -> None:
    assert (sample_folder() / "learner/weights.z").stat().st_size < 2_000_000
