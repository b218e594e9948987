"""The batch: its games equal those of `env` and, in C, those in Python; the contract of gymnasium holds."""

import copy
import os
import pickle
from array import array
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics

from arena.coup import replace_fields
from arena.env import Opponent, batch, env, raw_env
from protocol.kits import coup_env
from tests.cases import each
from tests.games import rules_of

GAMES = int(os.environ.get("ARENA_SOAK", 2000))  # in lock step
NOT_COMPILED = None if find_spec("arena.env._games") else "the arena isn't compiled (make compiled)"
COMPILED = pytest.mark.needs("compiled", NOT_COMPILED)
IN_C = pytest.mark.parametrize("in_c", [pytest.param(False, id="python"), pytest.param(True, id="c", marks=COMPILED)])
BOTS = ("sample:counter", "sample:opportunist", "sample:turtle", "sample:honest")

Chooser = np.random.Generator


def choose(masks: Any, rng: Chooser) -> Any:
    return (rng.random(masks.shape) * masks).argmax(1)


def first_legal(observations: Any, masks: Any) -> Any:
    assert len(observations) == len(masks)
    return masks.argmax(1)


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
    many = batch(rules, seats, 3, in_c=False)
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


CASES = [
    *(
        (name, seats, chooser)
        for name in ("coup", "inquisitor")
        for seats in range(2, 7)
        for chooser in ("random", "all")
    ),
    *(("coup", seats, chooser) for seats in (3, 4) for chooser in ("samples", "honest", "without facts")),
]


@COMPILED
@pytest.mark.parametrize(("name", "seats", "chooser"), CASES)
def test_games_in_c_are_in_lock_step_with_those_in_python(name: str, seats: int, chooser: str) -> None:
    """Each array of each step is the same. With four seats, some games end at a turn limit."""
    opponents: Any = {"honest": "honest", "all": ("honest", "random", first_legal)}.get(chooser, ())
    rules = replace_fields(rules_of(name, seats), {"turn_limit": 12} if seats == 4 else {})
    pair = [batch(rules, seats, 8, opponents, chooser != "without facts", in_c) for in_c in (True, False)]
    inner = pair[1]._engine._games
    samples = [
        [Opponent(game, seat, BOTS[(row + seat) % len(BOTS)]) for seat in range(seats)]
        for row, game in enumerate(inner)
    ]
    rng, ended = np.random.default_rng(seats), 0
    arrays: Any = [many.reset(seed=seats) for many in pair]
    while ended < GAMES // len(CASES):
        seen, expected = ([*flat(each)] for each in arrays)
        assert [key for key, _ in seen] == [key for key, _ in expected]
        for (key, value), (_, wanted) in zip(seen, expected, strict=True):
            assert value.dtype == wanted.dtype
            assert np.array_equal(value, wanted), f"{key}: {np.argwhere(value != wanted)[:9].tolist()}"
        info = arrays[1][-1]
        ended += int(np.sum(info.get("_final_obs", 0)))
        actions = choose(info["action_mask"], rng)
        if chooser == "samples":
            actions = np.array([samples[row][seat].action() for row, seat in enumerate(info["seat"])])
        arrays = [many.step(actions) for many in pair]


def flat(value: Any, key: str = "") -> Any:
    """Yield (path, array) of all arrays in tuples and dicts."""
    if isinstance(value, np.ndarray):
        yield key, value
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from flat(part, f"{key}/{name}")


@each("rules, seats", [("coup", 2), ("inquisitor", 4)])
def test_an_opponent_plays_all_seats_but_one(rules: str, seats: int) -> None:
    """Row 1 next to the AEC form, in which the same bots act for the other seats."""
    many, game = batch(rules, seats, 2, "sample:opportunist", in_c=False), env(rules=rules, seats=seats)
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


