"""Implement the rules of Coup as an engine: which seats are asked, and what their answers change.

A game can begin with Drafting (rules.md#draft) and ChoosingSide (rules.md#allegiance). The phases of a turn
(rules.md#order):

    Turn -> [ChallengeWindow -> Proving -> [DecidingKeepShown] -> Losing]
         -> [BlockWindow -> [ChallengeWindow -> Proving -> [DecidingKeepShown] -> Losing]]
         -> effect -> [Losing | Exchanging | [Revealing] -> Examining] -> the next Turn, or Over

The ruleset's fields and its action table decide which phases a game has. This module must not know any preset by name.

Each phase has the seats that it asks simultaneously; `list_legal_moves` returns the choices of each. `apply_moves`
takes one answer from every asked seat and returns the next state and the events that lead to it. In a window, the
first asked seat that doesn't pass decides, and the other answers are dropped. A seat isn't asked if public facts leave
it no choice, as at the loss of its last card."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ParamSpec, TypeVar

from arena.coup.events import (
    ActionDeclared,
    ActionOutcome,
    Blocked,
    CardExamined,
    Challenged,
    CoinReason,
    Coins,
    Converted,
    Drafted,
    Event,
    Exchanged,
    Exiled,
    Forfeited,
    HandShown,
    LossReason,
    Lost,
    Resolved,
    Shown,
    Sided,
    Unproven,
)
from arena.coup.legal_moves import enemies, hand_of, row_of, seats_clockwise
from arena.coup.moves import (
    PASS,
    ActionMove,
    Block,
    Challenge,
    Decline,
    ExamineDecision,
    Forfeit,
    Keep,
    KeepShown,
    Lose,
    MoveOrForfeit,
    Pass,
    Pick,
    Reveal,
    Show,
    ShowHand,
    Side,
)
from arena.coup.rng import KeyedRng
from arena.coup.rules import (
    Allegiance,
    AllegianceStart,
    BlockAfterChallenge,
    BlockChallengers,
    Blockers,
    DeadTarget,
    Effect,
    ExaminePick,
    ExamineReplace,
    FirstPlayer,
    Proof,
    Role,
    Ruleset,
    ShownCard,
)
from arena.coup.state import (
    NO_FAILED_CHALLENGE,
    AfterLoss,
    BlockWindow,
    Board,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    DecidingKeepShown,
    Drafting,
    Examining,
    Exchanging,
    FailedChallenge,
    GameEnding,
    Losing,
    Over,
    Phase,
    Proving,
    Revealing,
    State,
    Turn,
)

P = ParamSpec("P")
T = TypeVar("T")


def _shared(kind: Callable[P, T]) -> Callable[P, T]:
    """Return a cached constructor of a class with few different values."""
    return cache(kind)  # type: ignore[return-value]  # which forgets the types of the arguments


_acted, _blocked, _challenged, _unproven = (
    _shared(ActionDeclared),
    _shared(Blocked),
    _shared(Challenged),
    _shared(Unproven),
)
_coins, _exiled, _lost, _resolved = _shared(Coins), _shared(Exiled), _shared(Lost), _shared(Resolved)
_claim = _shared(Claim)


@cache
def _turn(seat: int) -> Turn:
    return Turn((seat,))


_new = tuple.__new__  # faster than the constructor of a named tuple
_REASONS: dict[str, CoinReason] = {reason.value: reason for reason in CoinReason}


class IllegalMoveError(Exception):
    """The answers aren't one legal move for every asked seat: an error of the caller."""


def first_seat(seating: Sequence[int], winner: int | None) -> int:
    """Return the seat, in `seating` (player of each seat), of the last game's winner; 0 without one."""
    return 0 if winner is None else seating.index(winner)


