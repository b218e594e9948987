"""The actions of a game in words, a row each: the table of the rules' sheet, and the card beside a table.

What it says is what `Ruleset.actions` has, from which the engine plays.
"""

from dataclasses import dataclass

from arena.coup.rules import Action, ActionRule, Blockers, Effect, ExchangeReturn, Ruleset


@dataclass(frozen=True, slots=True)
class ActionWords:
    """An action: what it does, its cost in coins, what it claims to have ("no duke" to have none), who may stop it."""

    action: str
    effect: str
    cost: int
    claim: str | None
    blockers: str | None


def card(rules: Ruleset) -> list[ActionWords]:
    """Return the actions of a game, in the order of its rules."""
    return [
        ActionWords(row.action.value, effect(row, rules), row.cost, _claim(row), _blockers(row, rules))
        for row in rules.actions
    ]


def effect(row: ActionRule, rules: Ruleset) -> str:
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
