"""Define the frozen state of a game: a public board, and the hidden cards.

A board carries its phase, one class for each thing that can be asked, so that an impossible state can't be built: there
is no "challenger" outside a proof and no drawn cards outside an exchange. Everything on the board, the phase included,
is known to every seat; everything else in `State` is hidden from some seat.

What is created at every step is a named tuple, the cheapest frozen form. What has a kind is a dataclass: as tuples,
`Turn((1,))` and `ChoosingSide((1,))` would be equal.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from arena.coup.events import ActionOutcome, LossReason
from arena.coup.moves import ActionMove
from arena.coup.rules import Allegiance, Role, Ruleset


@dataclass(frozen=True, slots=True)
class Claim:
    """A seat says that it has a role (with `denies`: that it hasn't): for the pending action, or to block it."""

    seat: int
    role: Role
    block: bool
    denies: bool = False


class AfterLoss(StrEnum):
    """What comes after an influence is lost, if the turn continues."""

    BLOCK = "block"  # the block window, if the action has one
    RESOLVE = "resolve"  # the action takes effect


@dataclass(frozen=True, slots=True)
class FailedChallenge:
    """A failed challenge of the action: the seat that lost it, and whether the card was replaced."""

    challenger: int | None = None
    replaced: bool = False


NO_FAILED_CHALLENGE = FailedChallenge()


class GameEnding(StrEnum):
    """How a game ended, but not who won."""

    LAST_STANDING = "last_standing"
    TURN_LIMIT = "turn_limit"
    ALL_FORFEIT = "all_forfeit"


# Every phase has `asked`: the seats that are asked now, in the order in which their answers count.


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
    """All living seats but the claimant may challenge, the first clockwise from the claimant counts."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim


@dataclass(frozen=True, slots=True)
class BlockWindow:
    """Those who may block the pending action, clockwise from the actor; `proven`: a challenge of it has failed."""

    asked: tuple[int, ...]
    pending: ActionMove
    proven: bool


@dataclass(frozen=True, slots=True)
class Proving:
    """The claimant shows the card or declines."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim
    challenger: int


@dataclass(frozen=True, slots=True)
class DecidingKeepShown:
    """The claimant has shown the card and keeps it or has it replaced."""

    asked: tuple[int, ...]
    pending: ActionMove
    claim: Claim
    challenger: int


@dataclass(frozen=True, slots=True)
class Losing:
    """A seat with more than one influence chooses which to lose.

    `after_loss` is an ActionOutcome where that ends the action.
    """

    asked: tuple[int, ...]
    pending: ActionMove
    reason: LossReason
    after_loss: AfterLoss | ActionOutcome
    failed_challenge: "FailedChallenge"


@dataclass(frozen=True, slots=True)
class Exchanging:
    """The actor has drawn and chooses what to keep."""

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
    """The game has ended. `winner` is None in a draw, which the survivors share."""

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
    """What every seat sees. The tuples have one entry a seat; `turn` counts from 1; `deck` is a number of cards.

    `sides` is empty without the Reformation, and until they are settled; `reserve` is the treasury reserve's coins.
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
        """Return the number of seats, the exiled ones included."""
        return len(self.coins)


class State(NamedTuple):
    """A whole game at one moment, hidden cards included. Hands are sorted; the deck's last card is drawn first.

    `drawn` are the cards that the actor of an exchange has taken and not yet sorted; `events` is the number of events
    so far, which labels the next random draw. `discards` are each seat's cards that the draft left over, which stay
    out; `seen` is the card that an inquisitor is looking at, still in its owner's hand.
    """

    board: Board
    hands: tuple[tuple[Role, ...], ...]
    deck: tuple[Role, ...]
    drawn: tuple[Role, ...]
    events: int
    discards: tuple[tuple[Role, ...], ...] = ()
    seen: Role | None = None
