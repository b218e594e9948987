"""What both of PettingZoo's forms share: agents, spaces, the words of actions, the fields of observations."""

import copy
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete

from arena.coup import Ruleset
from arena.env.game import Game
from arena.env.observation import fields
from arena.env.rival import Rival
from arena.local import Given
from protocol.kits.coup_env import size

Space = gymnasium.Space[Any]

_MOST = 32_767  # no count is larger: coins stay under 1,000 however long a game is


class Form:
    """One environment: agents are `player_0`, who sits in seat 0, and so on.

    `action_words` has the word of each action, `fields` the place of each field in an observation and what it says,
    `roles` the order of the roles in a field.
    """

    def __init__(self, rules: str | Ruleset = "coup", seats: int = 4, render_mode: str | None = None) -> None:
        super().__init__()
        if render_mode not in (None, "ansi"):
            raise ValueError(f"there is no render_mode {render_mode!r}; there are: None, 'ansi'")
        self._game = game = Game(rules, seats)
        self.render_mode = render_mode
        self.agents: list[str] = []
        self.possible_agents = [f"player_{seat}" for seat in range(seats)]
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.action_words = game.actions.words
        self.fields = fields(seats)
        self.roles = tuple(role.value for role in game.rules.roles)
        actions = len(self.action_words)
        self.observation_spaces = {
            agent: Dict(
                {
                    "observation": Box(0, _MOST, (size(seats),), np.int16),
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

    def rival(self, agent: str, bot: Given) -> Rival:
        """Return what chooses the actions of an agent as a bot does: `arena.local`'s, such as "sample:honest"."""
        return Rival(self._game, self._seat[agent], bot)

    def render(self) -> str | None:
        """Return what everybody sees as text, in the mode `ansi`; else None."""
        return self._game.text() if self.render_mode == "ansi" else None

    def __copy__(self) -> Self:
        """Return a game of its own: half of a game, shared, would be neither."""
        return copy.deepcopy(self)

    def close(self) -> None:
        """Nothing is held open."""
