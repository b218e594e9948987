"""Record one game: moves, events and faults, the outcomes of chance, and a check of the faults.

A `GameRecorder` collects facts while the game is played and returns a `GameRecord` at its end.

A chance outcome is one word. `draw:captain+duke` are cards from the court deck, taken into a hand or drawn for an
exchange. `look:duke` is the card that an inquisitor sees if its owner didn't choose it. The words are in order of
occurrence. So a reader of a record needs neither the engine nor the key.

A replay can verify that faults are consistent with the moves, the lives and the forfeits of the match. It can't verify
dropped lines, or whether a bot with a fault would have chosen the default move itself."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.coup import (
    FORFEIT,
    CardExamined,
    Drafted,
    Event,
    Examining,
    Exchanging,
    Exiled,
    Forfeited,
    HandShown,
    KeyedRng,
    Lost,
    Move,
    MoveOrForfeit,
    Over,
    Pick,
    Reveal,
    Role,
    Shown,
    State,
    StatementMade,
    View,
    format_move,
    pick_default_move,
)
from arena.referee import wire
from arena.referee.faults import FAULTS, Consequence, Fault
from arena.referee.settings import MatchSettings
from arena.referee.table_talk import Placed, list_statements

_Cards = tuple[Role, ...]
_MOVE_CARDS = frozenset((Lost, Shown, HandShown, Drafted, CardExamined))


def list_chance_outcomes(
    before: State, answers: Sequence[MoveOrForfeit], after: State, events: Sequence[Event]
) -> list[str]:
    """Return the chance outcomes of one step: arguments and results of `apply_moves`."""
    words = []
    hands = list(before.hands)
    for event in events:
        if type(event) not in _MOVE_CARDS:
            continue
        match event:
            case Lost(seat, role):
                hands[seat] = _without(hands[seat], (role,))
            case Shown(seat, role, cards) if cards is not None:
                words.append(_outcome_word("draw", _without(cards, _without(hands[seat], (role,)))))
                hands[seat] = cards
            case HandShown(seat, _, cards) if cards is not None:
                words.append(_outcome_word("draw", cards))
                hands[seat] = cards
            case Drafted(seat, cards) if cards is not None:
                pick = answers[seat]
                assert isinstance(pick, Pick)
                words.append(_outcome_word("draw", _without(cards, (pick.role,))))
            case CardExamined(_, target, _, role, cards) if cards is not None and role is not None:
                words.append(_outcome_word("draw", _without(cards, _without(hands[target], (role,)))))
    if isinstance(after.board.phase, Exchanging):
        words.append(_outcome_word("draw", after.drawn))
    if isinstance(after.board.phase, Examining) and after.seen is not None and not isinstance(answers[0], Reveal):
        words.append(_outcome_word("look", (after.seen,)))
    return words


def _without(cards: _Cards, gone: _Cards) -> _Cards:
    left = list(cards)
    for role in gone:
        left.remove(role)
    return tuple(left)


def _outcome_word(verb: str, cards: _Cards) -> str:
    return f"{verb}:{'+'.join(role.value for role in cards)}"


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game that has ended. `seating`: the bot of each seat; `eliminated`: (seat, turn).

    `moves` are in notation, `move_seats` has the seat of each, `times` its time by the match's clock, in us.
    `statements` are (index of the move that it came with, statement). `starter` is the last winner's seat, for rulesets
    in which the winner starts. `start` is the state at the start, `draws` are the chance outcomes after it. `events` is
    the number of events, `digest` the SHA-256 of all of them with their private parts.
    """

    game: int
    seating: tuple[int, ...]
    moves: tuple[str, ...] = ()
    move_seats: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    statements: tuple[Placed, ...] = ()
    faults: tuple[Fault, ...] = ()
    eliminated: tuple[tuple[int, int], ...] = ()
    winner: int | None = None
    reason: str = ""
    survivors: tuple[int, ...] = ()
    starter: int = 0
    start: dict[str, Any] = field(default_factory=dict)
    draws: tuple[str, ...] = ()
    turns: int = 0
    events: int = 0
    digest: str = ""

    def lost_by(self, bot: int) -> bool:
        """Return whether a bot, given by index, lost. A survivor of a draw hasn't lost."""
        return self.seating.index(bot) not in self.survivors


