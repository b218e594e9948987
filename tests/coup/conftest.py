"""Scenes for the tests of the engine: a state written as text, a script of moves, the events."""

from collections import Counter

import pytest

from arena import coup
from tests.games import say


class Scene:
    """A game that starts in the middle. `messages` describes the events since then.

    `hands` has one entry a seat, split by "/", and "" for a seat that is out. `coins` has one number a seat, default 2.
    `deck` lists the court deck, drawn from its end; by default all cards that are left, in alphabetical order.
    """

    def __init__(
        self, hands: str, coins: str = "", actor: int = 0, deck: str | None = None, chance: coup.KeyedRng | None = None
    ) -> None:
        held = tuple(tuple(sorted(coup.Role(name) for name in hand.split())) for hand in hands.split("/"))
        seats = len(held)
        purses = tuple(int(c) for c in coins.split()) or tuple(coup.COUP.start_coins if hand else 0 for hand in held)
        rest = Counter(coup.COUP.roles * coup.COUP.copies(seats)) - Counter(role for hand in held for role in hand)
        revealed: list[tuple[coup.Role, ...]] = []
        for hand in held:  # the lost influences are filled with the remaining cards
            lost = [max(sorted(rest), key=lambda role: rest[role]) for _ in range(coup.COUP.hand - len(hand))]
            rest -= Counter(lost)
            revealed.append(tuple(lost))
        cards = tuple(sorted(rest.elements())) if deck is None else tuple(coup.Role(name) for name in deck.split())
        influence = tuple(map(len, held))
        board = coup.Board(coup.COUP, 1, actor, len(cards), purses, influence, tuple(revealed), coup.Turn((actor,)))
        self.state = coup.State(board, held, cards, (), 0)
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
