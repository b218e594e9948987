"""Define the events of a game: one frozen class for each kind, with its public and private parts.

Events are in the order of the rules; an event's number is its index in the game, the same for all seats. No event
contains a card's slot, the seats that passed, or other seats that wanted to challenge.

Messages are generated from these classes. `word` is the event's name in messages, which have the same fields in the
same order. Fields that are None or have their default are omitted. `denies` turns the role into `not_duke`. The
metadata of a private field list the seats that see it; `visibility.event_for_seat` removes it from all other copies.
Tests compare the models, the texts and the protocol's pages with these classes.
"""

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import ClassVar, get_args

from arena.coup.rules import Action, Allegiance, Role


class CoinReason(StrEnum):
    """A reason for a change of coins, apart from the seat's own action."""

    STOLEN = "stolen"
    REFUND = "refund"
    EXILE = "exile"
    __hash__ = str.__hash__  # as in Role


class LossReason(StrEnum):
    """The reason for the loss of an influence."""

    COUP = "coup"
    ASSASSINATE = "assassinate"
    CHALLENGE = "challenge"
    __hash__ = str.__hash__


class ActionOutcome(StrEnum):
    """How an action ended. Each follows from the events before it, so it reveals nothing hidden."""

    DONE = "done"  # it took effect
    BLOCKED = "blocked"  # a block stood
    FAILED = "failed"  # its claim was challenged and not proven
    TARGET_GONE = "target_gone"  # the target left the game before the effect, or forfeited while it was to lose a card
    ACTOR_GONE = "actor_gone"  # the actor forfeited before the action had ended
    __hash__ = str.__hash__


class StatementKind(StrEnum):
    """The kinds of statements that a seat makes with its answer (rules.md#talk)."""

    HOLD = "hold"  # it holds a card of the role
    LACK = "lack"  # it holds none of the role
    ATTACK = "attack"  # it will attack the target
    SPARE = "spare"  # it won't attack the target
    DOUBT = "doubt"  # the target holds none of the role
    TEXT = "text"  # a free text


# Metadata of private fields: the event's fields with the seats that see them.
_ACTOR = {"seen_by": ("seat",)}
_TARGET = {"seen_by": ("target",)}
_BOTH = {"seen_by": ("seat", "target")}


@dataclass(frozen=True, slots=True)
class ActionDeclared:
    """A seat declared its action, and claimed a role, no role, or (`denies`) not to have the role."""

    word: ClassVar = "action"

    seat: int
    action: Action
    target: int | None
    claim: Role | None
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Coins:
    """A seat's coins changed by `delta`, which may be negative, or 0 if the target of a steal had no coins."""

    word: ClassVar = "coins"

    seat: int
    delta: int
    reason: Action | CoinReason


@dataclass(frozen=True, slots=True)
class Challenged:
    """A seat challenged the claim of `claimant` to have a role or, with `denies`, not to have it.

    Of several challenges only the one that counts is an event.
    """

    word: ClassVar = "challenge"

    seat: int
    claimant: int
    role: Role
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A seat proved its claim; the card went back, the deck was shuffled, another was drawn. `cards`: its hand now.

    If the seat kept the shown card, `replaced` is false and `cards` is None.
    """

    word: ClassVar = "shown"

    seat: int
    role: Role
    cards: tuple[Role, ...] | None = field(metadata=_ACTOR)
    replaced: bool = True


@dataclass(frozen=True, slots=True)
class Unproven:
    """A seat didn't prove its claim to have a role or, with `denies`, not to have it."""

    word: ClassVar = "unproven"

    seat: int
    role: Role
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """A seat lost an influence: its card `role` is face up now."""

    word: ClassVar = "lost"

    seat: int
    role: Role
    reason: LossReason


@dataclass(frozen=True, slots=True)
class Exiled:
    """A seat has no influence left and is out."""

    word: ClassVar = "exiled"

    seat: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """A seat's block counts: it claims `role` against the pending action. A challenge may still make the block fail."""

    word: ClassVar = "block"

    seat: int
    role: Role


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A seat drew `count` cards and returned as many. `cards`: its hand now."""

    word: ClassVar = "exchanged"

    seat: int
    count: int
    cards: tuple[Role, ...] | None = field(metadata=_ACTOR)


@dataclass(frozen=True, slots=True)
class Forfeited:
    """A seat left the game; its cards are face up."""

    word: ClassVar = "forfeit"

    seat: int
    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class HandShown:
    """A seat showed all its cards to prove that it lacks a role; all were replaced. `cards`: its hand now."""

    word: ClassVar = "shown_hand"

    seat: int
    roles: tuple[Role, ...]
    cards: tuple[Role, ...] | None = field(metadata=_ACTOR)


@dataclass(frozen=True, slots=True)
class Drafted:
    """A seat has its cards: one picked, one dealt. `cards`: its hand."""

    word: ClassVar = "drafted"

    seat: int
    cards: tuple[Role, ...] | None = field(metadata=_ACTOR)


@dataclass(frozen=True, slots=True)
class Sided:
    """The starter chose an allegiance, which determines all others: `sides` has one entry per seat."""

    word: ClassVar = "allegiances"

    seat: int
    sides: tuple[Allegiance, ...]


@dataclass(frozen=True, slots=True)
class Converted:
    """A seat changed the allegiance of `target`, which may be itself; `allegiance` is the new side."""

    word: ClassVar = "converted"

    seat: int
    target: int
    allegiance: Allegiance


@dataclass(frozen=True, slots=True)
class CardExamined:
    """A seat has looked at a card of the target (`role`), which was handed back or replaced (`cards`: the hand now)."""

    word: ClassVar = "examined"

    seat: int
    target: int
    replaced: bool
    role: Role | None = field(metadata=_BOTH)
    cards: tuple[Role, ...] | None = field(metadata=_TARGET)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The action of a seat has ended: the last event of its turn."""

    word: ClassVar = "resolved"

    seat: int
    action: Action
    target: int | None
    how: ActionOutcome


@dataclass(frozen=True, slots=True)
class StatementMade:
    """A seat made a statement with its answer, which has no effect on the game; the engine doesn't make or read it.

    role, target, text: as the kind of the statement (`says`) requires, otherwise None.
    """

    word: ClassVar = "say"

    seat: int
    says: StatementKind
    role: Role | None = None
    target: int | None = None
    text: str | None = None


Event = (
    ActionDeclared
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
    | CardExamined
    | Resolved
    | StatementMade
)

# The private fields of the events that have some, each with the fields that name who sees it.
PRIVATE: dict[type[Event], dict[str, tuple[str, ...]]] = {
    kind: seen_by
    for kind in get_args(Event)
    if (seen_by := {part.name: part.metadata["seen_by"] for part in fields(kind) if part.metadata})
}
