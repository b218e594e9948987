"""Play many games at once, as a vector environment of gymnasium: in C, or the same on the engine in Python.

Row i of every array is game i, at a decision of the learner in the seat `info["seat"][i]`. A game without a decision
left is dealt again in the same step."""

import copy
import os
import warnings
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from arena.coup import Ruleset, derive_key
from arena.env import native_games
from arena.env.encoder import observation_fields
from arena.env.game import EnvironmentGames
from arena.env.python_games import PythonGames
from arena.local import BotArgument
from protocol.kits.coup_env import size

_LAYOUT = 1  # increases when the same bytes of the games in C mean other games

Policy: TypeAlias = Callable[[NDArray[np.int16], NDArray[np.int8]], ArrayLike]
"""A policy returns actions, (n,), for observations, (n, numbers), and masks, (n, actions)."""


class BatchStep(NamedTuple):
    """The result of `batch.step`, which describes the fields; each array has a row for each game."""

    observations: NDArray[np.int16]  # (games, numbers)
    rewards: NDArray[np.float64]  # (games,), as the next two
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    info: dict[str, Any]


class _Arrays(NamedTuple):
    """What an engine writes, in the order of c/module.c."""

    observations: NDArray[np.int16]  # (games, numbers)
    masks: NDArray[np.int8]  # (games, actions)
    seats: NDArray[np.int64]  # (games,): the seat that decides
    deciders: NDArray[np.int64]  # (games,): 0 for the learner, 1 + k for the opponent k, which is a policy
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    returns: NDArray[np.float64]  # (games, seats)
    has_returns: NDArray[np.bool_]
    final_observations: NDArray[np.int16]  # (games, numbers)


