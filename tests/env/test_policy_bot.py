"""A trained policy as a bot: its scores, its folder, and its moves. Source: docs/reference/environment.md."""

import json
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.env import env, save_bot
from arena.sandbox import ISOLATING_SANDBOXES, unavailable_reason
from protocol.kits.coup_env import Player, Policy, size
from tests.cases import each
from tests.cli_workspace import Place

Needs = Callable[[str, str | None], None]
Layers = list[tuple[Any, Any]]


def layers(game: Any, *hidden: int, seed: int = 1) -> Layers:
    """Return layers with random weights, from an observation to the actions."""
    rng = np.random.default_rng(seed)
    sizes = [size(len(game.possible_agents)), *hidden, len(game.action_words)]
    return [
        (rng.normal(0, inputs**-0.5, (outputs, inputs)), rng.normal(0, 0.1, outputs))
        for inputs, outputs in pairwise(sizes)
    ]


def compute_scores(network: Layers, activation: str, observation: Any) -> Any:
    values = np.asarray(observation, float)
    for place, (weights, bias) in enumerate(network):
        if place and activation != "none":
            values = np.tanh(values) if activation == "tanh" else values.clip(0)
        values = np.asarray(weights, np.float32).astype(float) @ values + np.asarray(bias, np.float32)
    return values


@each("activation, hidden", [("tanh", (16, 8)), ("relu", (16, 8)), ("none", ()), ("tanh", ())])
def test_a_policy_scores_as_its_layers_do_with_numpy_and_without(activation: str, hidden: tuple[int, ...]) -> None:
    game = env(seats=3)
    network = layers(game, *hidden)
    plain = [(np.asarray(rows, np.float32).tolist(), np.asarray(bias, np.float32).tolist()) for rows, bias in network]
    policies = [Policy(plain, activation, numpy=numpy) for numpy in (False, True)]
    rng = random.Random(1)
    for seed in range(6):
        game.reset(seed=seed)
        for _ in game.agent_iter():
            observed, _, terminated, truncated, _ = game.last()
            if terminated or truncated:
                game.step(None)
                continue
            legal = np.flatnonzero(observed["action_mask"]).tolist()
            wanted = compute_scores(network, activation, observed["observation"])
            for policy in policies:
                assert policy.scores(observed["observation"].tolist()) == pytest.approx(wanted.tolist(), abs=1e-5)
                assert policy.best(observed["observation"].tolist(), legal) == max(legal, key=lambda a: wanted[a])
            game.step(rng.choice(legal))


def test_equal_scores_are_one_choice_and_chance_draws_by_the_softmax() -> None:
    """Scores that differ by rounding are equal; a score that is ln 3 higher is drawn three times as often."""
    policy = Policy([([[0.0]] * 3, [0.1 + 0.2, 0.3, np.log(3) + 0.3])], numpy=False)
    assert policy.best([1], [1, 0]) == 0
    assert policy.best([1], [0, 1, 2]) == 2
    drawn = [policy.drawn([1], [1, 2], chance / 100) for chance in range(100)]
    assert drawn == [1] * 25 + [2] * 75
    assert policy.drawn([1], [0, 1], 1.0) == 1


def test_a_wrong_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="no activation 'sigmoid'; there are: tanh, relu, none"):
        Policy([([[1.0]], [0.0])], "sigmoid")
    for no_output in ([], [([], [])]):
        with pytest.raises(ValueError, match="a policy needs a layer with an output"):
            Policy(no_output)
    with pytest.raises(ValueError, match="a layer needs 1 weights and a bias for each of its 1 outputs"):
        Policy([([[1.0]], [0.0]), ([[1.0, 2.0]], [0.0])])
    for layer in (([[1.0, 2.0], [3.0, 4.0]], [0.0]), ([[1.0, 2.0], [3.0]], [0.0, 0.0])):
        with pytest.raises(ValueError, match="a layer needs 2 weights and a bias for each of its 2 outputs"):
            Policy([layer])
    game = env(seats=2)
    rows, bias = layers(game)[0]
    with pytest.raises(ValueError, match=r"they must lead from \d+ numbers to \d+ actions, with a row for each output"):
        save_bot("/nowhere", game, [(rows.T, bias)])
    for other_bias in (bias[:, None], bias[0]):
        with pytest.raises(ValueError, match="a row for each output"):
            save_bot("/nowhere", game, [(rows, other_bias)])
    with pytest.raises(ValueError, match="is nan or infinite"):
        save_bot("/nowhere", game, [(rows * np.nan, bias)])
    with pytest.raises(ValueError, match="activation 'sigmoid'"):
        save_bot("/nowhere", game, [(rows, bias)], activation="sigmoid")  # type: ignore[arg-type]


def trained(folder: Path, rules: str, seats: int, choice: Any = "best") -> tuple[Any, Layers]:
    game = env(rules=rules, seats=seats)
    network = layers(game, 12)
    save_bot(folder, game, network, choice=choice)
    return game, network


