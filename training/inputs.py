"""What the network sees: the fields of an observation that the base rules use, at tables of several sizes."""

import numpy as np

from arena.env import batch
from training.network import Array

# Always zero in the base rules, or computed from others.
_UNUSED = {"reserve", "denies", "discards", "seen", "side", "kept", "denied", "cleared", "conceded", "examined"}
_UNUSED |= {"swapped", "hands_back", "force_swaps", "looked", "knows"}
_SCALES = {"turn": 1 / 20, "deck": 1 / 10, "coins": 1 / 5, "claimed": 1 / 2, "challenges": 1 / 2}


class Inputs:
    """Places each number of an observation, and each action, where the largest table of the network has it.

    The seats that a smaller table lacks are zeros, and their actions illegal.
    """

    def __init__(self, seats: tuple[int, ...]) -> None:
        self.seats = seats
        largest = batch("coup", max(seats), 1)
        own = self._used(largest)
        self.words, self.size = largest.action_words, len(own)
        place = {number: at for at, number in enumerate(own)}
        self.columns: dict[int, Array] = {}  # by seats: the used numbers of an observation
        self.places: dict[int, Array] = {}  # by seats: their places in the inputs
        self.scales: dict[int, Array] = {}  # by seats: their factors
        self.actions: dict[int, Array] = {}  # by seats: the network's action for each action
        for seat_count in seats:
            games = batch("coup", seat_count, 1)
            used = self._used(games)
            self.columns[seat_count] = np.array([*used.values()])
            self.places[seat_count] = np.array([place[number] for number in used])
            self.scales[seat_count] = np.array([_SCALES.get(name.split()[-1], 1.0) for name, _ in used], np.float32)
            self.actions[seat_count] = np.array([self.words.index(word) for word in games.action_words])

    @staticmethod
    def _used(games: batch) -> dict[tuple[str, int], int]:
        """Return the column of each used number of an observation, by the field's name and the place in it."""
        fields = {name: place for name, (place, _) in games.fields.items() if name.split()[-1] not in _UNUSED}
        return {(name, at): column for name, place in fields.items() for at, column in enumerate(range(9999)[place])}

    def encode(self, seats: int, observations: Array) -> Array:
        """Return the inputs, float32, of observations at a table of this size."""
        inputs = np.zeros((len(observations), self.size), np.float32)
        inputs[:, self.places[seats]] = observations[:, self.columns[seats]] * self.scales[seats]
        return inputs

    def widen(self, seats: int, masks: Array) -> Array:
        """Return masks of the network's actions, bool."""
        wide = np.zeros((len(masks), len(self.words)), np.bool_)
        wide[:, self.actions[seats]] = masks
        return wide
