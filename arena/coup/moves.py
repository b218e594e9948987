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
    """Take an action in the own turn, aimed at the seat `target`; None for an action without a target."""

    action: Action
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """Neither challenge nor block."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Challenge the claim."""


@dataclass(frozen=True, slots=True)
class Block:
    """Block the pending action, claiming `role`."""

    role: Role


@dataclass(frozen=True, slots=True)
class Show:
    """Prove a claim by showing the card."""

    role: Role


@dataclass(frozen=True, slots=True)
class Decline:
    """Decline to prove a claim."""


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
    """Prove not to have a role, by showing all cards."""


@dataclass(frozen=True, slots=True)
class KeepShown:
    """Keep the card that was just shown (True), or have it replaced."""

    shown: bool


@dataclass(frozen=True, slots=True)
class Pick:
    """Choose a card from the own set of five in the draft."""

    role: Role


@dataclass(frozen=True, slots=True)
class Side:
    """Choose an allegiance before the first turn."""

    allegiance: Allegiance


@dataclass(frozen=True, slots=True)
class Reveal:
    """Show one card to the examining inquisitor."""

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


# Words that are complete moves, and verbs of moves with a role.
_MOVE_BY_WORD: dict[str, MoveOrForfeit] = {
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
_WORD_BY_MOVE = {move: word for word, move in _MOVE_BY_WORD.items()}
_ROLE_MOVES: dict[str, type[Block | Show | Lose | Pick | Reveal]] = {
    "block": Block,
    "show": Show,
    "lose": Lose,
    "pick": Pick,
    "reveal": Reveal,
}
_VERBS = {kind: verb for verb, kind in _ROLE_MOVES.items()}


@lru_cache(maxsize=10_000)  # every answer is formatted, and few are new
def format_move(move: MoveOrForfeit) -> str:
    """Return a move as one word without blanks; `parse_move` is the inverse."""
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
            return _WORD_BY_MOVE[move]


@lru_cache(maxsize=10_000)  # a replay parses every move, and few are new
def parse_move(word: str) -> MoveOrForfeit:
    """Return the move of a word. Raises ValueError for text that `format_move` can't return."""
    if word in _MOVE_BY_WORD:
        return _MOVE_BY_WORD[word]
    move = _parse_unchecked(word)
    if format_move(move) != word:  # int() also reads "01" and "1_0", and "income:" would be an income
        raise ValueError(f"{word!r} is no move")
    return move


def _parse_unchecked(word: str) -> MoveOrForfeit:
    verb, _, argument = word.partition(":")
    if verb in _ROLE_MOVES:
        return _ROLE_MOVES[verb](Role(argument))
    match verb:
        case "side":
            return Side(Allegiance(argument))
        case "keep":
            return Keep(tuple(Role(role) for role in argument.split("+")))
        case _:
            return ActionMove(Action(verb), int(argument) if argument else None)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action in words: effect, cost in coins, claimed role ("no duke": to have none), and possible blockers."""

    action: str
    effect: str
    cost: int
    claim: str | None
    blockers: str | None


def action_table(rules: Ruleset) -> list[ActionRow]:
    """Return the actions of a game, in the order of its rules."""
    return [
        ActionRow(row.action.value, describe_effect(row, rules), row.cost, _claim_text(row), _blocker_text(row, rules))
        for row in rules.actions
    ]


def describe_effect(row: ActionRule, rules: Ruleset) -> str:
    """Return what an action does, in words."""
    match row.effect:
        case Effect.GAIN:
            return f"take {_quantity(row.gain, 'coin')}"
        case Effect.STEAL:
            return f"take up to {_quantity(row.gain, 'coin')} from another player"
        case Effect.HIT:
            return "the target loses a card"
        case Effect.EXCHANGE:
            returned = "the claimed one" if rules.exchange_return is ExchangeReturn.CLAIMED_ROLE else str(rules.draw)
            return f"draw {_quantity(rules.draw, 'card')}, return {returned}"
        case Effect.EXAMINE:
            return "look at a card of the target; return it or have it replaced"
        case Effect.CONVERT:
            return f"turn {'the target' if row.targeted else 'yourself'} to the other side; coins go to the reserve"
        case Effect.EMBEZZLE:
            return "take all coins of the reserve"


def _claim_text(row: ActionRule) -> str | None:
    if row.claim is None:
        return None
    return f"no {row.claim}" if row.denies else row.claim.value


def _blocker_text(row: ActionRule, rules: Ruleset) -> str | None:
    if row.blocked_by is Blockers.NOBODY:
        return None
    roles = " or ".join(row.block_roles)
    # rules.md#own-side bans blocks of foreign aid alone: an ally may block an attack where anyone may.
    if rules.reformation and row.action is Action.FOREIGN_AID:
        return f"the other side as {roles}; see Blocks"
    return f"{'anyone' if row.blocked_by is Blockers.ANYONE else 'the target'} as {roles}"


def _quantity(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
