"""Step many games at once, as a vector environment of gymnasium.

Row i of every array is game i, at a decision of the seat `info["seat"][i]`. A game without a decision left is dealt
again in the same step."""

import copy
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from arena.coup import Ruleset, view_from_seat
from arena.env.encoder import observation_fields
from arena.env.game import EnvironmentGames, LegalActions, Opponent
from arena.local import BotArgument, name_bots, require_factories
from protocol.kits.coup_env import size


class VectorStep(NamedTuple):
    """What `vector_env.step` returns; every array has a row for each game."""

    observations: NDArray[np.int16]  # (games, numbers)
    rewards: NDArray[np.float64]  # (games,), as the next two
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    info: dict[str, Any]


class vector_env(VectorEnv):  # noqa: N801 (as `parallel_env`)
    """`num_envs` games at once. Game i equals `env` with its seed: the same observations and masks, in the same order.

    `opponent`: a class or the name of a bot of `arena.local`, which plays all seats but one; in game n after a seed,
    row i decides for seat (i + n) % seats. None: every decision of every seat is a row. Actions, `action_words`,
    `fields`, `roles` and `possible_agents` are those of `env`. Raises ValueError for rules that aren't for the seats.
    """

    metadata = {"name": "coup_v0", "render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self, num_envs: int, rules: str | Ruleset = "coup", seats: int = 4, opponent: BotArgument | None = None
    ) -> None:
        first = EnvironmentGames(rules, seats)
        self._games = [copy.copy(first) for _ in range(num_envs)]  # they share `actions` and the cache of own cards
        self.num_envs, self._seats = num_envs, [0] * num_envs
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self.action_words, self.fields = first.actions.words, observation_fields(seats)
        self.roles = tuple(role.value for role in first.rules.roles)
        numbers, actions = size(seats), len(self.action_words)
        self.single_observation_space = Box(0, 32_767, (numbers,), np.int16)
        self.single_action_space = Discrete(actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        # Written by slices of bytes and arrays, which are faster than numpy's rows; numpy's arrays share the memory.
        self._numbers, self._bits = array("h", bytes(2 * num_envs * numbers)), bytearray(num_envs * actions)
        self._observations = np.frombuffer(self._numbers, np.int16).reshape(num_envs, numbers)
        self._masks = np.frombuffer(self._bits, np.int8).reshape(num_envs, actions)
        self._mask_places = [slice(row * actions, (row + 1) * actions) for row in range(num_envs)]
        for row, game in enumerate(self._games):
            game.write_into(self._numbers, row * numbers)
        self._rows, self._all = np.arange(num_envs), np.ones(num_envs, np.bool_)
        self._legal: list[LegalActions] = [first.actions.waiting] * num_envs
        self._bots: list[dict[int, Opponent]] | None = None
        if opponent is not None:
            require_factories(name_bots({"opponent": opponent}), "for several games,")
            self._bots = [{seat: Opponent(game, seat, opponent) for seat in range(seats)} for game in self._games]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int16], dict[str, Any]]:
        """Deal a new game in each row; return observations and info. An integer seeds row i with `seed` + i."""
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            seed = [None if seed is None else int(seed) + row for row in range(self.num_envs)]
        for row, each in enumerate(seed):
            self._deal(row, each)
        return self._observations.copy(), self._info()

    def step(self, actions: ArrayLike) -> VectorStep:
        """Play an action in each row: integers, (games,). Raises ValueError for an illegal one; then none is played.

        Observations, masks and seats are those of the next decisions. A reward goes to the seat that acted, when its
        game ends: 1 to a winner, 1/k to each of k survivors at the turn limit (`truncated`), else 0. An opponent's game
        ends when the learning seat is out. `info`:

        - `action_mask`: int8, (games, actions). `seat`: int64, (games,).
        - `final_obs`: what the seats that acted observe at the end, an object array of None and (numbers,).
        - `final_info`: `returns`: float64, (games, seats), each seat's reward; `_returns`: bool, games with returns.
        """
        chosen = self._checked(actions)
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        ended: dict[str, Any] = {}
        games, legal_actions = self._games, self._legal
        for row, action in enumerate(chosen.tolist()):
            game = games[row]
            answers = game.answers
            answers.append(legal_actions[row].by_action[action])
            eliminated: tuple[int, ...] = ()
            if len(answers) == len(game.asked):
                game.answers, eliminated = [], game.apply_answers(answers)
            if game.asked if self._bots is None else self._let_opponents_act(row, eliminated):
                self._show(row, game.asked[len(game.answers)])
                continue
            seat, over = self._seats[row], game.over
            if over is not None:
                rewards[row], truncated[row] = game.reward(seat), game.is_draw and seat in over.survivors
            terminated[row] = not truncated[row]
            self._end(row, ended)
            self._deal(row, None)
        return VectorStep(self._observations.copy(), rewards, terminated, truncated, self._info() | ended)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks of the present decisions, (games, actions), as sb3-contrib asks for them."""
        return self._masks.astype(np.bool_)

    def _checked(self, actions: ArrayLike) -> NDArray[np.integer[Any]]:
        chosen = np.asarray(actions)
        if chosen.shape != (self.num_envs,) or not np.issubdtype(chosen.dtype, np.integer):
            raise ValueError(f"step needs {self.num_envs} integers, and got {chosen.dtype} of the shape {chosen.shape}")
        within = (chosen >= 0) & (chosen < self._masks.shape[1])
        wrong = np.flatnonzero(~within | (self._masks[self._rows, chosen * within] == 0))
        if len(wrong):
            row = int(wrong[0])
            try:
                self._games[row].move(self._seats[row], chosen[row])
            except ValueError as error:
                raise ValueError(f"game {row}: {error}") from None
        return chosen

    def _deal(self, row: int, seed: int | None) -> None:
        game, has_decision = self._games[row], False
        while not has_decision:  # an opponent may win before the row's first decision
            game.reset(seed)
            seed, self._seats[row] = None, (row + game.course.number) % game.seats
            has_decision = self._bots is None or self._let_opponents_act(row, ())
        self._show(row, game.asked[len(game.answers)])

    def _let_opponents_act(self, row: int, eliminated: tuple[int, ...]) -> bool:
        """Play until the row's seat is asked, and return True; False if it is out, or the game is over."""
        assert self._bots is not None
        game, bots, own = self._games[row], self._bots[row], self._seats[row]
        while game.asked and own not in eliminated:
            seat = game.asked[len(game.answers)]
            if seat == own:
                return True
            eliminated = game.answer(seat, bots[seat].action())
        return False

    def _show(self, row: int, seat: int) -> None:
        """Write the observation and the mask of a seat that is asked into its row."""
        game = self._games[row]
        view = view_from_seat(game.state, seat)
        legal = game.list_actions(view)
        self._seats[row], self._legal[row] = seat, legal
        self._bits[self._mask_places[row]] = legal.bits
        game.write(view)

    def _end(self, row: int, ended: dict[str, Any]) -> None:
        game, seat = self._games[row], self._seats[row]
        if not ended:
            final = {"returns": np.zeros((self.num_envs, game.seats)), "_returns": np.zeros(self.num_envs, np.bool_)}
            ended.update(final_obs=np.full(self.num_envs, None, object), final_info=final)
            ended["_final_obs"] = ended["_final_info"] = np.zeros(self.num_envs, np.bool_)
        game.write(view_from_seat(game.state, seat))
        ended["final_obs"][row], ended["_final_obs"][row] = self._observations[row].copy(), True
        if game.over is not None:
            final = ended["final_info"]
            final["returns"][row], final["_returns"][row] = [game.reward(each) for each in range(game.seats)], True

    def _info(self) -> dict[str, Any]:
        seats = np.array(self._seats)
        return {"action_mask": self._masks.copy(), "_action_mask": self._all, "seat": seats, "_seat": self._all}
