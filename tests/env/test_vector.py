"""The vector environment: games equal those of `env`, and the contract of gymnasium holds."""

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from arena.coup import replace_fields
from arena.env import env, raw_env, vector_env
from tests.cases import each
from tests.games import rules_of

Chooser = np.random.Generator


def choose(masks: Any, rng: Chooser) -> Any:
    return (rng.random(masks.shape) * masks).argmax(1)


def skip_finished_agents(game: raw_env) -> None:
    """Step agents that are out, until an agent acts or the game is over."""
    while game.agents and (game.terminations[game.agent_selection] or game.truncations[game.agent_selection]):
        game.step(None)


@each(
    "name, seats",
    [("coup", 2), ("coup", 6), ("duel", 2), ("treason", 3), ("andy", 4), *((f"random {seed}", 4) for seed in range(3))],
)
def test_games_equal_those_of_the_aec_form(name: str, seats: int) -> None:
    rules = replace_fields(rules_of(name, seats), {"turn_limit": 30})
    many = vector_env(3, rules, seats)
    games = [env(rules=rules, seats=seats) for _ in range(3)]
    observations, info = many.reset(seed=5)
    for row, game in enumerate(games):
        game.reset(seed=5 + row)
    rng, ends = np.random.default_rng(1), 0
    for _ in range(150):
        for row, game in enumerate(games):
            observed = game.last()[0]
            assert observed is not None
            assert game.agent_selection == many.possible_agents[info["seat"][row]]
            assert observations[row].tobytes() == observed["observation"].tobytes()
            assert info["action_mask"][row].tobytes() == observed["action_mask"].tobytes()
        actions, acted = choose(info["action_mask"], rng), info["seat"]
        observations, rewards, terminated, truncated, info = many.step(actions)
        for row, game in enumerate(games):
            agent = many.possible_agents[acted[row]]
            game.step(actions[row])
            over = any(game.truncations.values()) or game._game.over is not None
            assert bool(terminated[row] or truncated[row]) == over
            if not over:
                assert rewards[row] == 0
                skip_finished_agents(game)
                continue
            worth = [game._game.reward(seat) for seat in range(seats)]
            assert rewards[row] == worth[acted[row]]
            assert truncated[row] == game.truncations.get(agent, False)
            assert info["final_info"]["returns"][row].tolist() == worth
            assert info["_final_obs"][row]
            assert info["final_info"]["_returns"][row]
            assert info["final_obs"][row].tobytes() == game.observe(agent)["observation"].tobytes()
            ends += 1
            game.reset()
    assert ends


@each("rules, seats", [("coup", 2), ("inquisitor", 4)])
def test_an_opponent_plays_all_seats_but_one(rules: str, seats: int) -> None:
    """Row 1 next to the AEC form, in which the same bots act for the other seats."""
    many, game = vector_env(2, rules, seats, opponent="sample:opportunist"), env(rules=rules, seats=seats)
    bots = {agent: game.opponent(agent, "sample:opportunist") for agent in game.possible_agents}
    rng, info = np.random.default_rng(1), many.reset(seed=3)[1]
    rewards, terminated = np.zeros(2), np.zeros(2, bool)
    for number in range(8):
        game.reset(seed=None if number else 4)
        me = game.possible_agents[(1 + number) % seats]
        for agent in game.agent_iter(500):
            observed, reward, over, cut, _ = game.last()
            assert observed is not None
            if agent != me:
                game.step(None if over or cut else bots[agent].action())
            elif over or cut:
                assert (terminated[1], rewards[1]) == (over, reward)
                assert info["final_obs"][1].tobytes() == observed["observation"].tobytes()
                assert info["final_info"]["_returns"][1] == (game._game.over is not None)
                break
            else:
                assert game.possible_agents[info["seat"][1]] == me
                actions = choose(info["action_mask"], rng)
                _, rewards, terminated, _, info = many.step(actions)
                game.step(actions[1])


def test_the_contract_of_gymnasium() -> None:
    many = vector_env(4, seats=3)
    assert isinstance(many, VectorEnv)
    assert many.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    wrapped = DictInfoToList(RecordEpisodeStatistics(many))
    rng, lengths = np.random.default_rng(1), []
    observations, infos = wrapped.reset(seed=1)
    for _ in range(150):
        assert observations in many.observation_space
        actions = choose(np.stack([info["action_mask"] for info in infos]), rng)
        assert actions in many.action_space
        assert many.action_masks()[range(4), actions].all()
        before = observations.copy()
        later, rewards, terminated, truncated, infos = wrapped.step(actions)
        assert (observations == before).all()
        assert (rewards.shape, terminated.dtype, truncated.dtype) == ((4,), bool, bool)
        lengths += [int(info["episode"]["l"]) for info in infos if "episode" in info]
        observations = later
    assert len(lengths) > 5


def test_a_seed_repeats_games_of_all_rows() -> None:
    def play(many: vector_env, seed: Any) -> bytes:
        rng = np.random.default_rng(1)
        observations, info = many.reset(seed=seed)
        seen = [observations]
        for _ in range(60):
            observations, *_, info = many.step(choose(info["action_mask"], rng))
            seen.append(observations)
        return b"".join(each.tobytes() for each in seen)

    many = vector_env(3, seats=2)
    first = play(many, 7)
    assert first == play(many, [7, 8, 9]) != play(many, 8)
    assert first != play(many, None)


@each(
    "actions, error",
    [
        ([1, 0], r"game 1: player_0 gave the action .*0.*; its mask allows"),
        ([-1, 1], "game 0: player_0 gave the action"),
        ([999, 1], "game 0: player_0 gave the action"),
        ([1], "step needs 2 integers"),
        ([0.5, 1], "step needs 2 integers, and got float64"),
    ],
)
def test_a_masked_action_is_refused_before_any_is_played(actions: list[Any], error: str) -> None:
    many = vector_env(2, seats=2)
    _, info = many.reset(seed=1)
    legal = info["action_mask"].argmax(1)
    with pytest.raises(ValueError, match=error):
        many.step([legal[0] if action == 1 else action for action in actions])
    after, *_ = many.step(legal)
    other = vector_env(2, seats=2)
    other.reset(seed=1)
    assert after.tobytes() == other.step(legal).observations.tobytes()


def test_an_object_can_not_play_in_all_games() -> None:
    class Quiet:
        def reply(self, message: Any) -> None: ...

    with pytest.raises(ValueError, match="pass its class"):
        vector_env(2, opponent=Quiet())
    with pytest.raises(ValueError, match="not to 4"):
        vector_env(2, "duel")
