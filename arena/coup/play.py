"""How a game of Coup is played: who is asked, what is legal, and what their answers do.

A turn runs through phases (rulebook 000:72-177):

    Turn -> [ChallengeWindow -> Proving -> Losing] -> [BlockWindow -> [ChallengeWindow -> Proving -> Losing]]
         -> effect -> [Losing | Exchanging] -> the next Turn, or Over

Each phase names the seats it asks, all at once. `legal` takes a seat's View, never the game, so that a list of moves
can't tell anything hidden. `apply` takes one answer from every asked seat and returns the next state with the events
that led to it. In a window the first asked seat that doesn't pass decides; nothing of the others is kept.

Seats are skipped only where public facts leave no choice: the loss of a last card. Clock, pipes and logs are elsewhere.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from arena.coup.chance import Chance
from arena.coup.events import (
    Acted,
    Blocked,
    Challenged,
    CoinReason,
    Coins,
    Event,
    Exchanged,
    Exiled,
    Forfeited,
    LossReason,
    Lost,
    Shown,
    Unproven,
)
from arena.coup.moves import (
    CHALLENGE,
    DECLINE,
    PASS,
    Act,
    Answer,
    Block,
    Challenge,
    Decline,
    Forfeit,
    Keep,
    Lose,
    Move,
    Pass,
    Show,
)
from arena.coup.rules import Action, ActionRule, Blockers, Effect, Role, Ruleset
from arena.coup.state import (
    BlockWindow,
    Board,
    ChallengeWindow,
    Claim,
    Ending,
    Exchanging,
    Losing,
    Over,
    Phase,
    Proving,
    State,
    Then,
    Turn,
)
from arena.coup.view import View


class IllegalMoveError(Exception):
    """An answer that isn't in the seat's legal moves, or not one answer for every asked seat: the caller's error."""


def deal(rules: Ruleset, seats: int, chance: Chance) -> State:
    """Return the start of a game. Raises ValueError if the ruleset can't be played by so many."""
    if not rules.min_seats <= seats <= rules.max_seats:
        raise ValueError(f"{rules.name} is for {rules.min_seats} to {rules.max_seats} seats, not {seats}")
    cards = chance.shuffled(sorted(rules.roles) * rules.copies(seats), "deal", 0)
    hands = tuple(_sorted(cards.pop() for _ in range(rules.hand)) for _ in range(seats))
    coins = [rules.start_coins] * seats
    if seats == 2:
        coins[0] = rules.two_player_starter_coins
    board = Board(
        rules=rules,
        turn=1,
        actor=0,
        deck=len(cards),
        coins=tuple(coins),
        influence=(rules.hand,) * seats,
        revealed=((),) * seats,
        phase=Turn((0,)),
    )
    return State(board, hands, tuple(cards), (), 0)


# ---------------------------------------------------------------- what is legal


def legal(view: View) -> tuple[Move, ...]:
    """Return all moves of a seat that is asked now, in a fixed order; never empty. For other seats: undefined."""
    phase = view.board.phase
    match phase:
        case ChallengeWindow():
            return _CHALLENGE_MOVES
        case Turn():
            return _turn_moves(view)
        case BlockWindow(_, pending):
            return _block_moves(view.board.rules, pending.action)
        case Proving(_, _, claim):
            return (Show(claim.role), DECLINE) if claim.role in view.cards else _DECLINE_MOVES
        case Losing():
            return _lose_moves(view.cards)
        case Exchanging():
            return _keep_moves(_sorted(view.cards + view.drawn), len(view.cards))
        case Over():
            return ()


_CHALLENGE_MOVES: tuple[Move, ...] = (PASS, CHALLENGE)
_DECLINE_MOVES: tuple[Move, ...] = (DECLINE,)


def _turn_moves(view: View) -> tuple[Move, ...]:
    board = view.board
    return _actions(board.rules, min(board.coins[view.seat], board.rules.forced_coup), _others(board, view.seat))


@lru_cache(maxsize=50_000)  # seats x sets of living seats x coins; ten seats have 10 * 2^9 * 11 of them
def _actions(rules: Ruleset, coins: int, targets: tuple[int, ...]) -> tuple[Move, ...]:
    moves: list[Move] = []
    for row in rules.actions:
        if row.cost <= coins and (coins < rules.forced_coup or row.action is Action.COUP):
            moves += [Act(row.action, t) for t in sorted(targets)] if row.targeted else [Act(row.action)]
    return tuple(moves)


