"""Compute the odds that an opponent holds a role, from visible cards. Pure: no I/O; exact except `chance_held`.

Of U unseen cards (the court deck and all opponents' hands) d are of the role, and k are in one hand. Any k of
the U are equally likely, so

    P(at least one) = 1 - C(U-d, k) / C(U, k)

It ignores evidence from the play, such as claims and exchanges. It doesn't apply after a draft, since each opponent
chose a card. rules.md#odds has a worked example.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from arena.coup.knowledge import CertainCards, CertainHand
from arena.coup.rules import Role, Ruleset
from arena.coup.visibility import View


@dataclass(frozen=True, slots=True)
class Odds:
    """Probabilities of the opponents' cards, as one seat can compute them.

    `unseen`: number of cards that the seat can't see; `copies`: how many of them are of each role. `by_influence`: for
    an opponent with 1 or 2 cards, the probability of at least one card of each role. `influences`, `by_opponent` (the
    probabilities for each opponent, in the order given) and `not_held` (that no opponent has the role) are None if it
    isn't known which opponents lost a card.
    """

    unseen: int
    copies: dict[Role, int]
    by_influence: dict[int, dict[Role, Fraction]]
    influences: tuple[int, ...] | None
    by_opponent: tuple[dict[Role, Fraction], ...] | None
    not_held: dict[Role, Fraction] | None


def chance_of_role(unseen: int, copies_unseen: int, cards: int) -> Fraction:
    """Return the probability that at least one of `cards` hidden cards is of a role.

    `copies_unseen` of the `unseen` cards are of the role. Raises ValueError for impossible numbers.
    """
    if not 0 <= copies_unseen <= unseen:
        raise ValueError(f"{copies_unseen} cards of a role can't be among {unseen} unseen cards")
    if not 0 <= cards <= unseen:
        raise ValueError(f"{cards} hidden cards can't be among {unseen} unseen cards")
    return 1 - Fraction(comb(unseen - copies_unseen, cards), comb(unseen, cards))


def odds(
    rules: Ruleset,
    seats: int,
    own: Sequence[Role],
    revealed: Sequence[Role] = (),
    influences: Sequence[int] | None = None,
) -> Odds:
    """Return the probabilities that the opponents hold each role.

    `own`: the seat's face-down cards; `revealed`: all face-up cards, the seat's included. `influences`: the number of
    face-down cards of each opponent, 0 for exiled ones; None to infer it where only one value is possible.
    Raises ValueError (one line) for a situation that is impossible with these rules.
    """
    _require_possible_table(rules, seats, own, revealed)
    opponents, cards_lost = seats - 1, len(revealed) - (rules.hand - len(own))
    if influences is None:
        hand_sizes = _infer_influences(rules, opponents, cards_lost)
    else:
        hand_sizes = tuple(influences)
        _require_possible_influences(rules, opponents, cards_lost, hand_sizes)
    visible = Counter((*own, *revealed))
    by_opponent = not_held = None
    copies = {role: rules.copies(seats) - visible[role] for role in rules.roles}
    by_influence = {cards: _chances_of_roles(copies, cards) for cards in range(1, rules.hand + 1)}
    if hand_sizes is not None:
        by_opponent = tuple(_chances_of_roles(copies, cards) for cards in hand_sizes)
        not_held = {role: 1 - chance for role, chance in _chances_of_roles(copies, sum(hand_sizes)).items()}
    return Odds(sum(copies.values()), copies, by_influence, hand_sizes, by_opponent, not_held)


def _infer_influences(rules: Ruleset, opponents: int, cards_lost: int) -> tuple[int, ...] | None:
    """Return the number of cards of each opponent after they lost some; None if it isn't known who lost them."""
    if cards_lost == 0:
        return (rules.hand,) * opponents
    return (rules.hand - cards_lost,) if opponents == 1 else None