def deal_game(rules: Ruleset, seats: int, chance: KeyedRng, starter: int = 0) -> State:
    """Return the state at the start of a game.

    chance: the game's random numbers. starter: the seat of `first_seat`; read only if the last winner starts.
    Raises ValueError if the ruleset isn't for this number of seats.
    """
    problem = rules.problem(seats)
    if problem:
        raise ValueError(problem)
    first = starter if rules.first_player is FirstPlayer.LAST_WINNER else 0
    if rules.first_player is FirstPlayer.RANDOM:
        first = chance.number("first", 0, seats)
    coins = [rules.start_coins] * seats
    if seats == 2:
        coins[first] = rules.two_player_starter_coins
    hands: tuple[tuple[Role, ...], ...] = ((),) * seats
    if rules.draft:
        cards = chance.shuffled(sorted(rules.roles), "deal", 0)  # the third set; the players have the other two
    else:
        cards = chance.shuffled(sorted(rules.roles * rules.copies(seats)), "deal", 0)
        hands = tuple(hand_of(cards.pop() for _ in range(rules.hand)) for _ in range(seats))
    sides: tuple[Allegiance, ...] = ()
    if rules.reformation and rules.allegiance_start is AllegianceStart.ASSIGNED:
        sides = _alternating(tuple(Allegiance)[chance.number("allegiance", 0, 2)], 0, seats)  # treason's program
    board = Board(
        rules=rules,
        turn=1,
        actor=first,
        deck=len(cards),
        coins=tuple(coins),
        influence=tuple(map(len, hands)),
        revealed=((),) * seats,
        phase=Drafting(tuple(range(seats))) if rules.draft else _first_phase(rules, first, sides),
        sides=sides,
    )
    return State(board, hands, tuple(cards), (), 0)


def _first_phase(rules: Ruleset, starter: int, sides: Sequence[Allegiance]) -> Phase:
    return ChoosingSide((starter,)) if rules.reformation and not sides else Turn((starter,))


def _alternating(side: Allegiance, first: int, seats: int) -> tuple[Allegiance, ...]:
    """Return each seat's side: they alternate clockwise from seat `first`, which has `side` (rules.md#allegiance)."""
    return tuple(side if (seat - first) % seats % 2 == 0 else side.other for seat in range(seats))


# ---------------------------------------------------------------- effects of answers


def apply_moves(state: State, answers: Sequence[MoveOrForfeit], chance: KeyedRng) -> tuple[State, tuple[Event, ...]]:
    """Return the next state and the new events, given one answer for each seat of `state.board.phase.asked`, in order.

    Answers must be legal for their seats; only their class is checked here, since the referee has checked legality.
    FORFEIT means that a seat leaves. Forfeits are applied first; the other answers count if the phase continues. Raises
    IllegalMoveError if the number of answers isn't that of the asked seats, or an answer's class doesn't fit the phase.
    """
    phase = state.board.phase
    if len(answers) != len(phase.asked) or not answers:
        raise IllegalMoveError(f"{len(phase.asked)} seats are asked, {len(answers)} answers came")
    table = _MutableState(state, chance)
    if Forfeit in map(type, answers):
        leaving = tuple(seat for seat, a in zip(phase.asked, answers, strict=True) if isinstance(a, Forfeit))
        after = table.remove_seats(phase, leaving)
        if after is not None:
            return table.freeze(after)
        answers = [PASS if isinstance(a, Forfeit) else a for a in answers]
    return table.freeze(table.step(phase, answers))