@lru_cache(maxsize=1000)
def _block_moves(rules: Ruleset, action: Action) -> tuple[Move, ...]:
    return (PASS, *(Block(role) for role in rules.rule(action).block_roles))


@lru_cache(maxsize=1000)
def _lose_moves(cards: tuple[Role, ...]) -> tuple[Move, ...]:
    return tuple(Lose(role) for role in sorted(set(cards)))


@lru_cache(maxsize=10_000)
def _keep_moves(cards: tuple[Role, ...], count: int) -> tuple[Move, ...]:
    return tuple(Keep(kept) for kept in sorted(set(combinations(cards, count))))


def default(view: View, pick: Callable[[int], int]) -> Move:
    """Return the move that is played for a seat that gave none: `pick(n)` draws from 0..n-1 where chance decides."""
    phase = view.board.phase
    moves = legal(view)
    match phase:
        case Turn():
            if moves[0] == Act(Action.INCOME):
                return moves[0]
            target = _others(view.board, view.seat)[0]  # forced to coup: the next living seat clockwise
            return next(m for m in moves if isinstance(m, Act) and m.target == target)
        case Losing():
            return Lose(view.cards[pick(len(view.cards))])
        case Exchanging():
            return Keep(view.cards)
        case _:
            return moves[0]  # pass; show the card if held, else decline


# ---------------------------------------------------------------- what the answers do


def apply(state: State, answers: Sequence[Answer], chance: Chance) -> tuple[State, tuple[Event, ...]]:
    """Return the next state and what happened, given one answer for each seat of `state.board.phase.asked`, in order.

    Answers must be legal for their seats (checked here only for their kind: the referee has checked them against
    `legal`). FORFEIT stands for a seat that leaves: forfeits come first, then what the others answered counts if the
    question still stands. Raises IllegalMoveError.
    """
    phase = state.board.phase
    if len(answers) != len(phase.asked) or not answers:
        raise IllegalMoveError(f"{len(phase.asked)} seats are asked, {len(answers)} answers came")
    table = _Table(state, chance)
    leaving = tuple(seat for seat, a in zip(phase.asked, answers, strict=True) if isinstance(a, Forfeit))
    if leaving:
        after = table.forfeit(phase, leaving)
        if after is not None:
            return table.freeze(after)
        answers = [PASS if isinstance(a, Forfeit) else a for a in answers]
    return table.freeze(table.step(phase, answers))


