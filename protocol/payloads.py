"""Define the Coup payloads of the lines as pydantic models: cards, moves, state, claims and events.

Moves, actions and events are unions of small closed shapes, discriminated by one field. A new action or event is a
new class in a union; a new role is a word in `Role`. Features of rule variants (variants.md) are a shape
of their own, or a field that is absent elsewhere. Field descriptions feed schema.json.

This module must not know the engine, the visibility of facts (the referee redacts; `cards` in an event is then absent),
or the messages that contain these payloads."""

from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import TypeAliasType

from protocol.framing import TEXT_LIMIT


class Sent(BaseModel):
    """A part of a referee's line: no field missing, none added, none coerced."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("an absent value is left out, never null")
    return value


def _sort(roles: tuple[str, ...]) -> tuple[str, ...]:
    if list(roles) != sorted(roles):
        raise ValueError("cards are in alphabetical order, so that no order reveals a slot")
    return roles


def _true(value: Any) -> Any:
    if value is not True:  # Literal[True] accepts 1
        raise ValueError("only true")
    return value


def _false(value: Any) -> Any:
    if value is not False:
        raise ValueError("only false")
    return value


T = TypeVar("T")
# A field that is left out where it doesn't apply. In Python it is None then; on the wire it is never null.
Absent = Annotated[T | SkipJsonSchema[None], AfterValidator(_not_null)]
Yes = Annotated[Literal[True], BeforeValidator(_true)]
No = Annotated[Literal[False], BeforeValidator(_false)]

# Named types, not bare aliases, so that schema.json defines them once.
Role = TypeAliasType("Role", Literal["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor"])
Claimed = TypeAliasType("Claimed", Role | Literal["not_duke"])
Allegiance = TypeAliasType("Allegiance", Literal["loyalist", "reformist"])
Seat = Annotated[int, Field(ge=0, description="A seat, 0-based; seats are numbered clockwise.")]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Cards = Annotated[tuple[Role, ...], AfterValidator(_sort), Field(description="Roles in alphabetical order.")]
LossReason = Literal["coup", "assassinate", "challenge"]
CoinReason = Literal[
    "income", "foreign_aid", "tax", "steal", "stolen", "coup", "assassinate", "refund", "exile", "convert", "embezzle"
]  # fmt: skip

How = Literal["done", "blocked", "failed", "target_gone", "actor_gone"]

# convert is in neither: its target is optional, and it is never pending.
UntargetedAction = Literal["income", "foreign_aid", "tax", "exchange", "embezzle"]
TargetedAction = Literal["coup", "assassinate", "steal", "examine"]


# ---------------------------------------------------------------- the rules of this match


class RulesetPayload(Sent):
    """The rules of a match, as far as rulesets differ. A field that has nothing to act on still has its value."""

    name: str = Field(description="Name of the ruleset, a label; 'coup' is the basic game.")
    seats: int = Field(ge=2, description="Players at the table.")
    deck: dict[Role, Positive] = Field(
        min_length=1, description="Copies of each role in the whole pack, hands included."
    )
    start_coins: Count = Field(description="Coins each player has at the start of a game.")
    two_player_starter_coins: Count = Field(description="Coins of the starter instead, with two players.")
    coup_cost: Count = Field(description="Coins a coup costs.")
    assassinate_cost: Count = Field(description="Coins an assassination costs.")
    forced_coup: Count = Field(description="Coins from which on a coup is the only legal action; 0: no such rule.")
    turn_limit: Positive = Field(description="Turns (of all players together) after which a game is a draw.")
    first_player: Literal["seat_0", "last_winner", "random"] = Field(description="The player with the first turn.")
    attacks_blocked_by: Literal["target", "anyone"] = Field(description="Players that may block steal and assassinate.")
    block_challenged_by: Literal["anyone", "actor"] = Field(description="Players that may challenge a block.")
    prove: Literal["choose", "automatic"] = Field(
        description="Whether a challenged player is asked to show a card it holds, or shows it always."
    )
    shown_card: Literal["replaced", "may_keep"] = Field(
        description="Whether a card that proved a claim is replaced, or its owner may keep it."
    )
    block_after_failed_challenge: Literal["yes", "never", "not_challenger"] = Field(
        description="Whether an action may be blocked after a challenge of it failed, and by whom."
    )
    exchange_draw: int = Field(ge=1, le=2, description="Cards that an exchange draws, and returns.")
    exchange_return: Literal["any", "claimed_role"] = Field(
        description="Which cards an exchange may return; claimed_role: the claimed one, if it was held."
    )
    inquisitor: bool = Field(description="The inquisitor takes the ambassador's place, and may examine.")
    examine_pick: Literal["target", "random"] = Field(description="How the examined card is picked.")
    examine_replace: Literal["draw_first", "return_first"] = Field(
        description="Whether the new card is drawn before or after the examined one is back in the deck."
    )
    reformation: bool = Field(description="Allegiances, conversion and embezzlement.")
    allegiance_start: Literal["starter_chooses", "assigned"] = Field(
        description="Whether the starter chooses a side or seat 0 gets one by chance; the sides alternate from there."
    )
    embezzle_concede: bool = Field(description="A challenged embezzler without a duke may decline to show its hand.")
    draft: bool = Field(description="Each of two players picks its first card from a set of its own.")
    dead_target: Literal["nothing", "coins"] = Field(
        description="Whether a steal takes coins from a target that is out before it takes effect."
    )
    talk: Literal["off", "statements", "text"] = Field(
        description="The statements that replies may contain: none, fixed kinds, or these and a text."
    )


# ---------------------------------------------------------------- moves


class UntargetedMove(Sent):
    """An action of one's own turn that is without a target."""

    action: UntargetedAction = Field(description="The action to take.")


