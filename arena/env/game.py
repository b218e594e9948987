"""Run consecutive games for an environment: agents to act, observations, legal actions and opponents.

Answers are sealed: the game continues when every asked seat has answered, and no observation changes before.

An action is an index into the fixed list for a ruleset and a number of seats. Its word is the move's notation with a
relative target: `steal:+1` is the next seat clockwise from the actor, alive or not. So one policy can play every
seat. Observations come from `coup_env`, the encoder that bots include, applied to the engine's views. An opponent is
a bot of `arena.local` in an agent's seat: it sees only what its seat may know, and its move becomes an action."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.coup import (
    PASS,
    PRESETS,
    ActionMove,
    Board,
    Drafting,
    Event,
    Exchanging,
    GameEnding,
    KeyedRng,
    Move,
    Over,
    Ruleset,
    State,
    View,
    apply_moves,
    deal_game,
    derive_key,
    first_seat,
    format_move,
    list_legal_moves,
    view_from_seat,
)
from arena.env.encoder import ObservationEncoder, OwnCards
from arena.local import BotArgument, LocalPlayer, name_bots
from arena.referee import MatchSettings, MatchSpec, hello, make_legal_moves, messages
from protocol.kits import coup_env

WAIT = 0  # the action of a seat that isn't asked
_MAX_CACHED = 2_000  # per seat; less than 30 MB in all
Mask = NDArray[np.int8]


class Actions:
    """The actions for one ruleset and number of seats. `words`: the word of each action; the first is `wait`."""

    def __init__(self, rules: Ruleset, seats: int) -> None:
        self._seats = seats
        self.words = coup_env.action_words(messages.make_ruleset(rules, seats), seats)
        self._index = {word: index for index, word in enumerate(self.words)}
        # By seat; the keys are ids of the moves.
        self.cache: tuple[dict[int, LegalActions], ...] = tuple({} for _ in range(seats))
        self.waiting = LegalActions((), {WAIT: PASS}, self._mask([WAIT]))

    def make_legal(self, moves: tuple[Move, ...], seat: int) -> "LegalActions":
        """Return the legal moves of a seat as actions. Cached, because the engine returns the same tuples again."""
        cache = self.cache[seat]
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        by_action = {self._index[self._word(move, seat)]: move for move in moves}
        cache[id(moves)] = legal = LegalActions(moves, by_action, self._mask([*by_action]))
        return legal

    def _word(self, move: Move, seat: int) -> str:
        if isinstance(move, ActionMove) and move.target is not None:
            return f"{move.action.value}:+{(move.target - seat) % self._seats}"
        return format_move(move)

    def _mask(self, legal: list[int]) -> Mask:
        mask = np.zeros(len(self.words), np.int8)
        mask[legal] = 1
        return mask


class LegalActions:
    """The legal moves of one seat at one request, by action, and their mask, which must not be modified."""

    __slots__ = ("by_action", "mask", "moves")

    def __init__(self, moves: tuple[Move, ...], by_action: dict[int, Move], mask: Mask) -> None:
        self.moves = moves  # kept alive, because its id is a key
        self.by_action = by_action
        self.mask = mask


Observation = dict[str, Any]


class _MissingBeforeReset:
    """The placeholder of attributes before `reset`: any use raises an error with the fix."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError("no game has started: call reset() first")

    def __iter__(self) -> Iterator[Any]:
        raise AttributeError("no game has started: call reset() first")


@dataclass(slots=True)
class GameTranscript:
    """The start and the events of one game, for bots that follow it."""

    key: bytes  # the same object for all games after one seed; compared by identity
    number: int
    start: State
    events: list[Event] = field(default_factory=list)
    end: Board | None = None  # None until the game is over


