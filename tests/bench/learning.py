"""An environment for learning, and bots in process: what they cost beside the engine, and beside pipes."""

import random
import time

from arena.env import env, parallel_env


def aec_decisions_per_second(seats: int, seconds: float) -> float:
    """Play random games for about so many CPU-seconds; return decisions a CPU-second, one for each action taken."""
    pick = random.Random(1).random
    game = env(seats=seats)
    decisions = 0
    seed: int | None = 1
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        game.reset(seed=seed)
        seed = None
        for _ in game.agent_iter():
            observation, _, terminated, truncated, _ = game.last()
            if terminated or truncated:
                game.step(None)
                continue
            legal = observation["action_mask"].nonzero()[0]
            game.step(legal[int(pick() * len(legal))])
            decisions += 1
    return decisions / spent


def parallel_decisions_per_second(seats: int, seconds: float) -> float:
    """Do the same in the parallel form; a decision is the action of an agent that is asked."""
    pick = random.Random(1).random
    game = parallel_env(seats=seats)
    decisions = 0
    seed: int | None = 1
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        observed, _ = game.reset(seed=seed)
        seed = None
        while game.agents:
            actions = {}
            for agent in game.agents:
                mask = observed[agent]["action_mask"]
                if not mask[0]:
                    legal = mask.nonzero()[0]
                    actions[agent] = legal[int(pick() * len(legal))]
            decisions += len(actions)
            observed, *_ = game.step(actions)
    return decisions / spent