def _chances_of_roles(copies_unseen: dict[Role, int], cards: int) -> dict[Role, Fraction]:
    """Return the probability of each role among this number of hidden cards. copies_unseen: of all roles."""
    unseen = sum(copies_unseen.values())
    return {role: chance_of_role(unseen, copies, cards) for role, copies in copies_unseen.items()}


def chance_held(view: View, known: CertainCards, seat: int, role: Role) -> float:
    """Return the probability, 0 to 1, that `seat` holds at least one card of a role, for the seat of `view`.

    `known`: the cards that are certain to the seat of `view`. The result is 0 or 1 for this seat's own cards and where
    `known` decides. Claims don't count. `odds` of the kits returns the same.
    """
    board = view.board
    if seat == view.seat:
        return float(role in view.cards)
    hand = next((player for player in known.players if player.seat == seat), CertainHand(seat, (), ()))
    if role in hand.has:
        return 1.0
    located = _list_located(view, known)
    copies = board.rules.copies(board.seats)
    copies_left = copies - located.count(role)
    cards_left = copies * len(board.rules.roles) - len(located)
    cards = board.influence[seat] - len(hand.has)  # unknown cards of the seat
    if cards <= 0 or copies_left <= 0 or cards_left < cards or role in hand.lacks:
        return 0.0
    possible = cards_left - sum(  # without unknown cards of opponents that certainly lack the role
        board.influence[player.seat] - len(player.has) for player in known.players if role in player.lacks
    )
    if copies_left > possible - cards:  # the other cards can't include all of them
        return 1.0
    if hand.lacks:  # then only cards of the roles that the seat lacks aren't possible
        possible = cards_left - sum(copies - located.count(lacking) for lacking in hand.lacks)
    return 1 - comb(possible - copies_left, cards) / comb(possible, cards)


def _list_located(view: View, known: CertainCards) -> list[Role]:
    """Return all cards whose place the seat of `view` knows: those it sees, and those that are certain to it."""
    located = [*view.cards, *view.drawn, *view.discards, *known.deck]
    for face_up in view.board.revealed:
        located += face_up
    for player in known.players:
        located += player.has
    return located


def _require_possible_table(rules: Ruleset, seats: int, own: Sequence[Role], revealed: Sequence[Role]) -> None:
    """Raise ValueError if no table with this number of seats shows these cards."""
    problem = rules.problem(seats)
    if problem:
        raise ValueError(problem)
    if rules.draft:
        raise ValueError("after a draft cards aren't dealt at random (rules.md#draft): these odds don't hold")
    if not 1 <= len(own) <= rules.hand:
        raise ValueError(f"a player has 1 or {rules.hand} cards face down, not {len(own)}")
    for role, number in Counter((*own, *revealed)).items():
        if role not in rules.roles:
            raise ValueError(f"{rules.name} has no {role}; its roles are {', '.join(rules.roles)}")
        if number > rules.copies(seats):
            raise ValueError(f"{number} cards are a {role}; with {seats} players there are {rules.copies(seats)}")
    own_lost = rules.hand - len(own)
    if len(revealed) < own_lost:
        raise ValueError("one of your own cards is face up: name it too among the revealed cards")
    max_revealed = own_lost + rules.hand * (seats - 1) - 1
    if len(revealed) > max_revealed:
        raise ValueError(f"at most {max_revealed} cards are face up while an opponent lives, not {len(revealed)}")


def _require_possible_influences(rules: Ruleset, opponents: int, lost: int, influences: Sequence[int]) -> None:
    """Raise ValueError if these opponents can't have these numbers of cards after losing `lost`."""
    if len(influences) != opponents:
        raise ValueError(f"there are {opponents} opponents, and {len(influences)} influences are given")
    for number in influences:
        if not 0 <= number <= rules.hand:
            raise ValueError(f"an opponent has 0 to {rules.hand} cards face down, not {number}")
    cards_lost = rules.hand * opponents - sum(influences)
    if cards_lost != lost:
        raise ValueError(
            f"opponents with {', '.join(map(str, influences))} cards have lost {cards_lost}, "
            f"and {lost} of theirs are face up"
        )
