"""Define the rules as data: roles, the action table, rulesets and presets.

The engine and the generated documents read only the action table and the ruleset's fields. Comments cite sections of
docs/reference/rules.md. This module must not know states, bots or files.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """A character card. Every hand and list is in alphabetical order, so that none reveals a slot.

    Each ruleset has five of them: knowledge.py counts five, and so do the kits' encodings. A new role replaces one.
    """

    AMBASSADOR = "ambassador"
    ASSASSIN = "assassin"
    CAPTAIN = "captain"
    CONTESSA = "contessa"
    DUKE = "duke"
    INQUISITOR = "inquisitor"

    __hash__ = str.__hash__  # faster than Enum's; cards are hashed at every request


class Allegiance(StrEnum):
    """A side of the Reformation (rules.md#reformation)."""

    LOYALIST = "loyalist"
    REFORMIST = "reformist"

    @property
    def other(self) -> "Allegiance":
        """The other side."""
        return Allegiance.REFORMIST if self is Allegiance.LOYALIST else Allegiance.LOYALIST


class Action(StrEnum):
    """The actions that a player can take in its turn."""

    INCOME = "income"
    FOREIGN_AID = "foreign_aid"
    COUP = "coup"
    TAX = "tax"
    ASSASSINATE = "assassinate"
    STEAL = "steal"
    EXCHANGE = "exchange"
    EXAMINE = "examine"
    CONVERT = "convert"
    EMBEZZLE = "embezzle"

    __hash__ = str.__hash__  # as in Role


class Effect(StrEnum):
    """The effect of an action when it is resolved."""

    GAIN = "gain"  # take `gain` coins from the treasury
    STEAL = "steal"  # take up to `gain` coins from the target
    HIT = "hit"  # the target loses an influence
    EXCHANGE = "exchange"  # draw from the court deck, return as many
    EXAMINE = "examine"  # look at a card of the target, and hand it back or have it replaced
    CONVERT = "convert"  # change the actor's or the target's allegiance
    EMBEZZLE = "embezzle"  # take all coins of the treasury reserve


class Blockers(StrEnum):
    """The players that may block an action."""

    NOBODY = "nobody"
    TARGET = "target"
    ANYONE = "anyone"


class BlockChallengers(StrEnum):
    """The players that may challenge a block."""

    ANYONE = "anyone"
    ACTOR = "actor"


class FirstPlayer(StrEnum):
    """How the first player is chosen."""

    SEAT_0 = "seat_0"
    LAST_WINNER = "last_winner"
    RANDOM = "random"


class Proof(StrEnum):
    """Whether a challenged player chooses to show the card."""

    CHOOSE = "choose"
    AUTOMATIC = "automatic"


class ShownCard(StrEnum):
    """Whether a card that proved a claim is replaced."""

    REPLACED = "replaced"
    MAY_KEEP = "may_keep"


class BlockAfterChallenge(StrEnum):
    """Whether an action can be blocked after a challenge of it failed."""

    YES = "yes"
    NEVER = "never"
    NOT_CHALLENGER = "not_challenger"


class DeadTarget(StrEnum):
    """Whether a steal takes coins from a target that is out before it takes effect."""

    NOTHING = "nothing"
    COINS = "coins"


class ExchangeReturn(StrEnum):
    """Which cards an exchange may return."""

    ANY = "any"
    CLAIMED_ROLE = "claimed_role"


class ExaminePick(StrEnum):
    """The player that picks the card to be examined."""

    TARGET = "target"
    RANDOM = "random"


class ExamineReplace(StrEnum):
    """The order of drawing and returning when an examined card is replaced."""

    DRAW_FIRST = "draw_first"
    RETURN_FIRST = "return_first"


class AllegianceStart(StrEnum):
    """The first side: the starter chooses its side, or seat 0's is random. From that seat they alternate clockwise."""

    STARTER_CHOOSES = "starter_chooses"
    ASSIGNED = "assigned"


class Talk(StrEnum):
    """Table talk that players may add to moves: none, statements of fixed kinds, or these and a text."""

    OFF = "off"
    STATEMENTS = "statements"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class ActionRule:
    """One row of the action table: effect, cost and gain in coins, claimed role, possible blockers and their roles.

    `denies`: the actor claims not to have the role. `own_side`: a player of the actor's side can be a target while both
    sides have players.
    """

    action: Action
    effect: Effect
    cost: int = 0
    gain: int = 0
    targeted: bool = False
    claim: Role | None = None
    denies: bool = False
    blocked_by: Blockers = Blockers.NOBODY
    block_roles: tuple[Role, ...] = ()
    own_side: bool = False


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules of a game, which are part of states, records and the hello line.

    docs/reference/rulesets.md describes the fields; their defaults are the rulebook's core game. `roles` and `actions`
    are computed from the other fields.
    """

    name: str = "coup"
    min_seats: int = 2  # rules.md#players
    max_seats: int = 10  # rules.md#players
    start_coins: int = 2  # rules.md#coins
    two_player_starter_coins: int = 1  # rules.md#coins
    first_player: FirstPlayer = FirstPlayer.SEAT_0  # seats rotate, rules.md#first-player
    attacks_blocked_by: Blockers = Blockers.TARGET  # steal and assassinate, rules.md#who-may-block
    block_challenged_by: BlockChallengers = BlockChallengers.ANYONE  # rules.md#challenged-block
    prove: Proof = Proof.CHOOSE  # rules.md#proof
    shown_card: ShownCard = ShownCard.REPLACED  # rules.md#shown-card
    block_after_failed_challenge: BlockAfterChallenge = BlockAfterChallenge.YES  # rules.md#late-blocks
    forced_coup: int = 10  # coins from which on a coup is the only action, 0: never; rules.md#forced-coup
    exchange_draw: int | None = None  # None: 1 with the inquisitor, else 2, rules.md#exchange
    exchange_return: ExchangeReturn = ExchangeReturn.ANY  # rules.md#exchange
    inquisitor: bool = False  # rules.md#inquisitor
    examine_pick: ExaminePick = ExaminePick.TARGET  # rules.md#examine
    examine_replace: ExamineReplace = ExamineReplace.DRAW_FIRST  # rules.md#examine
    reformation: bool = False  # rules.md#reformation
    allegiance_start: AllegianceStart = AllegianceStart.STARTER_CHOOSES  # rules.md#allegiance
    embezzle_concede: bool = True  # rules.md#embezzlement
    draft: bool = False  # rules.md#draft
    turn_limit: int | None = None  # turns after which a game is drawn; None: see `limit`
    dead_target: DeadTarget = DeadTarget.NOTHING  # rules.md#dead-target
    talk: Talk = Talk.OFF  # rules.md#talk
    roles: tuple[Role, ...] = field(init=False, repr=False, compare=False, default=())
    actions: tuple[ActionRule, ...] = field(init=False, repr=False, compare=False, default=())
    _rows: dict[tuple[Action, bool], ActionRule] = field(init=False, repr=False, compare=False, default_factory=dict)
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        absent_role = Role.AMBASSADOR if self.inquisitor else Role.INQUISITOR
        object.__setattr__(self, "roles", tuple(role for role in Role if role is not absent_role))
        object.__setattr__(self, "actions", _make_action_table(self))
        object.__setattr__(self, "_rows", {(row.action, row.targeted): row for row in self.actions})
        # Legal moves are cached by ruleset, so every request hashes it.
        object.__setattr__(self, "_hash", hash((self.name, self.forced_coup, self.actions)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def hand(self) -> int:
        """The number of cards dealt to each player (rules.md#deal)."""
        return 2

    @property
    def draw(self) -> int:
        """The number of cards that an exchange draws."""
        return self.exchange_draw or (1 if self.inquisitor else 2)

    def copies(self, seats: int) -> int:
        """Return how many cards of each role are in the deck (rules.md#deck)."""
        if seats <= 6:
            return 3
        return 4 if seats <= 8 else 5

    def limit(self, seats: int) -> int:
        """Return the number of turns after which a game is a draw of the survivors.

        No document sets one. Of 100,000 simulated games 0.3 to 1 % never end (two bots that take foreign aid and block
        each other's assassinations for ever); of those that do, fewer than 0.2 % are longer than this.
        """
        return self.turn_limit or (200 if seats <= 4 else 300)

    def rule(self, action: Action, targeted: bool = False) -> ActionRule:
        """Return the row of the action table. Raises KeyError if these rules lack the action."""
        return self._rows[action, targeted]

    def problem(self, seats: int) -> str | None:
        """Return why these rules can't be played with this number of players, in one line; None if they can."""
        if self.draft and seats != 2:
            return f"the draft deals three sets of five to two players (docs/reference/rules.md#draft), not to {seats}"
        if not self.min_seats <= seats <= self.max_seats:
            return f"{self.name} is for {self.min_seats} to {self.max_seats} players, not {seats}"
        if self.exchange_return is ExchangeReturn.CLAIMED_ROLE and self.draw != 1:
            return "exchange_return claimed_role needs exchange_draw 1 (docs/reference/rules.md#exchange)"
        return None


def _make_action_table(rules: Ruleset) -> tuple[ActionRule, ...]:
    """Return the action table of a ruleset, in the order of legal moves: the default action, income, first."""
    exchanger = Role.INQUISITOR if rules.inquisitor else Role.AMBASSADOR
    attack_blockers = rules.attacks_blocked_by
    rows = [
        ActionRule(Action.INCOME, Effect.GAIN, gain=1),  # rules.md#income
        ActionRule(
            Action.FOREIGN_AID, Effect.GAIN, gain=2, blocked_by=Blockers.ANYONE, block_roles=(Role.DUKE,)
        ),  # rules.md#foreign-aid
        ActionRule(Action.COUP, Effect.HIT, cost=7, targeted=True),  # rules.md#coup
        ActionRule(Action.TAX, Effect.GAIN, gain=3, claim=Role.DUKE),  # rules.md#tax
        ActionRule(
            Action.ASSASSINATE,
            Effect.HIT,
            cost=3,
            targeted=True,
            claim=Role.ASSASSIN,
            blocked_by=attack_blockers,
            block_roles=(Role.CONTESSA,),
        ),  # rules.md#assassinate
        ActionRule(
            Action.STEAL,
            Effect.STEAL,
            gain=2,
            targeted=True,
            claim=Role.CAPTAIN,
            blocked_by=attack_blockers,
            block_roles=tuple(sorted((exchanger, Role.CAPTAIN))),
        ),  # rules.md#steal, #inquisitor
        ActionRule(Action.EXCHANGE, Effect.EXCHANGE, claim=exchanger),  # rules.md#exchange, #inquisitor
    ]
    if rules.inquisitor:
        rows.append(ActionRule(Action.EXAMINE, Effect.EXAMINE, targeted=True, claim=Role.INQUISITOR))
    if rules.reformation:
        rows += [
            ActionRule(Action.CONVERT, Effect.CONVERT, cost=1),  # rules.md#conversion
            ActionRule(Action.CONVERT, Effect.CONVERT, cost=2, targeted=True, own_side=True),  # rules.md#conversion
            ActionRule(Action.EMBEZZLE, Effect.EMBEZZLE, claim=Role.DUKE, denies=True),  # rules.md#embezzlement
        ]
    return tuple(rows)


COUP = Ruleset()

_TREASON = {  # rules.md#presets has the source of each preset
    "two_player_starter_coins": 2,
    "first_player": FirstPlayer.RANDOM,
    "prove": Proof.AUTOMATIC,
    "block_after_failed_challenge": BlockAfterChallenge.NEVER,
}
_SITE = {  # as the program plays; coins and blocks are the base game's
    "first_player": FirstPlayer.RANDOM,
    "prove": Proof.AUTOMATIC,
    "dead_target": DeadTarget.COINS,
}
_REFORMATION = {"reformation": True, "allegiance_start": AllegianceStart.ASSIGNED, "embezzle_concede": False}
_INQUISITORS = {"inquisitor": True, "examine_pick": ExaminePick.RANDOM, "examine_replace": ExamineReplace.RETURN_FIRST}

PRESETS: dict[str, Ruleset] = {
    rules.name: rules
    for rules in (
        COUP,
        Ruleset("duel", max_seats=2, draft=True),
        Ruleset("inquisitor", inquisitor=True),
        Ruleset("reformation", reformation=True),
        Ruleset("reformation-inquisitor", reformation=True, inquisitor=True),
        Ruleset("treason", **_TREASON, **_REFORMATION, **_INQUISITORS),  # type: ignore[arg-type]
        Ruleset("treason-original", **_TREASON),  # type: ignore[arg-type]
        Ruleset("treason-inquisitors", **_TREASON, **_INQUISITORS),  # type: ignore[arg-type]
        Ruleset("treason-site", **_SITE, **_REFORMATION, **_INQUISITORS),  # type: ignore[arg-type]
        Ruleset("treason-site-original", **_SITE),  # type: ignore[arg-type]
        Ruleset("treason-site-inquisitors", **_SITE, **_INQUISITORS),  # type: ignore[arg-type]
        Ruleset(
            "classroom",
            min_seats=3,
            max_seats=6,
            attacks_blocked_by=Blockers.ANYONE,
            block_challenged_by=BlockChallengers.ACTOR,
        ),
        Ruleset("andy", max_seats=5, shown_card=ShownCard.MAY_KEEP),
        Ruleset("andy-as-written", max_seats=5),
        Ruleset(
            "blog",
            max_seats=6,
            two_player_starter_coins=2,
            prove=Proof.AUTOMATIC,
            exchange_draw=1,
            exchange_return=ExchangeReturn.CLAIMED_ROLE,
            block_after_failed_challenge=BlockAfterChallenge.NOT_CHALLENGER,
        ),
        Ruleset("open-table", talk=Talk.TEXT),
    )
}

# A description of each preset, in one line.
ABOUT: dict[str, str] = {
    "coup": "the standard game",
    "duel": "the rulebook's variant for two, with a draft",
    "inquisitor": "the inquisitor replaces the ambassador",
    "reformation": "allegiances, conversion and embezzlement",
    "reformation-inquisitor": "reformation with the inquisitor",
    "treason": "Treason Coup with reformation and inquisitor",
    "treason-original": "Treason Coup with the ambassador",
    "treason-inquisitors": "Treason Coup with the inquisitor",
    "treason-site": "treason by its program's rules",
    "treason-site-original": "its program's rules with the ambassador",
    "treason-site-inquisitors": "its program's rules with the inquisitor only",
    "classroom": "anyone blocks; only the actor challenges it",
    "andy": "a card shown as proof may be kept",
    "andy-as-written": "Andy's sheet: the shown card is replaced",
    "blog": "an exchange of one puts the claimed card back",
    "open-table": "the base game with table talk",
}
