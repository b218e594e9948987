"""Replays for tests: games of random moves by the engine, with output and faults of bots."""

from collections.abc import Collection, Sequence
from typing import Any

from arena.coup import PRESETS
from arena.replay import make_replay_object
from tests.replay.games import random_game


def sample(
    preset: str = "coup",
    seats: int = 4,
    games: int = 3,
    bots: Sequence[str] | None = None,
    viewers: Collection[int] | None = None,
) -> dict[str, Any]:
    """Return a match of this number of games, as these bots could know it, or with all cards.

    Seats rotate, some turns have standard error, and a step has a fault.
    """
    match = make_replay_object(random_game(PRESETS[preset], seats, seed=1), viewers=viewers)
    match["games"] = [game_of(preset, seats, number, viewers) for number in range(games)]
    if bots:
        match["bots"] = list(bots)
    return match


def game_of(preset: str, seats: int, number: int, viewers: Collection[int] | None = None) -> dict[str, Any]:
    seating = [(seat + number) % seats for seat in range(seats)]
    own = [seat for seat, bot in enumerate(seating) if viewers is None or bot in viewers]
    record = random_game(PRESETS[preset], seats, seed=number + 1)  # in which each bot has the seat of its place
    game: dict[str, Any] = make_replay_object(record, viewers=None if viewers is None else own)["games"][0]
    game["game"] = number
    game["seating"] = seating
    for place, step in enumerate(game["steps"]):
        step["answers"] = [
            [seat, move, 37 * (1 + place % 9) ** (1 + seat % 4) if seat in own else None]
            for seat, move, _ in step["answers"]
        ]
    first = game["steps"][0]
    first["faults"] = [[seat, "timeout"] for seat, _, _ in first["answers"][:1] if seat in own]
    game["stderr"] = [
        {"seat": turn % seats, "turn": turn, "text": f"turn {turn}: I think"}
        for turn in range(0, game["turns"] + 1, 2)
        if turn % seats in own
    ]
    return game
