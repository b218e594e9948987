"""What is kept of one game: the notes that are taken while it is played, and the value that they make at its end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from arena.coup import Answer, Event, Exiled, Forfeited, Over, Said, State
from arena.referee import wire
from arena.referee.draws import draws
from arena.referee.faults import Fault
from arena.referee.talk import Placed, heard


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One game that has ended. `seating`: the bot of each seat; `eliminated`: (seat, turn).

    `words` has the moves in notation, `by` the seat of each, `times` what each took by the match's clock, in us.
    `said` has what was said, with the place of the move beside which it was.
    `starter` is the last winner's seat, which matters to rulesets in which the winner starts. `start` is how the game
    began, `draws` which cards were drawn after that. `digest` is the SHA-256 of all events with their private parts.
    """

    game: int
    seating: tuple[int, ...]
    words: tuple[str, ...] = ()
    by: tuple[int, ...] = ()
    times: tuple[int, ...] = ()
    said: tuple[Placed, ...] = ()
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
        """Return whether a bot of the match lost, by its number. Who survives to a draw hasn't lost."""
        return self.seating.index(bot) not in self.survivors


class Notes:
    """What was noted of a game so far; `feed` has its events.

    Who asks the seats adds `words` and `times`, and `said` where there is talk; the referee adds `faults`.
    """

    __slots__ = (
        "_by",
        "_draws",
        "_eliminated",
        "_start",
        "faults",
        "feed",
        "game",
        "said",
        "seating",
        "starter",
        "times",
        "words",
    )

    def __init__(self, game: int, seating: tuple[int, ...], starter: int) -> None:
        self.game = game
        self.seating = seating
        self.starter = starter
        self.feed = wire.Feed(len(seating))
        self.words: list[str] = []
        self.times: list[int] = []
        self.said: list[Placed] = []
        self.faults: list[Fault] = []
        self._start: dict[str, Any] = {}
        self._by: list[int] = []
        self._draws: list[str] = []
        self._eliminated: list[tuple[int, int]] = []

    def heard(self) -> list[Said]:
        """Return what was said in the step that isn't noted yet: events that come before its own."""
        return heard(self.said, len(self._by))

    def step(self, before: State, answers: Sequence[Answer], after: State, events: Sequence[Event]) -> None:
        """Note what one step of the engine led to."""
        if not self._by:
            self._start = _start(before)
        self._by += before.board.phase.asked
        for event in events:
            if isinstance(event, _OUT):
                self._eliminated.append((event.seat, before.board.turn))
        self._draws += draws(before, answers, after, events)
        self.feed.add(events)

    def record(self, state: State) -> GameRecord:
        """Return the record of the game, which has ended in the state."""
        over = state.board.phase
        assert isinstance(over, Over)
        return GameRecord(
            game=self.game,
            seating=self.seating,
            words=tuple(self.words),
            by=tuple(self._by),
            times=tuple(self.times),
            said=tuple(self.said),
            faults=tuple(self.faults),
            eliminated=tuple(self._eliminated),
            winner=over.winner,
            reason=over.ending.value,
            survivors=over.survivors,
            starter=self.starter,
            start=self._start,
            draws=tuple(self._draws),
            turns=state.board.turn,
            events=self.feed.count,
            digest=self.feed.digest(),
        )


_OUT = (Exiled, Forfeited)  # a tuple: isinstance takes three times as long for a union


def _start(state: State) -> dict[str, Any]:
    """Return how a game begins: who has the first turn, coins, hands (empty before a draft), and sides, if settled."""
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
