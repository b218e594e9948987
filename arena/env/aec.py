"""The game in PettingZoo's form for turns: agents act one after the other (AEC).

Where several seats are asked at once, they are asked in the order in which their answers count, and none observes what
another answered. An agent that has lost its last card is terminated at once.
"""

from collections.abc import Iterator
from typing import Any

from pettingzoo import AECEnv

from arena.env.form import Form
from arena.env.game import Observation


def env(**options: Any) -> "raw_env":
    """Return the game in AEC form; see `raw_env`.

    It has none of PettingZoo's wrappers, which would take a third of its speed: `raw_env` itself says when `last` or
    `step` comes before `reset`, and what an action that the mask forbids is.
    """
    return raw_env(**options)


class _MissingBeforeReset:
    """The agent selected, before `reset` selects one: the object's own attribute hides this one, which says what to do.

    A `__getattr__` would say it of all attributes, but slows each of them: it takes a fifteenth of the speed.
    """

    def __get__(self, game: object, kind: type | None = None) -> Any:
        raise AttributeError("there is no agent_selection: call reset() first")


class raw_env(Form, AECEnv):  # type: ignore[misc] # noqa: N801 (PettingZoo's name)
    """The game in AEC form. `rules`: a preset's name or a Ruleset; `seats`: 2 to 10.

    Raises ValueError if the rules aren't for so many seats.
    """

    metadata = {"name": "coup_v0", "render_modes": ["ansi"], "is_parallelizable": False}  # noqa: RUF012 (PettingZoo's)

    agent_selection: str = _MissingBeforeReset()  # type: ignore[assignment]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new game."""
        self._game.reset(seed)
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection = None  # else the last game's, if it was left amid the steps of the dead
        self._left = len(self._game.asked)
        self.agent_selection = self.possible_agents[self._game.asked[0]]

    def observe(self, agent: str) -> Observation:
        """Return what an agent observes, and the mask of its actions."""
        return self._game.observe(self._seat[agent])

    def agent_iter(self, max_iter: int = 2**63) -> Iterator[str]:
        """Yield the selected agent, again and again; `step` selects the next one. Faster than PettingZoo's."""
        while self.agents and max_iter > 0:
            max_iter -= 1
            yield self.agent_selection

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, reward, terminated, truncated, info of the selected agent. Faster than PettingZoo's."""
        agent = self.agent_selection
        observed = self.observe(agent) if observe else None
        rewards, terminated, truncated = self._cumulative_rewards, self.terminations, self.truncations
        return observed, rewards[agent], terminated[agent], truncated[agent], self.infos[agent]

    def step(self, action: Any) -> None:
        """Take the action of the selected agent, None of one that is out. Raises ValueError if the mask forbids it."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        game = self._game
        gone = game.answer(self._seat[agent], action)
        self._left -= 1
        if self._left:
            self.agent_selection = self.possible_agents[game.asked[-self._left]]
            return
        asked = game.asked
        if not asked:
            self._end()
            return
        self._left = len(asked)
        self.agent_selection = self.possible_agents[asked[0]]
        if gone:
            for seat in gone:
                self.terminations[self.possible_agents[seat]] = True
            self._deads_step_first()

    def _end(self) -> None:
        game = self._game
        survivors = game.over.survivors if game.over is not None else ()
        for agent in self.agents:
            seat = self._seat[agent]
            self.rewards[agent] = game.worth(seat)
            cut_off = game.drawn and seat in survivors
            self.truncations[agent] = cut_off
            self.terminations[agent] = not cut_off
        self._accumulate_rewards()
        self.agent_selection = self.agents[0]