class _MutableState:
    """A mutable copy of a state, for one step; private to this module."""

    __slots__ = (
        "actor",
        "chance",
        "coins",
        "deck",
        "discards",
        "drawn",
        "events",
        "hands",
        "influence",
        "n",
        "reserve",
        "revealed",
        "rules",
        "seen",
        "sides",
        "turn",
    )

    def __init__(self, state: State, chance: KeyedRng) -> None:
        board = state.board
        self.rules = board.rules
        self.turn = board.turn
        self.actor = board.actor
        self.coins = board.coins
        self.influence = board.influence
        self.revealed = board.revealed
        self.hands = state.hands
        self.deck = state.deck
        self.drawn = state.drawn
        self.discards = state.discards
        self.seen = state.seen
        self.sides = board.sides
        self.reserve = board.reserve
        self.n = state.events
        self.events: list[Event] = []
        self.chance = chance

    def freeze(self, phase: Phase) -> tuple[State, tuple[Event, ...]]:
        """Return the state in this phase as a value, and the events since the state before."""
        board: Board = _new(
            Board,
            (
                self.rules,
                self.turn,
                self.actor,
                len(self.deck),
                self.coins,
                self.influence,
                self.revealed,
                phase,
                self.sides,
                self.reserve,
            ),
        )
        events = tuple(self.events)
        number = self.n + len(events)
        return _new(State, (board, self.hands, self.deck, self.drawn, number, self.discards, self.seen)), events

    # -- one method for each phase

    def step(self, phase: Phase, answers: Sequence[Any]) -> Phase:
        kinds, play = _STEPS.get(type(phase), _NO_STEP)
        if not kinds.issuperset(map(type, answers)):
            raise IllegalMoveError(f"{answers} are no answers to {type(phase).__name__}")
        return play(self, phase, answers)

    def close_challenge_window(self, phase: ChallengeWindow, answers: Sequence[Pass | Challenge]) -> Phase:
        pending, claim = phase.pending, phase.claim
        for seat, answer in zip(phase.asked, answers, strict=True):
            if isinstance(answer, Challenge):
                self.events.append(_challenged(seat, claim.seat, claim.role, claim.denies))
                return self.answer_challenge(pending, claim, seat)
        # Unchallenged, a block stands and an action may be blocked.
        if claim.block:
            return self.end_action(pending, ActionOutcome.BLOCKED)
        return self.open_block_window(pending, NO_FAILED_CHALLENGE)

    def close_block_window(self, phase: BlockWindow, answers: Sequence[Pass | Block]) -> Phase:
        pending = phase.pending
        for seat, answer in zip(phase.asked, answers, strict=True):
            if isinstance(answer, Block):
                self.events.append(_blocked(seat, answer.role))
                return self.open_challenge_window(pending, _claim(seat, answer.role, True))
        return self.resolve(pending, NO_FAILED_CHALLENGE)

    def prove(self, phase: Proving, answer: Show | ShowHand | Decline) -> Phase:
        pending, claim, challenger = phase.pending, phase.claim, phase.challenger
        if isinstance(answer, Decline):
            return self.fail_claim(pending, claim)
        if isinstance(answer, ShowHand) is not claim.denies:
            raise IllegalMoveError(f"{answer} proves no such claim")
        return (self.show_hand if claim.denies else self.show_card)(pending, claim, challenger)

    def choose_side(self, starter: int, allegiance: Allegiance) -> Phase:
        self.sides = _alternating(allegiance, starter, len(self.hands))
        self.events.append(Sided(starter, self.sides))
        return Turn((starter,))

    def draft(self, picks: Sequence[Pick]) -> Phase:
        discards = []
        for seat, pick in enumerate(picks):
            self.set_hand(seat, hand_of((pick.role, *self.draw_cards(1))))
            discards.append(tuple(role for role in self.rules.roles if role is not pick.role))
            self.events.append(Drafted(seat, self.hands[seat]))
        self.discards = tuple(discards)
        return _first_phase(self.rules, self.actor, self.sides)

    def declare_action(self, move: ActionMove) -> Phase:
        row = row_of(self.rules, move)
        self.events.append(_acted(self.actor, move.action, move.target, row.claim, row.denies))
        if row.cost:
            self.pay(self.actor, -row.cost, _REASONS[move.action])
            if row.effect is Effect.CONVERT:
                self.reserve += row.cost  # rules.md#conversion
        if row.claim is not None:
            return self.open_challenge_window(move, _claim(self.actor, row.claim, False, row.denies))
        return self.open_block_window(move, NO_FAILED_CHALLENGE)

    def open_challenge_window(self, pending: ActionMove, claim: Claim) -> Phase:
        if claim.block and self.rules.block_challenged_by is BlockChallengers.ACTOR:
            return ChallengeWindow((self.actor,), pending, claim)
        return ChallengeWindow(self.list_others(claim.seat), pending, claim)

    def open_block_window(self, pending: ActionMove, past: FailedChallenge) -> Phase:
        """Open the block window, or resolve an action that has none."""
        row = row_of(self.rules, pending)
        if row.blocked_by is Blockers.NOBODY:
            return self.resolve(pending, past)
        target = pending.target
        if target is not None and not self.hands[target]:
            return self.resolve(pending, past)  # exiled seats can't block
        after = self.rules.block_after_failed_challenge
        if past.challenger is not None and after is BlockAfterChallenge.NEVER:
            return self.resolve(pending, past)
        others = self.list_others(self.actor)
        if target is None:
            asked = enemies(self.sides, self.actor, others) if self.sides else others
        elif row.blocked_by is Blockers.ANYONE:
            # The target first: a neighbour's bluff must not pre-empt the target's real card.
            asked = (target, *(seat for seat in others if seat != target))
        else:
            asked = (target,)
        if after is BlockAfterChallenge.NOT_CHALLENGER:
            asked = tuple(seat for seat in asked if seat != past.challenger)
        return BlockWindow(asked, pending, past.challenger is not None) if asked else self.resolve(pending, past)

    def answer_challenge(self, pending: ActionMove, claim: Claim, challenger: int) -> Phase:
        if self.rules.prove is Proof.CHOOSE:
            return Proving((claim.seat,), pending, claim, challenger)
        if (claim.role in self.hands[claim.seat]) is claim.denies:
            return self.fail_claim(pending, claim)
        return (self.show_hand if claim.denies else self.show_card)(pending, claim, challenger)

    def show_card(self, pending: ActionMove, claim: Claim, challenger: int) -> Phase:
        ending = len(self.list_living()) == 2 and len(self.hands[challenger]) == 1
        if self.rules.shown_card is ShownCard.MAY_KEEP and not ending:
            return DecidingKeepShown((claim.seat,), pending, claim, challenger)
        return self.fail_challenge(pending, claim, challenger, replaced=True)

    def fail_challenge(self, pending: ActionMove, claim: Claim, challenger: int, replaced: bool) -> Phase:
        """Show the claimed card, replace it if the rules say so, and let the challenger lose a card."""
        if replaced:
            # rules.md#shown-card; only then the challenger loses.
            hand = list(self.hands[claim.seat])
            hand.remove(claim.role)
            self.reshuffle([claim.role])
            self.set_hand(claim.seat, hand_of((*hand, *self.draw_cards(1))))
            self.events.append(Shown(claim.seat, claim.role, self.hands[claim.seat]))
        else:
            self.events.append(Shown(claim.seat, claim.role, None, replaced=False))
        if claim.block:
            return self.take_influence(challenger, pending, LossReason.CHALLENGE, ActionOutcome.BLOCKED)
        return self.take_influence(
            challenger, pending, LossReason.CHALLENGE, AfterLoss.BLOCK, FailedChallenge(challenger, replaced)
        )

    def show_hand(self, pending: ActionMove, claim: Claim, challenger: int) -> Phase:
        """Show all cards and replace them in one shuffle (rules.md#embezzlement)."""
        shown = self.hands[claim.seat]
        self.reshuffle(shown)
        self.set_hand(claim.seat, hand_of(self.draw_cards(len(shown))))
        self.events.append(HandShown(claim.seat, shown, self.hands[claim.seat]))
        return self.take_influence(
            challenger, pending, LossReason.CHALLENGE, AfterLoss.BLOCK, FailedChallenge(challenger, replaced=True)
        )

    def fail_claim(self, pending: ActionMove, claim: Claim) -> Phase:
        self.events.append(_unproven(claim.seat, claim.role, claim.denies))
        if claim.block:
            return self.take_influence(claim.seat, pending, LossReason.CHALLENGE, AfterLoss.RESOLVE)
        cost = row_of(self.rules, pending).cost
        if cost:
            self.pay(self.actor, cost, CoinReason.REFUND)  # rules.md#lost-challenge
        return self.take_influence(claim.seat, pending, LossReason.CHALLENGE, ActionOutcome.FAILED)

    def take_influence(
        self,
        seat: int,
        pending: ActionMove,
        reason: LossReason,
        then: AfterLoss | ActionOutcome,
        past: FailedChallenge = NO_FAILED_CHALLENGE,
    ) -> Phase:
        """Make a seat lose an influence; a seat with two chooses one."""
        hand = self.hands[seat]
        if len(hand) > 1:
            return Losing((seat,), pending, reason, then, past)
        return self.lose(seat, hand[0], pending, reason, then, past)

    def lose(
        self,
        seat: int,
        role: Role,
        pending: ActionMove,
        reason: LossReason,
        then: AfterLoss | ActionOutcome,
        past: FailedChallenge,
    ) -> Phase:
        """Turn up a seat's card, and exile the seat if it was the last one; return what follows.

        then: what the pending action does after the loss. past: the challenge that failed in this turn.
        """
        hand = list(self.hands[seat])
        hand.remove(role)
        self.set_hand(seat, tuple(hand))
        self.turn_up(seat, (role,))
        self.events.append(_lost(seat, role, reason))
        if not hand:
            self.events.append(_exiled(seat))
            if self.rules.dead_target is DeadTarget.NOTHING:
                self.return_coins(seat)
            over = self.find_end()
            if over:
                if isinstance(then, ActionOutcome):
                    self.record_outcome(pending, then)
                return over  # rules.md#end: the pending action has no effect
        return self.continue_after_loss(pending, then, past)

    def continue_after_loss(self, pending: ActionMove, then: AfterLoss | ActionOutcome, past: FailedChallenge) -> Phase:
        if then is AfterLoss.BLOCK:
            return self.open_block_window(pending, past)
        if then is AfterLoss.RESOLVE:
            return self.resolve(pending, past)
        return self.end_action(pending, then)

    def resolve(self, pending: ActionMove, past: FailedChallenge) -> Phase:
        """Carry out the effect of an action; return the next phase, which may be a decision that the effect needs."""
        row = row_of(self.rules, pending)
        target = pending.target
        robbed = row.effect is Effect.STEAL and self.rules.dead_target is DeadTarget.COINS
        if target is not None and not self.hands[target] and not robbed:
            return self.end_action(pending, ActionOutcome.TARGET_GONE)  # the cost stays spent
        match row.effect:
            case Effect.GAIN:
                self.pay(self.actor, row.gain, _REASONS[row.action])
            case Effect.STEAL:
                assert target is not None
                taken = min(row.gain, self.coins[target])
                self.pay(target, -taken, CoinReason.STOLEN)
                self.pay(self.actor, taken, CoinReason.STEAL)
            case Effect.HIT:
                assert target is not None
                return self.take_influence(target, pending, LossReason(row.action.value), ActionOutcome.DONE)
            case Effect.EXCHANGE:
                self.drawn = hand_of(self.draw_cards(min(self.rules.draw, len(self.deck))))
                return Exchanging((self.actor,), pending, past)
            case Effect.EXAMINE:
                assert target is not None
                hand = self.hands[target]
                if len(hand) == 1:
                    return self.examine_card(pending, hand[0])
                if self.rules.examine_pick is ExaminePick.TARGET:
                    return Revealing((target,), pending)
                return self.examine_card(
                    pending, hand[self.chance.number("examine", self.n + len(self.events), len(hand))]
                )
            case Effect.CONVERT:
                turned = self.actor if target is None else target
                sides = list(self.sides)
                sides[turned] = sides[turned].other
                self.sides = tuple(sides)
                self.events.append(Converted(self.actor, turned, sides[turned]))
            case Effect.EMBEZZLE:
                taken, self.reserve = self.reserve, 0
                self.pay(self.actor, taken, CoinReason.EMBEZZLE)
        return self.end_action(pending, ActionOutcome.DONE)

    def examine_card(self, pending: ActionMove, role: Role) -> Phase:
        self.seen = role
        return Examining((self.actor,), pending)

    def return_examined(self, pending: ActionMove, swap: bool) -> Phase:
        """Return the examined card to its owner or, if `swap`, into the deck; its owner then draws another one."""
        role, target = self.seen, pending.target
        assert role is not None
        assert target is not None
        self.seen = None
        cards = None
        if swap:
            hand = list(self.hands[target])
            hand.remove(role)
            if self.rules.examine_replace is ExamineReplace.DRAW_FIRST:
                hand += self.draw_cards(1)  # the one exception to "back first, then draw" (rules.md#examine)
                self.reshuffle([role])
            else:
                self.reshuffle([role])
                hand += self.draw_cards(1)
            cards = hand_of(hand)
            self.set_hand(target, cards)
        self.events.append(CardExamined(self.actor, target, swap, role, cards))
        return self.end_action(pending, ActionOutcome.DONE)

    def keep(self, pending: ActionMove, roles: tuple[Role, ...]) -> Phase:
        """Keep these of the own and the drawn cards, and shuffle the others into the deck. Raises IllegalMoveError."""
        pool = [*self.hands[self.actor], *self.drawn]
        if len(roles) != len(self.hands[self.actor]):
            raise IllegalMoveError(f"keep {len(self.hands[self.actor])} cards, not {len(roles)}")
        for role in roles:
            pool.remove(role)
        count = len(self.drawn)
        self.set_hand(self.actor, hand_of(roles))
        self.drawn = ()
        self.reshuffle(pool)  # always: else others learn that all own cards were kept (rules.md#exchange)
        self.events.append(Exchanged(self.actor, count, self.hands[self.actor]))
        return self.end_action(pending, ActionOutcome.DONE)

    def record_outcome(self, pending: ActionMove, how: ActionOutcome) -> None:
        self.events.append(_resolved(self.actor, pending.action, pending.target, how))

    def end_action(self, pending: ActionMove, how: ActionOutcome) -> Phase:
        """Record how the action ended, and give the turn to the next seat."""
        self.record_outcome(pending, how)
        return self.end_turn()

    def end_turn(self) -> Phase:
        if self.turn >= self.rules.limit(len(self.hands)):
            return Over((), GameEnding.TURN_LIMIT, None, self.list_living())
        self.turn += 1
        self.actor = self.list_others(self.actor)[0]
        return _turn(self.actor)

    # -- seats that leave

    def remove_seats(self, phase: Phase, seats: tuple[int, ...]) -> Phase | None:
        """Remove seats from the game. Return the next phase, None if the present one continues."""
        before = phase.asked if isinstance(phase, Drafting) else self.list_living()
        for seat in seats:
            roles = self.hands[seat]
            self.turn_up(seat, roles)
            self.set_hand(seat, ())
            self.events.append(Forfeited(seat, roles))
            self.return_coins(seat)
        if self.drawn and self.actor in seats:
            drawn, self.drawn = self.drawn, ()
            self.reshuffle(drawn)
        survivors = tuple(seat for seat in before if seat not in seats)
        if not survivors:
            return Over((), GameEnding.ALL_FORFEIT, None, before)
        if len(survivors) == 1:
            self.seen = None
            return Over((), GameEnding.LAST_STANDING, survivors[0], survivors)
        match phase:
            case Turn():
                return self.end_turn()
            case ChoosingSide(asked):
                self.actor = self.list_others(asked[0])[0]  # the next player starts instead, still in turn 1
                return ChoosingSide((self.actor,))
            case Drafting() | Over():
                raise IllegalMoveError(f"a seat can't leave the game in {type(phase).__name__}")
        if self.actor in seats or phase.pending.target in seats:
            self.seen = None  # actions by or against a seat that left are cancelled
            return self.end_action(
                phase.pending, ActionOutcome.ACTOR_GONE if self.actor in seats else ActionOutcome.TARGET_GONE
            )
        match phase:
            case Losing(_, pending, _, then, past):
                return self.continue_after_loss(pending, then, past)
            case Proving(_, pending) | DecidingKeepShown(_, pending):
                return self.resolve(pending, NO_FAILED_CHALLENGE)  # the block of a seat that left is cancelled
        return None

    # -- small parts

    def pay(self, seat: int, delta: int, reason: CoinReason) -> None:
        self.coins = (*self.coins[:seat], self.coins[seat] + delta, *self.coins[seat + 1 :])
        self.events.append(_coins(seat, delta, reason))

    def return_coins(self, seat: int) -> None:
        """Pay a seat's coins to the treasury (rules.md#out)."""
        if self.coins[seat]:
            self.pay(seat, -self.coins[seat], CoinReason.EXILE)

    def set_hand(self, seat: int, cards: tuple[Role, ...]) -> None:
        self.hands = (*self.hands[:seat], cards, *self.hands[seat + 1 :])
        if len(cards) != self.influence[seat]:
            self.influence = tuple(map(len, self.hands))

    def turn_up(self, seat: int, roles: tuple[Role, ...]) -> None:
        self.revealed = (*self.revealed[:seat], self.revealed[seat] + roles, *self.revealed[seat + 1 :])

    def draw_cards(self, count: int) -> tuple[Role, ...]:
        """Take cards from the end of the deck."""
        remaining = len(self.deck) - count
        drawn, self.deck = self.deck[remaining:], self.deck[:remaining]
        return drawn

    def reshuffle(self, back: Sequence[Role]) -> None:
        # Sorted first, so that the order depends only on the cards and the label.
        self.deck = tuple(self.chance.shuffled(sorted([*self.deck, *back]), "reshuffle", self.n + len(self.events)))

    def list_living(self) -> tuple[int, ...]:
        return tuple(seat for seat, hand in enumerate(self.hands) if hand)

    def list_others(self, seat: int) -> tuple[int, ...]:
        """Return the other living seats, clockwise from `seat`."""
        return seats_clockwise(self.influence, seat)

    def find_end(self) -> Over | None:
        living = self.list_living()
        if len(living) > 1:
            return None
        return Over((), GameEnding.LAST_STANDING, living[0], living)


