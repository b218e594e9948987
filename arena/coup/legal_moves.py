"""List a seat's legal moves from its View, never from the game, so that the list reveals nothing hidden.

The lists are cached and shared; the first move of a list is the default (requests.md#the-first-legal-move). engine.py
has the effects of moves.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

from arena.coup.moves import (
    CHALLENGE,
    DECLINE,
    FORCE_SWAP,
    HAND_BACK,
    KEEP_SHOWN,
    PASS,
    REPLACE_SHOWN,
    SHOW_HAND,
    ActionMove,
    Block,
    Keep,
    Lose,
    Move,
    Pick,
    Reveal,
    Show,
    Side,
)
from arena.coup.rules import Action, ActionRule, Allegiance, ExchangeReturn, Role, Ruleset
from arena.coup.state import (
    BlockWindow,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    DecidingKeepShown,
    Drafting,
    Examining,
    Exchanging,
    FailedChallenge,
    Losing,
    Over,
    Phase,
    Proving,
    Revealing,
    Turn,
)
from arena.coup.visibility import View


def list_legal_moves(view: View) -> tuple[Move, ...]:
    """Return the legal moves of a seat that is asked, in a fixed order; never empty. Undefined for other seats."""
    phase = view.board.phase
    return _LISTERS[type(phase)](view, phase)


_CHALLENGE_MOVES: tuple[Move, ...] = (PASS, CHALLENGE)
_DECLINE_MOVES: tuple[Move, ...] = (DECLINE,)
_SHOW_HAND_MOVES: tuple[Move, ...] = (SHOW_HAND,)
_SHOW_HAND_OR_DECLINE_MOVES: tuple[Move, ...] = (SHOW_HAND, DECLINE)
_RETAIN_MOVES: tuple[Move, ...] = (REPLACE_SHOWN, KEEP_SHOWN)
_EXAMINE_MOVES: tuple[Move, ...] = (HAND_BACK, FORCE_SWAP)
_SIDE_MOVES: tuple[Move, ...] = tuple(Side(allegiance) for allegiance in Allegiance)


def _turn_moves(view: View) -> tuple[Move, ...]:
    rules, _, _, _, coins, influence, _, _, sides, _ = view.board
    return _moves_of_seat(rules, view.seat, coins[view.seat], influence, sides)


@lru_cache(maxsize=10_000)  # in front of `_action_moves`, which returns the same list for more coins or other sides
def _moves_of_seat(
    rules: Ruleset, seat: int, coins: int, influence: tuple[int, ...], sides: tuple[Allegiance, ...]
) -> tuple[Move, ...]:
    opponents = seats_clockwise(influence, seat)
    foes = enemies(sides, seat, opponents) if sides else opponents
    return _action_moves(rules, min(coins, max(_MAX_COST, rules.forced_coup)), opponents, foes)


_MAX_COST = 10  # coins: no action costs more, so the moves are the same above this and forced_coup


@lru_cache(maxsize=10_000)  # of 10 * 2^9 * 11 (seat, living seats, coins) at ten seats
def _action_moves(rules: Ruleset, coins: int, opponents: tuple[int, ...], foes: tuple[int, ...]) -> tuple[Move, ...]:
    """Return the actions that these coins pay, in the order of the rules, each for its targets in order of seats.

    foes: the opponents that may be the target of an action that isn't allowed against the own side.
    """
    must_coup = 0 < rules.forced_coup <= coins
    moves: list[Move] = []
    for row in rules.actions:
        if row.cost <= coins and (not must_coup or row.action is Action.COUP):
            targets = sorted(opponents if row.own_side else foes) if row.targeted else [None]
            moves += [_share(row.action, target) for target in targets]
    return tuple(moves)


@lru_cache(maxsize=1000)
def _share(action: Action, target: int | None) -> ActionMove:
    """Return the shared ActionMove with these values, which saves memory."""
    return ActionMove(action, target)


def enemies(sides: Sequence[Allegiance], seat: int, opponents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the opponents that aren't on the side of `seat`, or all if none is (rules.md#own-side). sides: by seat."""
    foes = tuple(opponent for opponent in opponents if sides[opponent] is not sides[seat])
    return foes or opponents


@lru_cache(maxsize=1000)
def _block_moves(rules: Ruleset, action: Action, targeted: bool) -> tuple[Move, ...]:
    return (PASS, *(Block(role) for role in rules.rule(action, targeted).block_roles))


def row_of(rules: Ruleset, move: ActionMove) -> ActionRule:
    """Return the row of the rules' action table for an action. Raises KeyError if these rules lack the action."""
    return rules.rule(move.action, move.target is not None)


