"""Count with sets of worlds: a world is one possible assignment of hands to the opponents, face-up cards included.

A set of worlds is an integer with a bit for each world, so that an event changes all of them by a few operations. The
number of a world's bit has 4 bits for each hand, its index in the list of possible hands; the first hand's are lowest.
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations_with_replacement

ROLES = range(5)  # roles are numbered in the order of the rules
_HANDS = [*combinations_with_replacement(ROLES, 2)]
_INDEX = [[_HANDS.index((min(a, b), max(a, b))) for b in ROLES] for a in ROLES]
_LEFT_OVER = [tuple(role for role in ROLES if role != picked) for picked in ROLES]  # by a draft


def make_worlds(hands: Iterable[Iterable[int]]) -> int:
    """Return the worlds in which each hand has one of its indices."""
    worlds = 1
    for hand, indices in enumerate(hands):
        worlds = sum(worlds << (index << 4 * hand) for index in indices)
    return worlds


def draft_worlds() -> int:
    """Return the worlds after a draft of two: the opponent's hand has the card that is missing from its discards."""
    return sum(make_worlds([_INDEX[picked], [picked]]) for picked in ROLES)


class WorldSets:
    """Sets of worlds of a number of opponents' hands; after a draft the last hand is one opponent's discards.

    all: every world.
    with_at_least[hand][role][n]: the hand has at least n cards of the role, n from 0 to 4.
    with_at_most[role][n], with_more_than[role][n]: all hands together have at most n cards of it, or more, n to 5.
    with_index_0[hand]: the hand has index 0, and others have any 4 bits, also unused ones.
    factors[role]: worlds of with_index_0[0] times this are those in which hand 0 has a card of the role.
    """

    def __init__(self, opponents: int, draft: bool) -> None:
        choices: list[Sequence[tuple[int, ...]]] = [_HANDS] * opponents  # by hand, its possible cards by index
        if draft:
            choices.append(_LEFT_OVER)
        used_indices: list[Sequence[int]] = [range(len(cards)) for cards in choices]
        any_indices: list[Sequence[int]] = [range(16)] * len(choices)
        self.all = make_worlds(used_indices)
        self.with_index_0 = [_make_worlds_with(any_indices, hand, [0]) for hand in range(len(choices))]
        self.factors = [sum(1 << index for index in row) for row in _INDEX]
        self.with_at_least = [
            [[_make_worlds_with(used_indices, hand, _list_indices(cards, role, n)) for n in range(5)] for role in ROLES]
            for hand, cards in enumerate(choices)
        ]
        self.with_at_most = [_list_worlds_with_at_most(choices, role) for role in ROLES]
        self.with_more_than = [[self.all & ~worlds for worlds in row] for row in self.with_at_most]

    def swap_card(self, worlds: int, hand: int, face_up: Sequence[int], returned: Iterable[int]) -> int:
        """Return the worlds after a hand with `face_up` put back a card of one of the roles `returned` and took any."""
        shift, with_index_0 = 4 * hand, self.with_index_0[hand]
        worlds_by_kept = {}  # by the card that stays: the worlds before the draw, moved to index 0 of the hand
        for kept in face_up or ROLES:
            moved = 0
            for role in returned:
                moved |= worlds >> (_INDEX[kept][role] << shift)
            worlds_by_kept[kept] = moved & with_index_0
        return self._draw_card(worlds_by_kept, hand, face_up)

    def _draw_card(self, worlds_by_kept: dict[int, int], hand: int, face_up: Sequence[int]) -> int:
        """Return the worlds after a hand took any card. worlds_by_kept: by its other card, moved to index 0."""
        worlds, shift = 0, 4 * hand
        if not hand:
            for kept, moved in worlds_by_kept.items():
                worlds |= moved * self.factors[kept]
        elif face_up:
            for index in _INDEX[face_up[0]]:
                worlds |= worlds_by_kept[face_up[0]] << (index << shift)
        else:
            for index, (low, high) in enumerate(_HANDS):
                worlds |= (worlds_by_kept[low] | worlds_by_kept[high]) << (index << shift)
        return worlds

    def redraw_hand(self, worlds: int, hand: int) -> int:
        """Return the worlds after a hand put back both cards and took any two; some have an impossible index."""
        shift = 4 * hand
        for indices in (8, 4, 2, 1):
            worlds |= worlds >> (indices << shift)
        worlds &= self.with_index_0[hand]
        for indices in (1, 2, 4, 8):
            worlds |= worlds << (indices << shift)
        return worlds


def _make_worlds_with(hands: Sequence[Sequence[int]], hand: int, indices: Sequence[int]) -> int:
    """Return the worlds of `hands` in which one hand has one of these indices."""
    return make_worlds([*hands[:hand], indices, *hands[hand + 1 :]])


def _list_indices(choices: Sequence[tuple[int, ...]], role: int, min_count: int) -> list[int]:
    """Return the indices of the hands that have at least this number of cards of a role."""
    return [index for index, cards in enumerate(choices) if cards.count(role) >= min_count]


def _list_worlds_with_at_most(choices: Sequence[Sequence[tuple[int, ...]]], role: int) -> list[int]:
    """Return, for n from 0 to 5, the worlds in which all hands together have at most n cards of a role.

    choices: for each hand, its possible cards by index.
    """
    worlds_by_count = {0: 1}  # by the number of the role's cards in the hands so far
    for hand, hand_choices in enumerate(choices):
        longer = dict.fromkeys(range(10), 0)
        for count, worlds in worlds_by_count.items():
            for index, cards in enumerate(hand_choices if worlds else ()):
                longer[count + cards.count(role)] |= worlds << (index << 4 * hand)
        worlds_by_count = longer
    return [sum(worlds_by_count[count] for count in range(n + 1)) for n in range(6)]


@cache
def get_world_sets(opponents: int, draft: bool = False) -> WorldSets:
    """Return the sets of worlds, made once for each number of opponents."""
    return WorldSets(opponents, draft)


@lru_cache(maxsize=1_000)  # of 8 KB at five seats
def worlds_within(sets: WorldSets, counts: tuple[int, ...]) -> int:
    """Return the worlds that have at most `counts[role]` cards of each role."""
    worlds = sets.all
    for with_at_most, count in zip(sets.with_at_most, counts, strict=True):
        worlds &= with_at_most[count]
    return worlds


@cache
def hiding_worlds(sets: WorldSets, hand: int, face_up: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return, for each role, the worlds in which a hand with `face_up` hides (one card or more, two)."""
    counts = map(face_up.count, ROLES)
    return tuple((row[count + 1], row[count + 2]) for count, row in zip(counts, sets.with_at_least[hand], strict=True))


def find_common_roles(hiding: Iterable[tuple[int, int]], worlds: int) -> tuple[list[int], list[int]]:
    """Return (roles that a hand hides in all worlds, one for each card; roles that it hides in none).

    `hiding`: for each role, the worlds in which it hides a card, and in which it hides two.
    """
    has: list[int] = []
    lacks: list[int] = []
    for role, (holding_one, holding_two) in enumerate(hiding):
        worlds_with_role = worlds & holding_one
        if worlds_with_role == worlds:
            has += [role, role] if worlds & holding_two == worlds else [role]
        elif not worlds_with_role:
            lacks.append(role)
    return has, lacks
