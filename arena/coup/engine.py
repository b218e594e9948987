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

from arena.coup.deal import alternate_sides, first_turn_phase
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
from arena.coup.keyed_rng import KeyedRng
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
from arena.coup.rules import (
    Action,
    ActionRule,
    Allegiance,
    BlockAfterChallenge,
    BlockChallengers,
    Blockers,
    DeadTarget,
    Effect,
    ExaminePick,
    ExamineReplace,
    Proof,
    Role,
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


def _cache_constructor(kind: Callable[P, T]) -> Callable[P, T]:
    """Return a cached constructor of a class with few different values."""
    return cache(kind)  # type: ignore[return-value]  # which forgets the types of the arguments


_new_action_declared = _cache_constructor(ActionDeclared)
_new_blocked = _cache_constructor(Blocked)
_new_challenged = _cache_constructor(Challenged)
_new_unproven = _cache_constructor(Unproven)
_new_coins = _cache_constructor(Coins)
_new_exiled = _cache_constructor(Exiled)
_new_lost = _cache_constructor(Lost)
_new_resolved = _cache_constructor(Resolved)
_new_claim = _cache_constructor(Claim)


@cache
def _new_turn(seat: int) -> Turn:
    return Turn((seat,))


_new_tuple = tuple.__new__  # faster than the constructor of a named tuple


class IllegalMoveError(Exception):
    """The answers aren't one legal move for every asked seat: an error of the caller."""


def apply_moves(state: State, answers: Sequence[MoveOrForfeit], chance: KeyedRng) -> tuple[State, tuple[Event, ...]]:
    """Return the next state and the new events, given one answer for each seat of `state.board.phase.asked`, in order.

    Answers must be legal for their seats, which isn't checked completely. FORFEIT means that a seat leaves. Forfeits
    are applied first; the other answers count, and are checked, if the phase continues. Raises IllegalMoveError if the
    number of answers isn't that of the asked seats, an answer's class doesn't fit, or too many or few cards are kept.
    """
    phase = state.board.phase
    if len(answers) != len(phase.asked) or not answers:
        raise IllegalMoveError(f"{len(phase.asked)} seats are asked, {len(answers)} answers came")
    game = _MutableState(state, chance)
    if Forfeit in map(type, answers):
        leaving_seats = tuple(seat for seat, move in zip(phase.asked, answers, strict=True) if type(move) is Forfeit)
        next_phase = game.remove_seats(phase, leaving_seats)
        if next_phase is not None:
            return game.freeze(next_phase)
        answers = [PASS if type(move) is Forfeit else move for move in answers]
    return game.freeze(game.step(phase, answers))


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
        "events_before",
        "hands",
        "influence",
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
        self.events_before = state.events  # number of the game's events before this step
        self.events: list[Event] = []  # of this step
        self.chance = chance

    def freeze(self, phase: Phase) -> tuple[State, tuple[Event, ...]]:
        """Return the state in this phase as a value, and the events of the step."""
        board: Board = _new_tuple(
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
        event_count = self.events_before + len(events)
        fields = (board, self.hands, self.deck, self.drawn, event_count, self.discards, self.seen)
        return _new_tuple(State, fields), events

    # -- one method for each phase

    def step(self, phase: Phase, answers: Sequence[Any]) -> Phase:
        """Apply the answers to a phase; return the next one. Raises IllegalMoveError if a class doesn't fit."""
        answer_classes, apply_answers = _STEPS.get(type(phase), _NO_STEP)
        if not answer_classes.issuperset(map(type, answers)):
            raise IllegalMoveError(f"{answers} are no answers to {type(phase).__name__}")
        return apply_answers(self, phase, answers)

    def close_challenge_window(self, phase: ChallengeWindow, answers: Sequence[Pass | Challenge]) -> Phase:
        """Let the first challenge count; unchallenged, a block stands and an action may be blocked."""
        pending, claim = phase.pending, phase.claim
        for seat, answer in zip(phase.asked, answers, strict=True):
            if isinstance(answer, Challenge):
                self.events.append(_new_challenged(seat, claim.seat, claim.role, claim.denies))
                return self.answer_challenge(pending, claim, seat)
        if claim.block:
            return self.end_action(pending, ActionOutcome.BLOCKED)
        return self.open_block_window(pending, NO_FAILED_CHALLENGE)

    def close_block_window(self, phase: BlockWindow, answers: Sequence[Pass | Block]) -> Phase:
        """Let the first block count, which may be challenged; an action without a block takes effect."""
        pending = phase.pending
        for seat, answer in zip(phase.asked, answers, strict=True):
            if isinstance(answer, Block):
                self.events.append(_new_blocked(seat, answer.role))
                return self.open_challenge_window(pending, _new_claim(seat, answer.role, True))
        return self.resolve(pending, NO_FAILED_CHALLENGE)

    def prove(self, phase: Proving, answer: Show | ShowHand | Decline) -> Phase:
        """Apply the answer of a challenged seat. Raises IllegalMoveError for a proof of the other kind of claim."""
        if isinstance(answer, Decline):
            return self.fail_claim(phase.pending, phase.claim)
        if isinstance(answer, ShowHand) is not phase.claim.denies:
            raise IllegalMoveError(f"{answer} proves no such claim")
        return self.show_proof(phase.pending, phase.claim, phase.challenger)

    def choose_side(self, starter: int, allegiance: Allegiance) -> Phase:
        self.sides = alternate_sides(allegiance, starter, len(self.hands))
        self.events.append(Sided(starter, self.sides))
        return Turn((starter,))

    def draft(self, picks: Sequence[Pick]) -> Phase:
        """Give each seat the card that it picked and one from the deck; keep its discards. picks: by seat."""
        discards = []
        for seat, pick in enumerate(picks):
            self.set_hand(seat, hand_of((pick.role, *self.draw_cards(1))))
            discards.append(tuple(role for role in self.rules.roles if role is not pick.role))
            self.events.append(Drafted(seat, self.hands[seat]))
        self.discards = tuple(discards)
        return first_turn_phase(self.rules, self.actor, self.sides)

    def declare_action(self, move: ActionMove) -> Phase:
        """Record the actor's action and take its cost; open the window for challenges or, without a claim, blocks."""
        row = row_of(self.rules, move)
        self.events.append(_new_action_declared(self.actor, move.action, move.target, row.claim, row.denies))
        if row.cost:
            self.pay(self.actor, -row.cost, move.action)
            if row.effect is Effect.CONVERT:
                self.reserve += row.cost  # rules.md#conversion
        if row.claim is not None:
            return self.open_challenge_window(move, _new_claim(self.actor, row.claim, False, row.denies))
        return self.open_block_window(move, NO_FAILED_CHALLENGE)

    def open_challenge_window(self, pending: ActionMove, claim: Claim) -> Phase:
        if claim.block and self.rules.block_challenged_by is BlockChallengers.ACTOR:
            return ChallengeWindow((self.actor,), pending, claim)
        return ChallengeWindow(self.list_others(claim.seat), pending, claim)

    def open_block_window(self, pending: ActionMove, failed_challenge: FailedChallenge) -> Phase:
        """Open the block window, or resolve an action that no seat can block."""
        row = row_of(self.rules, pending)
        if row.blocked_by is Blockers.NOBODY:
            return self.resolve(pending, failed_challenge)
        was_challenged = failed_challenge.challenger is not None
        late_blocks = self.rules.block_after_failed_challenge
        if was_challenged and late_blocks is BlockAfterChallenge.NEVER:
            return self.resolve(pending, failed_challenge)
        blockers = self.list_blockers(row, pending.target)
        if late_blocks is BlockAfterChallenge.NOT_CHALLENGER:
            blockers = tuple(seat for seat in blockers if seat != failed_challenge.challenger)
        return BlockWindow(blockers, pending, was_challenged) if blockers else self.resolve(pending, failed_challenge)

    def list_blockers(self, row: ActionRule, target: int | None) -> tuple[int, ...]:
        """Return the seats that may block an action, in order of priority; none if its target is exiled."""
        if target is None:
            opponents = self.list_others(self.actor)
            return enemies(self.sides, self.actor, opponents) if self.sides else opponents
        if not self.hands[target]:
            return ()
        if row.blocked_by is not Blockers.ANYONE:
            return (target,)
        # The target first: a neighbour's bluff must not pre-empt the target's real card.
        return (target, *(seat for seat in self.list_others(self.actor) if seat != target))

    def answer_challenge(self, pending: ActionMove, claim: Claim, challenger: int) -> Phase:
        """Ask the challenged seat for its proof, or let the cards decide if proofs are automatic."""
        if self.rules.prove is Proof.CHOOSE:
            return Proving((claim.seat,), pending, claim, challenger)
        if (claim.role in self.hands[claim.seat]) is claim.denies:
            return self.fail_claim(pending, claim)
        return self.show_proof(pending, claim, challenger)

    def show_proof(self, pending: ActionMove, claim: Claim, challenger: int) -> Phase:
        """Show the hand for a claim to lack a role, else the claimed card, which its seat may be asked to keep."""
        if claim.denies:
            return self.show_hand(pending, claim, challenger)
        loss_ends_game = len(self.list_living()) == 2 and len(self.hands[challenger]) == 1
        if self.rules.shown_card is ShownCard.MAY_KEEP and not loss_ends_game:
            return DecidingKeepShown((claim.seat,), pending, claim, challenger)
        return self.fail_challenge(pending, claim, challenger, replaced=True)

    def fail_challenge(self, pending: ActionMove, claim: Claim, challenger: int, replaced: bool) -> Phase:
        """Show the claimed card, replace it if `replaced`, and then let the challenger lose a card."""
        if replaced:  # rules.md#shown-card
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
        """Let the claimant lose a card. An unproven block doesn't stop its action; an unproven action is refunded."""
        self.events.append(_new_unproven(claim.seat, claim.role, claim.denies))
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
        after_loss: AfterLoss | ActionOutcome,
        failed_challenge: FailedChallenge = NO_FAILED_CHALLENGE,
    ) -> Phase:
        """Make a seat lose an influence; a seat with two chooses one. The parameters are those of `lose`."""
        hand = self.hands[seat]
        if len(hand) > 1:
            return Losing((seat,), pending, reason, after_loss, failed_challenge)
        return self.lose(seat, hand[0], pending, reason, after_loss, failed_challenge)

    def lose(
        self,
        seat: int,
        role: Role,
        pending: ActionMove,
        reason: LossReason,
        after_loss: AfterLoss | ActionOutcome,
        failed_challenge: FailedChallenge,
    ) -> Phase:
        """Turn up a seat's card, and exile the seat if it was the last one; return what follows.

        after_loss: the action's next step, or its outcome if it ends. failed_challenge: of the action, in this turn.
        """
        hand = list(self.hands[seat])
        hand.remove(role)
        self.set_hand(seat, tuple(hand))
        self.turn_up(seat, (role,))
        self.events.append(_new_lost(seat, role, reason))
        if not hand:
            self.events.append(_new_exiled(seat))
            if self.rules.dead_target is DeadTarget.NOTHING:
                self.return_coins(seat)
            game_over = self.find_end()
            if game_over:
                if isinstance(after_loss, ActionOutcome):
                    self.events.append(_new_resolved(self.actor, pending.action, pending.target, after_loss))
                return game_over  # rules.md#end: the pending action has no effect
        return self.continue_after_loss(pending, after_loss, failed_challenge)

    def continue_after_loss(
        self, pending: ActionMove, after_loss: AfterLoss | ActionOutcome, failed_challenge: FailedChallenge
    ) -> Phase:
        if after_loss is AfterLoss.BLOCK:
            return self.open_block_window(pending, failed_challenge)
        if after_loss is AfterLoss.RESOLVE:
            return self.resolve(pending, failed_challenge)
        return self.end_action(pending, after_loss)

    def resolve(self, pending: ActionMove, failed_challenge: FailedChallenge) -> Phase:
        """Carry out an action's effect, unless its target is out; return the next phase."""
        row = row_of(self.rules, pending)
        target = pending.target
        robs_exiled = row.effect is Effect.STEAL and self.rules.dead_target is DeadTarget.COINS
        if target is not None and not self.hands[target] and not robs_exiled:
            return self.end_action(pending, ActionOutcome.TARGET_GONE)  # the cost stays spent
        match row.effect:
            case Effect.GAIN:
                self.pay(self.actor, row.gain, row.action)
            case Effect.STEAL:
                assert target is not None
                self.steal(target, row.gain)
            case Effect.HIT:
                assert target is not None
                return self.take_influence(target, pending, LossReason(row.action.value), ActionOutcome.DONE)
            case Effect.EXCHANGE:
                self.drawn = hand_of(self.draw_cards(min(self.rules.draw, len(self.deck))))
                return Exchanging((self.actor,), pending, failed_challenge)
            case Effect.EXAMINE:
                assert target is not None
                return self.pick_examined(pending, target)
            case Effect.CONVERT:
                self.convert(self.actor if target is None else target)
            case Effect.EMBEZZLE:
                self.pay(self.actor, self.reserve, Action.EMBEZZLE)
                self.reserve = 0
        return self.end_action(pending, ActionOutcome.DONE)

    def steal(self, target: int, max_coins: int) -> None:
        stolen = min(max_coins, self.coins[target])
        self.pay(target, -stolen, CoinReason.STOLEN)
        self.pay(self.actor, stolen, Action.STEAL)

    def convert(self, seat: int) -> None:
        """Move a seat to the other side."""
        side = self.sides[seat].other
        self.sides = (*self.sides[:seat], side, *self.sides[seat + 1 :])
        self.events.append(Converted(self.actor, seat, side))

    def pick_examined(self, pending: ActionMove, target: int) -> Phase:
        """Examine the target's only card or a random one, or ask the target for one, as the rules say."""
        hand = self.hands[target]
        if len(hand) == 1:
            return self.examine_card(pending, hand[0])
        if self.rules.examine_pick is ExaminePick.TARGET:
            return Revealing((target,), pending)
        index = self.chance.number("examine", self.events_before + len(self.events), len(hand))
        return self.examine_card(pending, hand[index])

    def examine_card(self, pending: ActionMove, role: Role) -> Phase:
        self.seen = role
        return Examining((self.actor,), pending)

    def return_examined(self, pending: ActionMove, swap: bool) -> Phase:
        """Return the examined card to its owner or, if `swap`, into the deck; its owner then draws another one."""
        role, target = self.seen, pending.target
        assert role is not None
        assert target is not None
        self.seen = None
        if swap:
            self.replace_examined(target, role)
        self.events.append(CardExamined(self.actor, target, swap, role, self.hands[target] if swap else None))
        return self.end_action(pending, ActionOutcome.DONE)

    def replace_examined(self, seat: int, role: Role) -> None:
        """Shuffle an examined card into the deck, and draw another one for its owner."""
        hand = list(self.hands[seat])
        hand.remove(role)
        if self.rules.examine_replace is ExamineReplace.DRAW_FIRST:
            hand += self.draw_cards(1)  # the one exception to "back first, then draw" (rules.md#examine)
            self.reshuffle([role])
        else:
            self.reshuffle([role])
            hand += self.draw_cards(1)
        self.set_hand(seat, hand_of(hand))

    def keep(self, pending: ActionMove, roles: tuple[Role, ...]) -> Phase:
        """Keep these of the own and the drawn cards, and shuffle the others into the deck.

        Raises IllegalMoveError if their number isn't that of the own cards.
        """
        hand, drawn = self.hands[self.actor], self.drawn
        if len(roles) != len(hand):
            raise IllegalMoveError(f"keep {len(hand)} cards, not {len(roles)}")
        returned = [*hand, *drawn]
        for role in roles:
            returned.remove(role)
        self.set_hand(self.actor, hand_of(roles))
        self.drawn = ()
        self.reshuffle(returned)  # always: else others learn that all own cards were kept (rules.md#exchange)
        self.events.append(Exchanged(self.actor, len(drawn), self.hands[self.actor]))
        return self.end_action(pending, ActionOutcome.DONE)

    def end_action(self, pending: ActionMove, outcome: ActionOutcome) -> Phase:
        """Record how the action ended, and give the turn to the next seat."""
        self.events.append(_new_resolved(self.actor, pending.action, pending.target, outcome))
        return self.end_turn()

    def end_turn(self) -> Phase:
        if self.turn >= self.rules.limit(len(self.hands)):
            return Over((), GameEnding.TURN_LIMIT, None, self.list_living())
        self.turn += 1
        self.actor = self.list_others(self.actor)[0]
        return _new_turn(self.actor)

    # -- seats that leave

    def remove_seats(self, phase: Phase, seats: tuple[int, ...]) -> Phase | None:
        """Remove seats from the game. Return the next phase, None if the present one continues."""
        seats_in_game = phase.asked if isinstance(phase, Drafting) else self.list_living()
        for seat in seats:
            self.remove_seat(seat)
        if self.drawn and self.actor in seats:
            drawn, self.drawn = self.drawn, ()
            self.reshuffle(drawn)
        survivors = tuple(seat for seat in seats_in_game if seat not in seats)
        if not survivors:
            return Over((), GameEnding.ALL_FORFEIT, None, seats_in_game)
        if len(survivors) == 1:
            self.seen = None
            return Over((), GameEnding.LAST_STANDING, survivors[0], survivors)
        return self.continue_without(phase, seats)

    def remove_seat(self, seat: int) -> None:
        """Turn up the cards of a seat that leaves, and return its coins."""
        roles = self.hands[seat]
        self.turn_up(seat, roles)
        self.set_hand(seat, ())
        self.events.append(Forfeited(seat, roles))
        self.return_coins(seat)

    def continue_without(self, phase: Phase, seats: tuple[int, ...]) -> Phase | None:
        """Cancel what the removed seats were about to do, and what was aimed at them; return as `remove_seats`."""
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
            outcome = ActionOutcome.ACTOR_GONE if self.actor in seats else ActionOutcome.TARGET_GONE
            return self.end_action(phase.pending, outcome)
        match phase:
            case Losing(_, pending, _, after_loss, failed_challenge):
                return self.continue_after_loss(pending, after_loss, failed_challenge)
            case Proving(_, pending) | DecidingKeepShown(_, pending):
                return self.resolve(pending, NO_FAILED_CHALLENGE)  # the block of a seat that left is cancelled
        return None

    # -- small parts

    def pay(self, seat: int, delta: int, reason: Action | CoinReason) -> None:
        self.coins = (*self.coins[:seat], self.coins[seat] + delta, *self.coins[seat + 1 :])
        self.events.append(_new_coins(seat, delta, reason))

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
        cards_left = len(self.deck) - count
        drawn, self.deck = self.deck[cards_left:], self.deck[:cards_left]
        return drawn

    def reshuffle(self, returned: Sequence[Role]) -> None:
        """Shuffle cards into the deck. Sorted first, so that the order depends only on the cards and the label."""
        self.deck = tuple(
            self.chance.shuffled(sorted([*self.deck, *returned]), "reshuffle", self.events_before + len(self.events))
        )

    def list_living(self) -> tuple[int, ...]:
        return tuple(seat for seat, hand in enumerate(self.hands) if hand)

    def list_others(self, seat: int) -> tuple[int, ...]:
        """Return the other living seats, clockwise from `seat`."""
        return seats_clockwise(self.influence, seat)

    def find_end(self) -> Over | None:
        """Return the end of the game if one seat is left, else None."""
        living = self.list_living()
        if len(living) > 1:
            return None
        return Over((), GameEnding.LAST_STANDING, living[0], living)


# Phase class -> (classes of its answers, function that applies them).
_Step = tuple[frozenset[type], Callable[[_MutableState, Any, Sequence[Any]], Phase]]
_STEPS: dict[type[Phase], _Step] = {
    ChallengeWindow: (frozenset((Pass, Challenge)), _MutableState.close_challenge_window),
    BlockWindow: (frozenset((Pass, Block)), _MutableState.close_block_window),
    Turn: (frozenset((ActionMove,)), lambda game, _, answers: game.declare_action(answers[0])),
    Proving: (frozenset((Show, ShowHand, Decline)), lambda game, phase, answers: game.prove(phase, answers[0])),
    Losing: (
        frozenset((Lose,)),
        lambda game, phase, answers: game.lose(
            phase.asked[0], answers[0].role, phase.pending, phase.reason, phase.after_loss, phase.failed_challenge
        ),
    ),
    Exchanging: (frozenset((Keep,)), lambda game, phase, answers: game.keep(phase.pending, answers[0].roles)),
    DecidingKeepShown: (
        frozenset((KeepShown,)),
        lambda game, phase, answers: game.fail_challenge(
            phase.pending, phase.claim, phase.challenger, replaced=not answers[0].shown
        ),
    ),
    Revealing: (frozenset((Reveal,)), lambda game, phase, answers: game.examine_card(phase.pending, answers[0].role)),
    Examining: (
        frozenset((ExamineDecision,)),
        lambda game, phase, answers: game.return_examined(phase.pending, answers[0].swap),
    ),
    ChoosingSide: (
        frozenset((Side,)),
        lambda game, phase, answers: game.choose_side(phase.asked[0], answers[0].allegiance),
    ),
    Drafting: (frozenset((Pick,)), lambda game, _, answers: game.draft(answers)),
}
_NO_STEP: _Step = (frozenset(), lambda _, phase, __: phase)
