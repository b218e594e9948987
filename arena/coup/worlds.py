"""Count with sets of worlds: a world is one possible assignment of hands to the opponents, face-up cards included.

A set of worlds is an integer with a bit for each world, so that an event changes all of them by a few operations. The
place of a world's bit has 4 bits for each hand, its index in the list of possible hands; the first hand's are lowest.
"""

from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import combinations_with_replacement

ROLES = range(5)  # roles are numbered in the order of the rules
_HANDS = [*combinations_with_replacement(ROLES, 2)]
_INDEX = [[_HANDS.index((min(a, b), max(a, b))) for b in ROLES] for a in ROLES]
_LEFT_OVER = [tuple(role for role in ROLES if role != picked) for picked in ROLES]  # by a draft


def make_worlds(places: Iterable[Iterable[int]]) -> int:
    """Return the worlds in which each hand has one of its indices."""
    worlds = 1
    for at, allowed in enumerate(places):
        worlds = sum(worlds << (place << 4 * at) for place in allowed)
    return worlds


def draft_worlds() -> int:
    """Return the worlds after a draft of two: the opponent's hand has the card that is missing from its discards."""
    return sum(make_worlds([_INDEX[picked], [picked]]) for picked in ROLES)


class WorldSets:
    """Sets of worlds of a number of opponents' hands, after a draft also of one opponent's discards.

    `least[at][role][n]`: hand `at` has at least n cards of a role; `most[role][n]`, `more[role][n]`: all hands together
    have at most n, or more; `first[at]`: hand `at` has index 0. Multiplied by `spread[role]`, worlds of
    `first[0]` become those in which hand 0 has a card of the role.
    """

    def __init__(self, opponents: int, draft: bool) -> None:
        hands: list[Sequence[tuple[int, ...]]] = [_HANDS] * opponents + [_LEFT_OVER] * draft
        all_places: list[Sequence[int]] = [range(len(choices)) for choices in hands]
        any_places: list[Sequence[int]] = [range(16)] * len(hands)
        self.all = make_worlds(all_places)
        self.first = [_make_worlds_with(any_places, at, [0]) for at in range(len(hands))]
        self.spread = [sum(1 << place for place in row) for row in _INDEX]
        self.least = [
            [[_make_worlds_with(all_places, at, _list_places(choices, role, n)) for n in range(5)] for role in ROLES]
            for at, choices in enumerate(hands)
        ]
        self.most = [_list_worlds_with_at_most(hands, role) for role in ROLES]
        self.more = [[self.all & ~worlds for worlds in row] for row in self.most]

    def swapped(self, worlds: int, hand: int, up: Sequence[int], backs: Iterable[int]) -> int:
        """Return the worlds after a hand with `up` face up put back a card of `backs` and took any card."""
        after, step, first = 0, 4 * hand, self.first[hand]
        before_draw = {}  # by the card that stays: the worlds before the draw, moved to index 0 of the hand
        for stays in up or ROLES:
            moved = 0
            for back in backs:
                moved |= worlds >> (_INDEX[stays][back] << step)
            before_draw[stays] = moved & first
        if not hand:
            for stays, moved in before_draw.items():
                after |= moved * self.spread[stays]
        elif up:
            for place in _INDEX[up[0]]:
                after |= before_draw[up[0]] << (place << step)
        else:
            for place, (low, high) in enumerate(_HANDS):
                after |= (before_draw[low] | before_draw[high]) << (place << step)
        return after

    def redrawn(self, worlds: int, hand: int) -> int:
        """Return the worlds after a hand put back both cards and took any two; some have an impossible index."""
        step = 4 * hand
        for places in (8, 4, 2, 1):
            worlds |= worlds >> (places << step)
        worlds &= self.first[hand]
        for places in (1, 2, 4, 8):
            worlds |= worlds << (places << step)
        return worlds


def _make_worlds_with(places: Sequence[Sequence[int]], at: int, allowed: Sequence[int]) -> int:
    """Return the worlds of `places` in which hand `at` has one of the `allowed` indices."""
    return make_worlds([*places[:at], allowed, *places[at + 1 :]])


def _list_places(choices: Sequence[tuple[int, ...]], role: int, least: int) -> list[int]:
    """Return the indices of the hands that have at least this number of cards of a role."""
    return [place for place, hand in enumerate(choices) if hand.count(role) >= least]


def _list_worlds_with_at_most(hands: Sequence[Sequence[tuple[int, ...]]], role: int) -> list[int]:
    """Return, for n from 0 to 5, the worlds in which all hands together have at most n cards of a role."""
    exact = {0: 1}  # by the number of the role's cards in the hands so far
    for at, choices in enumerate(hands):
        longer = dict.fromkeys(range(10), 0)
        for count, worlds in exact.items():
            for place, hand in enumerate(choices if worlds else ()):
                longer[count + hand.count(role)] |= worlds << (place << 4 * at)
        exact = longer
    return [sum(exact[count] for count in range(n + 1)) for n in range(6)]


@cache
def get_world_sets(opponents: int, draft: bool = False) -> WorldSets:
    """Return the sets of worlds, made once for each number of opponents."""
    return WorldSets(opponents, draft)


@lru_cache(maxsize=1_000)  # of 8 KB at five seats
def worlds_within(sets: WorldSets, counts: tuple[int, ...]) -> int:
    """Return the worlds that have at most `counts[role]` cards of each role."""
    worlds = sets.all
    for most, count in zip(sets.most, counts, strict=True):
        worlds &= most[count]
    return worlds


@cache
def hiding_worlds(sets: WorldSets, hand: int, up: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return, for each role, the worlds in which a hand with `up` face up hides (one card or more, two)."""
    return tuple((has[up.count(role) + 1], has[up.count(role) + 2]) for role, has in enumerate(sets.least[hand]))


def find_common_roles(hiding: Iterable[tuple[int, int]], worlds: int) -> tuple[list[int], list[int]]:
    """Return (roles that a hand hides in all worlds, one for each card; roles that it hides in none).

    `hiding`: for each role, the worlds in which it hides a card, and in which it hides two.
    """
    has: list[int] = []
    lacks: list[int] = []
    for role, (holding_one, holding_two) in enumerate(hiding):
        held = worlds & holding_one
        if held == worlds:
            has += [role, role] if worlds & holding_two == worlds else [role]
        elif not held:
            lacks.append(role)
    return has, lacks
