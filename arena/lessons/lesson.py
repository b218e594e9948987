"""Play a lesson by the engine, and make its parts: what the learner sees, is told, and may answer.

The keys of a lesson's file:

- `title`, `about`: for the list of lessons. `players`: {name, cards} clockwise; the first begins, and "you" learns.
- `deck`: the cards that an exchange draws first.
- `steps`, in order. One with a `player` is a move in the notation of records, with a name as its target: `steal:Leo`.
  Other players pass until it is possible. `draws`: the card that replaces the one that is shown.
- `title`, `say`: the heading and the text that the learner reads. A step with no player waits for the learner.
- `why`: for a move of the learner, a text for each other legal move or its first word, or for all `others`.

The moves before the first text were played before the lesson begins. A text may name numbers of the engine as the
learner can compute them now: `{odds Mia duke}` that a player holds a role, `{lacks Mia duke}` that it doesn't, and
`{unseen duke}`, the copies that the learner doesn't see; `{hidden}`, all cards that it doesn't see.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from arena import coup
from arena.play import FrameSerializer, MomentMaker, PlayerView, TablePlace, make_frame
from arena.referee import UNTIMED_MS, MatchSettings, MatchSpec, hello, make_legal_moves, messages

T = TypeVar("T")
Table = dict[str, Any]

_LEARNER = "you"
_NUMBER = re.compile(r"\{(odds|lacks|unseen|hidden)((?: \w+)*)\}")


class LessonError(Exception):
    """A lesson that the rules don't allow, or that doesn't explain an answer; the text names the step."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson for the page.

    `table` is a frame's half that all frames share. Each of `parts` has the other half, `game`, with `title`, `say`,
    and `hint` as of `PlayerView.hint`. With an open request it has `right`, the index of the move that continues the
    lesson, and `why`, by index the text on each other move. theme: of a puzzle, "" for a lesson.
    """

    title: str
    about: str
    table: Table
    parts: tuple[Table, ...]
    theme: str = ""


def make_lesson(data: Mapping[str, Any]) -> Lesson:
    """Return a lesson from the values of its file.

    Raises LessonError if a hand has a wrong number of cards, or a step can't be played.
    """
    names, cards = zip(*((player["name"], player["cards"]) for player in data["players"]), strict=True)
    if any(len(hand) != coup.COUP.hand for hand in cards):
        raise LessonError(f"each player has {coup.COUP.hand} cards")
    course = Course(names, _StackedDeck([*(card for hand in cards for card in hand), *data.get("deck", ())]))
    parts = tuple(course.play(data["steps"]))
    return Lesson(data["title"], data["about"], course.table, parts)


class _StackedDeck(coup.KeyedRng):
    """Chance that puts the cards of `top` where they are drawn next, the first one first."""

    __slots__ = ("top",)

    def __init__(self, top: Sequence[str]) -> None:
        super().__init__(b"", 0)
        self.top = top

    def number(self, purpose: str, event: int, below: int) -> int:
        return 0

    def shuffled(self, items: Sequence[T], purpose: str, event: int) -> list[T]:
        """Return the items, with the cards of `top` last. Raises LessonError if a card isn't among them."""
        rest = list(items)
        for card in self.top:
            if card not in rest:
                raise LessonError(f"the pack has no other {card}")
            rest.remove(card)
        return [*rest, *(coup.Role(card) for card in reversed(self.top))]  # type: ignore[list-item]


