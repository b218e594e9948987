"""Scenes for the tests of the engine: a state written as text, a script of moves, the events."""

from typing import Any

import pytest

from arena import coup
from tests.conformance.test_scenarios import state_of
from tests.games import say


class Scene:
    """A game that starts in the middle. `messages` describes the events since then.

    `hands` has one entry a seat, split by "/", and "" for a seat that is out. `coins` has one number a seat, default 2.
    `deck` lists the court deck, drawn from its end; by default all cards that are left, in alphabetical order.
    """

    def __init__(
        self, hands: str, coins: str = "", actor: int = 0, deck: str | None = None, chance: coup.KeyedRng | None = None
    ) -> None:
        given: dict[str, Any] = {"hands": hands.split("/"), "actor": actor}
        if coins:
            given["coins"] = [*map(int, coins.split())]
        if deck is not None:
            given["deck"] = " ".join(reversed(deck.split()))
        self.state = state_of(coup.COUP, given)
        self.chance = chance or coup.KeyedRng(bytes(32), 0)
        self.messages: list[str] = []
        self.events: list[coup.Event] = []

    @property
    def board(self) -> coup.Board:
        return self.state.board

    @property
    def asked(self) -> tuple[int, ...]:
        return self.board.phase.asked

    @property
    def phase(self) -> str:
        return type(self.board.phase).__name__

    def sees(self, seat: int) -> coup.View:
        return coup.view_from_seat(self.state, seat)

    def legal_words(self, seat: int) -> list[str]:
        return [coup.format_move(move) for move in coup.list_legal_moves(self.sees(seat))]

    def play(self, script: str) -> "Scene":
        """Play steps split by ";", each with one word for each asked seat in their order. All must be legal."""
        for step in script.split(";"):
            answers = [coup.parse_move(word) for word in step.split()]
            for seat, answer in zip(self.asked, answers, strict=True):
                assert answer == coup.FORFEIT or answer in coup.list_legal_moves(self.sees(seat)), (
                    f"{step!r} of {script!r}: {seat}"
                )
            self.state, events = coup.apply_moves(self.state, answers, self.chance)
            self.events += events
            self.messages += map(say, events)
        return self


@pytest.fixture(scope="session")
def scene() -> type[Scene]:
    """Return the class `Scene`: this folder is no package, so tests can't import it."""
    return Scene