@IN_C
def test_opponents_are_drawn_for_each_seat_of_each_game(in_c: bool) -> None:
    asked: list[int] = []

    def policy(observations: Any, masks: Any) -> Any:
        asked.append(len(observations))
        return first_legal(observations, masks)

    def rows(*opponents: Any) -> int:
        asked.clear()
        many, rng = batch("coup", 3, 16, opponents, in_c=in_c), np.random.default_rng(1)
        masks = many.reset(seed=1)[1]["action_mask"]
        for _ in range(100):
            masks = many.step(choose(masks, rng)).info["action_mask"]
        return sum(asked)

    alone, among = rows(policy), rows(policy, "random", "honest")
    assert 0.2 * alone < among < 0.6 * alone

    def wrong(observations: Any, masks: Any) -> Any:
        return np.zeros(len(masks), int)

    with pytest.raises(ValueError, match=r"opponent 0 as player_\d gave the action 0; its mask allows"):
        rows(wrong)
    with pytest.raises(ValueError, match=r"opponent 0 returned int64 of the shape \(1,\) for"):
        rows(lambda observations, masks: [0])
    with pytest.raises(ValueError, match="opponent 0 returned float64 of the shape"):
        rows(lambda observations, masks: masks.argmax(1) / 1)


@IN_C
def test_the_contract_of_gymnasium(in_c: bool) -> None:
    many = batch("coup", 3, 4, in_c=in_c)
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


def play_on(many: batch, masks: Any, steps: int = 60) -> bytes:
    rng, seen = np.random.default_rng(1), []
    for _ in range(steps):
        observations, *_, info = many.step(choose(masks, rng))
        masks = info["action_mask"]
        seen.append(observations)
    return b"".join(each.tobytes() for each in seen)


@IN_C
def test_a_seed_repeats_games_of_all_rows(in_c: bool) -> None:
    def play(many: batch, seed: Any) -> bytes:
        observations, info = many.reset(seed=seed)
        return observations.tobytes() + play_on(many, info["action_mask"])

    many = batch("coup", 2, 3, in_c=in_c)
    first = play(many, 7)
    assert first == play(many, [7, 8, 9]) != play(many, 8)
    assert first != play(many, None)
    assert play(batch("coup", 2, 3, in_c=in_c), None) != play(batch("coup", 2, 3, in_c=in_c), None)


@IN_C
def test_a_copy_continues_from_the_same_position(in_c: bool) -> None:
    many = batch("coup", 6, 3, ("random", "honest"), in_c=in_c)
    masks = many.reset(seed=1)[1]["action_mask"]
    play_on(many, masks)
    masks = many.action_masks()
    copies = [copy.copy(many), pickle.loads(pickle.dumps(many))]
    expected = play_on(many, masks)
    assert [play_on(each, masks) for each in copies] == [expected, expected]


@COMPILED
def test_a_state_that_is_damaged_or_of_another_batch_is_refused() -> None:
    many, other = (batch(rules, 4, 3, in_c=True) for rules in ("coup", "inquisitor"))
    many.reset(seed=1)
    good, wrong = many.__getstate__(), other.__getstate__()
    (state, checksum) = good["_engine"]
    for changed in (
        good | {"_engine": (state[:700] + b"?" + state[701:], checksum)},
        wrong | {"_engine": good["_engine"]},
    ):
        with pytest.raises(ValueError, match="damaged, or of another batch"):
            other.__setstate__(changed)


@IN_C
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
def test_a_masked_action_is_refused_before_any_is_played(in_c: bool, actions: list[Any], error: str) -> None:
    many = batch("coup", 2, 2, in_c=in_c)
    with pytest.raises(AttributeError, match=r"call reset\(\) first"):
        many.step([0, 0])
    _, info = many.reset(seed=1)
    legal = info["action_mask"].argmax(1)
    with pytest.raises(ValueError, match=error):
        many.step([legal[0] if action == 1 else action for action in actions])
    after, *_ = many.step(legal)
    other = batch("coup", 2, 2, in_c=in_c)
    other.reset(seed=1)
    assert after.tobytes() == other.step(legal).observations.tobytes()


