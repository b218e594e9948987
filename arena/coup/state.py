"""Define the frozen state of a game: a public board, and the hidden cards.

A board has a phase, with one class for each kind of request, so that impossible states can't be built: only a proof has
a challenger. Every seat knows the whole board, including the phase; all other parts of `State` are hidden from some
seat.

Objects that are created at every step are named tuples, the fastest frozen type. Phases are dataclasses, because as
tuples `Turn((1,))` and `ChoosingSide((1,))` would be equal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from arena.coup.events import ActionOutcome, LossReason
from arena.coup.moves import ActionMove
from arena.coup.rules import Allegiance, Role, Ruleset


@dataclass(frozen=True, slots=True)
class Claim:
    """A seat claims to have a role (`denies`: not to have it), for its action or, with `block`, to block one."""

    seat: int
    role: Role
    block: bool
    denies: bool = False


class AfterLoss(StrEnum):
    """The step after the loss of an influence, if the turn continues."""

    BLOCK = "block"  # the block window, if the action has one
    RESOLVE = "resolve"  # the action takes effect


@dataclass(frozen=True, slots=True)
class FailedChallenge:
    """A failed challenge of the action. challenger: the seat that lost it. replaced: whether the shown card was."""

    challenger: int | None = None
    replaced: bool = False


NO_FAILED_CHALLENGE = FailedChallenge()


class GameEnding(StrEnum):
    """How a game ended, without the winner."""

    LAST_STANDING = "last_standing"
    TURN_LIMIT = "turn_limit"
    ALL_FORFEIT = "all_forfeit"


# Every phase has `asked`: the seats that are asked, in order of priority of their answers.


@dataclass(frozen=True, slots=True)
class Drafting:
    """Both players pick a card from their sets of five."""

    asked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChoosingSide:
    """The starter chooses its allegiance."""

    asked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """The actor chooses an action."""

    asked: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChallengeWindow:
    """Seats may challenge a claim; the first challenge clockwise from the claimant counts."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim


@dataclass(frozen=True, slots=True)
class BlockWindow:
    """Seats may block the pending action; `proven`: a challenge of the action has failed."""

    asked: tuple[int, ...]
    pending: ActionMove
    proven: bool


@dataclass(frozen=True, slots=True)
class Proving:
    """The claimant shows the card or declines, because the seat `challenger` has challenged the claim."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim
    challenger: int


@dataclass(frozen=True, slots=True)
class DecidingKeepShown:
    """The claimant has shown the card to the seat `challenger`, and keeps it or has it replaced."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim
    challenger: int


@dataclass(frozen=True, slots=True)
class Losing:
    """A seat with more than one influence chooses which to lose.

    `after_loss` is the next step, or the action's outcome if the loss ends the action.
    """

    asked: tuple[int, ...]
    pending: ActionMove
    reason: LossReason
    after_loss: AfterLoss | ActionOutcome
    failed_challenge: "FailedChallenge"


@dataclass(frozen=True, slots=True)
class Exchanging:
    """The actor has drawn cards and chooses which to keep. `failed_challenge`: of the claim, if it was challenged."""

    asked: tuple[int, ...]
    pending: ActionMove
    failed_challenge: "FailedChallenge"


@dataclass(frozen=True, slots=True)
class Revealing:
    """The target chooses the card that the inquisitor sees."""

    asked: tuple[int, ...]
    pending: ActionMove


@dataclass(frozen=True, slots=True)
class Examining:
    """The inquisitor has seen a card and hands it back or forces a swap."""

    asked: tuple[int, ...]
    pending: ActionMove


@dataclass(frozen=True, slots=True)
class Over:
    """The game has ended. `winner` is None in a draw of the survivors."""

    asked: tuple[int, ...]  # always empty
    ending: GameEnding
    winner: int | None
    survivors: tuple[int, ...]


Phase = (
    Drafting
    | ChoosingSide
    | Turn
    | ChallengeWindow
    | BlockWindow
    | Proving
    | DecidingKeepShown
    | Losing
    | Exchanging
    | Revealing
    | Examining
    | Over
)


class Board(NamedTuple):
    """The public state. The tuples have one entry per seat; `turn` counts from 1; `deck` is a number of cards.

    `sides` is empty without the Reformation, and until sides are chosen; `reserve` is in coins.
    """

    rules: Ruleset
    turn: int
    actor: int
    deck: int
    coins: tuple[int, ...]
    influence: tuple[int, ...]
    revealed: tuple[tuple[Role, ...], ...]
    phase: Phase
    sides: tuple[Allegiance, ...] = ()
    reserve: int = 0

    @property
    def seats(self) -> int:
        """The number of seats, including exiled ones."""
        return len(self.coins)


class State(NamedTuple):
    """The complete state of a game, with hidden cards. Hands are sorted; the deck's last card is drawn first.

    `drawn` are the cards that the actor of an exchange has drawn and not yet kept or returned; `events` counts the
    events so far, which labels the next random draw. `discards` are each seat's discarded cards of the draft; `seen` is
    the card that an inquisitor is examining, which is still in its owner's hand.
    """

    board: Board
    hands: tuple[tuple[Role, ...], ...]
    deck: tuple[Role, ...]
    drawn: tuple[Role, ...]
    events: int
    discards: tuple[tuple[Role, ...], ...] = ()
    seen: Role | None = None
