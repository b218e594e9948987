"""Other environments for learning, as their packages have them: random decisions, each observed as a learner would.

They are measured where they are installed: `pip install open_spiel rlcard 'pettingzoo[classic]'`. Their games are
smaller than Coup: compare the cost of a decision, not of a game.
"""

import random
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

Pick = Callable[[], float]
Game = Callable[[], int]  # plays one, and returns the decisions


def _open_spiel(name: str, pick: Pick) -> Game:
    import pyspiel

    game = pyspiel.load_game(name)

    def play() -> int:
        decisions, state = 0, game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            if not state.is_chance_node():
                state.information_state_tensor()
                decisions += 1
            state.apply_action(legal[int(pick() * len(legal))])
        return decisions

    return play


def _rlcard(name: str, pick: Pick) -> Game:
    import rlcard

    game = rlcard.make(name)

    def play() -> int:
        decisions, (state, _) = 0, game.reset()
        while not game.is_over():
            legal = list(state["legal_actions"])
            state, _ = game.step(legal[int(pick() * len(legal))])
            decisions += 1
        return decisions

    return play


def _pettingzoo(name: str, pick: Pick) -> Game:
    game = import_module(f"pettingzoo.classic.{name}").raw_env()  # in no wrappers, as arena.env

    def play() -> int:
        game.reset()
        return random_game(game, pick)

    return play


def random_game(game: Any, pick: Pick) -> int:
    """Play a game in PettingZoo's AEC form, after its reset, to its end; return the number of decisions."""
    decisions = 0
    for _ in game.agent_iter():
        observation, _, terminated, truncated, _ = game.last()
        if terminated or truncated:
            game.step(None)
            continue
        legal = observation["action_mask"].nonzero()[0]
        game.step(legal[int(pick() * len(legal))])
        decisions += 1
    return decisions


ENVIRONMENTS: dict[str, tuple[Callable[[str, Pick], Game], str]] = {
    "OpenSpiel, Leduc": (_open_spiel, "leduc_poker"),
    "OpenSpiel, liar's dice": (_open_spiel, "liars_dice"),
    "RLCard, Leduc": (_rlcard, "leduc-holdem"),
    "PettingZoo, Leduc": (_pettingzoo, "leduc_holdem_v4"),
    "PettingZoo, connect four": (_pettingzoo, "connect_four_v3"),
}


def decisions_per_second(name: str, seconds: float) -> float | None:
    """Play random games for about this many CPU-seconds; return decisions per CPU-second; None: not installed."""
    make, game = ENVIRONMENTS[name]
    try:
        play = make(game, random.Random(1).random)
    except ImportError:
        return None
    decisions, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        decisions += play()
    return decisions / spent
