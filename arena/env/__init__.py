"""Coup as an environment for reinforcement learning, as PettingZoo and Gymnasium have it.

from arena.env import env

game = env(rules="coup", seats=4)
game.reset(seed=1)
for agent in game.agent_iter():
    observation, reward, terminated, truncated, info = game.last()
    over = terminated or truncated
    game.step(None if over else game.action_space(agent).sample(observation["action_mask"]))

Observations are computed only from the engine's views. Only `Opponent` uses bots (`arena.local`). This package needs
the extra `env`, and must not know processes or pipes.
"""

try:
    import pettingzoo as _pettingzoo
except ImportError as missing:
    from arena import with_extra

    raise ImportError(f"arena.env needs {missing.name}: {with_extra('env')}") from missing

from arena.env.batches import BatchStep, Policy, batch
from arena.env.encoder import ObservationEncoder
from arena.env.environments import env, parallel_env, raw_env
from arena.env.game import Opponent
from arena.env.policy_bot import save_bot

__all__ = [
    "BatchStep",
    "ObservationEncoder",
    "Opponent",
    "Policy",
    "batch",
    "env",
    "parallel_env",
    "raw_env",
    "save_bot",
]
