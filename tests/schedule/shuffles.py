"""Randomness for tests."""

import random
from collections.abc import Sequence

from arena.schedule import Shuffle


def make_shuffle(seed: str) -> Shuffle:
    """Return a shuffle for tests, with one random stream for each label."""

    def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
        return tuple(random.Random(f"{seed}/{label}").sample(items, len(items)))

    return shuffle
