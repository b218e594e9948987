"""Measure the environment for learning and bots in process, against the engine and against pipes."""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from arena.env import batch, env, parallel_env
from arena.local import play
from tests.bench import engine, pipes
from tests.bench.figures import programs
from tests.bench.peers import environments

ROOT = Path(__file__).parents[2]


def aec_decisions_per_second(seats: int, seconds: float) -> float:
    """Play random games for about this many CPU-seconds; return decisions (actions) per CPU-second."""
    pick = random.Random(1).random
    game = env(seats=seats)
    decisions = 0
    seed: int | None = 1
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        game.reset(seed=seed)
        seed = None
        decisions += environments.random_game(game, pick)
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


def batch_decisions_per_second(seats: int, seconds: float, games: int = 256, facts: bool = True) -> float:
    """Do the same with many games at once, in C if they can be; all of them begin together."""
    in_c = find_spec("arena.env._games") is not None and seats <= 6
    rng, many, steps = np.random.default_rng(1), batch("coup", seats, games, facts=facts, in_c=in_c), 0
    _, info = many.reset(seed=1)
    start = time.process_time()
    while (spent := time.process_time() - start) < seconds:
        actions = (rng.random(info["action_mask"].shape, np.float32) * info["action_mask"]).argmax(1)
        info = many.step(actions).info
        steps += 1
    return games * steps / spent


def batch_growth(seats: int, games: int, rounds: int, seconds: float = 0.15) -> tuple[float, float]:
    """Return the decisions per CPU-second of a batch with the certain facts and without, each the best of several."""
    measured = [
        [batch_decisions_per_second(seats, seconds, games, facts) for facts in (True, False)] for _ in range(rounds)
    ]
    with_facts, without = map(max, zip(*measured, strict=True))
    return with_facts, without


@dataclass(frozen=True)
class DecisionsRate:
    """Random decisions per CPU-second: of the engine alone, of the forms of the environment."""

    engine: float
    aec: float
    parallel: float
    batch: float


def compare_with_engine(seats: int, rounds: int, seconds: float = 0.15) -> DecisionsRate:
    """Measure all in turns, and take the best of each: other load slows them in bursts."""
    measured = [
        (
            engine.decisions_per_second(seats, seconds),
            aec_decisions_per_second(seats, seconds),
            parallel_decisions_per_second(seats, seconds),
            batch_decisions_per_second(seats, seconds),
        )
        for _ in range(rounds)
    ]
    return DecisionsRate(*map(max, zip(*measured, strict=True)))


def compare_with_another(name: str, rounds: int, seconds: float = 0.15) -> tuple[float, float, float] | None:
    """Return decisions per CPU-second of our AEC form and batch, and of one of ENVIRONMENTS, all at two seats.

    Each is the best of several turns. None where that isn't installed.
    """
    ours = many = theirs = 0.0
    for _ in range(rounds):
        found = environments.decisions_per_second(name, seconds)
        if found is None:
            return None
        ours, theirs = max(ours, aec_decisions_per_second(2, seconds)), max(theirs, found)
        many = max(many, batch_decisions_per_second(2, seconds))
    return ours, many, theirs


@dataclass(frozen=True)
class GamesRate:
    """Games per CPU-second of four bots of the kit, over pipes (`arena run`, its bots included) and in process."""

    piped: float
    one_match: float  # over pipes without the starts of bots and arena: the referee alone, in one match
    in_process: float
    engine: float


def games_per_second(games: int) -> GamesRate:
    """Play about this many games each way, with the starter in Python in every seat.

    `engine` is how many of these games its decisions alone would allow, if the bots cost nothing.
    """
    folder = ROOT / "sample_bots" / "python"
    with tempfile.TemporaryDirectory() as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "arena.cli", "run", "--sandbox", "process", "--games", str(games)]
        command += ["--seed", "1", "--jobs", "1", "--seats", "4", "--json", "--out", f"{out}/run"]
        bots = [f"{name}={folder}" for name in ("a", "b", "c", "d")]
        done = subprocess.run([*command, *bots], check=True, capture_output=True, cwd=ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    piped = json.loads(done.stdout)["games"] / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    cost, _, match = pipes.referee(programs(ROOT, "kit", Path(), "process"), games)
    one_match = 1e6 / (cost.referee + cost.bots) / (cost.requests / len(match.seatings))
    bot = "sample:python"
    play([bot] * 4, games=24, seed=1)  # values that are computed once don't count as a game's
    start = time.process_time()
    results = play([bot] * 4, games=games, seed=1)
    spent = time.process_time() - start
    kept = play([bot] * 4, games=48, seed=1, records=True)
    decisions = sum(len(game.moves) for record in kept.records for game in record.games) / len(kept.games)
    return GamesRate(piped, one_match, len(results.games) / spent, engine.decisions_per_second(4, 1.0) / decisions)
