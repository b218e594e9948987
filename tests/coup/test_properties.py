"""Invariants, checked at every step of random games of 2 to 10 seats, some with forfeits.

The games have every preset, and rulesets whose fields are drawn at random (tests/games.py).

Cards and coins are conserved, every game ends, encode then decode is the identity. The games are drawn from fixed
seeds, so that failures are reproducible.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.coup import (
    CHALLENGE,
    DECLINE,
    FORCE_SWAP,
    FORFEIT,
    HAND_BACK,
    KEEP_SHOWN,
    PASS,
    REPLACE_SHOWN,
    SHOW_HAND,
    Action,
    ActionDeclared,
    ActionMove,
    ActionOutcome,
    Allegiance,
    Block,
    Blocked,
    BlockWindow,
    CardExamined,
    Challenged,
    ChallengeWindow,
    ChoosingSide,
    CoinReason,
    Coins,
    Converted,
    DecidingKeepShown,
    Drafted,
    Drafting,
    Event,
    Examining,
    Exchanged,
    Exchanging,
    Exiled,
    Forfeited,
    GameEnding,
    HandShown,
    IllegalMoveError,
    Keep,
    KeyedRng,
    Lose,
    Losing,
    LossReason,
    Lost,
    MoveOrForfeit,
    Over,
    Pick,
    Proving,
    Resolved,
    Reveal,
    Revealing,
    Role,
    Ruleset,
    Show,
    Shown,
    Side,
    Sided,
    State,
    Turn,
    Unproven,
    apply_moves,
    event_for_seat,
    format_move,
    list_legal_moves,
    parse_move,
    pick_default_move,
    view_from_seat,
)
from tests.cases import each
from tests.games import GAMES, SOME, Game, played, rules_of

Scene = Any  # the class in conftest.py
# Not where proof is automatic: there the cards settle a challenge at once.
EXCHANGERS = [("coup", 2 + seed % 9, 100 + seed) for seed in range(12)] + [
    (name, seats, 120 + seed)
    for seed, (name, seats) in enumerate(
        [("duel", 2), ("inquisitor", 4), ("reformation", 3), ("andy", 5), ("blog", 3), ("blog", 6), ("classroom", 4)]
    )
]


def pack(rules: Ruleset, state: State) -> Counter[Role]:
    """Return the cards that a game must have; before the draft is over, the players' two sets aren't counted."""
    copies = rules.copies(state.board.seats)
    if rules.draft:
        copies = 3 if state.discards else 1
    return Counter(dict.fromkeys(rules.roles, copies))


def count_cards(state: State) -> Counter[Role]:
    face_up = [card for cards in state.board.revealed for card in cards]
    hands = [card for hand in state.hands for card in hand]
    discards = [card for cards in state.discards for card in cards]
    return Counter([*state.deck, *state.drawn, *hands, *face_up, *discards])


# --- conservation ---------------------------------------------------------------------------------------------------


@each("game", GAMES)
def test_no_card_and_no_coin_appears_or_gets_lost(game: Game) -> None:
    """rules.md#deal (two cards each, face down or up), #out and #actions: coins move only by an event.

    The cost of a conversion goes to the treasury reserve, and an embezzler takes all of it (rules.md#conversion,
    #embezzlement). The cards that a draft leaves over stay out of the game (rules.md#draft).
    """
    rules = rules_of(*game[:2])
    for step in played(*game):
        for state in (step.before, step.after):
            board = state.board
            dealt = not rules.draft or bool(state.discards)
            assert count_cards(state) == pack(rules, state)
            assert board.influence == tuple(map(len, state.hands))
            held = [len(hand) + len(up) for hand, up in zip(state.hands, board.revealed, strict=True)]
            assert held == [2 if dealt else 0] * board.seats
            assert board.deck == len(state.deck)
            assert all(hand == tuple(sorted(hand)) for hand in (*state.hands, *state.discards, state.drawn))
            assert [len(cards) for cards in state.discards] in ([], [4, 4])
            assert min(board.coins) >= 0
            if dealt and rules.dead_target == "nothing":
                assert all(coins == 0 for coins, hand in zip(board.coins, state.hands, strict=True) if not hand)
            assert bool(state.drawn) == isinstance(board.phase, Exchanging)
            assert (state.seen is not None) == isinstance(board.phase, Examining)
            if isinstance(board.phase, Examining):
                assert state.seen in state.hands[board.phase.pending.target]
            assert board.reserve >= 0
        assert step.after.events == step.before.events + len(step.events)
        assert not step.before.discards or step.after.discards == step.before.discards
        moved = [0] * step.before.board.seats
        reserve = step.before.board.reserve
        for event in step.events:
            if isinstance(event, Coins):
                moved[event.seat] += event.delta
                if event.reason in (Action.CONVERT, Action.EMBEZZLE):
                    reserve -= event.delta
        coins = zip(step.before.board.coins, moved, strict=True)
        assert step.after.board.coins == tuple(had + delta for had, delta in coins)
        assert step.after.board.reserve == reserve
        assert rules.reformation or reserve == 0


class Ledger:
    """The public state of a game, computed from its start and the events alone."""

    def __init__(self, rules: Ruleset, state: State) -> None:
        seats = state.board.seats
        self.rules = rules
        self.actor = state.board.actor
        self.coins = [rules.start_coins] * seats
        if seats == 2:
            self.coins[self.actor] = rules.two_player_starter_coins
        self.influence = [0 if rules.draft else 2] * seats
        self.revealed: list[tuple[Role, ...]] = [()] * seats
        self.sides = list(state.board.sides)
        self.reserve = 0

    def hear(self, event: Event) -> None:
        seat = event.seat
        match event:
            case ActionDeclared():
                self.actor = seat
            case Coins(_, delta, reason):
                self.coins[seat] += delta
                if reason in (Action.CONVERT, Action.EMBEZZLE):
                    self.reserve -= delta
            case Lost(_, role, _):
                self.influence[seat] -= 1
                self.revealed[seat] = (*self.revealed[seat], role)
            case Forfeited(_, roles):
                assert len(roles) == self.influence[seat]
                self.influence[seat] = 0
                self.revealed[seat] = (*self.revealed[seat], *roles)
            case Exiled():
                assert self.influence[seat] == 0
            case Drafted():
                assert self.influence[seat] == 0
                self.influence[seat] = 2
            case Sided(_, sides):
                assert not self.sides
                self.sides = list(sides)
            case Converted(_, target, allegiance):
                assert self.influence[target]
                assert self.sides[target] is not allegiance
                self.sides[target] = allegiance
            case HandShown(_, roles):
                assert len(roles) == self.influence[seat]
                assert Role.DUKE not in roles


@each("game", GAMES)
def test_the_public_state_follows_from_the_events_alone(game: Game) -> None:
    ledger = None
    for step in played(*game):
        ledger = ledger or Ledger(rules_of(*game[:2]), step.before)
        reserve = ledger.reserve
        for event in step.events:
            ledger.hear(event_for_seat(event, None))
        board = step.after.board
        assert tuple(ledger.coins) == board.coins
        assert tuple(ledger.influence) == board.influence
        assert tuple(ledger.revealed) == board.revealed
        assert tuple(ledger.sides) == board.sides
        assert ledger.reserve == board.reserve
        deltas = {event.reason: event.delta for event in step.events if isinstance(event, Coins)}
        assert deltas.get(Action.STEAL, 0) == -deltas.get(CoinReason.STOLEN, 0)
        assert deltas.get(Action.EMBEZZLE, reserve) == reserve  # all or nothing
        if not isinstance(board.phase, Turn | Over | ChoosingSide):
            assert board.actor == ledger.actor


@each("game", SOME)
def test_a_seat_can_follow_its_own_hand_from_its_copies_of_the_events(game: Game) -> None:
    """`cards` in one's own copy is the whole hand."""
    hands: list[list[Role]] = []
    for step in played(*game):
        hands = hands or [list(hand) for hand in step.before.hands]
        for event in step.events:
            match event_for_seat(event, event.target if isinstance(event, CardExamined) else event.seat):
                case Shown(seat, role, None, replaced):
                    assert not replaced
                    assert role in hands[seat]
                case Shown(seat, _, cards) | Exchanged(seat, _, cards) | Drafted(seat, cards):
                    assert cards is not None
                    hands[seat] = list(cards)
                case HandShown(seat, roles, cards):
                    assert tuple(hands[seat]) == roles
                    assert cards is not None
                    hands[seat] = list(cards)
                case CardExamined(_, target, replaced, role, cards):
                    assert role in hands[target]
                    assert (cards is not None) == replaced
                    hands[target] = hands[target] if cards is None else list(cards)
                case Lost(seat, role, _):
                    hands[seat].remove(role)
                case Forfeited(seat, roles):
                    assert tuple(hands[seat]) == roles
                    hands[seat] = []
        assert [tuple(hand) for hand in hands] == list(step.after.hands)


def ending(events: Sequence[Event], rules: Ruleset) -> ActionOutcome:
    """Return how an action ended, from the public copies of all events since it was declared, itself the first."""
    acted = events[0]
    assert isinstance(acted, ActionDeclared)
    left = {event.seat for event in events if isinstance(event, Forfeited)}
    if acted.seat in left:
        return ActionOutcome.ACTOR_GONE
    fell = {event.seat for event in events if isinstance(event, Unproven)}
    if acted.seat in fell:
        return ActionOutcome.FAILED
    challenged = {event.seat for event in events if isinstance(event, Lost) and event.reason is LossReason.CHALLENGE}
    hit = {event.seat for event in events if isinstance(event, Lost) and event.reason is not LossReason.CHALLENGE}
    out = {event.seat for event in events if isinstance(event, Exiled)} & challenged - hit
    if acted.action is Action.STEAL and rules.dead_target == "coins":
        out = set()
    if acted.target in left | out:
        return ActionOutcome.TARGET_GONE
    blockers = {event.seat for event in events if isinstance(event, Blocked)}
    return ActionOutcome.BLOCKED if blockers - fell - left else ActionOutcome.DONE


@each("game", GAMES)
def test_the_end_of_an_action_follows_from_public_events(game: Game) -> None:
    """`Resolved` and `proven` of a block window reveal nothing hidden."""
    rules = rules_of(*game[:2])
    turn: list[Event] = []
    for step in played(*game):
        for event in (event_for_seat(event, None) for event in step.events):
            if isinstance(event, ActionDeclared):
                assert turn == []
                turn = [event]
            elif isinstance(event, Resolved):
                acted = turn[0]
                assert isinstance(acted, ActionDeclared)
                assert event == Resolved(acted.seat, acted.action, acted.target, ending(turn, rules))
                turn = []
            elif turn:
                turn.append(event)
        phase = step.after.board.phase
        if isinstance(phase, BlockWindow):
            assert phase.proven == any(isinstance(event, Shown | HandShown) for event in turn)
    if turn:
        assert isinstance(phase, Over)
        assert phase.ending is not GameEnding.TURN_LIMIT


def test_no_copy_of_an_event_but_the_owners_has_cards() -> None:
    """An examination has two owners: the target's copy has the card and its new hand, the inquisitor's the card."""
    private: Counter[type] = Counter()
    for game in GAMES:
        for step in played(*game):
            for event in step.events:
                for seat in (None, *range(game[1])):
                    copy = event_for_seat(event, seat)
                    private[type(event)] += isinstance(event, Shown | Exchanged | HandShown | Drafted | CardExamined)
                    if isinstance(event, Shown | Exchanged | HandShown | Drafted):
                        assert copy == (event if seat == event.seat else replace(event, cards=None))
                    elif isinstance(event, CardExamined):
                        role = event.role if seat in (event.seat, event.target) else None
                        cards = event.cards if seat == event.target else None
                        assert copy == replace(event, role=role, cards=cards)
                    else:
                        assert copy is event
    assert min(private[kind] for kind in (Shown, Exchanged, HandShown, Drafted, CardExamined)) > 5


# --- the shape of a game ----------------------------------------------------------------------------------------------


@each("game", GAMES)
def test_every_game_ends_and_every_asked_seat_has_a_choice(game: Game) -> None:
    limit = rules_of(*game[:2]).limit(game[1])
    last = None
    for step in played(*game):
        board = step.before.board
        assert last is None or step.before == last
        last = step.after
        living = [seat for seat, influence in enumerate(board.influence) if influence]
        assert board.phase.asked
        assert set(board.phase.asked) <= set(range(2) if isinstance(board.phase, Drafting) else living)
        assert len(set(board.phase.asked)) == len(board.phase.asked)
        assert board.turn <= limit
        for seat in board.phase.asked:
            sight = view_from_seat(step.before, seat)
            moves = list_legal_moves(sight)
            assert moves
            assert len(set(moves)) == len(moves)
            assert all(pick_default_move(sight, lambda below, n=n: n % below) in moves for n in range(2))
    assert last is not None
    over = last.board.phase
    assert isinstance(over, Over)
    survivors = tuple(seat for seat, hand in enumerate(last.hands) if hand)
    if over.ending is GameEnding.ALL_FORFEIT:
        assert over.survivors  # those that left at once
        assert not survivors
    elif not isinstance(step.before.board.phase, Drafting):  # a winner because the other left the draft has no cards
        assert over.survivors == survivors
    assert over.winner == (over.survivors[0] if over.ending is GameEnding.LAST_STANDING else None)
    assert (len(over.survivors) == 1) == (over.ending is GameEnding.LAST_STANDING)
    assert over.ending is not GameEnding.TURN_LIMIT or last.board.turn == limit


def test_random_games_reach_every_event_phase_and_ending() -> None:
    events: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    proofs: Counter[tuple[str, bool]] = Counter()
    ends: Counter[ActionOutcome] = Counter()
    for game in GAMES:
        for step in played(*game):
            phase = step.after.board.phase
            phases[type(phase).__name__] += 1
            events.update(type(event).__name__ for event in step.events)
            proofs.update(("shown", event.replaced) for event in step.events if isinstance(event, Shown))
            proofs.update(("examined", event.replaced) for event in step.events if isinstance(event, CardExamined))
            proofs.update([("before a block", phase.proven)] if isinstance(phase, BlockWindow) else [])
            ends.update(event.how for event in step.events if isinstance(event, Resolved))
            if isinstance(phase, Over):
                endings[phase.ending] += 1
            if isinstance(phase, Proving | ChallengeWindow) and phase.claim.block:
                blocks[f"{type(phase).__name__} {phase.pending.action}"] += 1
    kinds = [
        ActionDeclared, Coins, Challenged, Shown, Unproven, Lost, Exiled, Blocked, Exchanged, Forfeited, HandShown,
        Drafted, Sided, Converted, CardExamined, Resolved,
    ]  # fmt: skip
    assert all(events[kind.__name__] > 10 for kind in kinds)
    assert set(phases) == {
        "Turn", "ChallengeWindow", "BlockWindow", "Proving", "Losing", "Exchanging", "Over",
        "DecidingKeepShown", "Revealing", "Examining", "ChoosingSide",
    }  # fmt: skip
    assert len(blocks) == 6
    assert len(proofs) == 6
    assert set(ends) == set(ActionOutcome)
    assert min(proofs.values()) > 10
    assert endings["last_standing"] > 50
    assert endings["turn_limit"] > 5


# --- hidden choices ---------------------------------------------------------------------------------------------------


def public(state: State, events: Sequence[Event]) -> tuple[Any, ...]:
    return (state.board, tuple(event_for_seat(event, None) for event in events))


@each(("name", "seats", "seed"), EXCHANGERS)
def test_the_cards_kept_in_an_exchange_stay_secret_until_one_is_seen(seats: int, seed: int, name: str) -> None:
    """A hidden choice never shifts another draw.

    After every exchange the game continues by default moves, which don't depend on cards, until the first that does.
    """
    exchanges = 0
    steps = 0
    for step in played(name, seats, seed):
        if not isinstance(step.before.board.phase, Exchanging):
            continue
        exchanges += 1
        chance = KeyedRng(bytes(32), seed)
        ends = [
            apply_moves(step.before, [keep], chance)
            for keep in list_legal_moves(view_from_seat(step.before, step.before.board.actor))
        ]
        while not isinstance(ends[0][0].board.phase, Losing | Proving | Over):
            assert all(public(*end) == public(*ends[0]) for end in ends)
            answers = [
                pick_default_move(view_from_seat(ends[0][0], seat), lambda _: 0)
                for seat in ends[0][0].board.phase.asked
            ]
            ends = [apply_moves(state, answers, chance) for state, _ in ends]
            if any(isinstance(event, Lost) for event in ends[0][1]):
                break
            steps += 1
    assert steps >= exchanges


@pytest.mark.parametrize("name", ["inquisitor", "treason", "treason-inquisitors", "reformation-inquisitor"])
def test_a_deck_after_an_examination_depends_on_the_cards_and_the_moment_alone(name: str) -> None:
    """draw_first never returns the examined card from the place where it was put (rules.md#examine)."""
    swaps = 0
    for seats in (3, 5, 8):
        for step in played(name, seats, 5):
            phase = step.before.board.phase
            if not isinstance(phase, Examining):
                continue
            chance = KeyedRng(bytes(32), 5)
            back, _ = apply_moves(step.before, [HAND_BACK], chance)
            assert (back.hands, back.deck) == (step.before.hands, step.before.deck)
            after, _ = apply_moves(step.before, [FORCE_SWAP], chance)
            target, role = phase.pending.target, step.before.seen
            assert role is not None
            kept = list(step.before.hands[target])
            kept.remove(role)
            (drawn,) = (Counter(after.hands[target]) - Counter(kept)).elements()
            first = step.before.board.rules.examine_replace == "draw_first"
            if first:
                assert drawn == step.before.deck[-1]
            rest = [*step.before.deck, role]
            if first:
                rest.remove(drawn)
            order = chance.shuffled(sorted(rest), "reshuffle", step.before.events)
            assert list(after.deck) == (order if first else order[:-1])
            assert first or drawn == order[-1]
            swaps += 1
    assert swaps > 3


def test_a_reshuffle_depends_on_the_cards_and_the_moment_not_on_where_they_came_from(scene: Scene) -> None:
    """Streams are labelled, not used up: two ways to the same cards give the same deck."""
    first = scene("captain duke / contessa", deck="assassin duke captain").play("exchange; -; keep:captain+duke")
    other = scene("captain duke / contessa", deck="assassin captain duke").play("exchange; -; keep:captain+duke")
    assert first.state.deck == other.state.deck


# --- wrong answers ----------------------------------------------------------------------------------------------------

WRONG: dict[type, tuple[MoveOrForfeit, ...]] = {
    Turn: (PASS, CHALLENGE, DECLINE, Block(Role.DUKE), Show(Role.DUKE), Lose(Role.DUKE), Keep((Role.DUKE,)), HAND_BACK),
    ChallengeWindow: (
        ActionMove(Action.INCOME),
        DECLINE,
        Block(Role.DUKE),
        Show(Role.DUKE),
        Lose(Role.DUKE),
        KEEP_SHOWN,
    ),
    BlockWindow: (ActionMove(Action.INCOME), CHALLENGE, DECLINE, Show(Role.DUKE), Keep((Role.DUKE,)), SHOW_HAND),
    Proving: (
        ActionMove(Action.INCOME),
        PASS,
        CHALLENGE,
        Block(Role.DUKE),
        Lose(Role.DUKE),
        Reveal(Role.DUKE),
        KEEP_SHOWN,
    ),
    Losing: (ActionMove(Action.INCOME), PASS, CHALLENGE, DECLINE, Show(Role.DUKE), Keep((Role.DUKE,)), Pick(Role.DUKE)),
    Exchanging: (
        ActionMove(Action.INCOME),
        PASS,
        DECLINE,
        Lose(Role.DUKE),
        Keep(()),
        Keep((Role.DUKE,) * 5),
        FORCE_SWAP,
    ),
    Drafting: (ActionMove(Action.INCOME), PASS, DECLINE, Lose(Role.DUKE), Keep((Role.DUKE,)), Reveal(Role.DUKE)),
    ChoosingSide: (ActionMove(Action.CONVERT), PASS, DECLINE, Pick(Role.DUKE)),
    DecidingKeepShown: (ActionMove(Action.INCOME), PASS, DECLINE, Show(Role.DUKE), Keep((Role.DUKE,)), SHOW_HAND),
    Revealing: (ActionMove(Action.INCOME), PASS, DECLINE, Show(Role.DUKE), Lose(Role.DUKE), SHOW_HAND, HAND_BACK),
    Examining: (ActionMove(Action.INCOME), PASS, DECLINE, REPLACE_SHOWN, Reveal(Role.DUKE)),
}


def test_apply_refuses_answers_of_the_wrong_kind_or_number() -> None:
    chance = KeyedRng(bytes(32), 0)
    refused: Counter[type] = Counter()
    games = [("coup", 2), ("coup", 5), ("duel", 2), ("inquisitor", 4), ("reformation", 3), ("andy", 5)]
    for game in games:
        for step in played(*game, seed=7):
            phase = step.before.board.phase
            for answers in ((), step.answers[1:], (*step.answers, PASS), (*step.answers, FORFEIT)):
                with pytest.raises(IllegalMoveError, match="seats are asked"):
                    apply_moves(step.before, answers, chance)
            wrongs = WRONG[type(phase)]
            if isinstance(phase, Proving):  # one card proves that the player has it, all cards that they have none
                wrongs = (*wrongs, Show(phase.claim.role) if phase.claim.denies else SHOW_HAND)
            for wrong in wrongs:
                for place in range(len(step.answers)):
                    answers = (*step.answers[:place], wrong, *step.answers[place + 1 :])
                    with pytest.raises(IllegalMoveError):
                        apply_moves(step.before, answers, chance)
                    refused[type(phase)] += 1
            if isinstance(step.after.board.phase, Over):
                for answers in ((), (PASS,), (FORFEIT,)):
                    with pytest.raises(IllegalMoveError):
                        apply_moves(step.after, answers, chance)
    assert refused.keys() == WRONG.keys()


# --- notation ---------------------------------------------------------------------------------------------------------

ROLES = st.sampled_from(list(Role))
SINGLE = [PASS, CHALLENGE, DECLINE, FORFEIT, SHOW_HAND, KEEP_SHOWN, REPLACE_SHOWN, HAND_BACK, FORCE_SWAP]
ANSWERS = st.one_of(
    st.sampled_from(SINGLE),
    st.builds(ActionMove, st.sampled_from(list(Action)), st.none() | st.integers(0, 9)),
    st.builds(Block, ROLES),
    st.builds(Show, ROLES),
    st.builds(Lose, ROLES),
    st.builds(Pick, ROLES),
    st.builds(Reveal, ROLES),
    st.builds(Side, st.sampled_from(Allegiance)),
    st.builds(Keep, st.lists(ROLES, min_size=1, max_size=4).map(lambda roles: tuple(sorted(roles)))),
)
PIECES = [
    *Role, *Action, *Allegiance, "keep", "block", "show", "lose", "decline", "pick", "side", "reveal", "all",
    "keep_shown", "replace_shown", "hand_back", "force_swap", ":", "+", "-", "!", "#", " ", "0", "1", "_", "٣",
]  # fmt: skip


@given(ANSWERS)
@settings(derandomize=True, database=None)
def test_notation_and_parse_are_inverse(answer: MoveOrForfeit) -> None:
    word = format_move(answer)
    assert word.split() == [word]
    assert parse_move(word) == answer


@given(
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(st.characters(max_codepoint=127), max_size=12)
)
@settings(derandomize=True, database=None)
def test_parse_accepts_only_what_notation_writes(word: str) -> None:
    try:
        answer = parse_move(word)
    except ValueError:
        return
    assert format_move(answer) == word


@each(
    "word",
    ["", "pass", "steal:", "steal:x", "steal:01", "steal: 1", "steal:1_0", "income:", "block", "block:", "block:king",
     "keep:", "keep:duke+", "show:duke+duke", "lose:Duke", "tax ", "!!", "--", "steal:0:1",
     "pick", "pick:all", "side:duke", "side:", "reveal:all", "lose:all", "show:all:", "keep_shown:", "hand_back:duke",
     "convert:", "embezzle:x", "examine:duke"],
)  # fmt: skip
def test_a_word_that_is_no_move_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_move(word)