class TargetedMove(Sent):
    """An action of one's own turn that is aimed at another player."""

    action: TargetedAction = Field(description="The action to take.")
    target: Seat = Field(description="The living seat it is aimed at.")


class ConvertMove(Sent):
    """Change an allegiance: one's own, or that of another player."""

    action: Literal["convert"]
    target: Absent[Seat] = Field(default=None, description="The living seat to convert; absent: oneself.")


TurnMove = Annotated[UntargetedMove | TargetedMove | ConvertMove, Field(discriminator="action")]


class PassMove(Sent):
    """Let a claim or an action stand."""

    pass_: Yes = Field(alias="pass")


class ChallengeMove(Sent):
    """Doubt the claim."""

    challenge: Yes


class BlockMove(Sent):
    """Counteract the pending action."""

    block: Role = Field(description="The role claimed for the block.")


class ShowMove(Sent):
    """Prove a claim."""

    show: Role = Field(description="The claimed role, which the hand holds.")


class ShowHandMove(Sent):
    """Prove that one has no duke, by showing all one's cards."""

    show: Literal["all"]


class DeclineMove(Sent):
    """Don't prove a claim, and lose an influence."""

    decline: Yes


class LoseMove(Sent):
    """Choose the card that goes face up."""

    lose: Role = Field(description="A role of the hand.")


class KeepMove(Sent):
    """Choose the cards to keep of an exchange."""

    keep: Cards = Field(description="Roles of the hand and the drawn cards, as many as the hand has.")


class KeepShownMove(Sent):
    """Keep the card that was just shown, or have it replaced."""

    keep_shown: bool = Field(description="True: it stays in the hand; false: it is replaced.")


class PickMove(Sent):
    """Choose the card to keep of one's own set of five."""

    pick: Role = Field(description="The role to keep; the other four are discarded.")


class SideMove(Sent):
    """Choose one's allegiance, which fixes that of all players."""

    side: Allegiance = Field(description="The starter's own side.")


class RevealMove(Sent):
    """Choose the card that the inquisitor looks at."""

    reveal: Role = Field(description="A role of the hand.")


class ExaminedMove(Sent):
    """Decide about the card that was looked at."""

    examined: Literal["hand_back", "force_swap"] = Field(description="Whether its owner keeps it or must replace it.")


# At most one fits: shapes forbid extra fields, and those that share a field (action, show) share none of its words.
AnyMove = (
    TurnMove
    | PassMove
    | ChallengeMove
    | BlockMove
    | ShowMove
    | ShowHandMove
    | DeclineMove
    | LoseMove
    | KeepMove
    | KeepShownMove
    | PickMove
    | SideMove
    | RevealMove
    | ExaminedMove
)


# ---------------------------------------------------------------- what a seat sees


class PlayerPayload(Sent):
    """The public information about one player."""

    coins: Count = Field(description="Coins in hand.")
    influence: Count = Field(description="Face-down cards; 0: out of the game, or in a draft.")
    revealed: tuple[Role, ...] = Field(description="Face-up cards; their order means nothing.")
    allegiance: Absent[Allegiance] = Field(default=None, description="Its side; absent: sides aren't settled or used.")


class StatePayload(Sent):
    """The public state of a game, complete."""

    turn: Positive = Field(description="Number of the turn, from 1, counted over all players.")
    actor: Seat = Field(description="The seat whose turn it is.")
    deck: Count = Field(description="Cards in the court deck.")
    reserve: Absent[Count] = Field(default=None, description="Coins on the treasury reserve; only in the Reformation.")
    players: tuple[PlayerPayload, ...] = Field(description="One for each seat, seat 0 first.")

    @model_validator(mode="after")
    def _sides_of_all_or_none(self) -> Self:
        sides = [player.allegiance for player in self.players if player.allegiance is not None]
        if sides and (len(sides) < len(self.players) or self.reserve is None):
            raise ValueError("all players have an allegiance or none has, and only where there is a reserve")
        return self


