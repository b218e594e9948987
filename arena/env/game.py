"""One game after another as an environment plays them: who is asked, what they observe, what their answers did.

Answers are sealed. The game goes on when every asked seat has answered; until then no observation changes.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from arena.coup import (
    PRESETS,
    Board,
    Chance,
    Ending,
    Event,
    Exchanging,
    Move,
    Over,
    Ruleset,
    State,
    View,
    apply,
    deal,
    derived,
    first_seat,
    legal,
    view,
)
from arena.env.actions import Actions, Menu
from arena.env.observation import OwnCards, Watcher

Observation = dict[str, Any]


class _MissingBeforeReset:
    """The state and the asked seats before `reset` deals: using either raises an error that says what to do."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError("there is no game: call reset() first")

    def __iter__(self) -> Iterator[Any]:
        raise AttributeError("there is no game: call reset() first")


@dataclass(slots=True)
class Course:
    """One game from its deal on, for a bot that follows it."""

    key: bytes  # one object for all games of a seed; the same seed again has one of its own
    number: int
    start: State
    events: list[Event] = field(default_factory=list)
    end: Board | None = None  # when it is over


class Game:
    """The games of one environment, one at a time."""

    def __init__(self, rules: str | Ruleset, seats: int) -> None:
        if isinstance(rules, str):
            if rules not in PRESETS:
                raise ValueError(f"there is no preset {rules!r}; there are: {', '.join(PRESETS)}")
            rules = PRESETS[rules]
        problem = rules.problem(seats)
        if problem:
            raise ValueError(problem)
        self.rules = rules
        self.seats = seats
        self.actions = Actions(rules, seats)
        # The object's own and not its class's: there they would slow each look at the state that `reset` deals.
        self.state: State = _MissingBeforeReset()  # type: ignore[assignment]
        # who is asked now, in the order in which their answers count
        self.asked: tuple[int, ...] = _MissingBeforeReset()  # type: ignore[assignment]
        self.course: Course = _MissingBeforeReset()  # type: ignore[assignment]
        self._own: OwnCards = {}
        self._key: bytes | None = None
        self._number = 0
        self._starter = 0

    def reset(self, seed: int | None) -> None:
        """Deal a game. The same seed deals the same games; None goes on with the last seed, or draws one."""
        if seed is not None:
            self._key = derived(b"arena.env", f"seed|{int(seed)}")
            self._number = self._starter = 0
        elif self._key is None:
            self._key = os.urandom(32)
        else:
            self._number += 1
        self._chance = Chance(self._key, self._number)
        self.state = deal(self.rules, self.seats, self._chance, self._starter)
        self.course = Course(self._key, self._number, self.state)
        self._watcher = Watcher(self.state, self._own)
        self._answers: dict[int, Move] = {}
        self._menus: dict[int, Menu] = {}
        self.asked = self.state.board.phase.asked

    @property
    def over(self) -> Over | None:
        """Return how the game ended, None while it goes on."""
        phase = self.state.board.phase
        return phase if isinstance(phase, Over) else None

    def observe(self, seat: int) -> Observation:
        """Return what a seat observes, and the mask of what it may do: to wait, if it isn't asked or has answered."""
        sight = view(self.state, seat)
        menu = (self._menus.get(seat) or self._menu(sight)) if seat in self.asked else self.actions.waiting
        return {"observation": self._watcher.observe(sight), "action_mask": menu.mask.copy()}

    def menu(self, seat: int) -> Menu:
        """Return what a seat may do now."""
        if seat not in self.asked:
            return self.actions.waiting
        return self._menus.get(seat) or self._menu(view(self.state, seat))

    def _menu(self, sight: View) -> Menu:
        moves, seat = legal(sight), sight.seat
        menu = self.actions.menus[seat].get(id(moves))
        if menu is None or menu.moves is not moves:
            menu = self.actions.menu(moves, seat)
        self._menus[seat] = menu
        return menu

    def move(self, seat: int, action: Any) -> Move:
        """Return the move that an action of a seat is. Raises ValueError for one that the mask forbids."""
        menu = self._menus.get(seat) or self.menu(seat)
        try:
            return menu.by_action[int(action)]
        except (KeyError, TypeError, ValueError):
            words = self.actions.words
            may = ", ".join(f"{legal} ({words[legal]})" for legal in menu.by_action)
            raise ValueError(f"player_{seat} gave the action {action!r}; its mask allows {may}") from None

    def answer(self, seat: int, action: Any) -> tuple[int, ...]:
        """Take in the answer of a seat that is asked; after the last one the game goes on.

        Returns the seats that then left the game. Raises ValueError for an action that the mask forbids.
        """
        try:  # as `move` does, which says what is wrong
            move = self._menus[seat].by_action[int(action)]
        except (KeyError, TypeError, ValueError):
            move = self.move(seat, action)
        asked = self.asked
        if len(asked) == 1:
            return self.go_on([move])
        self._answers[seat] = move
        self._menus[seat] = self.actions.waiting
        if len(self._answers) < len(asked):
            return ()
        answers = [self._answers[each] for each in asked]
        self._answers = {}
        return self.go_on(answers)

    def go_on(self, answers: list[Move]) -> tuple[int, ...]:
        """Play on with the moves of all asked seats, in their order; return the seats that then left the game."""
        was = self.state.board.influence
        self.state, events = apply(self.state, answers, self._chance)
        self._menus = {}
        board = self.state.board
        phase = board.phase
        self.asked = phase.asked
        if events:
            self._watcher.add(events)
        if type(phase) is Exchanging:
            self._watcher.known(view(self.state, board.actor))
        if not events:
            return ()
        self.course.events += events
        if not phase.asked:
            assert isinstance(phase, Over)
            self.course.end = board
            self._starter = first_seat(range(self.seats), phase.winner)
        now = board.influence
        if 0 not in now or was == now:
            return ()
        return tuple([seat for seat, left in enumerate(now) if not left and was[seat]])

    def worth(self, seat: int) -> float:
        """Return the reward of a seat at the game's end: 1 for the winner, 1/k for each of k survivors, else 0."""
        over = self.over
        assert over is not None
        return 1 / len(over.survivors) if seat in over.survivors else 0.0

    @property
    def drawn(self) -> bool:
        """Tell whether the game was cut off by the limit of turns."""
        over = self.over
        return over is not None and over.ending is Ending.TURN_LIMIT

    def text(self) -> str:
        """Return what everybody sees, a line a seat."""
        board = self.state.board
        asked = ", ".join(map(str, board.phase.asked)) or "nobody"
        lines = [f"turn {board.turn}: {type(board.phase).__name__} asks {asked}"]
        rows = zip(board.coins, board.influence, board.revealed, strict=True)
        for seat, (coins, influence, revealed) in enumerate(rows):
            lost = f", lost {', '.join(revealed)}" if revealed else ""
            lines.append(f"{'>' if seat == board.actor else ' '} {seat}: {coins} coins, {influence} cards{lost}")
        return "\n".join(lines)