class GameRecorder:
    """Collect the facts of a game while it is played; `feed` has its events.

    The caller appends to `moves`, `times`, `statements` (with table talk) and `faults`.
    """

    __slots__ = (
        "_draws",
        "_eliminated",
        "_move_seats",
        "_start_payload",
        "faults",
        "feed",
        "game",
        "moves",
        "seating",
        "starter",
        "statements",
        "times",
    )

    def __init__(self, game: int, seating: tuple[int, ...], starter: int) -> None:
        self.game = game
        self.seating = seating
        self.starter = starter
        self.feed = wire.LineCursor(len(seating))
        self.moves: list[str] = []
        self.times: list[int] = []
        self.statements: list[Placed] = []
        self.faults: list[Fault] = []
        self._start_payload: dict[str, Any] = {}
        self._move_seats: list[int] = []
        self._draws: list[str] = []
        self._eliminated: list[tuple[int, int]] = []

    def list_new_statements(self) -> list[StatementMade]:
        """Return the statements of the step that isn't recorded yet; they precede its other events."""
        return list_statements(self.statements, len(self._move_seats))

    def add_step(self, before: State, answers: Sequence[MoveOrForfeit], after: State, events: Sequence[Event]) -> None:
        """Record one step: arguments and results of `apply_moves`."""
        if not self._move_seats:
            self._start_payload = _start_payload(before)
        self._move_seats += before.board.phase.asked
        for event in events:
            if isinstance(event, _ELIMINATIONS):
                self._eliminated.append((event.seat, before.board.turn))
        self._draws += list_chance_outcomes(before, answers, after, events)
        self.feed.add(events)

    def make_record(self, state: State) -> GameRecord:
        """Return the record of the game, which has ended in `state`."""
        over = state.board.phase
        assert isinstance(over, Over)
        return GameRecord(
            game=self.game,
            seating=self.seating,
            moves=tuple(self.moves),
            move_seats=tuple(self._move_seats),
            times=tuple(self.times),
            statements=tuple(self.statements),
            faults=tuple(self.faults),
            eliminated=tuple(self._eliminated),
            winner=over.winner,
            reason=over.ending.value,
            survivors=over.survivors,
            starter=self.starter,
            start=self._start_payload,
            draws=tuple(self._draws),
            turns=state.board.turn,
            events=self.feed.count,
            digest=self.feed.digest(),
        )


_ELIMINATIONS = (Exiled, Forfeited)  # a tuple: isinstance takes three times as long for a union


def _start_payload(state: State) -> dict[str, Any]:
    """Return the start of a game as JSON: first seat, coins, deck, hands (empty before a draft), and known sides."""
    board = state.board
    start: dict[str, Any] = {
        "actor": board.actor,
        "coins": list(board.coins),
        "deck": board.deck,
        "hands": [[role.value for role in hand] for hand in state.hands],
    }
    if board.sides:
        start["sides"] = [side.value for side in board.sides]
    return start


_FORFEIT_WORD = format_move(FORFEIT)


def default_move(sight: View, moment: int, chance: KeyedRng) -> Move:
    """Return the default move for a seat after a fault. moment: the game's number of events without statements."""
    # The label makes other draws independent of a bot's faults and statements.
    return pick_default_move(sight, lambda below: chance.number(f"default {sight.seat}", moment, below))


def find_fault_problems(
    settings: MatchSettings, game: GameRecord, defaults: Mapping[int, str], forfeits: Counter[int]
) -> Iterator[str]:
    """Yield inconsistencies of a game's faults with its moves.

    defaults: move index -> default move, for each move with a fault. forfeits: of each bot in earlier games; this adds
    those of the game.
    """
    lives = dict.fromkeys(game.seating, settings.lives)
    retired = {bot for bot in game.seating if forfeits[bot] >= settings.forfeits}
    movers = [game.seating[seat] for seat in game.move_seats]
    given_up = {place for place, word in enumerate(game.moves) if word == _FORFEIT_WORD}
    for fault in game.faults:
        if not _is_consistent(fault, game, movers, defaults, lives, retired):
            at = "" if fault.step is None else f" at move {fault.step}"
            yield f"the fault {fault.code} of bot {fault.bot}{at} doesn't fit the moves and the faults before it"
        elif FAULTS[fault.code].consequence is Consequence.FORFEIT and fault.step in given_up:
            given_up.remove(fault.step)
            forfeits[fault.bot] += 1
    for place in sorted(given_up):
        yield f"bot {movers[place]} forfeits at move {place}, and no fault says why"
    for place, (bot, word) in enumerate(zip(movers, game.moves, strict=True)):
        if bot in retired and word != _FORFEIT_WORD:
            yield f"bot {bot} chooses move {place}, after {settings.forfeits} forfeits in this match"
            return


def _is_consistent(
    fault: Fault, game: GameRecord, movers: list[int], defaults: Mapping[int, str], lives: dict[int, int],
    retired: set[int],
) -> bool:  # fmt: skip
    """Return whether a fault is consistent with the moves; subtract the life that it costs from `lives`."""
    cost, bot, place = FAULTS[fault.code].consequence, fault.bot, fault.step
    if cost is Consequence.FREE or place is None:
        return cost is Consequence.FREE and place is None and fault.used is None
    if place >= len(game.moves) or movers[place] != bot:
        return False
    if cost is Consequence.FORFEIT:
        fits = (lives[bot] == 0) == (fault.code == "out_of_lives") and (bot in retired) == (fault.code == "retired")
        return fits and fault.used == game.moves[place] == _FORFEIT_WORD
    lives[bot] -= 1
    if lives[bot] == 0:
        return fault.used is None and game.moves[place] == _FORFEIT_WORD
    return lives[bot] > 0 and fault.used == game.moves[place] == defaults.get(place)