class batch(VectorEnv):  # noqa: N801 (as `parallel_env`)
    """Many games at once. Game i equals `env` with its seed: the same observations and masks, in the same order.

    `opponents`: who plays all seats but one; each seat's is drawn for each game. "random" draws legal actions, "honest"
    plays as `sample:honest`, a function is a `Policy`; another name or a class is a bot of `arena.local`. In game n
    after a seed, row i decides for seat (i + n) % seats. Without opponents, every decision of every seat is a row.
    `facts`: whether observations contain what is certain (`known`, `lacks`, `in_deck`); else these numbers are 0.

    The games are played in C if the arena is compiled, the rules are those of `coup` or `inquisitor`, there are at most
    6 seats and no bots; otherwise in Python, with a warning. `in_c` demands one of them. Actions, `action_words`,
    `fields`, `roles` and `possible_agents` are those of `env`. Raises ValueError for rules that aren't for the seats,
    for fewer than one game, and if `in_c` isn't possible.
    """

    metadata = {"name": "coup_v0", "render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        rules: str | Ruleset = "coup",
        seats: int = 4,
        games: int = 256,
        opponents: Sequence[Policy | BotArgument] | Policy | BotArgument = (),
        facts: bool = True,
        in_c: bool | None = None,
    ) -> None:
        if games < 1:
            raise ValueError(f"a batch needs at least one game, not {games}")
        prototype = EnvironmentGames(rules, seats)
        self.num_envs = games
        self.seats = seats
        self.facts = facts
        self.opponents = tuple(opponents) if isinstance(opponents, list | tuple) else (opponents,)
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self.action_words = prototype.actions.words
        self.fields = observation_fields(seats)
        self.roles = tuple(role.value for role in prototype.rules.roles)
        self.single_observation_space = Box(0, 32_767, (size(seats),), np.int16)
        self.single_action_space = Discrete(len(self.action_words))
        self.observation_space = batch_space(self.single_observation_space, games)
        self.action_space = batch_space(self.single_action_space, games)
        self.in_c = self._choose_engine(prototype.rules, in_c)
        self._rules = prototype.rules
        self._all_rows = np.ones(games, np.bool_)
        self._rows = np.arange(games)
        self._current: _Arrays | None = None
        self._engine: Any = (
            native_games.make_games(self._make_arguments())
            if self.in_c
            else PythonGames(prototype, games, self.opponents, facts)
        )
        for row in range(games):
            self._engine.seed(row, os.urandom(32))

    def _choose_engine(self, rules: Ruleset, in_c: bool | None) -> bool:
        """Return whether the games are played in C, which `in_c` demands or refuses. None warns if they can't be.

        Raises ValueError if C is demanded and can't play these games.
        """
        if in_c is False:
            return False
        problem = native_games.problem(rules, self.seats, self.opponents)
        if problem and in_c:
            raise ValueError(f"these games can't be played in C: {problem}")
        if problem:
            message = f"arena.env.batch plays in Python, which is slower than in C: {problem}"
            warnings.warn(message, stacklevel=3)
        return not problem

    def _make_arguments(self) -> dict[str, Any]:
        """Return the arguments of the games in C."""
        return native_games.make_arguments(
            self._rules, self.seats, self.num_envs, self.action_words, self.opponents, self.facts
        )

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.int16], dict[str, Any]]:
        """Deal a new game in each row; return observations and info. An integer seeds row i with `seed` + i.

        Raises ValueError for another number of seeds than rows; then nothing changes.
        """
        if seed is None:
            super().reset(seed=None)
            row_seeds: Sequence[int | None] = [None] * self.num_envs
        elif isinstance(seed, int | np.integer):
            super().reset(seed=int(seed))
            row_seeds = range(int(seed), int(seed) + self.num_envs)
        else:
            row_seeds = seed
        keys = [
            None if row_seed is None else derive_key(b"arena.env", f"seed|{int(row_seed)}") for row_seed in row_seeds
        ]
        if len(keys) != self.num_envs:
            raise ValueError(f"reset needs {self.num_envs} seeds, and got {len(keys)}")
        self._current = None
        for row, key in enumerate(keys):
            if key is not None:
                self._engine.seed(row, key)
        arrays = self._make_arrays()
        self._engine.deal(arrays)
        self._let_policies_act(arrays)
        self._current = arrays
        return arrays.observations, self._info(arrays)

    def step(self, actions: ArrayLike) -> BatchStep:
        """Play an action in each row: integers, (games,). Raises ValueError for an illegal one; then none is played.

        After an exception in an opponent, `reset` must deal new games.

        Observations, masks and seats are those of the next decisions. A reward goes to the learner, without opponents
        to the seat that acted, when its game ends: 1 to a winner, 1/k to each of k survivors at the turn limit
        (`truncated`), else 0. With opponents, a game ends when the learner is out, and a game in which it has no
        decision is left out. `info`:

        - `action_mask`: int8, (games, actions). `seat`: int64, (games,).
        - `final_obs`: where a game ended, what that seat observes at the end: int16, (games, numbers).
        - `final_info`: `returns`: float64, (games, seats), each seat's reward; `_returns`: bool, games with returns.
        """
        current = self._require_current()
        numbers = np.asarray(actions)
        if numbers.shape != (self.num_envs,) or not np.issubdtype(numbers.dtype, np.integer):
            description = f"{numbers.dtype} of the shape {numbers.shape}"
            raise ValueError(f"step needs {self.num_envs} integers, and got {description}")
        arrays = self._make_arrays()
        self._play(self._rows, numbers, arrays, current)
        self._let_policies_act(arrays)
        self._current = arrays
        info = self._info(arrays) | self._end_info(arrays)
        return BatchStep(arrays.observations, arrays.rewards, arrays.terminated, arrays.truncated, info)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks of the present decisions, (games, actions), as sb3-contrib asks for them."""
        return self._require_current().masks.astype(np.bool_)

    def _require_current(self) -> _Arrays:
        """Return the arrays of the present decisions. Raises AttributeError before `reset`."""
        if self._current is None:
            raise AttributeError("no games are at a decision: call reset() first")
        return self._current

    def _make_arrays(self) -> _Arrays:
        """Return new arrays with a row for each game, which the games in C and those in Python fill in place."""
        games, numbers = self.num_envs, size(self.seats)
        return _Arrays(
            observations=np.empty((games, numbers), np.int16),
            masks=np.empty((games, len(self.action_words)), np.int8),
            seats=np.empty(games, np.int64),
            deciders=np.empty(games, np.int64),
            rewards=np.zeros(games),
            terminated=np.zeros(games, np.bool_),
            truncated=np.zeros(games, np.bool_),
            returns=np.zeros((games, self.seats)),
            has_returns=np.zeros(games, np.bool_),
            final_observations=np.zeros((games, numbers), np.int16),
        )

    def _play(
        self, rows: NDArray[np.int64], actions: ArrayLike, arrays: _Arrays, decisions: _Arrays, decider: str = ""
    ) -> None:
        """Play in these rows, and write the next decisions to `arrays`. Raises ValueError for an illegal action.

        decisions: has the masks and seats of the actions. decider: of them, for the message; "" for the learner.
        """
        numbers = np.array(actions, np.int64)
        current, self._current = self._current, None  # an exception in an opponent leaves games between two decisions
        illegal = self._engine.step(rows, numbers, arrays)  # the index of an illegal action, or -1
        if illegal >= 0:
            self._current = current
            row = int(rows[illegal])
            legal = np.flatnonzero(decisions.masks[row])
            choices = ", ".join(f"{index} ({self.action_words[index]})" for index in legal)
            agent = f"{decider}{self.possible_agents[decisions.seats[row]]}"
            raise ValueError(f"game {row}: {agent} gave the action {numbers[illegal]}; its mask allows {choices}")

    def _let_policies_act(self, arrays: _Arrays) -> None:
        """Let the opponents that are policies act until each row is at a decision of the learner.

        Raises ValueError for actions of a wrong shape or type and for illegal ones, and what a policy raises.
        """
        while arrays.deciders.any():
            for decider in np.unique(arrays.deciders[arrays.deciders > 0]):
                rows = np.flatnonzero(arrays.deciders == decider)
                policy: Any = self.opponents[decider - 1]
                actions = np.asarray(policy(arrays.observations[rows], arrays.masks[rows]))
                if actions.shape != rows.shape or not np.issubdtype(actions.dtype, np.integer):
                    description = f"{actions.dtype} of the shape {actions.shape}"
                    raise ValueError(f"opponent {decider - 1} returned {description} for {len(rows)} rows")
                self._play(rows, actions, arrays, arrays, f"opponent {decider - 1} as ")

    def _info(self, arrays: _Arrays) -> dict[str, Any]:
        """Return the fields of `info` that each step has; as in gymnasium, `_name` marks the rows that have `name`."""
        all_rows = self._all_rows
        return {"action_mask": arrays.masks, "_action_mask": all_rows, "seat": arrays.seats, "_seat": all_rows}

    def _end_info(self, arrays: _Arrays) -> dict[str, Any]:
        """Return the fields of `info` on games that have ended in this step; {} if none has."""
        has_ended = arrays.terminated | arrays.truncated
        if not has_ended.any():
            return {}
        returns = {"returns": arrays.returns, "_returns": arrays.has_returns}
        observations = {"final_obs": arrays.final_observations, "_final_obs": has_ended}
        return {**observations, "final_info": returns, "_final_info": has_ended}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state; that of the games in C is bytes with a checksum, which shows damage and not intent."""
        if not self.in_c:
            return vars(self)
        state = self._engine.state()
        return vars(self) | {"_engine": (state, self._checksum(state))}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Raise ImportError for games in C where the arena isn't compiled, ValueError for a damaged state."""
        vars(self).update(state)
        if self.in_c:
            self._engine = native_games.make_games(self._make_arguments())
            games, checksum = state["_engine"]
            if self._checksum(games) != checksum:
                raise ValueError("the state is damaged, or of another batch")
            self._engine.restore(games)

    def _checksum(self, state: bytes) -> int:
        return zlib.crc32(state, zlib.crc32(repr((_LAYOUT, self._make_arguments())).encode()))

    def __copy__(self) -> Self:
        """Return a deep copy, because a shallow one would share a part of the games' state."""
        return copy.deepcopy(self)
