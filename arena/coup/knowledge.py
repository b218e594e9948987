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
_MAX_JOINED = 4  # most opponents whose hands are joined: worlds take 8 KB for four, and would take 128 KB for five


@lru_cache(maxsize=10_000)
def _certain_hand(
    seat: int, up: tuple[int, ...], worlds: int, spent: tuple[int, ...], roles: tuple[Role, ...]
) -> CertainHand | None:
    """Return the certain facts about an opponent by its own worlds, without lacks of `spent` roles; None: no facts."""
    has, lacks = find_common_roles(hiding_worlds(get_world_sets(1), 0, up), worlds)
    held = CertainHand(
        seat, tuple(roles[role] for role in has), tuple(roles[role] for role in lacks if role not in spent)
    )
    return held if held.has or held.lacks else None


class Knowledge:
    """The certain knowledge of one seat in one game. `view` is the seat's view at its first request.

    A spectator has seat -1 and no cards; after a draft it knows nothing. Call `known` at each request of the seat: no
    event contains the cards that it draws in an exchange. Events are queued until one may reveal a hidden card of an
    opponent; only then worlds are made.
    """

    def __init__(self, view: View) -> None:
        self._first: View | None = view  # until events are followed
        self._quiet: list[Event] = []  # queued events that reveal no hidden card by themselves
        self._known = NOTHING_KNOWN
        self._worlds: dict[int, int] = {}  # joined worlds by the key -1, or each opponent's by its seat

    def _begin(self, view: View) -> None:
        """Set up the counts of cards as they were at the first request."""
        self._first = None
        rules, seats = view.board.rules, view.board.seats
        self._rules, self._seat, self._copies = rules, view.seat, rules.copies(seats)
        self._roles = {role: number for number, role in enumerate(rules.roles)}
        self._draws_first = rules.examine_replace is ExamineReplace.DRAW_FIRST
        self._hand = self._list(view.cards)
        self._drawn: list[int] = []  # cards that the seat has drawn in its exchange
        self._replaced = False  # whether a card was shown and replaced since the last exchange was declared
        self._changed = False  # since `_known` was made
        # By role: number of unseen cards (with those of `_up` in joined worlds); number of cards certainly in the deck.
        self._unseen = [self._copies - self._hand.count(role) for role in ROLES]
        self._located = [0] * 5
        # By opponent: its face-up cards; if it is in the game, its key in `_worlds` (-1: the worlds of
        # all opponents together) and the index of its hand there.
        self._up: dict[int, tuple[int, ...]] = {seat: () for seat in range(seats) if seat != view.seat}
        self._at: dict[int, tuple[int, int]] = {}
        self._tests: dict[int, tuple[tuple[int, int], ...]] = {}
        self._together = self._draft = False
        self._face_up = [0] * 5  # by role: cards of `_up` among the unseen ones

    def known(self, view: View, events: Sequence[Event]) -> CertainCards:
        """Return what is certain to the seat; the same object if nothing changed. A seat that is out knows nothing.

        `events`: the seat's copies of all events since the last call whose class is in `concerning`, in order.
        """
        if view.seat >= 0 and not view.board.influence[view.seat]:
            return NOTHING_KNOWN
        if not self._worlds:
            self._quiet += events
            if not view.drawn and view.seen is None and _QUIET.issuperset(map(type, events)):
                return NOTHING_KNOWN
            if self._first is not None:
                self._begin(self._first)
            events, self._quiet = self._quiet, []
        for event in events:
            owner = event.target if type(event) is CardExamined else event.seat
            if owner == self._seat:
                self._handle_own_event(event, view)
            elif len(self._up[owner]) < 2 and type(event) in _STEPS:
                _STEPS[type(event)](self, owner, event)
        board = view.board
        if view.drawn and not self._drawn:
            self._drawn = self._list(view.drawn)
            self._draw_own(self._drawn)
            if board.deck < self._copies:  # then the numbers of cards alone may reveal a hand
                self._learn()
        if view.seen is not None:
            self._hide(board.phase.pending.target, self._roles[view.seen])  # type: ignore[union-attr, arg-type]
        if self._changed and (view.cards or not self._rules.draft):
            self._changed = False
            self._known = self._list_certain(0)
        if type(board.phase) is Exchanging and board.actor != self._seat and self._known is not NOTHING_KNOWN:
            return self._list_certain(self._rules.draw)  # cards of the deck are in the actor's hand for now
        return self._known

    def _list(self, roles: Iterable[Role]) -> list[int]:
        return [self._roles[role] for role in roles]

    # --- worlds -------------------------------------------------------------------------------------------------------

    def _learn(self, draft: bool = False) -> None:
        """Make worlds if there are none; join those of the opponents when few are left."""
        self._changed = True
        before = self._worlds
        if before and (self._together or len(self._at) > _MAX_JOINED):
            return
        living = [seat for seat, up in self._up.items() if len(up) < 2]
        self._together, self._draft = len(living) <= _MAX_JOINED, draft
        self._table = get_world_sets(len(living) if self._together else 1, draft)
        self._at = {seat: (-1, at) if self._together else (seat, 0) for at, seat in enumerate(living)}
        if draft:
            self._worlds = {-1: draft_worlds()}
        elif before:
            self._worlds = {-1: make_worlds([[p for p in range(15) if before[seat] >> p & 1] for seat in living])}
        else:
            self._worlds = {key: self._table.all for key, _ in self._at.values()}
        for seat in living:
            self._exclude_face_up(seat)
            self._test(seat)
        if self._together:
            for role, count in enumerate(self._located):
                if count:
                    self._worlds[-1] &= self._table.most[role][self._unseen[role] - count]
        self._deal()

    def _exclude_face_up(self, seat: int) -> None:
        """Rule out new worlds in which an opponent lacks its face-up cards."""
        key, at = self._at[seat]
        for role in self._up[seat]:
            self._unseen[role] += self._together
            self._face_up[role] += self._together
            self._worlds[key] &= self._table.least[at][role][1]

    def _deal(self) -> None:
        """Rule out worlds that have more cards of a role than the seat doesn't see."""
        if not self._together:
            for role in ROLES:
                self._fit(role)
            return
        self._dealt = worlds_within(self._table, tuple(self._unseen))
        self._worlds[-1] &= self._dealt

    def _test(self, seat: int) -> None:
        """Update the worlds in which an opponent hides a card of each role, and two."""
        self._tests[seat] = hiding_worlds(self._table, self._at[seat][1], self._up[seat])

    def _fit(self, role: int, but: int | None = None) -> None:
        """Rule out hands that hide more cards of a role than are unseen, if worlds aren't joined."""
        if self._together or (spare := self._unseen[role] - self._located[role]) >= 2:
            return
        for seat in self._at:
            if seat != but:
                self._worlds[seat] &= ~self._tests[seat][role][spare]

    def _dealable(self, seat: int, role: int | None = None) -> int:
        """Return the worlds that can be dealt to an opponent while the deck has a card of `role`, if given."""
        if self._together:
            return self._dealt if role is None else self._dealt & self._table.most[role][self._unseen[role] - 1]
        worlds = self._table.all
        for other_role, hiding in enumerate(self._tests[seat]):
            spare = self._unseen[other_role] - self._located[other_role] - (other_role == role)
            if spare < 2:
                worlds &= ~hiding[spare]
        return worlds

    def _hide(self, seat: int, role: int, has: bool = True) -> None:
        """Rule out worlds in which an opponent hides no card of a role; with `has` false, those in which it does."""
        self._learn()
        worlds = self._tests[seat][role][0]
        self._worlds[self._at[seat][0]] &= worlds if has else ~worlds

    def _turn_up(self, seat: int, role: int) -> None:
        """Handle that an opponent turns a card face up."""
        if self._worlds:
            self._changed = True
            self._worlds[self._at[seat][0]] &= self._tests[seat][role][0]
        self._up[seat] += (role,)
        if self._together:
            self._face_up[role] += 1
        else:
            self._unseen[role] -= 1
        if self._worlds:
            if len(self._up[seat]) == 2:
                self._drop_hand(seat)
            else:
                self._test(seat)
            self._fit(role)

    def _drop_hand(self, seat: int) -> None:
        """Forget the worlds of an opponent that is out; the hands of the others may now be few enough to join."""
        key, _ = self._at.pop(seat)
        if key >= 0:  # else its worlds are those of all opponents
            del self._worlds[key]
        if len(self._at) <= _MAX_JOINED:
            self._learn()

    def _swap(self, seat: int, backs: Iterable[int], room: int) -> int:
        key, at = self._at[seat]
        return self._table.swapped(self._worlds[key], at, self._up[seat], backs) & room

    def _replace_unseen(self, seat: int, count: int) -> None:
        """Handle that an opponent draws `count` cards, and returns `count` cards that the seat doesn't see."""
        if self._worlds:
            self._changed = True
            self._reduce_located(count)
            key, at = self._at[seat]
            if count == 2:
                self._worlds[key] = self._table.redrawn(self._worlds[key], at) & self._dealable(seat)
            elif count:
                self._worlds[key] = self._swap(seat, ROLES, self._dealable(seat))

    def _replace_card(self, seat: int, role: int | None, draws_first: bool = False) -> None:
        """Handle that an opponent returns a card of a role (None: unknown) and draws another."""
        if role is None and (not draws_first or not self._worlds):
            self._replace_unseen(seat, 1)
            return
        if role is not None and not (self._worlds or draws_first) and self._rules_out_nothing(seat, role):
            return
        self._learn()
        after, backs = 0, ROLES if role is None else (role,)
        if draws_first:
            self._reduce_located(1)
            for back in backs:
                after |= self._swap(seat, (back,), self._dealable(seat, back))
        if role is not None:
            self._located[role] += 1
            self._fit(role, but=seat)
        if not draws_first:
            self._reduce_located(1)
            after = self._swap(seat, backs, self._dealable(seat))
        self._worlds[self._at[seat][0]] = after

    def _rules_out_nothing(self, seat: int, role: int) -> bool:
        """Return whether no fact follows from a card of a role that an opponent showed and replaced.

        That is the case if the other opponents, as far as their worlds are joined, could have only cards of the role.
        """
        spaces = [2 - len(up) for other, up in self._up.items() if other != seat and len(up) < 2]
        return self._unseen[role] > (sum(spaces) if len(spaces) < _MAX_JOINED else 2)

    def _reduce_located(self, count: int) -> None:
        """Handle that an opponent draws `count` cards, which may be any cards that are certainly in the deck."""
        self._located = [max(0, located - count) for located in self._located]

    # --- events -------------------------------------------------------------------------------------------------------

    def _draw_own(self, roles: Iterable[int]) -> None:
        for role in roles:
            self._unseen[role] -= 1
            self._located[role] = max(0, self._located[role] - 1)
        if self._worlds:
            self._changed = True
            self._deal()

    def _return_own(self, roles: Iterable[int]) -> None:
        self._learn()
        for role in roles:
            self._unseen[role] += 1
            self._located[role] += 1

    def _handle_own_event(self, event: Any, view: View) -> None:
        """Update the seat's own hand by its copy of an event, and the unseen cards by what it returned and drew."""
        if type(event) is Lost:
            self._hand.remove(self._roles[event.role])
        if getattr(event, "cards", None) is None:
            return
        hand, pool = self._list(event.cards), self._hand + self._drawn
        self._hand, self._drawn = hand, []
        if type(event) is Drafted:
            own = [*hand, *self._list(view.discards)]
            self._unseen = [self._copies - own.count(role) for role in ROLES]
            self._learn(draft=True)
            return
        if type(event) is Exchanged:
            back = _without(pool, hand)
        else:
            back = self._list(event.roles if type(event) is HandShown else [event.role])
        came = _without(hand, _without(pool, back))
        if type(event) is CardExamined and self._draws_first:
            self._draw_own(came)
            self._return_own(back)
            self._deal()
        else:
            self._return_own(back)
            self._draw_own(came)

    def _acted(self, seat: int, event: ActionDeclared) -> None:
        self._replaced = False

    def _lost(self, seat: int, event: Lost) -> None:
        self._turn_up(seat, self._roles[event.role])

    def _forfeited(self, seat: int, event: Forfeited) -> None:
        for role in event.roles:
            self._turn_up(seat, self._roles[role])

    def _shown(self, seat: int, event: Shown) -> None:
        if event.replaced:
            self._replaced = True
            self._replace_card(seat, self._roles[event.role])
        else:
            self._hide(seat, self._roles[event.role])

    def _hand_shown(self, seat: int, event: HandShown) -> None:
        self._learn()
        (key, at), up = self._at[seat], self._up[seat]
        for role in self._list(event.roles):
            self._worlds[key] &= self._table.least[at][role][up.count(role) + 1]
            up += (role,)
            self._located[role] += 1
            self._fit(role, but=seat)
        self._replace_unseen(seat, len(event.roles))

    def _unproven(self, seat: int, event: Unproven) -> None:
        if self._rules.prove is Proof.AUTOMATIC or (event.denies and not self._rules.embezzle_concede):
            self._hide(seat, self._roles[event.role], event.denies)

    def _follow_exchange(self, seat: int, event: Exchanged) -> None:
        """Account for another seat's exchange.

        The cards that it returned to the deck are unknown, or the claimed role is among them.
        """
        if self._rules.exchange_return is not ExchangeReturn.CLAIMED_ROLE or self._replaced:
            self._replace_unseen(seat, min(event.count, 2 - len(self._up[seat])))
            return
        self._learn()
        key, claimed = self._at[seat][0], self._roles[self._rules.rule(Action.EXCHANGE).claim]  # type: ignore[index]
        before, held = self._worlds[key], self._tests[seat][claimed][0]
        self._worlds[key] = before & held
        self._reduce_located(1)
        after = self._swap(seat, (claimed,), self._dealable(seat, claimed))
        self._worlds[key] = before & ~held
        self._worlds[key] = after | self._swap(seat, ROLES, self._dealable(seat))

    def _handle_examination(self, seat: int, event: CardExamined) -> None:
        role = None if event.role is None else self._roles[event.role]
        if event.replaced:
            self._replace_card(seat, role, self._draws_first)
        elif role is not None:
            self._hide(seat, role)

    # --- what follows -------------------------------------------------------------------------------------------------

    def _list_certain(self, drawn: int) -> CertainCards:
        """Return the certain facts while an opponent in its exchange holds `drawn` cards of the deck."""
        players, deck = self._list_joined() if self._together else (self._list_separate(), self._located)
        if not players and not any(deck):
            return NOTHING_KNOWN
        cards = [role for role, count in zip(self._rules.roles, deck, strict=True) for _ in range(count - drawn)]
        return CertainCards(tuple(players), tuple(cards))

    def _list_separate(self) -> list[CertainHand]:
        """Return the facts about each opponent by its own worlds."""
        players, roles = [], self._rules.roles
        spent = tuple([role for role in ROLES if not self._unseen[role]])
        for seat, worlds in self._worlds.items():
            hand = _certain_hand(seat, self._up[seat], worlds, spent, roles)
            if hand is not None:
                players.append(hand)
        return players

    def _list_joined(self) -> tuple[list[CertainHand], list[int]]:
        """Return the facts about opponents by their joined worlds, and by role the cards certainly in the deck."""
        roles, worlds, more, deck = self._rules.roles, self._worlds[-1], self._table.more, self._located
        players: list[CertainHand] = []
        facts: list[tuple[list[int], list[int], int]] = []  # of an opponent: roles that it has, and lacks; its cards
        hidden = 0  # cards of all opponents
        for seat in self._at:
            has, lacks = find_common_roles(self._tests[seat], worlds)
            size = 2 - len(self._up[seat])
            hidden += size
            if has or lacks:
                facts.append((has, lacks, size))
                unspent = [roles[role] for role in lacks if self._unseen[role] > self._face_up[role]]
                if has or unspent:
                    players.append(CertainHand(seat, tuple([roles[role] for role in has]), tuple(unspent)))
        for role, unseen in enumerate(self._unseen):
            # Some hands may have all cards that fit into them.
            if unseen and not worlds & more[role][min(unseen, self._face_up[role] + hidden) - 1]:
                deck = [*deck]
                deck[role] = self._count_in_deck(role, hidden, facts)
        return players, deck

    def _count_in_deck(self, role: int, hidden: int, facts: list[tuple[list[int], list[int], int]]) -> int:
        """Return how many cards of a role are certainly in the deck, for `CertainCards.deck`.

        hidden: the opponents' hidden cards. facts: of each opponent, roles that it has, and lacks; its hidden cards.
        """
        worlds, more, unseen = self._worlds[-1], self._table.more[role], self._unseen[role]
        count = 1
        while count < unseen and not worlds & more[unseen - count - 1]:
            count += 1
        for has, lacks, size in facts:
            hidden += has.count(role) - (size if role in lacks else len(has))
        if self._draft:
            hidden += bool(worlds & self._table.least[-1][role][1])
        return count if count > unseen - self._face_up[role] - hidden else self._located[role]


def _without(cards: Sequence[int], removed: Iterable[int]) -> list[int]:
    """Return cards without `removed`; missing ones are ignored."""
    remaining = [*cards]
    for role in removed:
        if role in remaining:
            remaining.remove(role)
    return remaining


_STEPS: dict[type[Event], Callable[[Knowledge, int, Any], None]] = {
    ActionDeclared: Knowledge._acted,
    Lost: Knowledge._lost,
    Forfeited: Knowledge._forfeited,
    Shown: Knowledge._shown,
    HandShown: Knowledge._hand_shown,
    Unproven: Knowledge._unproven,
    Exchanged: Knowledge._follow_exchange,
    CardExamined: Knowledge._handle_examination,
}
_QUIET = {ActionDeclared, Lost, Forfeited}


@cache
def concerning(rules: Ruleset) -> frozenset[type[Event]]:
    """Return the classes of events that can change the certain facts of a seat."""
    kinds = {*_STEPS, Drafted}
    if rules.exchange_return is not ExchangeReturn.CLAIMED_ROLE:
        kinds.remove(ActionDeclared)
    if rules.prove is not Proof.AUTOMATIC and rules.embezzle_concede:
        kinds.remove(Unproven)
    return frozenset(kinds)
