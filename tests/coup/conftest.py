"""Scenes for the tests of the engine: a state written as text, a script of moves, what was told; and random games."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import pytest

from arena.coup import (
    COUP,
    FORFEIT,
    PASS,
    Acted,
    Answer,
    Block,
    Blocked,
    BlockWindow,
    Board,
    Challenged,
    ChallengeWindow,
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
    Proving,
    Resolved,
    Role,
    Ruleset,
    Show,
    ShowHand,
    Shown,
    Sided,
    State,
    Turn,
    Unproven,
    View,
    apply,
    deal,
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


@dataclass(frozen=True)
class Step:
    """One step of a random game."""

    before: State
    answers: tuple[Answer, ...]
    after: State
    events: tuple[Event, ...]


def choose(sight: View, rng: random.Random, calm: float) -> Answer:
    """Choose at random, but pass with the probability `calm` and mostly prove what can be proven."""
    moves = legal(sight)
    match sight.board.phase:
        case ChallengeWindow() | BlockWindow() if rng.random() < calm:
            return PASS
        case BlockWindow():
            return rng.choice([move for move in moves if isinstance(move, Block)])
        case Proving():
            return moves[0] if isinstance(moves[0], Show | ShowHand) and rng.random() < 0.8 else moves[-1]
    return rng.choice(moves)


def game_key(seats: int, seed: int) -> bytes:
    """Return the key of a random game."""
    return bytes([seats, seed % 256]) * 16


def play_randomly(seats: int, seed: int, forfeit: float = 0.0, rules: Ruleset = COUP) -> Iterator[Step]:
    """Play one game; each answer is a forfeit with the given probability. The same arguments give the same game."""
    rng = random.Random(f"{seats}/{seed}")
    calm = rng.choice([0.3, 0.7, 0.9, 0.97])
    chance = Chance(game_key(seats, seed), seed)
    state = deal(rules, seats, chance, seed % seats)
    while state.board.phase.asked:
        answers = tuple(
            FORFEIT if rng.random() < forfeit else choose(view(state, seat), rng, calm)
            for seat in state.board.phase.asked
        )
        after, events = apply(state, answers, chance)
        yield Step(state, answers, after, events)
        state = after


@pytest.fixture(scope="session")
def scene() -> type[Scene]:
    """Give the class `Scene`: this folder is no package, so tests can't import it."""
    return Scene


@pytest.fixture(scope="session")
def new_game(ruleset: Callable[[str, int], Ruleset]) -> Callable[..., list[Step]]:
    """Give a function of seats, seed, forfeit=0.0 and the ruleset's name, see `play_randomly`."""

    def play(seats: int, seed: int, forfeit: float = 0.0, name: str = "coup") -> list[Step]:
        return list(play_randomly(seats, seed, forfeit, ruleset(name, seats)))

    return play


@pytest.fixture(scope="module")
def random_game(new_game: Callable[..., list[Step]]) -> Callable[..., list[Step]]:
    """Give `new_game`, but that a game is played once for all tests of a module."""
    return cache(new_game)


@pytest.fixture(scope="session")
def words() -> Callable[[Sequence[Event]], list[str]]:
    """Give a function that writes events in words."""
    return lambda events: [say(event) for event in events]
