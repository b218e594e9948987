"""Derive the cards that one seat knows for certain, from its views and its copies of the events.

It keeps the worlds (worlds.py) that are still possible. With two to five seats all certain facts are found. With more
than four opponents, the possible hands of each opponent are kept separately, and joined when four opponents are left.
Facts that follow from two hands together, both as they were before, are missed.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from arena.coup.events import (
    ActionDeclared,
    CardExamined,
    Drafted,
    Event,
    Exchanged,
    Forfeited,
    HandShown,
    Lost,
    Shown,
    Unproven,
)
from arena.coup.rules import Action, ExamineReplace, ExchangeReturn, Proof, Role, Ruleset
from arena.coup.state import Exchanging
from arena.coup.visibility import View
from arena.coup.worlds import (
    ROLES,
    draft_worlds,
    find_common_roles,
    get_world_sets,
    hiding_worlds,
    make_worlds,
    worlds_within,
)


class CertainHand(NamedTuple):
    """Certain facts about an opponent's hidden cards: roles that it has, one for each card, and lacks. Sorted.

    lacks: without roles of which the seat sees all cards.
    """

    seat: int
    has: tuple[Role, ...]
    lacks: tuple[Role, ...]


class CertainCards(NamedTuple):
    """The certain facts of one seat: opponents in the game, by seat, and cards of the court deck. Roles are sorted.

    No `lacks` has a role of which the seat sees all copies, in its own cards or face up. `deck` omits cards that follow
    from `has`, `lacks` and the numbers of hidden cards.
    """

    players: tuple[CertainHand, ...] = ()
    deck: tuple[Role, ...] = ()


NOTHING_KNOWN = CertainCards()
_JOINED = None  # the key of the worlds of all opponents together
_MAX_JOINED = 4  # most opponents whose hands are joined: worlds take 8 KB for four, and would take 128 KB for five


# Of an opponent: roles that it certainly has, one for each card; roles that it lacks; the number of its hidden cards.
_HandFacts = tuple[list[int], list[int], int]


@lru_cache(maxsize=10_000)
def _certain_hand(
    seat: int, face_up: tuple[int, ...], worlds: int, spent: tuple[int, ...], roles: tuple[Role, ...]
) -> CertainHand | None:
    """Return the certain facts about an opponent by its own worlds, without lacks of `spent` roles; None: no facts."""
    has, lacks = find_common_roles(hiding_worlds(get_world_sets(1), 0, face_up), worlds)
    hand = CertainHand(
        seat, tuple(roles[role] for role in has), tuple(roles[role] for role in lacks if role not in spent)
    )
    return hand if hand.has or hand.lacks else None


class Knowledge:
    """The certain knowledge of one seat in one game. `view` is the seat's view at its first request.

    A spectator has seat -1 and no cards; after a draft it knows nothing. Call `update` at each request of the seat: no
    event contains the cards that it draws in an exchange. Worlds are made at the first event that may reveal a hidden
    card of an opponent.
    """

    def __init__(self, view: View) -> None:
        rules, seats = view.board.rules, view.board.seats
        self._rules, self._seat, self._copies = rules, view.seat, rules.copies(seats)
        self._role_numbers = {role: number for number, role in enumerate(rules.roles)}
        self._draws_first = rules.examine_replace is ExamineReplace.DRAW_FIRST
        self._hand = self._number_roles(view.cards)
        self._drawn: list[int] = []  # cards that the seat has drawn in its exchange
        self._known = NOTHING_KNOWN
        self._worlds: dict[int | None, int] = {}  # joined worlds by the key _JOINED, or each opponent's by its seat
        # By role: number of unseen cards (with those of `_face_up` in joined worlds); number of cards certainly in the
        # deck; number of cards of `_face_up` among the unseen ones.
        self._unseen = [self._copies - self._hand.count(role) for role in ROLES]
        self._located = [0] * len(ROLES)
        self._face_up_unseen = [0] * len(ROLES)
        # By opponent: its face-up cards; if it is in the game, its key in `_worlds` with the index of its hand there,
        # and for each role the worlds in which it hides (one card or more, two).
        self._face_up: dict[int, tuple[int, ...]] = {seat: () for seat in range(seats) if seat != view.seat}
        self._places: dict[int, tuple[int | None, int]] = {}
        self._hiding: dict[int, tuple[tuple[int, int], ...]] = {}
        self._is_joined = False

    def update(self, view: View, events: Sequence[Event]) -> CertainCards:
        """Follow the events, and return what is certain to the seat then; a seat that is out knows nothing.

        `events`: the seat's copies of all events since the last call whose class is in `concerning`, in order.
        """
        if not view.cards and (view.seat >= 0 or self._rules.draft):
            return NOTHING_KNOWN
        if events or view.drawn or view.seen is not None:
            self._follow(view, events)
            if self._worlds:
                self._known = self._list_certain(0)
        if type(view.board.phase) is Exchanging and view.board.actor != self._seat:
            return self._list_certain(self._rules.draw)  # cards of the deck are in the actor's hand for now
        return self._known

    def _follow(self, view: View, events: Iterable[Event]) -> None:
        """Apply events to the seat's cards and the worlds, then the cards that the view shows to the seat alone."""
        for event in events:
            owner = event.target if type(event) is CardExamined else event.seat
            if owner == self._seat:
                self._handle_own_event(event, view)
            elif type(event) in _HANDLERS:
                _HANDLERS[type(event)](self, owner, event)
        if view.drawn and not self._drawn:  # no event tells the seat what it draws in an exchange
            self._drawn = self._number_roles(view.drawn)
            self._draw_own(self._drawn)
        if view.seen is not None:
            self._decide_role(view.board.phase.pending.target, self._role_numbers[view.seen])  # type: ignore[union-attr, arg-type]

    def _number_roles(self, roles: Iterable[Role]) -> list[int]:
        return [self._role_numbers[role] for role in roles]

    # --- worlds -------------------------------------------------------------------------------------------------------

    def _prepare_worlds(self, is_drafted: bool = False) -> None:
        """Make worlds if there are none; join those of the opponents when few are left."""
        if self._worlds and (self._is_joined or len(self._places) > _MAX_JOINED):
            return
        living = [seat for seat, face_up in self._face_up.items() if len(face_up) < 2]
        self._is_joined = len(living) <= _MAX_JOINED
        self._world_sets = get_world_sets(len(living) if self._is_joined else 1, is_drafted)
        self._places = {seat: (_JOINED, hand) if self._is_joined else (seat, 0) for hand, seat in enumerate(living)}
        self._worlds = {_JOINED: draft_worlds()} if is_drafted else self._make_worlds(living)
        for seat in living:
            self._exclude_without_face_up(seat)
            self._update_hiding(seat)
        if self._is_joined:
            for role, count in enumerate(self._located):
                if count:
                    self._worlds[_JOINED] &= self._world_sets.with_at_most[role][self._unseen[role] - count]
        self._exclude_undealable()

    def _make_worlds(self, living: Sequence[int]) -> dict[int | None, int]:
        """Return all worlds, or the joined worlds of the separate ones so far; by their keys."""
        if self._worlds:
            hands = [self._worlds[seat] for seat in living]
            return {_JOINED: make_worlds([n for n in range(hand.bit_length()) if hand >> n & 1] for hand in hands)}
        return {key: self._world_sets.all for key, _ in self._places.values()}

    def _exclude_without_face_up(self, seat: int) -> None:
        """Rule out new worlds in which an opponent lacks its face-up cards."""
        key, hand = self._places[seat]
        for role in self._face_up[seat]:
            self._unseen[role] += self._is_joined
            self._face_up_unseen[role] += self._is_joined
            self._worlds[key] &= self._world_sets.with_at_least[hand][role][1]

    def _exclude_undealable(self) -> None:
        """Rule out worlds that have more cards of a role than the seat doesn't see."""
        if not self._is_joined:
            for role in ROLES:
                self._exclude_excess(role)
            return
        self._dealt = worlds_within(self._world_sets, tuple(self._unseen))
        self._worlds[_JOINED] &= self._dealt

    def _update_hiding(self, seat: int) -> None:
        """Update the worlds in which an opponent hides a card of each role, and two."""
        self._hiding[seat] = hiding_worlds(self._world_sets, self._places[seat][1], self._face_up[seat])

    def _exclude_excess(self, role: int, exempt_seat: int | None = None) -> None:
        """Rule out hands that hide more cards of a role than are unseen, if worlds aren't joined."""
        if self._is_joined or (spare := self._unseen[role] - self._located[role]) >= 2:
            return
        for seat in self._places:
            if seat != exempt_seat:
                self._worlds[seat] &= ~self._hiding[seat][role][spare]

    def _dealable_worlds(self, seat: int, deck_role: int | None = None) -> int:
        """Return the worlds that can be dealt to an opponent while the deck has a card of `deck_role`, if given."""
        if self._is_joined:
            if deck_role is None:
                return self._dealt
            return self._dealt & self._world_sets.with_at_most[deck_role][self._unseen[deck_role] - 1]
        worlds = self._world_sets.all
        for role, hiding in enumerate(self._hiding[seat]):
            spare = self._unseen[role] - self._located[role] - (role == deck_role)
            if spare < 2:
                worlds &= ~hiding[spare]
        return worlds

    def _decide_role(self, seat: int, role: int, is_held: bool = True) -> None:
        """Rule out worlds in which an opponent hides no card of a role; unless `is_held`, those in which it does."""
        self._prepare_worlds()
        holding = self._hiding[seat][role][0]
        self._worlds[self._places[seat][0]] &= holding if is_held else ~holding

    def _turn_up(self, seat: int, role: int) -> None:
        """Handle that an opponent turns a card face up."""
        if self._worlds:
            self._worlds[self._places[seat][0]] &= self._hiding[seat][role][0]
        self._face_up[seat] += (role,)
        if self._is_joined:
            self._face_up_unseen[role] += 1
        else:
            self._unseen[role] -= 1
        if self._worlds:
            if len(self._face_up[seat]) == 2:
                self._drop_hand(seat)
            else:
                self._update_hiding(seat)
            self._exclude_excess(role)

    def _drop_hand(self, seat: int) -> None:
        """Forget the worlds of an opponent that is out; the hands of the others may now be few enough to join."""
        key, _ = self._places.pop(seat)
        if key != _JOINED:  # else its worlds are those of all opponents
            del self._worlds[key]
        if len(self._places) <= _MAX_JOINED:
            self._prepare_worlds()

    def _swap_card(self, seat: int, returned: Iterable[int], dealable: int) -> int:
        """Return the `dealable` worlds after an opponent returned a card of one of these roles and drew another."""
        key, hand = self._places[seat]
        return self._world_sets.swap_card(self._worlds[key], hand, self._face_up[seat], returned) & dealable

    def _replace_unseen(self, seat: int, count: int) -> None:
        """Handle that an opponent draws `count` cards, and returns `count` cards that the seat doesn't see."""
        if self._worlds:
            self._reduce_located(count)
            key, hand = self._places[seat]
            if count == 2:
                self._worlds[key] = self._world_sets.redraw_hand(self._worlds[key], hand) & self._dealable_worlds(seat)
            elif count:
                self._worlds[key] = self._swap_card(seat, ROLES, self._dealable_worlds(seat))

    def _replace_card(self, seat: int, role: int | None, draws_first: bool = False) -> None:
        """Handle that an opponent returns a card of a role (None: unknown) and draws another."""
        if draws_first:
            self._draw_before_return(seat, role)
        elif role is None:
            self._replace_unseen(seat, 1)
        else:
            self._prepare_worlds()
            self._locate_in_deck(role, seat)
            self._reduce_located(1)
            self._worlds[self._places[seat][0]] = self._swap_card(seat, (role,), self._dealable_worlds(seat))

    def _draw_before_return(self, seat: int, role: int | None) -> None:
        """Handle that an opponent draws a card, and then returns one of a role (None: unknown)."""
        self._prepare_worlds()
        self._reduce_located(1)
        worlds = 0
        for returned in ROLES if role is None else (role,):
            worlds |= self._swap_card(seat, (returned,), self._dealable_worlds(seat, returned))
        if role is not None:
            self._locate_in_deck(role, seat)
        self._worlds[self._places[seat][0]] = worlds

    def _locate_in_deck(self, role: int, seat: int) -> None:
        """Handle that an opponent returns a card of a role to the deck."""
        self._located[role] += 1
        self._exclude_excess(role, exempt_seat=seat)

    def _reduce_located(self, count: int) -> None:
        """Handle that an opponent draws `count` cards, which may be any cards that are certainly in the deck."""
        self._located = [max(0, located - count) for located in self._located]

    # --- events -------------------------------------------------------------------------------------------------------

    def _draw_own(self, roles: Iterable[int]) -> None:
        self._prepare_worlds()
        for role in roles:
            self._unseen[role] -= 1
            self._located[role] = max(0, self._located[role] - 1)
        self._exclude_undealable()

    def _return_own(self, roles: Iterable[int]) -> None:
        self._prepare_worlds()
        for role in roles:
            self._unseen[role] += 1
            self._located[role] += 1

    def _handle_own_event(self, event: Any, view: View) -> None:
        """Update the seat's own hand by its copy of an event, and the unseen cards by what it returned and drew."""
        if type(event) is Lost:
            self._hand.remove(self._role_numbers[event.role])
        if getattr(event, "cards", None) is None:
            return
        hand, pool = self._number_roles(event.cards), self._hand + self._drawn
        self._hand, self._drawn = hand, []
        if type(event) is Drafted:
            own_cards = [*hand, *self._number_roles(view.discards)]
            self._unseen = [self._copies - own_cards.count(role) for role in ROLES]
            self._prepare_worlds(is_drafted=True)
            return
        returned = self._list_returned(event, pool)
        drawn = _without(hand, _without(pool, returned))
        if type(event) is CardExamined and self._draws_first:
            self._draw_own(drawn)
            self._return_own(returned)
            self._exclude_undealable()
        else:
            self._return_own(returned)
            self._draw_own(drawn)

    def _list_returned(self, event: Any, pool: Sequence[int]) -> list[int]:
        """Return the cards of `pool` that the seat returned to the deck by its copy of an event with `cards`."""
        if type(event) is Exchanged:
            return _without(pool, self._hand)
        return self._number_roles(event.roles if type(event) is HandShown else [event.role])

    def _handle_action(self, seat: int, event: ActionDeclared) -> None:
        self._proof_replaced = False  # whether a card was shown and replaced since the last exchange was declared

    def _handle_loss(self, seat: int, event: Lost) -> None:
        self._turn_up(seat, self._role_numbers[event.role])

    def _handle_forfeit(self, seat: int, event: Forfeited) -> None:
        for role in event.roles:
            self._turn_up(seat, self._role_numbers[role])

    def _handle_proof(self, seat: int, event: Shown) -> None:
        if event.replaced:
            self._proof_replaced = True
            self._replace_card(seat, self._role_numbers[event.role])
        else:
            self._decide_role(seat, self._role_numbers[event.role])

    def _handle_shown_hand(self, seat: int, event: HandShown) -> None:
        """Account for the cards of an opponent that are all seen, and then replaced."""
        self._prepare_worlds()
        (key, hand), cards = self._places[seat], self._face_up[seat]
        for role in self._number_roles(event.roles):
            self._worlds[key] &= self._world_sets.with_at_least[hand][role][cards.count(role) + 1]
            cards += (role,)
            self._locate_in_deck(role, seat)
        self._replace_unseen(seat, len(event.roles))

    def _handle_failed_proof(self, seat: int, event: Unproven) -> None:
        if self._rules.prove is Proof.AUTOMATIC or (event.denies and not self._rules.embezzle_concede):
            self._decide_role(seat, self._role_numbers[event.role], event.denies)

    def _handle_exchange(self, seat: int, event: Exchanged) -> None:
        """Account for an opponent's exchange.

        The cards that it returned to the deck are unknown, or the claimed role is among them if it had that.
        """
        if self._rules.exchange_return is not ExchangeReturn.CLAIMED_ROLE or self._proof_replaced:
            self._replace_unseen(seat, min(event.count, 2 - len(self._face_up[seat])))
            return
        self._prepare_worlds()
        claimed = self._role_numbers[self._rules.rule(Action.EXCHANGE).claim]  # type: ignore[index]
        key, holding = self._places[seat][0], self._hiding[seat][claimed][0]
        worlds = self._worlds[key]
        self._worlds[key] = worlds & holding
        self._reduce_located(1)
        truthful = self._swap_card(seat, (claimed,), self._dealable_worlds(seat, claimed))
        self._worlds[key] = worlds & ~holding
        self._worlds[key] = truthful | self._swap_card(seat, ROLES, self._dealable_worlds(seat))

    def _handle_examination(self, seat: int, event: CardExamined) -> None:
        role = None if event.role is None else self._role_numbers[event.role]
        if event.replaced:
            self._replace_card(seat, role, self._draws_first)
        elif role is not None:
            self._decide_role(seat, role)

    # --- what follows -------------------------------------------------------------------------------------------------

    def _list_certain(self, drawn: int) -> CertainCards:
        """Return the certain facts while an opponent in its exchange holds `drawn` cards of the deck."""
        players, deck = self._list_joined() if self._is_joined else (self._list_separate(), self._located)
        cards = [role for role, count in zip(self._rules.roles, deck, strict=True) for _ in range(count - drawn)]
        return CertainCards(tuple(players), tuple(cards))

    def _list_separate(self) -> list[CertainHand]:
        """Return the facts about each opponent by its own worlds."""
        players, roles = [], self._rules.roles
        spent = tuple([role for role in ROLES if not self._unseen[role]])
        for seat in self._places:
            hand = _certain_hand(seat, self._face_up[seat], self._worlds[seat], spent, roles)
            if hand is not None:
                players.append(hand)
        return players

    def _list_joined(self) -> tuple[list[CertainHand], list[int]]:
        """Return the facts about opponents by their joined worlds, and by role the cards certainly in the deck."""
        roles, worlds = self._rules.roles, self._worlds[_JOINED]
        players: list[CertainHand] = []
        facts: list[_HandFacts] = []
        for seat in self._places:
            has, lacks = find_common_roles(self._hiding[seat], worlds)
            facts.append((has, lacks, 2 - len(self._face_up[seat])))
            unspent = [roles[role] for role in lacks if self._unseen[role] > self._face_up_unseen[role]]
            if has or unspent:
                players.append(CertainHand(seat, tuple([roles[role] for role in has]), tuple(unspent)))
        return players, self._count_deck(facts)

    def _count_deck(self, facts: Iterable[_HandFacts]) -> list[int]:
        """Return by role how many cards to list in `CertainCards.deck`.

        That is the number certainly in the deck if it says more than the listed hands imply, else those located there.
        """
        worlds, with_more_than, deck = self._worlds[_JOINED], self._world_sets.with_more_than, [*self._located]
        for role, unseen in enumerate(self._unseen):
            most = unseen  # cards of the role that all hands have in any of the worlds
            while most and not worlds & with_more_than[role][most - 1]:
                most -= 1
            if most != unseen and most < self._count_implied(role, facts):
                deck[role] = unseen - most
        return deck

    def _count_implied(self, role: int, facts: Iterable[_HandFacts]) -> int:
        """Return how many cards of a role all hands can have by the facts and the numbers of their cards."""
        implied = self._face_up_unseen[role]
        if self._rules.draft and len(self._world_sets.with_at_least) == 2:  # one of the discards may have it
            implied += bool(self._worlds[_JOINED] & self._world_sets.with_at_least[-1][role][1])
        for has, lacks, size in facts:
            if role not in lacks:
                implied += has.count(role) + size - len(has)
        return implied


def _without(cards: Sequence[int], removed: Iterable[int]) -> list[int]:
    """Return cards without `removed`; missing ones are ignored."""
    remaining = [*cards]
    for role in removed:
        if role in remaining:
            remaining.remove(role)
    return remaining


_HANDLERS: dict[type[Event], Callable[[Knowledge, int, Any], None]] = {
    ActionDeclared: Knowledge._handle_action,
    Lost: Knowledge._handle_loss,
    Forfeited: Knowledge._handle_forfeit,
    Shown: Knowledge._handle_proof,
    HandShown: Knowledge._handle_shown_hand,
    Unproven: Knowledge._handle_failed_proof,
    Exchanged: Knowledge._handle_exchange,
    CardExamined: Knowledge._handle_examination,
}


@cache
def concerning(rules: Ruleset) -> frozenset[type[Event]]:
    """Return the classes of events that can change the certain facts of a seat."""
    kinds = {*_HANDLERS, Drafted}
    if rules.exchange_return is not ExchangeReturn.CLAIMED_ROLE:
        kinds.remove(ActionDeclared)
    if rules.prove is not Proof.AUTOMATIC and rules.embezzle_concede:
        kinds.remove(Unproven)
    return frozenset(kinds)
