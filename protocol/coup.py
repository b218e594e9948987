"""The Coup payloads of the lines: cards, moves, state, claims and events, as pydantic models.

Moves, actions and events are unions of small closed shapes, told apart by one field. A new action or event is a new
class in a union; a new role is a word in `Role`. Field descriptions feed schema.json.

Must not know: the engine, who may see what (the referee redacts; `cards` in an event is simply absent), the messages
these payloads travel in.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypeAliasType


class Sent(BaseModel):
    """What the referee sends: nothing missing, nothing more, nothing coerced."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("an absent value is left out, never null")
    return value


def _sorted(roles: tuple[str, ...]) -> tuple[str, ...]:
    if list(roles) != sorted(roles):
        raise ValueError("cards are in alphabetical order, so that no order tells a slot")
    return roles


def _true(value: Any) -> Any:
    if value is not True:  # 1 == True would do for Literal[True]
        raise ValueError("only true")
    return value


T = TypeVar("T")
# A field that is left out where it doesn't apply. In Python it is None then; on the wire it is never null.
Absent = Annotated[T | SkipJsonSchema[None], AfterValidator(_not_null)]
Yes = Annotated[Literal[True], BeforeValidator(_true)]

# Role and Event are named types, not bare aliases, so that schema.json defines them once.
Role = TypeAliasType("Role", Literal["ambassador", "assassin", "captain", "contessa", "duke"])
Seat = Annotated[int, Field(ge=0, description="A seat, 0-based; seats are numbered clockwise.")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Cards = Annotated[tuple[Role, ...], AfterValidator(_sorted), Field(description="Roles in alphabetical order.")]
LossReason = Literal["coup", "assassinate", "challenge"]
CoinReason = Literal["income", "foreign_aid", "tax", "steal", "stolen", "coup", "assassinate", "refund", "exile"]

UntargetedAction = Literal["income", "foreign_aid", "tax", "exchange"]
TargetedAction = Literal["coup", "assassinate", "steal"]


# ---------------------------------------------------------------- the rules of this match


class Ruleset(Sent):
    """The rules of a match, as far as their numbers differ between rulesets."""

    name: str = Field(description="Name of the ruleset; 'coup' is the basic game.")
    seats: int = Field(ge=2, description="Players at the table.")
    deck: dict[Role, Positive] = Field(
        min_length=1, description="Copies of each role in the whole pack, hands included."
    )
    start_coins: Count = Field(description="Coins each player has at the start of a game.")
    two_player_starter_coins: Count = Field(description="Coins of seat 0 at the start instead, with two players.")
    coup_cost: Count = Field(description="Coins a coup costs.")
    assassinate_cost: Count = Field(description="Coins an assassination costs.")
    forced_coup: Positive = Field(description="Coins from which on a coup is the only legal action.")
    turn_limit: Positive = Field(description="Turns (of all players together) after which a game is a draw.")


# ---------------------------------------------------------------- moves


class UntargetedMove(Sent):
    """An action of one's own turn that is aimed at nobody."""

    action: UntargetedAction = Field(description="The action to take.")


class TargetedMove(Sent):
    """An action of one's own turn that is aimed at another player."""

    action: TargetedAction = Field(description="The action to take.")
    target: Seat = Field(description="The living seat it is aimed at.")


TurnMove = Annotated[UntargetedMove | TargetedMove, Field(discriminator="action")]


class PassMove(Sent):
    """Let a claim or an action stand."""

    pass_: Yes = Field(alias="pass")


class ChallengeMove(Sent):
    """Say that the claimant doesn't have the role."""

    challenge: Yes


class BlockMove(Sent):
    """Counteract the pending action."""

    block: Role = Field(description="The role claimed for the block.")


class ShowMove(Sent):
    """Prove a claim."""

    show: Role = Field(description="The claimed role, which the hand holds.")


class DeclineMove(Sent):
    """Not prove a claim, unable or unwilling: an influence is lost."""

    decline: Yes


class LoseMove(Sent):
    """Choose the card that goes face up."""

    lose: Role = Field(description="A role of the hand.")


class KeepMove(Sent):
    """Choose the cards to keep of an exchange."""

    keep: Cards = Field(description="As many roles of hand and drawn cards as the hand has.")


# Each shape has a field of its own and allows no other, so at most one fits.
AnyMove = TurnMove | PassMove | ChallengeMove | BlockMove | ShowMove | DeclineMove | LoseMove | KeepMove


# ---------------------------------------------------------------- what a seat sees


class Player(Sent):
    """What everybody sees of one player."""

    coins: Count = Field(description="Coins in hand.")
    influence: Count = Field(description="Face-down cards; 0: out of the game.")
    revealed: tuple[Role, ...] = Field(description="Face-up cards; their order means nothing.")


class State(Sent):
    """The public state of a game, complete."""

    turn: Positive = Field(description="Number of the turn, from 1, counted over all players.")
    actor: Seat = Field(description="The seat whose turn it is.")
    deck: Count = Field(description="Cards in the court deck.")
    players: tuple[Player, ...] = Field(description="One for each seat, seat 0 first.")


class You(Sent):
    """What only this bot sees."""

    seat: Seat = Field(description="The bot's own seat in this game.")
    cards: Cards = Field(description="Its face-down cards, in alphabetical order.")


class ExchangingYou(You):
    """What only a bot that exchanges sees."""

    drawn: Cards = Field(description="The cards drawn from the court deck, in alphabetical order.")


class UntargetedPending(Sent):
    """The declared action that is not resolved yet, aimed at nobody."""

    actor: Seat = Field(description="Whose action it is.")
    action: UntargetedAction


class TargetedPending(Sent):
    """The declared action that is not resolved yet, aimed at a player."""

    actor: Seat = Field(description="Whose action it is.")
    action: TargetedAction
    target: Seat = Field(description="The seat it is aimed at.")


Pending = Annotated[UntargetedPending | TargetedPending, Field(discriminator="action")]


class Claim(Sent):
    """A claimed role that may be challenged, or has been."""

    seat: Seat = Field(description="Who claims it.")
    role: Role = Field(description="The role claimed.")
    block: bool = Field(description="True: the claim is a block of the pending action; false: it is the action's own.")


# ---------------------------------------------------------------- events


class _Event(Sent):
    n: Count = Field(description="Number of the event in its game, from 0, the same for all seats.")
    seat: Seat = Field(description="Whom the event is about.")


class GeneralActionEvent(_Event):
    """A player declared an action that claims nothing and is aimed at nobody."""

    event: Literal["action"]
    action: Literal["income", "foreign_aid"]


class CoupEvent(_Event):
    """A player launched a coup."""

    event: Literal["action"]
    action: Literal["coup"]
    target: Seat


class RoleActionEvent(_Event):
    """A player declared a role's action that is aimed at nobody."""

    event: Literal["action"]
    action: Literal["tax", "exchange"]
    claim: Role = Field(description="The role claimed.")


class TargetedRoleActionEvent(_Event):
    """A player declared a role's action against another."""

    event: Literal["action"]
    action: Literal["assassinate", "steal"]
    target: Seat
    claim: Role = Field(description="The role claimed.")


class CoinsEvent(_Event):
    """A player's coins changed. Every movement of coins is one such event."""

    event: Literal["coins"]
    delta: int = Field(description="Coins gained; negative: paid or taken away; 0: there was nothing to steal.")
    reason: CoinReason


class ChallengeEvent(_Event):
    """`seat` challenged a claim: the one challenge that counts."""

    event: Literal["challenge"]
    claimant: Seat = Field(description="Whose claim it is.")
    role: Role = Field(description="The role claimed.")


class ShownEvent(_Event):
    """`seat` proved its claim; the card went back, the deck was shuffled, another card was drawn."""

    event: Literal["shown"]
    role: Role = Field(description="The role shown.")
    cards: Absent[Cards] = Field(default=None, description="Only in the copy of `seat`: its whole hand now.")


class UnprovenEvent(_Event):
    """`seat` couldn't or didn't wish to prove its claim."""

    event: Literal["unproven"]
    role: Role = Field(description="The role claimed.")


class LostEvent(_Event):
    """`seat` lost an influence."""

    event: Literal["lost"]
    role: Role = Field(description="The card that went face up.")
    reason: LossReason


class ExiledEvent(_Event):
    """`seat` has no influence left and is out of the game."""

    event: Literal["exiled"]


class BlockEvent(_Event):
    """`seat` blocks the pending action."""

    event: Literal["block"]
    role: Role = Field(description="The role claimed.")


class ExchangedEvent(_Event):
    """`seat` exchanged cards with the court deck."""

    event: Literal["exchanged"]
    count: Positive = Field(description="Cards drawn, and as many returned.")
    cards: Absent[Cards] = Field(default=None, description="Only in the copy of `seat`: its whole hand now.")


class ForfeitEvent(_Event):
    """`seat` left the game."""

    event: Literal["forfeit"]
    roles: Cards = Field(description="Its cards, now face up.")


ActionEvent = Annotated[
    GeneralActionEvent | CoupEvent | RoleActionEvent | TargetedRoleActionEvent, Field(discriminator="action")
]
Event = TypeAliasType(
    "Event",
    Annotated[
        ActionEvent
        | CoinsEvent
        | ChallengeEvent
        | ShownEvent
        | UnprovenEvent
        | LostEvent
        | ExiledEvent
        | BlockEvent
        | ExchangedEvent
        | ForfeitEvent,
        Field(discriminator="event"),
    ],
)
