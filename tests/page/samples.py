"""Told matches to show: games of random moves that the engine played, with what bots wrote and did wrong."""

from collections.abc import Sequence
from typing import Any

from arena.coup import PRESETS
from arena.tell import told
from tests.tell.games import random_game


def sample(preset: str = "coup", seats: int = 4, games: int = 3, bots: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a match of so many games. Seats rotate, some turns have standard error, and a step has a fault."""
    match = told(random_game(PRESETS[preset], seats, seed=1))
    match["games"] = [game_of(preset, seats, number) for number in range(games)]
    if bots:
        match["bots"] = list(bots)
    return match


def game_of(preset: str, seats: int, number: int) -> dict[str, Any]:
    """Return one game of `sample`."""
    game: dict[str, Any] = told(random_game(PRESETS[preset], seats, seed=number + 1))["games"][0]
    game["game"] = number
    game["seating"] = [(seat + number) % seats for seat in range(seats)]
    for place, step in enumerate(game["steps"]):
        step["given"] = [[seat, move, 37 * (1 + place % 9) ** (1 + seat % 4)] for seat, move, _ in step["given"]]
    first = game["steps"][0]
    first["fault"] = [[first["given"][0][0], "timeout"]]
    game["stderr"] = [
        {"seat": turn % seats, "turn": turn, "text": f"turn {turn}: I think"} for turn in range(0, game["turns"] + 1, 2)
    ]
    return game