@each("rules, seats", [("coup", 2), ("treason", 5), ("andy", 4), ("duel", 2)])
def test_a_bot_plays_by_its_policy(tmp_path: Path, rules: str, seats: int) -> None:
    game, network = trained(tmp_path / rules, rules, seats)
    players: dict[str, Player] = {}

    class Bot:
        def __init__(self, agent: str) -> None:
            players[agent] = self.player = Player(tmp_path / rules / "weights.json")

        def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
            choice = self.player.choice(message)
            if message["type"] == "hello":
                return {"type": "hello"}
            return None if choice is None else {"id": message["id"], "choice": choice}

    opponents = {agent: game.opponent(agent, Bot(agent)) for agent in game.possible_agents}
    decided = 0
    for seed in range(3):
        game.reset(seed=seed)
        for agent in game.agent_iter():
            observed, _, terminated, truncated, _ = game.last()
            if terminated or truncated:
                game.step(None)
                continue
            legal = np.flatnonzero(observed["action_mask"]).tolist()
            wanted = compute_scores(network, "tanh", observed["observation"])
            assert opponents[agent].action() == max(legal, key=lambda action: wanted[action])
            game.step(opponents[agent].action())
            decided += len(legal) > 1
    assert decided > 20


def test_the_folder_is_a_bot_that_passes_its_check_and_plays(place: Place) -> None:
    trained(place.folder / "trained", "coup", 2, "drawn")
    checked = place.run("check", "trained", "--quick", "--sandbox", "process")
    assert checked.code == 0, checked.out + checked.err
    ran = place.run(
        *("run", "trained", "sample:honest", "--seed", 3, "--games", 8, "--match-games", 8),
        *("--sandbox", "process", "--jobs", 1, "--json"),
    )
    assert ran.code == 0, ran.err
    row = next(row for row in ran.json["standings"] if row["bot"] == "trained")
    assert not any(row["faults_by_code"].values())


@pytest.mark.parametrize("box", ISOLATING_SANDBOXES)
def test_a_trained_bot_plays_on_a_ladder(place: Place, needs: Needs, box: str) -> None:
    needs(box, unavailable_reason(box))
    trained(place.folder / "trained", "coup", 2, "drawn")
    for words in (
        ("init", "spring", "--seats", 2, "--match-games", 4, "--sandbox", box, "--reference", "sample:honest"),
        ("users", "add", "spring", "ann"),
        ("submit", "spring", "trained", "--owner", "ann"),
        ("run", "spring", "--until", "idle", "--jobs", 1),
        ("run", "spring", "--matches", 2, "--jobs", 1),
    ):
        ran = place.run("ladder", *words) if words[0] == "run" else place.call("ladder", *words)
        assert ran.code == 0, ran.out + ran.err
    output = place.call("ladder", "bot", "spring", "trained", "--json").json
    (version,) = output["versions"]
    assert (version["status"], version["is_active"], version["faults"]) == ("accepted", True, {})
    assert version["rated_matches"]["games"] == 8
    place.require_nothing_left()


def test_at_another_table_the_bot_warns_and_plays_by_the_kit(tmp_path: Path) -> None:
    trained(tmp_path, "coup", 2)
    player = Player(tmp_path / "weights.json")
    other = env(seats=4)

    class Bot:
        def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
            assert player.choice(message) is None
            answers = {"hello": {"type": "hello"}, "request": {"id": message.get("id"), "choice": 0}}
            return answers.get(message["type"])

    opponent = other.opponent("player_0", Bot())
    other.reset(seed=1)
    assert other.action_words[opponent.action()] == "income"
    weights = json.loads((tmp_path / "weights.json").read_text())
    (tmp_path / "weights.json").write_text(json.dumps({**weights, "encoding": 2}))
    with pytest.raises(ValueError, match=r"trained with encoding 2, and this coup_env\.py has 3: copy"):
        Player(tmp_path / "weights.json")


def test_changes_of_an_author_in_the_folder_stay(tmp_path: Path) -> None:
    game, network = trained(tmp_path, "coup", 2)
    before = (tmp_path / "weights.json").read_text()
    (tmp_path / "bot.py").write_text("# mine\n")
    save_bot(tmp_path, game, layers(game, seed=2))
    assert (tmp_path / "bot.py").read_text() == "# mine\n"
    assert (tmp_path / "weights.json").read_text() != before
    assert len(network) == 2


def test_the_encoder_needs_the_standard_library_alone(tmp_path: Path) -> None:
    trained(tmp_path, "coup", 2)
    script = (
        "import sys; sys.modules['numpy'] = None; import coup_env; p = coup_env.Player('weights.json');"
        "print(len(p.policy.scores([0] * p.policy.inputs)));"
        "print(coup_env.Policy([([[1.0]], [0.0])], numpy=True).scores([2]))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == [str(len(env(seats=2).action_words)), "[2.0]"], done.stderr
