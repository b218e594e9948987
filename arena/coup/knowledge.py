"""What follows for certain from what one seat was sent: a pure fold over its copies of the events, and its views.

It keeps the worlds that the seat can't rule out: what the others' hands may be together. One world is one bit of a
whole number, so that an event changes all of them by a few operations. With more than three opponents in the game the
seat keeps the possible hands of each opponent for itself, and joins them once three are left. So at two to four seats
nothing is missed. At five and more these are, until three opponents are left: what follows from two opponents' hands
together, but for cards that are known.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

from arena.coup.events import (
    Acted,
    Drafted,
    Event,
    Examination,
    Exchanged,
    Forfeited,
    HandShown,
    Lost,
    Shown,
    Unproven,
)
from arena.coup.rules import Action, ExamineReplace, ExchangeReturn, Proof, Role
from arena.coup.state import Exchanging
from arena.coup.view import View


class Held(NamedTuple):
    """What is certain of one opponent's hidden cards: roles that it has, one for each card, and roles that it lacks."""

    seat: int
    has: tuple[Role, ...]
    lacks: tuple[Role, ...]


class Known(NamedTuple):
    """What is certain to one seat: of opponents in the game, by seat, and cards in the court deck. Sorted.

    A role of which the seat sees all copies, in its own cards or face up, is in nobody's `lacks`. `deck` has what was
    seen to go there and can't have been drawn since, and not what follows from the numbers of hidden cards.
    """

    players: tuple[Held, ...] = ()
    deck: tuple[Role, ...] = ()


NOTHING_KNOWN = Known()

_WHOLE = 3  # opponents whose hands are kept together: a world of three takes 12 bits, of four 16
_ROLES = range(5)  # roles are numbered in the order of the rules

# The hands of a size, as roles; what a draft left over is a hand of four. A hand's place in its list is its number.
_HANDS = {size: list(combinations_with_replacement(_ROLES, size)) for size in range(3)}
_HANDS[4] = [tuple(role for role in _ROLES if role != picked) for picked in _ROLES]
_PLACE = {hand: place for hands in _HANDS.values() for place, hand in enumerate(hands)}
# By size: for each smaller hand, its place with a role more; and for each hand, the places of the hands one smaller.
_PLUS = {
    size: [[_PLACE[tuple(sorted((*hand, role)))] for hand in _HANDS[size - 1]] for role in _ROLES] for size in (1, 2)
}
_MINUS = {
    size: [{_PLACE[hand[:at] + hand[at + 1 :]] for at in range(size)} for hand in _HANDS[size]] for size in (1, 2)
}

# Hand numbers take 4 bits of a world's number, the first opponent's the lowest.
Sizes = tuple[int, ...]


def _product(places: Iterable[Iterable[int]]) -> int:
    """Return the worlds in which each hand has one of its places."""
    worlds = 1
    for at, allowed in enumerate(places):
        worlds = sum(worlds << (place << 4 * at) for place in allowed)
    return worlds


@lru_cache(maxsize=1000)
def _first(hands: int, at: int) -> int:
    """Return the worlds of so many hands in which one has place 0."""
    return _product([0] if other == at else range(16) for other in range(hands))


@lru_cache(maxsize=1000)
def _having(sizes: Sizes, at: int, role: int, least: int = 1) -> int:
    """Return the worlds in which a hand has at least so many cards of a role."""
    hands = [range(len(_HANDS[size])) for size in sizes]
    fitting = [place for place, hand in enumerate(_HANDS[sizes[at]]) if hand.count(role) >= least]
    return _product([*hands[:at], fitting, *hands[at + 1 :]])


@lru_cache(maxsize=1000)
def _at_most(sizes: Sizes, role: int, most: int) -> int:
    """Return the worlds in which the hands together have at most so many cards of a role."""
    by_count = {0: 1}
    for at, size in enumerate(sizes):
        longer: dict[int, int] = {}
        for count, worlds in by_count.items():
            for place, hand in enumerate(_HANDS[size]):
                more = count + hand.count(role)
                longer[more] = longer.get(more, 0) | worlds << (place << 4 * at)
        by_count = longer
    return sum(worlds for count, worlds in by_count.items() if count <= most)


