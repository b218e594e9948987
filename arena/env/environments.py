"""Offer the game as PettingZoo environments, with the AEC API and the parallel API.

AEC: seats that are asked at once act in the order in which their answers count, and can't observe each other's
answers. An agent that loses its last card is terminated immediately. Parallel: all living agents act at once, but
only the asked ones count. The mask of the others allows only `wait`, and their actions are ignored. A common base
defines agents, spaces, action words and observation fields."""

import copy
from collections.abc import Iterator
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete
from pettingzoo import AECEnv, ParallelEnv

from arena.coup import Ruleset
from arena.env.encoder import observation_fields
from arena.env.game import EnvironmentGames, Observation, Opponent
from arena.local import BotArgument
from protocol.kits.coup_env import size

Space = gymnasium.Space[Any]


class BaseEnv:
    """The base of both environments. The agents are `player_0` in seat 0, and so on.

    `action_words`: the word of each action. `fields`: (slice of the observation, description) by name of the field.
    `roles`: the order of roles in fields. Raises ValueError for unknown rules or another render mode than None and
    "ansi", and if the rules aren't for this number of seats.
    """

    def __init__(self, rules: str | Ruleset = "coup", seats: int = 4, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode not in (None, "ansi"):
            raise ValueError(f"invalid render_mode {render_mode!r}; valid are None and 'ansi'")
        self._game = game = EnvironmentGames(rules, seats)
        self.render_mode = render_mode
        self.agents: list[str] = []
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.action_words = game.actions.words
        self.fields = observation_fields(seats)
        self.roles = tuple(role.value for role in game.rules.roles)
        actions = len(self.action_words)
        self.observation_spaces = {
            agent: Dict(
                {
                    "observation": Box(0, 32_767, (size(seats),), np.int16),  # of int16; all counts are smaller
                    "action_mask": Box(0, 1, (actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: Discrete(actions) for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Space:
        """Return the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space:
        """Return the space of an agent's actions."""
        return self.action_spaces[agent]

    def opponent(self, agent: str, bot: BotArgument) -> Opponent:
        """Return an opponent that chooses an agent's actions by a bot of `arena.local`, such as "sample:honest"."""
        return Opponent(self._game, self._seat[agent], bot)

    def render(self) -> str | None:
        """Return the public state as text, a line for each player, in the mode `ansi`; None in other modes."""
        return self._game.text() if self.render_mode == "ansi" else None

    def __copy__(self) -> Self:
        """Return a deep copy, because a shallow one would share a part of the game's state."""
        return copy.deepcopy(self)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def env(**options: Any) -> "raw_env":
    """Return the game in AEC form; see `raw_env`.

    The result has none of PettingZoo's wrappers, which would cost a third of the speed: `raw_env` itself raises errors
    if `last` or `step` is called before `reset`, and for illegal actions.
    """
    return raw_env(**options)


class _MissingBeforeReset:
    """The class attribute `agent_selection`, which raises an error with the fix; `reset` sets the instance's attribute.

    A `__getattr__` would cover all attributes, but would cost a fifteenth of the speed.
    """

    def __get__(self, game: object, kind: type | None = None) -> Any:
        raise AttributeError("agent_selection isn't set: call reset() first")


class raw_env(BaseEnv, AECEnv):  # type: ignore[misc] # noqa: N801 (PettingZoo's name)
    """The game in AEC form. `rules`: a preset's name or a Ruleset; `seats`: 2 to 10. Raises as `BaseEnv`."""

    metadata = {"name": "coup_v0", "render_modes": ["ansi"], "is_parallelizable": False}  # noqa: RUF012 (PettingZoo's)

    agent_selection: str = _MissingBeforeReset()  # type: ignore[assignment]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game. The same seed deals the same games; None continues with the next. Ignores `options`."""
        self._game.reset(seed)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None  # may be left over from an unfinished game
        self._answers_left = len(self._game.asked)
        self.agent_selection = self.possible_agents[self._game.asked[0]]

    def observe(self, agent: str) -> Observation:
        """Return the observation of an agent, {"observation": int16, (numbers,), "action_mask": int8, (actions,)}."""
        return self._game.observe(self._seat[agent])

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the selected agent until the game is over; `step` selects the next one. Faster than PettingZoo's."""
        while self.agents and max_iter > 0:
            max_iter -= 1
            yield self.agent_selection

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated, info of the selected agent, faster than PettingZoo's.

        Without `observe` the observation is None.
        """
        agent = self.agent_selection
        observation = self.observe(agent) if observe else None
        rewards, terminated, truncated = self._cumulative_rewards, self.terminations, self.truncations
        return observation, rewards[agent], terminated[agent], truncated[agent], self.infos[agent]

    def step(self, action: Any) -> None:
        """Play an action of the selected agent, None if it is out. Raises ValueError for an illegal action."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self._game
        eliminated = game.answer(self._seat[agent], action)
        self._answers_left -= 1
        asked_seats = game.asked
        if self._answers_left:
            self.agent_selection = self.possible_agents[asked_seats[-self._answers_left]]
            return
        if not asked_seats:
            self._end()
            return
        self._answers_left = len(asked_seats)
        self.agent_selection = self.possible_agents[asked_seats[0]]
        if eliminated:
            for seat in eliminated:
                self.terminations[self.possible_agents[seat]] = True
            self._deads_step_first()

    def _end(self) -> None:
        """Give each agent that is left its reward and its end, and select the first one."""
        game = self._game
        for agent in self.agents:
            seat = self._seat[agent]
            self.rewards[agent] = game.reward(seat)
            self.truncations[agent] = game.is_cut_off(seat)
            self.terminations[agent] = not self.truncations[agent]
        self._accumulate_rewards()
        self.agent_selection = self.agents[0]


Stepped = tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


class parallel_env(BaseEnv, ParallelEnv):  # type: ignore[misc] # noqa: N801 (PettingZoo's name)
    """The game in parallel form; the arguments are those of `raw_env`."""

    metadata = {"name": "coup_v0", "render_modes": ["ansi"]}  # noqa: RUF012 (PettingZoo's)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Deal a new game, as `raw_env.reset`; return the observations and empty infos, by agent."""
        self._game.reset(seed)
        self.agents = self.possible_agents[:]
        return self._observe_all(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Stepped:
        """Play the actions of the asked agents; return observations, rewards, terminations, truncations and infos.

        Raises ValueError if an asked agent has no action or an illegal one; then nothing has been played.
        """
        game, agents, names = self._game, self.agents, self.possible_agents
        moves = [game.move(seat, actions.get(names[seat])) for seat in game.asked]
        eliminated = game.apply_answers(moves) if moves else ()
        observations = self._observe_all()
        rewards = dict.fromkeys(agents, 0.0)
        terminated, truncated = dict.fromkeys(agents, False), dict.fromkeys(agents, False)
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        if game.asked:
            for seat in eliminated:
                terminated[names[seat]] = True
            if eliminated:
                self.agents = [agent for agent in agents if not terminated[agent]]
        else:
            for agent in agents:
                seat = self._seat[agent]
                rewards[agent] = game.reward(seat)
                truncated[agent] = game.is_cut_off(seat)
                terminated[agent] = not truncated[agent]
            self.agents = []
        return observations, rewards, terminated, truncated, infos

    def _observe_all(self) -> dict[str, Observation]:
        """Return the observation of each agent that is left."""
        observe, seats = self._game.observe, self._seat
        return {agent: observe(seats[agent]) for agent in self.agents}
