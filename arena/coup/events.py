"""What happened in a game: one frozen class for each kind, with its public and private parts.

The order of a game's events is the order of the rules; an event's number is its place in the game and is the same for
all seats. Private are `cards`, which belong to the event's own seat, and in `Examination` to the target, whose `role`
both see; `view.seen` takes them out of every other copy. No event names a card's slot, who passed, or who else wanted
to challenge.
"""

from dataclasses import dataclass
from enum import StrEnum

from arena.coup.rules import Action, Allegiance, Role


class CoinReason(StrEnum):
    """Why coins moved."""

    INCOME = "income"
    FOREIGN_AID = "foreign_aid"
    TAX = "tax"
    STEAL = "steal"
    STOLEN = "stolen"
    COUP = "coup"
    ASSASSINATE = "assassinate"
    REFUND = "refund"
    EXILE = "exile"
    CONVERT = "convert"
    EMBEZZLE = "embezzle"


class LossReason(StrEnum):
    """Why an influence was lost."""

    COUP = "coup"
    ASSASSINATE = "assassinate"
    CHALLENGE = "challenge"


class How(StrEnum):
    """How an action ended. Each follows from the events before it, so it tells nothing hidden."""

    DONE = "done"  # it took effect
    BLOCKED = "blocked"  # a block stood
    FAILED = "failed"  # its claim was challenged and not proven
    TARGET_GONE = "target_gone"  # the target left the game before the effect, or forfeited while it was to lose a card
    ACTOR_GONE = "actor_gone"  # the actor forfeited before the action had ended


@dataclass(frozen=True, slots=True)
class Acted:
    """A seat declared its action, claiming a role, or none, or (`denies`) that it doesn't have the role."""

    seat: int
    action: Action
    target: int | None
    claim: Role | None
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Coins:
    """A seat's coins changed by `delta`, which may be negative, or 0 when there was nothing to steal."""

    seat: int
    delta: int
    reason: CoinReason


@dataclass(frozen=True, slots=True)
class Challenged:
    """A seat challenged the claim of another: the one challenge that counts."""

    seat: int
    claimant: int
    role: Role
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A seat proved its claim; the card went back, the deck was shuffled, another was drawn. `cards`: its hand now.

    Where a shown card may be kept and is, `replaced` is false and `cards` None.
    """

    seat: int
    role: Role
    cards: tuple[Role, ...] | None
    replaced: bool = True


@dataclass(frozen=True, slots=True)
class Unproven:
    """A seat could not or did not wish to prove its claim."""

    seat: int
    role: Role
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """A seat turned a card face up."""

    seat: int
    role: Role
    reason: LossReason


@dataclass(frozen=True, slots=True)
class Exiled:
    """A seat has no influence left and is out."""

    seat: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """A seat counteracts the pending action, claiming a role."""

    seat: int
    role: Role


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A seat drew `count` cards and returned as many. `cards`: its hand now."""

    seat: int
    count: int
    cards: tuple[Role, ...] | None


@dataclass(frozen=True, slots=True)
class Forfeited:
    """A seat left the game; its cards are face up."""

    seat: int
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class HandShown:
    """A seat showed all its cards to prove that it lacks a role; all were replaced. `cards`: its hand now."""

    seat: int
    roles: tuple[Role, ...]
    cards: tuple[Role, ...] | None


@dataclass(frozen=True, slots=True)
class Drafted:
    """A seat has its cards: one picked, one dealt. `cards`: its hand."""

    seat: int
    cards: tuple[Role, ...] | None


@dataclass(frozen=True, slots=True)
class Sided:
    """The starter chose an allegiance, and so settled everybody's: `sides` has one entry a seat."""

    seat: int
    sides: tuple[Allegiance, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """A seat turned the allegiance of `target`, who may be itself; `allegiance` is the side now."""

    seat: int
    target: int
    allegiance: Allegiance


@dataclass(frozen=True, slots=True)
class Examination:
    """A seat has looked at a card of the target (`role`), which was handed back or replaced (`cards`: the hand now)."""

    seat: int
    target: int
    replaced: bool
    role: Role | None
    cards: tuple[Role, ...] | None


@dataclass(frozen=True, slots=True)
class Resolved:
    """The action of a seat has ended: the last event of its turn."""

    seat: int
    action: Action
    target: int | None
    how: How


Event = (
    Acted
    | Coins
    | Challenged
    | Shown
    | Unproven
    | Lost
    | Exiled
    | Blocked
    | Exchanged
    | Forfeited
    | HandShown
    | Drafted
    | Sided
    | Converted
    | Examination
    | Resolved
)
