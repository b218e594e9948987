"""What a seat may choose, and the notation a record writes it in.

A move is a small frozen value; the engine hands out the same objects again and again. The notation is one word without
blanks, as in `steal:2`, `block:duke`, `keep:captain+duke`; `-` is a pass, `!` a challenge, `#` a forfeit.
"""

from dataclasses import dataclass

from arena.coup.rules import Action, Role


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
class Forfeit:
    """Leave the game. Never a legal choice: the referee plays it for a seat that has lost the right to go on."""


Move = Act | Pass | Challenge | Block | Show | Decline | Lose | Keep
Answer = Move | Forfeit

PASS = Pass()
CHALLENGE = Challenge()
DECLINE = Decline()
FORFEIT = Forfeit()


def notation(move: Answer) -> str:
    """Write a move as one word without blanks; `parse` is the inverse."""
    match move:
        case Act(action, None):
            return action.value
        case Act(action, target):
            return f"{action.value}:{target}"
        case Pass():
            return "-"
        case Challenge():
            return "!"
        case Block(role):
            return f"block:{role.value}"
        case Show(role):
            return f"show:{role.value}"
        case Decline():
            return "decline"
        case Lose(role):
            return f"lose:{role.value}"
        case Keep(roles):
            return "keep:" + "+".join(role.value for role in roles)
        case Forfeit():
            return "#"


_SINGLE: dict[str, Answer] = {notation(m): m for m in (PASS, CHALLENGE, DECLINE, FORFEIT)}


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
    match verb:
        case "block":
            return Block(Role(rest))
        case "show":
            return Show(Role(rest))
        case "lose":
            return Lose(Role(rest))
        case "keep":
            return Keep(tuple(Role(r) for r in rest.split("+")))
        case _:
            return Act(Action(verb), int(rest) if rest else None)
