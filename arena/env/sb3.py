"""Train on a batch with Stable-Baselines3, which no extra installs: pip install stable-baselines3 or sb3-contrib.

games = BatchVecEnv(batch("coup", 2, 256, "honest"))
model = MaskablePPO("MlpPolicy", games)
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.vec_env import VecEnv

from arena.env.batches import batch

Floats = NDArray[np.float32]


class BatchVecEnv(VecEnv):  # type: ignore[misc]  # where it isn't installed
    """A batch as a vector environment of Stable-Baselines3, with masks for sb3-contrib.

    `scale`: factors of the numbers of an observation, (numbers,); None: 1/50 for the turn, because all else is small,
    and 1 for the others.
    """

    def __init__(self, games: batch, scale: ArrayLike | None = None) -> None:
        self.games, self._lengths = games, np.zeros(games.num_envs, np.int64)
        numbers = games.single_observation_space.shape or ()
        self.scale: Floats = np.ones(numbers, np.float32) if scale is None else np.asarray(scale, np.float32)
        if scale is None:
            self.scale[games.fields["turn"][0]] = 1 / 50
        super().__init__(games.num_envs, Box(0, np.inf, numbers, np.float32), games.single_action_space)

    def reset(self) -> Floats:
        """Deal a game in each row, after `seed` with its seeds."""
        observations, _ = self.games.reset(seed=self._seeds)
        self._reset_seeds()
        self._lengths[:] = 0
        return observations * self.scale

    def step_async(self, actions: ArrayLike) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Floats, Floats, NDArray[np.bool_], list[dict[str, Any]]]:
        """Play the actions; return observations, rewards, ends and infos, with reward and length of each episode."""
        observations, rewards, terminated, truncated, info = self.games.step(self._actions)
        infos: list[dict[str, Any]] = [{} for _ in rewards]
        self._lengths += 1
        for row in np.flatnonzero(terminated | truncated):
            # Without TimeLimit.truncated: a truncated game is over and has its reward.
            infos[row] = {"terminal_observation": info["final_obs"][row] * self.scale}
            infos[row]["episode"] = {"r": rewards[row], "l": int(self._lengths[row]), "t": 0}
            self._lengths[row] = 0
        return observations * self.scale, rewards.astype(np.float32), terminated | truncated, infos

    def layers(self, policy: Any) -> list[tuple[Floats, Floats]]:
        """Return the actor of a policy of dense layers for `save_bot`, with the scale in the first weights."""
        modules = [*policy.mlp_extractor.policy_net, policy.action_net]
        layers = [
            (module.weight.detach().numpy(), module.bias.detach().numpy())
            for module in modules
            if hasattr(module, "weight")
        ]
        return [(layers[0][0] * self.scale, layers[0][1]), *layers[1:]]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **options: Any) -> Any:
        """Call a method of the batch; its result has a row for each game."""
        return getattr(self.games, method_name)(*args, **options)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the batch, once for each game."""
        return [getattr(self.games, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the batch."""
        setattr(self.games, attr_name, value)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False for each row: no game is wrapped."""
        return [False] * self.num_envs

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
