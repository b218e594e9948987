"""Scenes for the tests of the engine: a state written as text, a script of moves, what was told."""

from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from arena.coup import (
    COUP,
    FORFEIT,
    Acted,
    Blocked,
    Board,
    Challenged,
    Chance,
    Coins,
    Converted,
    Drafted,
    Event,
    Examination,
    Exchanged,
    Exiled,
    Forfeited,
    HandShown,
    Lost,
    Resolved,
    Role,
    Shown,
    Sided,
    State,
    Turn,
    Unproven,
    View,
    apply,
    legal,
    notation,
    parse,
    view,
)


def say(event: Event) -> str:
    """Write an event's public part in a few words."""
    match event:
        case Acted(seat, action, target, claim, denies):
            claimed = f" as {'not ' if denies else ''}{claim}" if claim else ""
            return f"{seat} {action}" + ("" if target is None else f" {target}") + claimed
        case Coins(seat, delta, reason):
            return f"{seat} {delta:+d} {reason}"
        case Challenged(seat, claimant, role, denies):
            return f"{seat} challenges {claimant} {'not ' if denies else ''}{role}"
        case Shown(seat, role, _, replaced):
            return f"{seat} shows {role}" + ("" if replaced else " and keeps it")
        case Unproven(seat, role, denies):
            return f"{seat} unproven {'not ' if denies else ''}{role}"
        case Lost(seat, role, reason):
            return f"{seat} loses {role} by {reason}"
        case Exiled(seat):
            return f"{seat} exiled"
        case Blocked(seat, role):
            return f"{seat} blocks as {role}"
        case Exchanged(seat, count):
            return f"{seat} exchanged {count}"
        case Forfeited(seat, roles):
            return f"{seat} forfeits {'+'.join(roles)}"
        case HandShown(seat, roles):
            return f"{seat} shows all: {'+'.join(roles)}"
        case Drafted(seat):
            return f"{seat} drafted"
        case Sided(seat, sides):
            return f"{seat} settles {'+'.join(sides)}"
        case Converted(seat, target, allegiance):
            return f"{seat} converts {target} to {allegiance}"
        case Examination(seat, target, replaced):
            return f"{seat} examined {target}, {'replaced' if replaced else 'handed back'}"
        case Resolved(seat, action, target, how):
            return f"{seat} {action}" + ("" if target is None else f" {target}") + f" {how.replace('_', ' ')}"


class Scene:
    """A game that starts in the middle. `told` is what has happened since, in words.

    `hands` has one entry a seat, split by "/", and "" for a seat that is out. `coins` has one number a seat, default 2.
    `deck` lists the court deck, drawn from its end; by default all cards that are left, in alphabetical order.
    """

    def __init__(
        self,
        hands: str,
        coins: str = "",
        actor: int = 0,
        deck: str | None = None,
        chance: Chance | None = None,
    ) -> None:
        held = tuple(tuple(sorted(Role(name) for name in hand.split())) for hand in hands.split("/"))
        seats = len(held)
        purses = tuple(int(c) for c in coins.split()) or tuple(COUP.start_coins if hand else 0 for hand in held)
        rest = Counter(COUP.roles * COUP.copies(seats)) - Counter(role for hand in held for role in hand)
        revealed: list[tuple[Role, ...]] = []
        for hand in held:  # the lost influences are filled with whatever is left
            lost = [max(sorted(rest), key=lambda role: rest[role]) for _ in range(COUP.hand - len(hand))]
            rest -= Counter(lost)
            revealed.append(tuple(lost))
        cards = tuple(sorted(rest.elements())) if deck is None else tuple(Role(name) for name in deck.split())
        influence = tuple(map(len, held))
        board = Board(COUP, 1, actor, len(cards), purses, influence, tuple(revealed), Turn((actor,)))
        self.state = State(board, held, cards, (), 0)
        self.chance = chance or Chance(bytes(32), 0)
        self.told: list[str] = []
        self.events: list[Event] = []

    @property
    def board(self) -> Board:
        return self.state.board

    @property
    def asked(self) -> tuple[int, ...]:
        return self.board.phase.asked

    @property
    def phase(self) -> str:
        return type(self.board.phase).__name__

    def sees(self, seat: int) -> View:
        return view(self.state, seat)

    def menu(self, seat: int) -> list[str]:
        """List what a seat may choose, in notation."""
        return [notation(move) for move in legal(self.sees(seat))]

    def play(self, script: str) -> "Scene":
        """Play steps split by ";", each with one word for each asked seat in their order. All must be legal."""
        for step in script.split(";"):
            answers = [parse(word) for word in step.split()]
            for seat, answer in zip(self.asked, answers, strict=True):
                assert answer == FORFEIT or answer in legal(self.sees(seat)), f"{step!r} of {script!r}: {seat}"
            self.state, events = apply(self.state, answers, self.chance)
            self.events += events
            self.told += map(say, events)
        return self


@pytest.fixture(scope="session")
def scene() -> type[Scene]:
    """Give the class `Scene`: this folder is no package, so tests can't import it."""
    return Scene


@pytest.fixture(scope="session")
def words() -> Callable[[Sequence[Event]], list[str]]:
    """Give a function that writes events in words."""
    return lambda events: [say(event) for event in events]
