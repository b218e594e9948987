"""What a seat may choose, and the notation a record writes it in.

A move is a small frozen value; the engine hands out the same objects again and again. The notation is one word without
blanks, as in `steal:2`, `block:duke`, `keep:captain+duke`; `-` is a pass, `!` a challenge, `#` a forfeit.
"""

from dataclasses import dataclass
from functools import lru_cache

from arena.coup.rules import Action, Allegiance, Role


@dataclass(frozen=True, slots=True)
class Act:
    """Take an action on one's own turn, aimed at the seat `target` if it has one."""

    action: Action
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """Let a claim or an action stand."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """Say that the claimant doesn't have the role."""


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
class Retain:
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
class Examined:
    """Hand the examined card back, or force its owner to swap it."""

    swap: bool


@dataclass(frozen=True, slots=True)
class Forfeit:
    """Leave the game. Never a legal choice: the referee plays it for a seat that must leave."""


Move = (
    Act | Pass | Challenge | Block | Show | Decline | Lose | Keep | ShowHand | Retain | Pick | Side | Reveal | Examined
)
Answer = Move | Forfeit

PASS = Pass()
CHALLENGE = Challenge()
DECLINE = Decline()
SHOW_HAND = ShowHand()
REPLACE_SHOWN = Retain(shown=False)
KEEP_SHOWN = Retain(shown=True)
HAND_BACK = Examined(swap=False)
FORCE_SWAP = Examined(swap=True)
FORFEIT = Forfeit()


# The words that say all of a move, and the verbs of moves that name a role.
_SINGLE: dict[str, Answer] = {
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
def notation(move: Answer) -> str:
    """Write a move as one word without blanks; `parse` is the inverse."""
    match move:
        case Act(action, target):
            return action.value if target is None else f"{action.value}:{target}"
        case Block(role) | Show(role) | Lose(role) | Pick(role) | Reveal(role):
            return f"{_VERBS[type(move)]}:{role.value}"
        case Keep(roles):
            return "keep:" + "+".join(role.value for role in roles)
        case Side(allegiance):
            return f"side:{allegiance.value}"
        case _:
            return _WORDS[move]


def parse(word: str) -> Answer:
    """Read a move from its notation. Raises ValueError for anything that `notation` can't have written."""
    if word in _SINGLE:
        return _SINGLE[word]
    move = _parsed(word)
    if notation(move) != word:  # int() also reads "01" and "1_0", and "income:" would be an income
        raise ValueError(f"{word!r} is no move")
    return move


def _parsed(word: str) -> Answer:
    verb, _, rest = word.partition(":")
    if verb in _OF_ROLE:
        return _OF_ROLE[verb](Role(rest))
    match verb:
        case "side":
            return Side(Allegiance(rest))
        case "keep":
            return Keep(tuple(Role(role) for role in rest.split("+")))
        case _:
            return Act(Action(verb), int(rest) if rest else None)