class Course:
    """A lesson that is being played: the state of its game, and what the learner has been sent.

    names: of the players by seat; "you" is the learner. starter: the seat that begins.
    """

    def __init__(self, names: Sequence[str], chance: coup.KeyedRng, starter: int = 0) -> None:
        self.names = tuple(names)
        self.you = self.names.index(_LEARNER)
        self.chance = chance
        seats = len(self.names)
        self.state = coup.deal_game(coup.COUP, seats, chance, starter)
        settings = MatchSettings(rules=coup.COUP, open_names=True)
        spec = MatchSpec(0, bytes(32), self.names, (tuple(range(seats)),), settings)
        self.feed = messages.MessageCursor(seats)
        self.moments = MomentMaker(spec, (self.you,), (self.you,))
        self.view = PlayerView()
        self.requests = 0
        self.passed_phase: coup.Phase | None = None  # the window in which the learner has passed
        self.serializer = FrameSerializer()
        seat_view = coup.view_from_seat(self.state, self.you)
        self.view.receive(json.loads(hello(spec, self.you)))
        self.view.receive(messages.make_game_start(seat_view, 0, spec.game_seed(self.you, 0), spec.handles))
        self._show_step(0, ())
        places = [
            TablePlace(name, name, "person" if name == _LEARNER else "bot", name == _LEARNER, 0.0)
            for name in self.names
        ]
        fields = {"id": "lesson", "state": "playing", "match": 1, "pace": "normal", "replay": None, "write": None}
        self.frame = partial(make_frame, settings, 1, places, table=fields)
        self.table: Table = self.frame(None)["table"]

    def play(self, steps: Sequence[Mapping[str, Any]]) -> Iterator[Table]:
        """Play the steps; yield the part of each one with a text. Raises LessonError, with the number of the step."""
        for number, step in enumerate(steps, 1):
            try:
                next_move = next((later_step for later_step in steps[number - 1 :] if "player" in later_step), None)
                self._pass_until(self._parse_step(next_move) if next_move else None)
                yield from self._play_step(step)
            except (LessonError, ValueError) as problem:
                raise LessonError(f"step {number}: {problem}") from None

    def _play_step(self, step: Mapping[str, Any]) -> Iterator[Table]:
        """Play a step; yield its part if it has a text: the table, or the question to the learner."""
        if "player" not in step:
            yield self._make_part(step)
            return
        seat, word = self._parse_step(step)
        if seat == self.you and "say" in step:
            yield self.ask(step, word)
        if seat == self.you and word == "-":
            self.passed_phase = self.state.board.phase  # the next step may be another player's move in the same window
            return
        words = [word if asked_seat == seat else "-" for asked_seat in self._asked_seats()]
        self.apply(words, step.get("draws", ()))

    def _parse_step(self, step: Mapping[str, Any]) -> tuple[int, str]:
        """Return the seat and the move of a step, in notation. Raises LessonError for an unknown name."""
        word = re.sub(r"(?<=:)(?:[A-Z]\w*|you)$", lambda name: str(self._find_seat(name[0])), step["move"])
        return self._find_seat(step["player"]), word

    def _find_seat(self, name: str) -> int:
        """Return the seat of a player. Raises LessonError if no player has this name."""
        if name not in self.names:
            raise LessonError(f"no player has the name {name}")
        return self.names.index(name)

    def _asked_seats(self) -> tuple[int, ...]:
        return self.state.board.phase.asked

    def _list_words(self, seat: int) -> list[str]:
        """Return the legal moves of a seat in notation."""
        return [coup.format_move(move) for move in coup.list_legal_moves(coup.view_from_seat(self.state, seat))]

    def _pass_until(self, target: tuple[int, str] | None) -> None:
        """Let the asked players pass until a seat may make a move: `target`, (seat, move).

        None: until a player can't pass. Raises LessonError if such a player comes before the target.
        """
        while target is None or not self._can_play(*target):
            seats = self._asked_seats()
            if seats and all("-" in self._list_words(seat) for seat in seats):
                self.apply(["-"] * len(seats))
            elif target is None:
                return
            else:
                names = " and ".join(self.names[seat] for seat in seats) or "no player"
                raise LessonError(f"{self.names[target[0]]} can't play {target[1]} now: {names} must move")

    def _can_play(self, seat: int, word: str) -> bool:
        """Return whether a seat is asked, may make this move, and hasn't passed already."""
        has_passed = seat == self.you and self.state.board.phase is self.passed_phase
        return seat in self._asked_seats() and word in self._list_words(seat) and not has_passed

    def apply(self, words: Sequence[str], draws: Sequence[str] = ()) -> None:
        """Let the asked seats make these moves; `draws`: the next cards. Raises ValueError for an illegal move."""
        if isinstance(self.chance, _StackedDeck):
            self.chance.top = draws
        moves = [coup.parse_move(word) for word in words]
        self.state, events = coup.apply_moves(self.state, moves, self.chance)
        first_event = self.feed.count
        self.feed.add(events)
        self._show_step(first_event, events)
        if isinstance(self.state.board.phase, coup.Over):
            self.view.receive(messages.make_game_over(0, self.state.board, self.feed.take(self.you)))

    def _show_step(self, first_event: int, events: Sequence[coup.Event]) -> None:
        """Show the learner a step, whose events are numbered from `first_event`."""
        self.certain_cards = self.feed.known(coup.view_from_seat(self.state, self.you))  # follows each step
        moments, _ = self.moments.make(0, self.state, first_event, events, 1.0)
        self.view.receive(moments[self.you])

    # --- parts

    def _make_part(self, step: Mapping[str, Any]) -> Table:
        """Return a part of the lesson: the game as the learner sees it now, and the texts of the step."""
        game = json.loads(self.serializer.serialize(self.frame(self.view.make_game_view())))["game"]
        if game["ask"] and game["ask"]["blocks"]:  # a lesson asks for them later, one question at a time
            question = game["ask"]["question"].removesuffix(" or block?")
            game["ask"] |= {"blocks": [], "question": f"{question}? (You may block next.)"}
        texts: Table = {name: self.fill(step[name]) for name in ("title", "say") if name in step}
        texts |= {"cards": True} if step.get("cards") else {}
        return {"game": game, "hint": self.view.hint(), **texts}

    def ask(self, step: Mapping[str, Any], word: str) -> Table:
        """Ask the learner for a move, and return the part with this question. word: the right move, in notation.

        Raises LessonError if the step has no text on a wrong move, ValueError if the right one isn't legal.
        """
        seat_view = coup.view_from_seat(self.state, self.you)
        self.requests += 1
        legal = make_legal_moves(coup.list_legal_moves(seat_view))
        events = self.feed.take(self.you)
        self.view.receive(
            messages.make_request(seat_view, self.certain_cards, 0, self.requests, events, legal, UNTIMED_MS, 0)
        )
        texts = {move: self._explain(step.get("why", {}), move) for move in legal.words if move != word}
        if unexplained := [move for move, text in texts.items() if not text]:
            raise LessonError(f"no text says what is wrong with {', '.join(unexplained)}")
        reasons = {legal.words.index(move): self.fill(text) for move, text in texts.items()}
        return {**self._make_part(step), "right": legal.words.index(word), "why": reasons}

    def _explain(self, reasons: Mapping[str, str], move: str) -> str:
        """Return the reason against a move: of itself, of its first word, or of all others; "" without one."""
        verb, _, argument = move.partition(":")
        named_move = f"{verb}:{self.names[int(argument)]}" if argument.isdigit() else move
        return reasons.get(named_move) or reasons.get(move) or reasons.get(verb) or reasons.get("others", "")

    def fill(self, text: str) -> str:
        """Return a text with the numbers of the engine. Raises LessonError if the text names an unknown number."""
        try:
            result = _NUMBER.sub(lambda match: self._compute_number(match[1], match[2].split()), text).strip()
        except (IndexError, ValueError):  # a word too few, or an unknown role
            result = text
        if "{" in result:
            raise LessonError(f"unknown number in {result!r}")
        return result

    def _compute_number(self, kind: str, arguments: Sequence[str]) -> str:
        """Return a number of the engine as text, as the learner can compute it now. For kinds see the module.

        Raises LessonError for an unknown player, IndexError or ValueError for other wrong arguments.
        """
        view = coup.view_from_seat(self.state, self.you)
        visible_cards = [*view.cards, *(card for cards in view.board.revealed for card in cards)]
        copies = coup.COUP.copies(len(self.names))
        if kind == "hidden":
            return str(copies * len(coup.COUP.roles) - len(visible_cards))
        *names, role = arguments
        if kind == "unseen":
            return str(copies - visible_cards.count(coup.Role(role)))
        chance = coup.chance_held(view, self.certain_cards, self._find_seat(names[0]), coup.Role(role))
        return f"{100 * (chance if kind == 'odds' else 1 - chance):.0f}\u00a0%"