class _Table:
    """A state thawed for one step: changed in place, then frozen again. Never leaves this module."""

    __slots__ = ("actor", "chance", "coins", "deck", "drawn", "events", "hands", "n", "revealed", "rules", "turn")

    def __init__(self, state: State, chance: Chance) -> None:
        board = state.board
        self.rules = board.rules
        self.turn = board.turn
        self.actor = board.actor
        self.coins = list(board.coins)
        self.revealed = list(board.revealed)
        self.hands = list(state.hands)
        self.deck = list(state.deck)
        self.drawn = state.drawn
        self.n = state.events
        self.events: list[Event] = []
        self.chance = chance

    def freeze(self, phase: Phase) -> tuple[State, tuple[Event, ...]]:
        hands = tuple(self.hands)
        board = Board(
            self.rules,
            self.turn,
            self.actor,
            len(self.deck),
            tuple(self.coins),
            tuple(map(len, hands)),
            tuple(self.revealed),
            phase,
        )
        events = tuple(self.events)
        return State(board, hands, tuple(self.deck), self.drawn, self.n + len(events)), events

    # -- one phase each

    def step(self, phase: Phase, answers: Sequence[Answer]) -> Phase:
        match phase:
            case ChallengeWindow(asked, pending, claim) if all(isinstance(a, Pass | Challenge) for a in answers):
                for seat, answer in zip(asked, answers, strict=True):
                    if isinstance(answer, Challenge):
                        self.events.append(Challenged(seat, claim.seat, claim.role))
                        return Proving((claim.seat,), pending, claim, seat)
                # Unchallenged: an action goes on to its blocks, a block stands.
                return self.end_turn() if claim.block else self.blocks(pending)
            case BlockWindow(asked, pending) if all(isinstance(a, Pass | Block) for a in answers):
                for seat, answer in zip(asked, answers, strict=True):
                    if isinstance(answer, Block):
                        self.events.append(Blocked(seat, answer.role))
                        return self.challenges(pending, Claim(seat, answer.role, block=True))
                return self.resolve(pending)
            case Turn() if isinstance(answers[0], Act):
                return self.act(answers[0])
            case Proving(_, pending, claim, challenger) if isinstance(answers[0], Show | Decline):
                if isinstance(answers[0], Show):
                    return self.proven(pending, claim, challenger)
                return self.unproven(pending, claim)
            case Losing(asked, pending, reason, then) if isinstance(answers[0], Lose):
                return self.lose(asked[0], answers[0].role, pending, reason, then)
            case Exchanging() if isinstance(answers[0], Keep):
                return self.keep(answers[0].roles)
        raise IllegalMoveError(f"{answers} are no answers to {type(phase).__name__}")

    def act(self, move: Act) -> Phase:
        row = self.rules.rule(move.action)
        self.events.append(Acted(self.actor, move.action, move.target, row.claim))
        if row.cost:
            self.pay(self.actor, -row.cost, CoinReason(move.action.value))
        if row.claim is not None:
            return self.challenges(move, Claim(self.actor, row.claim, block=False))
        return self.blocks(move)

    def challenges(self, pending: Act, claim: Claim) -> Phase:
        return ChallengeWindow(self.clockwise(claim.seat), pending, claim)

    def blocks(self, pending: Act) -> Phase:
        """Open the block window, or resolve an action that has none."""
        row = self.rules.rule(pending.action)
        if row.blocked_by is Blockers.NOBODY:
            return self.resolve(pending)
        if pending.target is None:
            return BlockWindow(self.clockwise(self.actor), pending)
        return BlockWindow((pending.target,), pending) if self.hands[pending.target] else self.end_turn()

    def proven(self, pending: Act, claim: Claim, challenger: int) -> Phase:
        # The card goes back, the deck is shuffled, another is drawn (000:163); only then the challenger loses.
        hand = list(self.hands[claim.seat])
        hand.remove(claim.role)
        self.reshuffle([claim.role])
        hand.append(self.deck.pop())
        self.hands[claim.seat] = _sorted(hand)
        self.events.append(Shown(claim.seat, claim.role, self.hands[claim.seat]))
        then = Then.END if claim.block else Then.BLOCK
        return self.hit(challenger, pending, LossReason.CHALLENGE, then)

    def unproven(self, pending: Act, claim: Claim) -> Phase:
        self.events.append(Unproven(claim.seat, claim.role))
        if claim.block:
            return self.hit(claim.seat, pending, LossReason.CHALLENGE, Then.RESOLVE)
        cost = self.rules.rule(pending.action).cost
        if cost:
            self.pay(self.actor, cost, CoinReason.REFUND)  # 000:167
        return self.hit(claim.seat, pending, LossReason.CHALLENGE, Then.END)

    def hit(self, seat: int, pending: Act, reason: LossReason, then: Then) -> Phase:
        """Make a seat lose an influence: it is asked which, unless it has only one."""
        hand = self.hands[seat]
        if len(hand) > 1:
            return Losing((seat,), pending, reason, then)
        return self.lose(seat, hand[0], pending, reason, then)

    def lose(self, seat: int, role: Role, pending: Act, reason: LossReason, then: Then) -> Phase:
        hand = list(self.hands[seat])
        hand.remove(role)
        self.hands[seat] = tuple(hand)
        self.revealed[seat] = (*self.revealed[seat], role)
        self.events.append(Lost(seat, role, reason))
        if not hand:
            self.events.append(Exiled(seat))
            self.clear(seat)
            over = self.over()
            if over:
                return over  # 000:80: nothing more resolves
        return self.then(pending, then)

    def then(self, pending: Act, then: Then) -> Phase:
        if then is Then.END:
            return self.end_turn()
        if then is Then.BLOCK:
            return self.blocks(pending)
        return self.resolve(pending)

    def resolve(self, pending: Act) -> Phase:
        row: ActionRule = self.rules.rule(pending.action)
        target = pending.target
        if target is not None and not self.hands[target]:
            return self.end_turn()  # the target is gone: the cost stays spent, there is nothing to take
        match row.effect:
            case Effect.GAIN:
                self.pay(self.actor, row.gain, CoinReason(row.action.value))
            case Effect.STEAL:
                assert target is not None
                taken = min(row.gain, self.coins[target])
                self.pay(target, -taken, CoinReason.STOLEN)
                self.pay(self.actor, taken, CoinReason.STEAL)
            case Effect.HIT:
                assert target is not None
                return self.hit(target, pending, LossReason(row.action.value), Then.END)
            case Effect.EXCHANGE:
                self.drawn = _sorted(self.deck.pop() for _ in range(min(self.rules.exchange_draw, len(self.deck))))
                return Exchanging((self.actor,), pending)
        return self.end_turn()

    def keep(self, roles: tuple[Role, ...]) -> Phase:
        pool = [*self.hands[self.actor], *self.drawn]
        if len(roles) != len(self.hands[self.actor]):
            raise IllegalMoveError(f"keep {len(self.hands[self.actor])} cards, not {len(roles)}")
        for role in roles:
            pool.remove(role)
        count = len(self.drawn)
        self.hands[self.actor] = _sorted(roles)
        self.drawn = ()
        self.reshuffle(pool)  # always, also where all own cards were kept: nobody may tell (000:122)
        self.events.append(Exchanged(self.actor, count, self.hands[self.actor]))
        return self.end_turn()

    def end_turn(self) -> Phase:
        if self.turn >= self.rules.turn_limit(len(self.hands)):
            return Over((), Ending.TURN_LIMIT, None, self.living())
        self.turn += 1
        self.actor = self.clockwise(self.actor)[0]
        return Turn((self.actor,))

    # -- seats that leave

    def forfeit(self, phase: Phase, seats: tuple[int, ...]) -> Phase | None:
        """Take the seats out of the game. Returns the phase that follows, None where the question still stands."""
        before = self.living()
        for seat in seats:
            roles = self.hands[seat]
            self.revealed[seat] = (*self.revealed[seat], *roles)
            self.hands[seat] = ()
            self.events.append(Forfeited(seat, roles))
            self.clear(seat)
        if self.drawn and self.actor in seats:
            drawn, self.drawn = self.drawn, ()
            self.reshuffle(drawn)
        if len(seats) == len(before):
            return Over((), Ending.ALL_FORFEIT, None, before)
        over = self.over()
        if over:
            return over
        match phase:
            case Turn():
                return self.end_turn()
            case Exchanging():
                return self.end_turn()
            case Over():
                raise IllegalMoveError("the game is over")
        if self.actor in seats or phase.pending.target in seats:
            return self.end_turn()  # its own action is cancelled; an action aimed at it ends
        match phase:
            case Losing(_, pending, _, then):
                return self.then(pending, then)
            case Proving(_, pending):
                return self.resolve(pending)  # a block of foreign aid is cancelled
        return None

    # -- small parts

    def pay(self, seat: int, delta: int, reason: CoinReason) -> None:
        self.coins[seat] += delta
        self.events.append(Coins(seat, delta, reason))

    def clear(self, seat: int) -> None:
        """Return the coins of a seat that is out to the treasury (000:78)."""
        if self.coins[seat]:
            self.pay(seat, -self.coins[seat], CoinReason.EXILE)

    def reshuffle(self, back: Sequence[Role]) -> None:
        # Sorted before it is shuffled: the order depends on the cards and the label, not on where a card came from.
        self.deck = self.chance.shuffled(sorted([*self.deck, *back]), "reshuffle", self.n + len(self.events))

    def living(self) -> tuple[int, ...]:
        return tuple(seat for seat, hand in enumerate(self.hands) if hand)

    def clockwise(self, seat: int) -> tuple[int, ...]:
        """Return the other living seats, clockwise from `seat`."""
        hands = self.hands
        n = len(hands)
        return tuple(s for s in (*range(seat + 1, n), *range(seat)) if hands[s])

    def over(self) -> Over | None:
        living = self.living()
        if len(living) > 1:
            return None
        return Over((), Ending.LAST_STANDING, living[0], living)


def _others(board: Board, seat: int) -> tuple[int, ...]:
    influence = board.influence
    return tuple(s for s in (*range(seat + 1, len(influence)), *range(seat)) if influence[s])


def _sorted(cards: Iterable[Role]) -> tuple[Role, ...]:
    return tuple(sorted(cards))