# Phase class -> (classes of its answers, function that applies them).
_Step = tuple[frozenset[type], Callable[[_MutableState, Any, Sequence[Any]], Phase]]
_STEPS: dict[type[Phase], _Step] = {
    ChallengeWindow: (frozenset((Pass, Challenge)), _MutableState.close_challenge_window),
    BlockWindow: (frozenset((Pass, Block)), _MutableState.close_block_window),
    Turn: (frozenset((ActionMove,)), lambda table, _, answers: table.declare_action(answers[0])),
    Proving: (frozenset((Show, ShowHand, Decline)), lambda table, phase, answers: table.prove(phase, answers[0])),
    Losing: (
        frozenset((Lose,)),
        lambda table, phase, answers: table.lose(
            phase.asked[0], answers[0].role, phase.pending, phase.reason, phase.after_loss, phase.failed_challenge
        ),
    ),
    Exchanging: (frozenset((Keep,)), lambda table, phase, answers: table.keep(phase.pending, answers[0].roles)),
    DecidingKeepShown: (
        frozenset((KeepShown,)),
        lambda table, phase, answers: table.fail_challenge(
            phase.pending, phase.claim, phase.challenger, replaced=not answers[0].shown
        ),
    ),
    Revealing: (frozenset((Reveal,)), lambda table, phase, answers: table.examine_card(phase.pending, answers[0].role)),
    Examining: (
        frozenset((ExamineDecision,)),
        lambda table, phase, answers: table.return_examined(phase.pending, answers[0].swap),
    ),
    ChoosingSide: (
        frozenset((Side,)),
        lambda table, phase, answers: table.choose_side(phase.asked[0], answers[0].allegiance),
    ),
    Drafting: (frozenset((Pick,)), lambda table, _, answers: table.draft(answers)),
}
_NO_STEP: _Step = (frozenset(), lambda _, phase, __: phase)
