"""The training: an interruption changes nothing, and the networks get what bots get."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.local import play, sample
from training.export import export
from training.inputs import Inputs
from training.learner import Learner, Plan
from training.network import Network

pytestmark = pytest.mark.filterwarnings("ignore:arena.env.batch plays in Python")  # where the arena isn't compiled
PLAN = Plan({2: 4, 3: 4}, hidden=(8, 8), steps=6, rows=16, value_first=1, snapshot=1, past=2)


def begin() -> Learner:
    inputs = Inputs((2, 3))
    return Learner(PLAN, Network((inputs.size, 8, 8, len(inputs.words) + 1), np.random.default_rng(1)).weights)


def test_an_interruption_changes_nothing(tmp_path: Path) -> None:
    whole, first, second = begin(), begin(), begin()
    start = whole.network.weights.copy()
    for _ in range(3):
        whole.learn()
    first.learn()
    first.save(tmp_path / "state.npz")
    second.load(tmp_path / "state.npz")
    for _ in range(2):
        second.learn()
    assert np.array_equal(whole.network.weights, second.network.weights)
    assert not np.array_equal(whole.network.weights, start)


def test_a_bot_has_the_scores_of_the_network(tmp_path: Path) -> None:
    inputs = Inputs((2, 3))
    network = Network((inputs.size, 8, 8, len(inputs.words) + 1), np.random.default_rng(1))
    export(tmp_path / "weights.xz", [(inputs, network)])
    kind: Any = sample("sample:learner")
    apart = [0.0]

    class Compared(kind):
        def __init__(self) -> None:
            super().__init__()
            self.networks = kind.read_networks(tmp_path / "weights.xz")

        def scores(self, observation: Any, actions: Any) -> list[float]:
            scores = super().scores(observation, actions)
            encoded = inputs.encode(self.encoder.seats, np.array([observation]))
            wanted = network.forward(encoded)[-1][0, inputs.actions[self.encoder.seats]]
            apart.append(np.abs(scores - wanted[list(actions)]).max())
            return scores

    for seats in (2, 3):
        play({f"bot-{at}": Compared for at in range(seats)}, games=seats, seed=1)
    assert len(apart) > 40
    assert max(apart) < 0.001


def test_the_gradient_is_that_of_the_outputs() -> None:
    network, rng = Network((3, 5, 2), np.random.default_rng(1)), np.random.default_rng(2)
    inputs, wanted = rng.normal(size=(7, 3)).astype(np.float32), rng.normal(size=(7, 2)).astype(np.float32)
    gradient = network.backward(network.forward(inputs), wanted)
    network.weights[4] += 0.01
    higher = (network.forward(inputs)[-1] * wanted).sum()
    network.weights[4] -= 0.02
    lower = (network.forward(inputs)[-1] * wanted).sum()
    assert gradient[4] == pytest.approx((higher - lower) / 0.02, rel=0.01)
