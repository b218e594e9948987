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
        game, agents = self._game, self.agents
        move, names = game.move, self.possible_agents
        moves = [move(seat, actions.get(names[seat])) for seat in game.asked]
        gone = game.go_on(moves) if moves else ()
        rewards = dict.fromkeys(agents, 0.0)
        terminated, truncated = dict.fromkeys(agents, False), dict.fromkeys(agents, False)
        observed = self._observations()
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        over = game.over if not game.asked else None
        if over is not None or gone:
            for agent in agents:
                seat = self._seat[agent]
                truncated[agent] = game.drawn and over is not None and seat in over.survivors
                terminated[agent] = seat in gone or (over is not None and not truncated[agent])
                if over is not None:
                    rewards[agent] = game.worth(seat)
            self.agents = [agent for agent in agents if not terminated[agent] and not truncated[agent]]
        return observed, rewards, terminated, truncated, infos

    def _observations(self) -> dict[str, Observation]:
        observe, seats = self._game.observe, self._seat
        return {agent: observe(seats[agent]) for agent in self.agents}
