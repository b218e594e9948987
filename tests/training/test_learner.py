"""The training: an interruption changes nothing, and the networks get what bots get."""

from pathlib import Path

import numpy as np
import pytest

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


def test_the_gradient_is_that_of_the_outputs() -> None:
    network, rng = Network((3, 5, 2), np.random.default_rng(1)), np.random.default_rng(2)
    inputs, wanted = rng.normal(size=(7, 3)).astype(np.float32), rng.normal(size=(7, 2)).astype(np.float32)
    gradient = network.backward(network.forward(inputs), wanted)
    network.weights[4] += 0.01
    higher = (network.forward(inputs)[-1] * wanted).sum()
    network.weights[4] -= 0.02
    lower = (network.forward(inputs)[-1] * wanted).sum()
    assert gradient[4] == pytest.approx((higher - lower) / 0.02, rel=0.01)
