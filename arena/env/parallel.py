"""The game in PettingZoo's parallel form: all living agents act at once, but only who is asked counts.

The mask of an agent that isn't asked allows `wait` alone, and whatever it does is ignored.
"""

from typing import Any

from pettingzoo import ParallelEnv

from arena.env.form import Form
from arena.env.game import Observation

Stepped = tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]


class parallel_env(Form, ParallelEnv):  # type: ignore[misc] # noqa: N801 (PettingZoo's name)
    """The game in parallel form; the arguments are those of `raw_env`."""

    metadata = {"name": "coup_v0", "render_modes": ["ansi"]}  # noqa: RUF012 (PettingZoo's)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Deal a new game; return what each agent observes, and an empty dict for each."""
        self._game.reset(seed)
        self.agents = self.possible_agents[:]
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> Stepped:
        """Take the actions of the agents that are asked; return what PettingZoo wants, by agent.

        Raises ValueError if one of them gave none, or one that its mask forbids; then no action was taken.
        """
        game = self._game
        asked = [(seat, self.possible_agents[seat]) for seat in game.asked]
        for seat, agent in asked:
            game.move(seat, actions.get(agent))
        gone: tuple[int, ...] = ()
        for seat, agent in asked:
            gone = game.answer(seat, actions[agent])
        over = game.over
        seats = {agent: self._seat[agent] for agent in self.agents}
        rewards = {agent: 0.0 if over is None else game.worth(seat) for agent, seat in seats.items()}
        truncated = {agent: game.drawn and over is not None and seat in over.survivors for agent, seat in seats.items()}
        terminated = {
            agent: seat in gone or (over is not None and not truncated[agent]) for agent, seat in seats.items()
        }
        observed = self._observations()
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agents = [agent for agent in self.agents if not terminated[agent] and not truncated[agent]]
        return observed, rewards, terminated, truncated, infos

    def _observations(self) -> dict[str, Observation]:
        return {agent: self._game.observe(self._seat[agent]) for agent in self.agents}