class EnvironmentGames:
    """The games of one environment, one at a time. Raises ValueError if the rules are unknown or not for the seats."""

    def __init__(self, rules: str | Ruleset, seats: int) -> None:
        if isinstance(rules, str):
            if rules not in PRESETS:
                raise ValueError(f"unknown preset {rules!r}; the presets are {', '.join(PRESETS)}")
            rules = PRESETS[rules]
        problem = rules.problem(seats)
        if problem:
            raise ValueError(problem)
        self.rules = rules
        self.seats = seats
        self.actions = Actions(rules, seats)
        # Instance attributes: class attributes would slow down each access.
        self.state: State = _MissingBeforeReset()  # type: ignore[assignment]
        # the seats asked now, in the order in which their answers count
        self.asked: tuple[int, ...] = _MissingBeforeReset()  # type: ignore[assignment]
        self.course: GameTranscript = _MissingBeforeReset()  # type: ignore[assignment]
        self._card_counts: OwnCards = {}
        self._key: bytes | None = None
        self._number = 0
        self._starter = 0

    def set_key(self, key: bytes) -> None:
        """Make `reset` deal the first game of a key, and then the next ones."""
        self._key, self._number, self._starter = key, -1, 0

    def reset(self, seed: int | None) -> None:
        """Deal the next game. The same seed deals the same games; None continues with the last seed, or draws one."""
        if seed is not None:
            self.set_key(derive_key(b"arena.env", f"seed|{int(seed)}"))
        elif self._key is None:
            self.set_key(os.urandom(32))
        assert self._key is not None
        self._number += 1
        self._chance = KeyedRng(self._key, self._number)
        self.state = deal_game(self.rules, self.seats, self._chance, self._starter)
        self.course = GameTranscript(self._key, self._number, self.state)
        self._watcher = ObservationEncoder(self.state, self._card_counts)
        self.answers: list[Move] = []  # of the first seats of `asked`
        self._log: list[Move] = []  # the answers of all past steps of this game
        self._legal: dict[int, LegalActions] = {}
        self.asked = self.state.board.phase.asked

    def __getstate__(self) -> dict[str, Any]:
        """Omit the objects that compiled code doesn't copy; they follow from the other ones."""
        return {name: value for name, value in vars(self).items() if name not in ("_chance", "_watcher")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Play the game again up to its present state, if one was dealt, for what `__getstate__` has omitted."""
        vars(self).update(state)
        if not isinstance(self.course, GameTranscript):
            return
        self._chance = KeyedRng(self.course.key, self._number)
        self._watcher = ObservationEncoder(self.course.start, self._card_counts)
        game_state = self.course.start
        start = 0
        while start < len(self._log):
            end = start + len(game_state.board.phase.asked)
            game_state, events = apply_moves(game_state, self._log[start:end], self._chance)
            self._watch(game_state, events)
            start = end

    @property
    def over(self) -> Over | None:
        """Return the final phase of the game, None while it runs."""
        phase = self.state.board.phase
        return phase if isinstance(phase, Over) else None

    def is_out(self, seat: int) -> bool:
        """Return whether a seat has lost its last card; before a draft none has, though none holds a card."""
        board = self.state.board
        return not board.influence[seat] and not isinstance(board.phase, Drafting)

    def observe(self, seat: int) -> Observation:
        """Return a seat's observation and action mask: only `wait` if it isn't asked or has already answered."""
        is_asked = seat in self.asked
        view = view_from_seat(self.state, seat)
        legal = (self._legal.get(seat) or self.list_actions(view)) if is_asked else self.actions.waiting
        return {"observation": self._watcher.observe(view), "action_mask": legal.mask.copy()}

    def legal_actions(self, seat: int) -> LegalActions:
        """Return a seat's legal actions: only `wait` if it isn't asked."""
        if seat not in self.asked:
            return self.actions.waiting
        return self._legal.get(seat) or self.list_actions(view_from_seat(self.state, seat))

    def list_actions(self, view: View) -> LegalActions:
        """Return the legal actions of a seat that is asked."""
        moves, seat = list_legal_moves(view), view.seat
        legal = self.actions.cache[seat].get(id(moves))
        if legal is None or legal.moves is not moves:
            legal = self.actions.make_legal(moves, seat)
        self._legal[seat] = legal
        return legal

    def move(self, seat: int, action: Any) -> Move:
        """Return the move of a seat's action. Raises ValueError for an illegal action."""
        legal = self._legal.get(seat) or self.legal_actions(seat)
        try:
            return legal.by_action[index(action)]
        except (KeyError, TypeError) as error:
            words, kind = self.actions.words, ", which isn't an integer" * isinstance(error, TypeError)
            choices = ", ".join(f"{number} ({words[number]})" for number in legal.by_action)
            raise ValueError(f"player_{seat} gave the action {action!r}{kind}; its mask allows {choices}") from None

    def answer(self, seat: int, action: Any) -> tuple[int, ...]:
        """Store the action of an asked seat; after the last one the game continues.

        Return the seats that this eliminated. Raises ValueError for an illegal action.
        """
        try:  # inlined from `move`, which raises the error
            move = self._legal[seat].by_action[index(action)]
        except (KeyError, TypeError):
            move = self.move(seat, action)
        self._legal[seat] = self.actions.waiting
        return self.store(move)

    def store(self, move: Move) -> tuple[int, ...]:
        """Store the legal move of the next seat in `asked`, as `answer` does."""
        answers = self.answers
        answers.append(move)
        if len(answers) < len(self.asked):
            return ()
        self.answers = []
        return self.apply_answers(answers)

    def apply_answers(self, answers: Sequence[Move]) -> tuple[int, ...]:
        """Apply the moves of all asked seats, in the order of `asked`; return the seats that this eliminated."""
        old_influence = self.state.board.influence
        state, events = apply_moves(self.state, answers, self._chance)
        self.state = state
        self._log += answers
        if self._legal:
            self._legal = {}
        board = state.board
        phase = board.phase
        self.asked = phase.asked
        self._watch(state, events)
        if not events:
            return ()
        self.course.events += events
        if not phase.asked:
            assert isinstance(phase, Over)
            self.course.end = board
            self._starter = first_seat(range(self.seats), phase.winner)
        new_influence = board.influence
        if new_influence is old_influence or 0 not in new_influence:
            return ()
        return tuple([seat for seat, cards in enumerate(new_influence) if not cards and old_influence[seat]])

    def _watch(self, state: State, events: tuple[Event, ...]) -> None:
        """Let the encoder follow a step, which led to this state."""
        if events:
            self._watcher.add(events)
        if type(state.board.phase) is Exchanging:
            self._watcher.known(view_from_seat(state, state.board.actor))

    def reward(self, seat: int) -> float:
        """Return the reward of a seat at the game's end: 1 for the winner, 1/k for each of k survivors, else 0."""
        over = self.over
        assert over is not None
        return 1 / len(over.survivors) if seat in over.survivors else 0.0

    def is_cut_off(self, seat: int) -> bool:
        """Return whether the limit of turns has ended the game while a seat was still in it."""
        over = self.over
        return over is not None and over.ending is GameEnding.TURN_LIMIT and seat in over.survivors

    def text(self) -> str:
        """Return the public state as text, one line per seat."""
        board = self.state.board
        seats = ", ".join(map(str, board.phase.asked)) or "nobody"
        lines = [f"turn {board.turn}: {type(board.phase).__name__} asks {seats}"]
        rows = zip(board.coins, board.influence, board.revealed, strict=True)
        for seat, (coins, influence, revealed) in enumerate(rows):
            losses = f", lost {', '.join(revealed)}" if revealed else ""
            lines.append(f"{'>' if seat == board.actor else ' '} {seat}: {coins} coins, {influence} cards{losses}")
        return "\n".join(lines)


class Opponent:
    """The actions of one agent, chosen by a bot: `game.opponent("player_1", "sample:honest")`.

    All games after one seed are one match; with the next seed, a class makes a new bot. The bot receives a game's
    game_over message only at its first request in the next game.
    """

    def __init__(self, game: EnvironmentGames, seat: int, bot: BotArgument) -> None:
        self._game = game
        self._seat = seat
        ((self._name, self._bot),) = name_bots({f"player_{seat}": bot}).items()
        self._transcript: GameTranscript | None = None
        self._state: object = None  # of the bot's last request; `_action` is its answer
        self._action = WAIT
        self._requests: list[tuple[int, View]] = []  # of this game: the number of events before each, and its view

    def __getstate__(self) -> dict[str, Any]:
        """Omit the feed, which compiled code doesn't copy; it follows from the requests."""
        return {name: value for name, value in vars(self).items() if name != "_feed"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Feed the events of all requests again."""
        vars(self).update(state)
        if self._transcript is not None:
            self._feed, self._sent_events = messages.MessageCursor(self._game.seats), 0
            for count, view in self._requests:
                self._new_events(self._transcript, count)
                self._feed.known(view)

    def action(self) -> int:
        """Return the bot's action, `wait` if its seat isn't asked. Raises exceptions as `arena.local.play` does."""
        game = self._game
        if self._seat not in game.asked:
            return WAIT
        if self._state is not game.state:  # ask the bot once per state
            self._action = self._ask_bot()
            self._state = game.state
        return self._action

    def _ask_bot(self) -> int:
        """Send the bot a request; return its action. Raises exceptions as `arena.local.play` does."""
        game, seat, player = self._game, self._seat, self._follow_games(self._game.course)
        actions, timing = game.legal_actions(seat), self._spec.timing(seat)
        player.number += 1
        view, game_number = view_from_seat(game.state, seat), game.course.number
        self._requests.append((len(game.course.events), view))
        legal = make_legal_moves(actions.moves)
        events = self._new_events(game.course)
        certain = self._feed.known(view)  # after the events
        message = messages.make_request(
            view, certain, game_number, player.number, events, legal, timing.limit_ms, timing.bank_ms
        )
        return [*actions.by_action][player.choice(message, legal)]

    def _follow_games(self, course: GameTranscript) -> LocalPlayer:
        """Send the bot the end of its last game and the start of this one, unless it has them; return its player."""
        old_game = self._transcript
        if old_game is course:
            return self._player
        if old_game is not None and old_game.end is not None:
            self._player.send(messages.make_game_over(old_game.number, old_game.end, self._new_events(old_game)))
        if old_game is None or old_game.key is not course.key:
            self._begin_match(course.key)
        self._transcript, self._sent_events, self._feed = course, 0, messages.MessageCursor(self._game.seats)
        self._requests = []
        view, seed = view_from_seat(course.start, self._seat), self._spec.game_seed(self._seat, course.number)
        self._player.send(messages.make_game_start(view, course.number, seed, self._spec.handles))
        return self._player

    def _begin_match(self, key: bytes) -> None:
        """Make the bot of a new match, and exchange hellos. key: of the environment's games."""
        game = self._game
        agents = tuple(f"player_{seat}" for seat in range(game.seats))
        seatings = (tuple(range(game.seats)),)
        self._spec = MatchSpec(0, derive_key(key, "rivals"), agents, seatings, MatchSettings(rules=game.rules))
        self._player = LocalPlayer(self._name, self._bot)
        self._player.greet(json.loads(hello(self._spec, self._seat)))

    def _new_events(self, course: GameTranscript, end: int | None = None) -> list[dict[str, Any]]:
        """Return the events before event `end` that weren't sent to the bot yet, as its seat sees them."""
        events = course.events[self._sent_events : end]
        self._feed.add(events)
        self._sent_events += len(events)
        return self._feed.take(self._seat)
