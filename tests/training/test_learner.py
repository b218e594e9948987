"""The training: an interruption changes nothing, and the networks get what bots get."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from arena.local import play, sample
from training.__main__ import main
from training.export import export
from training.inputs import Inputs
from training.learner import Learner, Plan
from training.network import Network

pytestmark = pytest.mark.filterwarnings("ignore:arena.env.batch plays in Python")  # where the arena isn't compiled
PLAN = Plan({2: 4, 3: 4}, hidden=(8, 8), steps=6, rows=16, value_first=1, snapshot=1, past=2)


def begin(plan: Plan = PLAN) -> Learner:
    inputs = Inputs((2, 3))
    return Learner(plan, Network((inputs.size, 8, 8, len(inputs.words) + 1), np.random.default_rng(1)).weights[None])


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


def test_games_continue_in_the_next_iteration() -> None:
    """Else games longer than an iteration's steps would never be played to the end."""
    turns = []
    for snapshot in (1, 100):
        learner = begin(replace(PLAN, steps=1, snapshot=snapshot))
        for _ in range(12):
            learner.learn()
        turns.append(learner.current[3][0][:, learner.batches[3].fields["turn"][0]].sum())
    assert turns[1] > 2 * turns[0]


def test_a_bot_has_the_scores_of_the_network(tmp_path: Path) -> None:
    inputs = Inputs((2, 3))
    network = Network((inputs.size, 8, 8, len(inputs.words) + 1), np.random.default_rng(1))
    export(tmp_path / "weights.z", [(inputs, network)])
    kind: Any = sample("sample:learner")
    apart = [0.0]

    class Compared(kind):
        def __init__(self) -> None:
            super().__init__()
            self.networks = kind.read_networks(tmp_path / "weights.z")

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


def test_a_response_needs_a_training_to_exploit(tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, [str(tmp_path / "new"), "--respond"])
    assert ran.exit_code == 2
    assert "--respond needs --start" in ran.output
    assert not (tmp_path / "new").exists()
