"""Define the moves that a seat can choose, their notation in records, and the action table for display.

A move is a small frozen value; the engine returns the same objects repeatedly. The notation is one word without
blanks, such as `steal:2`, `block:duke` or `keep:captain+duke`. `-` is a pass, `!` a challenge and `#` a forfeit.

The action table has one row per action. It is derived from `Ruleset.actions`, which is also the engine's input. The
rules sheet and the table page show it."""

from dataclasses import dataclass
from functools import lru_cache

from arena.coup.rules import Action, ActionRule, Allegiance, Blockers, Effect, ExchangeReturn, Role, Ruleset


@dataclass(frozen=True, slots=True)
class ActionMove:
    """Take an action on one's own turn, aimed at the seat `target` if it has one."""

    action: Action
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """Let a claim or an action stand."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """The claimant is accused of not having the role."""


@dataclass(frozen=True, slots=True)
class Block:
    """Counteract, claiming `role`."""

    role: Role


@dataclass(frozen=True, slots=True)
class Show:
    """Prove a claim by showing the card."""

    role: Role


@dataclass(frozen=True, slots=True)
class Decline:
    """Not prove a claim, unable or unwilling."""


@dataclass(frozen=True, slots=True)
class Lose:
    """Turn one card face up."""

    role: Role


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep these cards (sorted) of an exchange; the others go back."""

    roles: tuple[Role, ...]


@dataclass(frozen=True, slots=True)
class ShowHand:
    """Prove that one does not have a role, by showing all cards."""


@dataclass(frozen=True, slots=True)
class KeepShown:
    """Keep the card that was just shown (True), or have it replaced."""

    shown: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """Choose one's own card from the set of five of the draft."""

    role: Role


@dataclass(frozen=True, slots=True)
class Side:
    """Choose an allegiance before the first turn."""

    allegiance: Allegiance


@dataclass(frozen=True, slots=True)
class Reveal:
    """Show one card to the inquisitor who examines."""

    role: Role


@dataclass(frozen=True, slots=True)
class ExamineDecision:
    """Hand the examined card back, or force its owner to swap it."""

    swap: bool


@dataclass(frozen=True, slots=True)
class Forfeit:
    """Leave the game. Never a legal choice: the referee plays it for a seat that must leave."""


Move = (
    ActionMove
    | Pass
    | Challenge
    | Block
    | Show
    | Decline
    | Lose
    | Keep
    | ShowHand
    | KeepShown
    | Pick
    | Side
    | Reveal
    | ExamineDecision
)
MoveOrForfeit = Move | Forfeit

PASS = Pass()
CHALLENGE = Challenge()
DECLINE = Decline()
SHOW_HAND = ShowHand()
REPLACE_SHOWN = KeepShown(shown=False)
KEEP_SHOWN = KeepShown(shown=True)
HAND_BACK = ExamineDecision(swap=False)
FORCE_SWAP = ExamineDecision(swap=True)
FORFEIT = Forfeit()


# The words that say all of a move, and the verbs of moves that name a role.
_SINGLE: dict[str, MoveOrForfeit] = {
    "-": PASS,
    "!": CHALLENGE,
    "decline": DECLINE,
    "show:all": SHOW_HAND,
    "replace_shown": REPLACE_SHOWN,
    "keep_shown": KEEP_SHOWN,
    "hand_back": HAND_BACK,
    "force_swap": FORCE_SWAP,
    "#": FORFEIT,
}
_WORDS = {move: word for word, move in _SINGLE.items()}
_OF_ROLE: dict[str, type[Block | Show | Lose | Pick | Reveal]] = {
    "block": Block,
    "show": Show,
    "lose": Lose,
    "pick": Pick,
    "reveal": Reveal,
}
_VERBS = {kind: verb for verb, kind in _OF_ROLE.items()}


@lru_cache(maxsize=10_000)  # every answer is written, and few are new
def format_move(move: MoveOrForfeit) -> str:
    """Write a move as one word without blanks; `parse` is the inverse."""
    match move:
        case ActionMove(action, target):
            return action.value if target is None else f"{action.value}:{target}"
        case Block(role) | Show(role) | Lose(role) | Pick(role) | Reveal(role):
            return f"{_VERBS[type(move)]}:{role.value}"
        case Keep(roles):
            return "keep:" + "+".join(role.value for role in roles)
        case Side(allegiance):
            return f"side:{allegiance.value}"
        case _:
            return _WORDS[move]


def parse_move(word: str) -> MoveOrForfeit:
    """Read a move from its notation. Raises ValueError for anything that `notation` can't have written."""
    if word in _SINGLE:
        return _SINGLE[word]
    move = _parsed(word)
    if format_move(move) != word:  # int() also reads "01" and "1_0", and "income:" would be an income
        raise ValueError(f"{word!r} is no move")
    return move


def _parsed(word: str) -> MoveOrForfeit:
    verb, _, rest = word.partition(":")
    if verb in _OF_ROLE:
        return _OF_ROLE[verb](Role(rest))
    match verb:
        case "side":
            return Side(Allegiance(rest))
        case "keep":
            return Keep(tuple(Role(role) for role in rest.split("+")))
        case _:
            return ActionMove(Action(verb), int(rest) if rest else None)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action: what it does, its cost in coins, what it claims to have ("no duke" to have none), who may stop it."""

    action: str
    effect: str
    cost: int
    claim: str | None
    blockers: str | None


def action_table(rules: Ruleset) -> list[ActionRow]:
    """Return the actions of a game, in the order of its rules."""
    return [
        ActionRow(row.action.value, describe_effect(row, rules), row.cost, _claim(row), _blockers(row, rules))
        for row in rules.actions
    ]


def describe_effect(row: ActionRule, rules: Ruleset) -> str:
    """Return what an action does, in words."""
    match row.effect:
        case Effect.GAIN:
            return f"take {_quantity(row.gain, 'coin')}"
        case Effect.STEAL:
            return f"take up to {_quantity(row.gain, 'coin')} from the target"
        case Effect.HIT:
            return "the target loses an influence"
        case Effect.EXCHANGE:
            back = "the claimed one" if rules.exchange_return is ExchangeReturn.CLAIMED_ROLE else str(rules.draw)
            return f"draw {_quantity(rules.draw, 'card')}, return {back}"
        case Effect.EXAMINE:
            return "look at a card of the target; hand it back or have it replaced"
        case Effect.CONVERT:
            return f"turn {'the target' if row.targeted else 'yourself'} to the other side; coins go to the reserve"
        case Effect.EMBEZZLE:
            return "take all coins of the reserve"


def _claim(row: ActionRule) -> str | None:
    return None if row.claim is None else f"no {row.claim}" if row.denies else row.claim.value


def _blockers(row: ActionRule, rules: Ruleset) -> str | None:
    if row.blocked_by is Blockers.NOBODY:
        return None
    # rules.md#own-side bans blocks of foreign aid alone: an ally may block an attack where anyone may.
    other_side = rules.reformation and row.action is Action.FOREIGN_AID
    who = "the other side" if other_side else "anyone" if row.blocked_by is Blockers.ANYONE else "the target"
    return f"{who} as {' or '.join(row.block_roles)}{'; see Blocks' if other_side else ''}"


def _quantity(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