@COMPILED
def test_c_refuses_what_could_lead_out_of_its_memory() -> None:
    many = batch("inquisitor", 6, 2, ("honest", first_legal), in_c=True)
    masks = many.reset(seed=1)[1]["action_mask"]
    engine, arrays = many._engine, many._current
    with pytest.raises(ValueError, match="of another size"):
        engine.restore(engine.state()[1:])
    rows, none, last = np.arange(2), np.zeros(2, np.int64), arrays[9]
    for wrong in ((rows[:1], none, arrays), (rows, none, arrays[:9]), (rows, none, (*arrays[:9], last[:, :-1])),
                  (rows, none, (*arrays[:9], last[:1]))):  # fmt: skip
        with pytest.raises((ValueError, BufferError)):
            engine.step(*wrong)
    for refused, wrong in ((1, np.zeros(2, np.int64)), (0, rows - 1), (1, rows + 1)):
        assert engine.step(wrong, masks[wrong % 2].argmax(1), arrays) == refused
    tables, refused = many._make_arguments(), 0
    for name, value in tables.items():
        for at in range(len(value) if isinstance(value, array) else 0):
            for number in (-9_999, -1, 0, 7, 9_999):
                changed = value[:at] + array("h", [number]) + value[at + 1 :]
                try:
                    other = type(engine)(**tables | {name: changed})
                except ValueError:
                    refused += 1
                    continue
                other.deal(arrays)
                for _ in range(20):  # within its memory, as the sanitizers of `make test-compiled` see
                    assert other.step(rows, arrays.masks.argmax(1), arrays) == -1
    assert refused > 500


@each(
    "options, why",
    [
        ({"rules": "duel", "seats": 2}, "rules"),
        ({"seats": 7}, "seats"),
        ({"opponents": BOTS}, "bot"),
        ({"opponents": ["random"] * 65}, "64 opponents"),
    ],
)
def test_what_c_lacks_is_played_in_python_with_a_warning(options: Any, why: str) -> None:
    with pytest.warns(UserWarning, match=f"plays in Python.*({why}|isn't compiled)"):
        assert not batch(games=1, **options).in_c
    with pytest.raises(ValueError, match=f"can't be played in C: .*({why}|isn't compiled)"):
        batch(games=1, in_c=True, **options)


def test_a_learner_drafts_against_an_opponent() -> None:
    games = batch("duel", 2, 2, "random", in_c=False)
    observations, info = games.reset(seed=1)
    assert observations[:, games.fields["kind"][0]].argmax(axis=1).tolist() == [coup_env.KINDS.index("draft")] * 2
    assert info["seat"].tolist() == [0, 1]


def test_an_object_can_not_play_in_all_games() -> None:
    class Quiet:
        def reply(self, message: Any) -> None: ...

    with pytest.raises(ValueError, match="pass its class"):
        batch(games=2, opponents=Quiet(), in_c=False)
    with pytest.raises(ValueError, match="at least one game, not 0"):
        batch(games=0)
    with pytest.raises(ValueError, match="not to 4"):
        batch("duel", games=2)


@IN_C
@each("seed", [[7], [7, 8, 9], [7, "x"]])
def test_wrong_seeds_change_no_games(in_c: bool, seed: Any) -> None:
    many, other = (batch("coup", 2, 2, in_c=in_c) for _ in range(2))
    masks = many.reset(seed=1)[1]["action_mask"]
    with pytest.raises(ValueError, match=r"needs 2 seeds|invalid literal"):
        many.reset(seed=seed)
    assert play_on(many, masks) == play_on(other, other.reset(seed=1)[1]["action_mask"])


@IN_C
@each("fails_at", [1, 3])
def test_games_are_dealt_again_after_an_exception_in_an_opponent(in_c: bool, fails_at: int) -> None:
    calls: list[int] = []

    def policy(observations: Any, masks: Any) -> Any:
        calls.append(len(masks))
        if len(calls) == fails_at:
            raise KeyError
        return first_legal(observations, masks)

    many = batch("coup", 2, 4, policy, in_c=in_c)
    with pytest.raises(KeyError):
        play_on(many, many.reset(seed=1)[1]["action_mask"])
    for ask in (many.action_masks, lambda: many.step([0] * 4)):
        with pytest.raises(AttributeError, match=r"call reset\(\) first"):
            ask()
    play_on(many, many.reset()[1]["action_mask"])


@COMPILED
def test_actions_that_c_overwrites_are_checked_again() -> None:
    many = batch("coup", 2, 3, in_c=True)
    many.reset(seed=1)
    engine, arrays = many._engine, many._current
    before = engine.state()
    actions = arrays.seats[:2]
    actions[:] = arrays.masks[1:].argmax(1)
    assert engine.step(np.array([1, 2]), actions, arrays) == -1
    last = len(before) * 2 // 3
    assert actions[1] == 1 != arrays.masks[2].argmax()
    assert engine.state()[last:] == before[last:]