class You(Sent):
    """The information that only this bot has."""

    seat: Seat = Field(description="The bot's own seat in this game.")
    cards: Cards = Field(description="Its face-down cards, in alphabetical order.")
    discards: Absent[Cards] = Field(default=None, description="The four cards it discarded; only after a draft.")


class KnownPlayer(Sent):
    """The certain facts about an opponent's face-down cards."""

    seat: Seat = Field(description="The opponent's seat.")
    has: Absent[Cards] = Field(default=None, description="Roles that it certainly holds, one for each card.")
    lacks: Absent[Cards] = Field(default=None, description="Roles of which it certainly holds no card.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.has and not self.lacks:
            raise ValueError("an opponent of whom nothing is certain is left out")
        return self


class KnownPayload(Sent):
    """The certain facts about the cards that this bot doesn't see; empty fields are left out."""

    players: Absent[tuple[KnownPlayer, ...]] = Field(default=None, description="Opponents in the game, by seat.")
    deck: Absent[Cards] = Field(default=None, description="Cards that certainly lie in the court deck.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.players and not self.deck:
            raise ValueError("where nothing is certain, known is left out")
        return self


class AskedYou(You):
    """The information that only this bot has, when it is asked."""

    known: Absent[KnownPayload] = Field(default=None, description="Certain facts about others' cards; absent: none.")


class ExchangingYou(AskedYou):
    """The information that only a bot has that exchanges."""

    drawn: Cards = Field(description="The cards drawn from the court deck, in alphabetical order.")


class ExaminingYou(AskedYou):
    """The information that only a bot has that examines."""

    seen: Role = Field(description="The target's card that it looks at.")


class UntargetedPending(Sent):
    """The declared action that is not resolved yet, without a target."""

    actor: Seat = Field(description="The acting seat.")
    action: UntargetedAction


class TargetedPending(Sent):
    """The declared action that is not resolved yet, aimed at a player."""

    actor: Seat = Field(description="The acting seat.")
    action: TargetedAction
    target: Seat = Field(description="The seat it is aimed at.")


Pending = Annotated[UntargetedPending | TargetedPending, Field(discriminator="action")]


class ClaimPayload(Sent):
    """A claim that may be challenged, or has been."""

    seat: Seat = Field(description="The claiming seat.")
    role: Claimed = Field(description="The role claimed; not_duke: an embezzler's claim to have no duke.")
    block: bool = Field(description="True: the claim is a block of the pending action; false: it is the action's own.")


# ---------------------------------------------------------------- events


class _Event(Sent):
    n: Count = Field(description="Number of the event in its game, from 0, the same for all seats.")
    seat: Seat = Field(description="The seat that the event is about.")


class GeneralActionEvent(_Event):
    """A player declared an action that claims nothing and is without a target."""

    event: Literal["action"]
    action: Literal["income", "foreign_aid"]


class CoupEvent(_Event):
    """A player launched a coup."""

    event: Literal["action"]
    action: Literal["coup"]
    target: Seat


class RoleActionEvent(_Event):
    """A player declared a role's action that is without a target."""

    event: Literal["action"]
    action: Literal["tax", "exchange"]
    claim: Role = Field(description="The role claimed.")


class TargetedRoleActionEvent(_Event):
    """A player declared a role's action against another."""

    event: Literal["action"]
    action: Literal["assassinate", "steal", "examine"]
    target: Seat
    claim: Role = Field(description="The role claimed.")


class ConvertEvent(_Event):
    """A player changes an allegiance: its own, or that of the target."""

    event: Literal["action"]
    action: Literal["convert"]
    target: Absent[Seat] = Field(default=None, description="The converted seat; absent: the actor itself.")


class EmbezzleEvent(_Event):
    """A player reaches for the treasury reserve, claiming to have no duke."""

    event: Literal["action"]
    action: Literal["embezzle"]
    claim: Literal["not_duke"]


class CoinsEvent(_Event):
    """A player's coins changed. Every movement of coins is one such event."""

    event: Literal["coins"]
    delta: int = Field(description="Coins gained; negative: paid or taken away; 0: there were none to take.")
    reason: CoinReason


class ChallengeEvent(_Event):
    """`seat` challenged a claim: the one challenge that counts."""

    event: Literal["challenge"]
    claimant: Seat = Field(description="The claiming seat.")
    role: Claimed = Field(description="The role claimed, or not_duke.")


class ShownEvent(_Event):
    """`seat` proved its claim; unless it kept the card, that went back, the deck was shuffled, another was drawn."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["replaced", "cards"]}})

    event: Literal["shown"]
    role: Role = Field(description="The role shown.")
    replaced: Absent[No] = Field(default=None, description="False: the card was kept; absent: it was replaced.")
    cards: Absent[Cards] = Field(default=None, description="Only in the copy of `seat`: its whole hand now.")

    @model_validator(mode="after")
    def _kept_is_no_news(self) -> Self:
        if self.replaced is False and self.cards is not None:
            raise ValueError("a hand whose shown card was kept isn't shown again")
        return self


class ShownHandEvent(_Event):
    """`seat` proved that it had no duke; all its cards went back, the deck was shuffled, as many were drawn."""

    event: Literal["shown_hand"]
    roles: Cards = Field(description="All its cards, which all players see.")
    cards: Absent[Cards] = Field(default=None, description="Only in the copy of `seat`: its whole hand now.")


class UnprovenEvent(_Event):
    """`seat` couldn't or didn't wish to prove its claim."""

    event: Literal["unproven"]
    role: Claimed = Field(description="The role claimed, or not_duke.")


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


class DraftedEvent(_Event):
    """`seat` has its hand: the card it picked and one that was dealt."""

    event: Literal["drafted"]
    cards: Absent[Cards] = Field(default=None, description="Only in the copy of `seat`: its hand.")


class AllegiancesEvent(_Event):
    """`seat`, the starter, chose a side; the others alternate clockwise."""

    event: Literal["allegiances"]
    sides: tuple[Allegiance, ...] = Field(description="The side of each seat, seat 0 first.")


class ConvertedEvent(_Event):
    """`seat` changed the allegiance of `target`."""

    event: Literal["converted"]
    target: Seat = Field(description="The converted seat, which may be `seat` itself.")
    allegiance: Allegiance = Field(description="The side of `target` now.")


class ExaminedEvent(_Event):
    """`seat` looked at a card of `target`, which was handed back or replaced."""

    # The target's copy of a replacement has role and cards; `seat` has the role; the others have neither.
    event: Literal["examined"]
    target: Seat = Field(description="The owner of the card.")
    replaced: bool = Field(description="True: the card was replaced; false: it was handed back.")
    role: Absent[Role] = Field(default=None, description="Only in the copies of `seat` and `target`: the card.")
    cards: Absent[Cards] = Field(
        default=None, description="Only in the copy of `target`, if the card was replaced: its whole hand now."
    )

    @model_validator(mode="after")
    def _a_new_hand_follows_from_a_known_card(self) -> Self:
        if self.cards is not None and (self.role is None or not self.replaced):
            raise ValueError("cards come with the role of a card that was replaced")
        return self


class _Resolved(_Event):
    event: Literal["resolved"]
    how: How = Field(description="How the action ended.")


class UntargetedResolvedEvent(_Resolved):
    """The action of `seat`, without a target, has ended."""

    action: UntargetedAction


class TargetedResolvedEvent(_Resolved):
    """The action of `seat` against another has ended."""

    action: TargetedAction
    target: Seat = Field(description="The seat it was aimed at.")


class ConvertResolvedEvent(_Resolved):
    """The conversion by `seat` has ended."""

    action: Literal["convert"]
    target: Absent[Seat] = Field(default=None, description="The converted seat; absent: the actor itself.")


class _Say(_Event):
    event: Literal["say"]


class CardSayEvent(_Say):
    """`seat` says that it holds a role, or that it doesn't."""

    says: Literal["hold", "lack"]
    role: Role


class PlanSayEvent(_Say):
    """`seat` says that it will attack another, or that it won't."""

    says: Literal["attack", "spare"]
    target: Seat


class DoubtSayEvent(_Say):
    """`seat` says that another doesn't hold a role."""

    says: Literal["doubt"]
    role: Role
    target: Seat


class TextSayEvent(_Say):
    """`seat` says something in its own words."""

    says: Literal["text"]
    text: str = Field(min_length=1, max_length=TEXT_LIMIT, description="Untrusted text without control characters.")


SayEvent = Annotated[CardSayEvent | PlanSayEvent | DoubtSayEvent | TextSayEvent, Field(discriminator="says")]
ActionEvent = Annotated[
    GeneralActionEvent | CoupEvent | RoleActionEvent | TargetedRoleActionEvent | ConvertEvent | EmbezzleEvent,
    Field(discriminator="action"),
]
ResolvedEvent = Annotated[
    UntargetedResolvedEvent | TargetedResolvedEvent | ConvertResolvedEvent, Field(discriminator="action")
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
        | ForfeitEvent
        | ShownHandEvent
        | DraftedEvent
        | AllegiancesEvent
        | ConvertedEvent
        | ExaminedEvent
        | ResolvedEvent
        | SayEvent,
        Field(discriminator="event"),
    ],
)
