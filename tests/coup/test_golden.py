"""Whole games as text, with what each seat saw: a change of the engine shows as a difference one can read.

A file of golden/ begins with the seats, the key and the number of the game. Then, for each step: the board with each
seat's view (its cards, and what it drew); the move of each asked seat out of its list; the events, with the copy that
only their owner gets. The moves are read from the file and played again, and the text must come out the same.

To write the files anew, after a change that is meant (and then look at the difference):

    GOLDEN=write python -m pytest tests/coup/test_golden.py
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.coup import (
    COUP,
    Answer,
    Chance,
    Event,
    Exchanged,
    Over,
    Shown,
    State,
    apply,
    deal,
    legal,
    notation,
    parse,
    seen,
    view,
)

FOLDER = Path(__file__).parent / "golden"
GAMES = {  # file: seats, seed and forfeits of the random game (see conftest.py) that is written into it
    "two_seats": (2, 108, 0.0),
    "three_seats": (3, 7, 0.0),
    "four_seats_with_forfeits": (4, 77, 0.03),
    "six_seats": (6, 143, 0.0),
}
Words = Callable[[Sequence[Event]], list[str]]


def transcript(seats: int, key: bytes, game: int, moves: Iterable[Sequence[Answer]], words: Words) -> str:
    """Play the moves, one list for each step, and return the text of the file."""
    chance = Chance(key, game)
    state = deal(COUP, seats, chance)
    lines = [f"seats {seats}", f"key {key.hex()}", f"game {game}", "", *shown(state)]
    number = 0
    for answers in moves:
        for seat, answer in zip(state.board.phase.asked, answers, strict=True):
            menu = " ".join(notation(move) for move in legal(view(state, seat)))
            lines.append(f"  {seat} > {notation(answer)}   of {menu}")
        state, events = apply(state, answers, chance)
        for event, told in zip(events, words(events), strict=True):
            lines.append(f"  {number}. {told}{private(event)}")
            number += 1
        lines += ["", *shown(state)]
    assert isinstance(state.board.phase, Over)
    return "\n".join(lines) + "\n"


def shown(state: State) -> Iterator[str]:
    """Write the board and what each seat sees besides."""
    board = state.board
    phase = board.phase
    end = f", {phase.ending}, winner {phase.winner}, survivors {phase.survivors}" if isinstance(phase, Over) else ""
    yield f"{type(phase).__name__}{end}: turn {board.turn} of {board.actor}, deck {board.deck}"
    for seat in range(board.seats):
        sight = view(state, seat)
        drawn = f", drew {'+'.join(sight.drawn)}" if sight.drawn else ""
        face_up = f", lost {'+'.join(board.revealed[seat])}" if board.revealed[seat] else ""
        yield f"  {seat} has {'+'.join(sight.cards) or 'none'}{drawn}{face_up}, {board.coins[seat]} coins"


def private(event: Event) -> str:
    """Write what only the owner's copy of an event has."""
    own = seen(event, event.seat)
    return f"   ({own.seat}: {'+'.join(own.cards or ())})" if isinstance(own, Shown | Exchanged) else ""


def moves_of(text: str) -> Iterator[list[Answer]]:
    """Read the moves of a file, one list for each step."""
    for step in text.split("\n\n"):
        words = [line.split()[2] for line in step.split("\n") if line[3:6] == " > "]
        if words:
            yield [parse(word) for word in words]


@pytest.mark.parametrize("name", GAMES)
def test_a_golden_game_is_played_as_it_was_written(name: str, random_game: Any, words: Words) -> None:
    """A record replays from its key and its moves."""
    path = FOLDER / f"{name}.txt"
    seats, seed, forfeit = GAMES[name]
    if os.environ.get("GOLDEN") == "write":
        key = bytes([seats, seed]) * 16
        answers = [step.answers for step in random_game(seats, seed, forfeit)]
        path.write_text(transcript(seats, key, seed, answers, words))
    text = path.read_text()
    head = dict(line.split() for line in text.split("\n\n")[0].split("\n"))
    assert int(head["seats"]) == seats
    again = transcript(seats, bytes.fromhex(head["key"]), int(head["game"]), moves_of(text), words)
    assert again.split("\n") == text.split("\n")


def test_the_golden_games_hold_every_phase_and_every_kind_of_event() -> None:
    """So that no part of the engine can change unnoticed: look for another seed when this fails after writing."""
    text = "".join((FOLDER / f"{name}.txt").read_text() for name in GAMES)
    phases = ["Turn", "ChallengeWindow", "BlockWindow", "Proving", "Losing", "Exchanging", "Over"]
    assert all(f"\n{phase}" in text for phase in phases)
    verbs = ["income", "foreign_aid", "coup", "tax as duke", "assassinate", "steal", "exchange as ambassador", "refund",
             "stolen", "challenges", "shows", "unproven", "loses", "exiled", "exile", "blocks", "exchanged", "forfeits",
             "by coup", "by assassinate", "by challenge",
             "done", "blocked", "failed", "target gone", "actor gone"]  # fmt: skip
    assert [verb for verb in verbs if f" {verb}" not in text] == []


def test_every_golden_file_is_played() -> None:
    """No file is left behind when a game is renamed."""
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(GAMES)