@lru_cache(maxsize=4000)
def _dealt(sizes: Sizes, cards: tuple[int, ...]) -> int:
    """Return the worlds that can be dealt from so many cards of each role."""
    worlds = -1
    for role, count in enumerate(cards):
        worlds &= _at_most(sizes, role, count)
    return worlds


@lru_cache(maxsize=1000)
def _tests(sizes: Sizes, at: int) -> tuple[tuple[int, int], ...]:
    """Return for each role the worlds in which a hand has one card of it, and two."""
    return tuple((_having(sizes, at, role), _having(sizes, at, role, 2)) for role in _ROLES)


def _certain(sizes: Sizes, at: int, worlds: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the roles that a hand has in all worlds, one for each card, and those that it has in none."""
    has, lacks = [], []
    for role, (one, two) in enumerate(_tests(sizes, at)):
        held = worlds & one
        if not held:
            lacks.append(role)
        elif held == worlds:
            has += [role, role] if worlds & two == worlds else [role]
    return tuple(has), tuple(lacks)


_certain_alone = lru_cache(maxsize=10_000)(_certain)


class _Hands:
    """What some opponents' hands may be together. `at` is an opponent's place among them."""

    __slots__ = ("sizes", "worlds")

    def __init__(self, sizes: Sizes, worlds: int) -> None:
        self.sizes = sizes
        self.worlds = worlds

    def certain(self, at: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what a hand certainly has and lacks."""
        return (_certain_alone if len(self.sizes) == 1 else _certain)(self.sizes, at, self.worlds)

    def rest(self, at: int, role: int) -> list[int]:
        """Return the worlds without a card that a hand has, by the number of what is left of it."""
        first, worlds = _first(len(self.sizes), at), self.worlds
        return [worlds >> (place << 4 * at) & first for place in _PLUS[self.sizes[at]][role]]

    def rest_of_any(self, at: int) -> list[int]:
        """Return the worlds without any one card of a hand, by the number of what is left of it."""
        rests = [self.rest(at, role) for role in _ROLES]
        return [a | b | c | d | e for a, b, c, d, e in zip(*rests, strict=True)]

    def drawn(self, at: int, rests: Sequence[int]) -> int:
        """Return the worlds after a hand, of which these are the rests, has drawn any card."""
        worlds = 0
        for place, smaller in enumerate(_MINUS[self.sizes[at]]):
            rest = 0
            for each in smaller:
                rest |= rests[each]
            if rest:
                worlds |= rest << (place << 4 * at)
        return worlds

    def renewed(self, at: int, worlds: int) -> int:
        """Return the worlds with any other hand in place of one: of these, in which it has whatever number."""
        step = 1 << 4 * at
        for places in (8, 4, 2, 1):
            worlds |= worlds >> places * step
        worlds &= _first(len(self.sizes), at)
        for places in (1, 2, 4, 8):
            worlds |= worlds << places * step
        return worlds

    def shrink(self, at: int, rests: Sequence[int]) -> None:
        """Take a card from a hand: what is left of it are these."""
        self.worlds = sum(rest << (place << 4 * at) for place, rest in enumerate(rests))
        self.sizes = (*self.sizes[:at], self.sizes[at] - 1, *self.sizes[at + 1 :])


class Knowledge:
    """What one seat knows for certain in one game, from its first request on, whose view it is given.

    A spectator has seat -1 and no cards; after a draft it knows nothing.
    `known` is asked at each of the seat's requests at least: cards that it draws to exchange are in no event.
    """

    __slots__ = (
        *("_at", "_drawn", "_hand", "_hands", "_known", "_located", "_replaced", "_roles", "_rules", "_seat", "_seats"),
        *("_unseen", "_whole"),
    )

    def __init__(self, view: View) -> None:
        board = view.board
        self._rules, self._seat = board.rules, view.seat
        self._roles = {role: number for number, role in enumerate(board.rules.roles)}
        self._seats = board.seats
        self._unseen: list[int] = []  # by role: cards that the seat doesn't see
        self._located = [0] * len(_ROLES)  # those of them that lie in the deck
        self._drawn: list[int] = []  # by the seat, to exchange
        self._replaced = False  # whether a card was shown and replaced since the last exchange was declared
        self._hand: list[int] = []
        self._hands: list[_Hands] = []  # of the opponents; all in the first one if `_whole`
        self._at: dict[int, tuple[_Hands, int]] = {}  # by opponent in the game
        self._whole = True
        self._known = NOTHING_KNOWN
        if not board.rules.draft:
            self._begin(view.cards, ())
            others = [seat for seat in range(board.seats) if seat != view.seat]
            size = self._rules.hand
            self._whole = len(others) <= _WHOLE
            if self._whole:
                sizes = (size,) * len(others)
                together = _Hands(sizes, _dealt(sizes, self._room()))
                self._hands = [together]
                self._at = {seat: (together, at) for at, seat in enumerate(others)}
            else:
                self._hands = [_Hands((size,), _dealt((size,), self._room())) for _ in others]
                self._at = {seat: (hands, 0) for seat, hands in zip(others, self._hands, strict=True)}

    def known(self, view: View, events: Sequence[Event]) -> Known:
        """Return what is certain; the same object if nothing has changed.

        `events` are the seat's copies of all that happened since the last call and `matters`, in order.
        """
        if events or view.drawn or view.seen is not None:
            self._follow(view, events)
        board = view.board
        if type(board.phase) is Exchanging and board.actor != self._seat:
            return self._certain(self._rules.draw)
        return self._known

    # --- worlds ---------------------------------------------------------------------------------------------------

    def _begin(self, cards: Iterable[Role], discards: Iterable[Role]) -> None:
        """Begin with the seat's first cards, and those that a draft left over."""
        self._hand = self._numbers(cards)
        mine, copies = [*self._hand, *self._numbers(discards)], self._rules.copies(self._seats)
        self._unseen = [copies - mine.count(role) for role in _ROLES]

    def _room(self, *less: int) -> tuple[int, ...]:
        """Return how many cards of each role may be in the opponents' hands, or where the seat doesn't see them."""
        room = self._unseen if self._whole else [a - b for a, b in zip(self._unseen, self._located, strict=True)]
        return tuple(room) if not less else tuple(count - less.count(role) for role, count in enumerate(room))

    def _fit(self) -> None:
        """Rule out the worlds that can't be dealt."""
        room = self._room()
        for hands in self._hands:
            hands.worlds &= _dealt(hands.sizes, room)

    def _leave(self, seat: int) -> None:
        """Take an opponent out of the game who has no cards; join the hands of the others if these are few."""
        hands, _ = self._at.pop(seat)
        if self._whole:
            return
        self._hands.remove(hands)
        if len(self._hands) > _WHOLE:
            return
        room, sizes = self._room(), tuple(hands.sizes[0] for hands in self._hands)
        possible = [[place for place in range(16) if hands.worlds >> place & 1] for hands in self._hands]
        together = _Hands(sizes, _product(possible) & _dealt(sizes, room))
        self._whole, self._hands = True, [together]
        self._at = {seat: (together, at) for at, seat in enumerate(self._at)}

    def _set(self, seat: int, worlds: int, *less: int) -> None:
        """Have these worlds, of those that can be dealt without so many cards in the deck, be the possible ones."""
        hands, _ = self._at[seat]
        hands.worlds = worlds & _dealt(hands.sizes, self._room(*less))

    # --- cards ----------------------------------------------------------------------------------------------------

    def _numbers(self, roles: Iterable[Role]) -> list[int]:
        return [self._roles[role] for role in roles]

    def _take(self, numbers: Iterable[int]) -> None:
        """Have the seat see cards that lay in the deck."""
        for role in numbers:
            self._unseen[role] -= 1
            if self._located[role]:
                self._located[role] -= 1
        self._fit()

    def _return(self, numbers: Iterable[int]) -> None:
        """Put the seat's own cards into the deck."""
        for role in numbers:
            self._unseen[role] += 1
            self._located[role] += 1

    def _locate(self, numbers: Iterable[int]) -> None:
        """Put an opponent's cards into the deck."""
        for role in numbers:
            self._located[role] += 1
        if not self._whole:
            self._fit()

    def _thin(self, count: int) -> None:
        """Let an opponent draw from the deck: of each role as many fewer are certain."""
        self._located = [max(0, located - count) for located in self._located]

    # --- events ---------------------------------------------------------------------------------------------------

    def _follow(self, view: View, events: Sequence[Event]) -> None:
        for event in events:
            owner = event.target if type(event) is Examination else event.seat
            if type(event) is Drafted:
                self._drafted(event, view)
            elif owner == self._seat:
                self._own(event)
            elif owner in self._at:
                _STEPS[type(event)](self, owner, event)
        if view.drawn and not self._drawn:
            self._drawn = self._numbers(view.drawn)
            self._take(self._drawn)
        if view.seen is not None:
            self._has(view.board.phase.pending.target, self._roles[view.seen])  # type: ignore[union-attr, arg-type]
        known = self._certain(0)
        if known != self._known:
            self._known = known

    def _drafted(self, event: Drafted, view: View) -> None:
        """Begin after a draft: the opponent holds the card that is missing from its discards, which nobody sees."""
        if event.seat != self._seat or event.cards is None:
            return
        self._begin(event.cards, view.discards)
        sizes = (2, 4)
        worlds = sum(_having(sizes, 0, picked) & _product([range(15), [picked]]) for picked in _ROLES)
        together = _Hands(sizes, worlds & _dealt(sizes, self._room()))
        self._hands, self._at = [together], {1 - self._seat: (together, 0)}

    def _own(self, event: Any) -> None:
        """Follow the seat's own cards."""
        if type(event) is Lost:
            self._hand = _without(self._hand, self._numbers([event.role]))
        cards = getattr(event, "cards", None)
        if cards is None:
            return
        hand = self._numbers(cards)
        pool, self._drawn = self._hand + self._drawn, []
        if type(event) is Exchanged:
            back = _without(pool, hand)
        else:
            back = self._numbers(event.roles if type(event) is HandShown else (event.role,))
        came = _without(hand, _without(pool, back))
        if type(event) is Examination and self._draws_first:
            self._take(came)
            self._return(back)
        else:
            self._return(back)
            self._take(came)
        self._hand = hand

    @property
    def _draws_first(self) -> bool:
        return self._rules.examine_replace is ExamineReplace.DRAW_FIRST

    def _acted(self, seat: int, event: Acted) -> None:
        self._replaced = False

    def _has(self, seat: int, role: int, has: bool = True) -> None:
        """Rule out the worlds in which an opponent lacks a role, or has it."""
        hands, at = self._at[seat]
        having = _having(hands.sizes, at, role)
        hands.worlds &= having if has else ~having

    def _lost(self, seat: int, event: Lost) -> None:
        hands, at = self._at[seat]
        role = self._roles[event.role]
        nothing = hands.worlds == _dealt(hands.sizes, self._room())  # is known, and then nothing is after it
        rests = [] if nothing else hands.rest(at, role)
        self._unseen[role] -= 1
        hands.shrink(at, rests)
        if nothing:
            hands.worlds = -1
        self._fit()
        if not hands.sizes[at]:
            self._leave(seat)

    def _forfeited(self, seat: int, event: Forfeited) -> None:
        hands, at = self._at[seat]
        roles = self._numbers(event.roles)
        for role in roles:
            hands.shrink(at, hands.rest(at, role))
            self._unseen[role] -= 1
        self._fit()
        self._leave(seat)

    def _shown(self, seat: int, event: Shown) -> None:
        role = self._roles[event.role]
        if not event.replaced:
            self._has(seat, role)
            return
        self._replaced = True
        hands, at = self._at[seat]
        rests = hands.rest(at, role)
        self._locate([role])
        self._thin(1)
        self._set(seat, hands.drawn(at, rests))

    def _hand_shown(self, seat: int, event: HandShown) -> None:
        hands, at = self._at[seat]
        roles = self._numbers(event.roles)
        place, step = _PLACE[tuple(roles)], 4 * at
        worlds = hands.worlds >> (place << step) & _first(len(hands.sizes), at)
        self._locate(roles)
        self._thin(len(roles))
        self._set(seat, hands.renewed(at, worlds))

    def _unproven(self, seat: int, event: Unproven) -> None:
        automatic = self._rules.prove is Proof.AUTOMATIC
        if automatic or (event.denies and not self._rules.embezzle_concede):
            self._has(seat, self._roles[event.role], event.denies)

    def _exchanged(self, seat: int, event: Exchanged) -> None:
        hands, at = self._at[seat]
        size, rules = hands.sizes[at], self._rules
        if rules.exchange_return is ExchangeReturn.CLAIMED_ROLE and not self._replaced:
            claimed = self._roles[rules.rule(Action.EXCHANGE).claim]  # type: ignore[index]
            worlds, having = hands.worlds, _having(hands.sizes, at, claimed)
            hands.worlds &= having
            self._thin(1)
            self._set(seat, hands.drawn(at, hands.rest(at, claimed)), claimed)
            returned, hands.worlds = hands.worlds, worlds & ~having
            self._set(seat, returned | hands.drawn(at, hands.rest_of_any(at)))
            return
        self._thin(min(event.count, size))
        if event.count >= size:
            self._set(seat, hands.renewed(at, hands.worlds))
        else:
            self._set(seat, hands.drawn(at, hands.rest_of_any(at)))

    def _examined(self, seat: int, event: Examination) -> None:
        """`seat` is the one that was examined."""
        role = None if event.role is None else self._roles[event.role]
        if not event.replaced:
            if role is not None:
                self._has(seat, role)
            return
        hands, at = self._at[seat]
        if self._draws_first:
            self._thin(1)
            before, after = hands.worlds, 0
            for back in _ROLES if role is None else (role,):
                hands.worlds = before
                self._set(seat, hands.drawn(at, hands.rest(at, back)), back)
                after |= hands.worlds
            hands.worlds = after
        rests = hands.rest_of_any(at) if role is None else hands.rest(at, role)
        if role is not None:
            self._locate([role])
        if not self._draws_first:
            self._thin(1)
            self._set(seat, hands.drawn(at, rests))

    # --- what follows ---------------------------------------------------------------------------------------------

    def _certain(self, drawn: int) -> Known:
        """Return what is certain while somebody has drawn so many cards that the seat doesn't see."""
        found = {seat: hands.certain(at) for seat, (hands, at) in self._at.items()}
        if not self._whole and any(has for has, _ in found.values()):  # nobody else has these cards
            held = [role for has, _ in found.values() for role in has]
            for seat, (has, _) in found.items():
                hands, at = self._at[seat]
                self._set(seat, hands.worlds, *_without(held, has))
                found[seat] = hands.certain(at)
        players, roles = [], self._rules.roles
        for seat, (has, lacks) in found.items():
            lacks = tuple(role for role in lacks if self._unseen[role])
            if has or lacks:
                players.append(Held(seat, tuple(roles[role] for role in has), tuple(roles[role] for role in lacks)))
        deck = [max(0, count - drawn) for count in self._in_deck(found)]
        return Known(tuple(players), tuple(role for role, count in zip(roles, deck, strict=True) for _ in range(count)))

    def _in_deck(self, found: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]) -> list[int]:
        """Return by role how many cards certainly lie in the deck, but for what follows from numbers of cards."""
        counts = [*self._located]
        if not self._whole or not self._hands:
            return counts
        (hands,) = self._hands
        by_at = {at: found[seat] for seat, (_, at) in self._at.items()}
        rows = [(size, by_at.get(at) or hands.certain(at)) for at, size in enumerate(hands.sizes) if size]
        for role, unseen in enumerate(self._unseen):
            elsewhere = sum(has.count(role) + (0 if role in lacks else size - len(has)) for size, (has, lacks) in rows)
            sure = least = max(counts[role], unseen - elsewhere)
            while sure < unseen and hands.worlds & _at_most(hands.sizes, role, unseen - sure - 1) == hands.worlds:
                sure += 1
            if sure > least:
                counts[role] = sure
        return counts


def _without(cards: Sequence[int], gone: Sequence[int]) -> list[int]:
    """Return cards without others, which needn't be there."""
    left = [*cards]
    for role in gone:
        if role in left:
            left.remove(role)
    return left


_STEPS: dict[type[Event], Callable[[Knowledge, int, Any], None]] = {
    Acted: Knowledge._acted,
    Lost: Knowledge._lost,
    Forfeited: Knowledge._forfeited,
    Shown: Knowledge._shown,
    HandShown: Knowledge._hand_shown,
    Unproven: Knowledge._unproven,
    Exchanged: Knowledge._exchanged,
    Examination: Knowledge._examined,
}
_MATTER = frozenset(_STEPS) - {Acted} | {Drafted}


def matters(event: Event) -> bool:
    """Return whether an event can change what a seat knows for certain."""
    return type(event) in _MATTER or (type(event) is Acted and event.action is Action.EXCHANGE)