def _proof_moves(view: View, claim: Claim) -> tuple[Move, ...]:
    if not claim.denies:
        return _show_moves(claim.role) if claim.role in view.cards else _DECLINE_MOVES
    if claim.role in view.cards:
        return _DECLINE_MOVES  # a seat with the Duke must concede (rules.md#embezzlement)
    return _SHOW_HAND_OR_DECLINE_MOVES if view.board.rules.embezzle_concede else _SHOW_HAND_MOVES


@lru_cache(maxsize=100)
def _show_moves(role: Role) -> tuple[Move, ...]:
    return (Show(role), DECLINE)


@lru_cache(maxsize=100)
def _pick_moves(roles: tuple[Role, ...]) -> tuple[Move, ...]:
    return tuple(Pick(role) for role in roles)


@lru_cache(maxsize=1000)
def _reveal_moves(cards: tuple[Role, ...]) -> tuple[Move, ...]:
    return tuple(Reveal(role) for role in sorted(set(cards)))


def _exchange_moves(view: View, pending: ActionMove, failed_challenge: FailedChallenge) -> tuple[Move, ...]:
    rules = view.board.rules
    claimed = row_of(rules, pending).claim
    if rules.exchange_return is ExchangeReturn.CLAIMED_ROLE and not failed_challenge.replaced and claimed in view.cards:
        return _return_moves(hand_of(view.cards + view.drawn), claimed)
    return _keep_moves(view.cards, view.drawn)


@lru_cache(maxsize=1000)
def _return_moves(pool: tuple[Role, ...], role: Role) -> tuple[Move, ...]:
    index = pool.index(role)
    return (Keep(pool[:index] + pool[index + 1 :]),)


@lru_cache(maxsize=1000)
def _lose_moves(cards: tuple[Role, ...]) -> tuple[Move, ...]:
    return tuple(Lose(role) for role in sorted(set(cards)))


@lru_cache(maxsize=10_000)
def _keep_moves(hand: tuple[Role, ...], drawn: tuple[Role, ...]) -> tuple[Move, ...]:
    """Return all choices of cards to keep: the unchanged hand first, then the others, sorted."""
    changed_hands = set(combinations(hand_of(hand + drawn), len(hand))) - {hand}
    return (Keep(hand), *(Keep(cards) for cards in sorted(changed_hands)))


# Phase class -> function that lists the moves.
_LISTERS: dict[type[Phase], Callable[[View, Any], tuple[Move, ...]]] = {
    ChallengeWindow: lambda view, phase: _CHALLENGE_MOVES,
    Turn: lambda view, phase: _turn_moves(view),
    BlockWindow: lambda view, phase: _block_moves(
        view.board.rules, phase.pending.action, phase.pending.target is not None
    ),
    Proving: lambda view, phase: _proof_moves(view, phase.claim),
    Losing: lambda view, phase: _lose_moves(view.cards),
    Exchanging: lambda view, phase: _exchange_moves(view, phase.pending, phase.failed_challenge),
    DecidingKeepShown: lambda view, phase: _RETAIN_MOVES,
    Revealing: lambda view, phase: _reveal_moves(view.cards),
    Examining: lambda view, phase: _EXAMINE_MOVES,
    Drafting: lambda view, phase: _pick_moves(view.board.rules.roles),
    ChoosingSide: lambda view, phase: _SIDE_MOVES,
    Over: lambda view, phase: (),
}


def pick_default_move(view: View, pick: Callable[[int], int]) -> Move:
    """Return the move that is played for a seat without a valid answer; `pick(n)` returns a random number below n."""
    phase = view.board.phase
    moves = list_legal_moves(view)
    match phase:
        case Turn():
            return moves[0] if moves[0] == ActionMove(Action.INCOME) else _pick_forced_coup(view, moves)
        case Losing():
            return Lose(view.cards[pick(len(view.cards))])
        case Revealing():
            return Reveal(view.cards[pick(len(view.cards))])
        case Drafting():
            return moves[pick(len(moves))]
        case _:
            return moves[0]  # pass, show if held, keep the hand, hand it back, the first side


def _pick_forced_coup(view: View, moves: Sequence[Move]) -> Move:
    """Return the coup of the next seat clockwise that may be a target."""
    coups = (ActionMove(Action.COUP, seat) for seat in seats_clockwise(view.board.influence, view.seat))
    return next(coup for coup in coups if coup in moves)


@lru_cache(maxsize=10_000)
def seats_clockwise(influence: tuple[int, ...], seat: int) -> tuple[int, ...]:
    """Return the other seats that are in the game, clockwise from `seat`. influence: the cards left, by seat."""
    seats = (*range(seat + 1, len(influence)), *range(seat))
    return tuple(opponent for opponent in seats if influence[opponent])


def hand_of(cards: Iterable[Role]) -> tuple[Role, ...]:
    """Return cards as a hand: sorted, so that their order reveals nothing."""
    return tuple(sorted(cards))
