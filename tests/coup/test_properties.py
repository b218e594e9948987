"""What holds in every game: checked at every step of random games of 2 to 10 seats, some with forfeits sprinkled in.

Sources: STYLE 19 (cards and coins are conserved, every game ends, encode then decode is the identity), DESIGN 2. The
games are drawn from fixed seeds, so that a failure comes back; conftest.py says how moves are chosen.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.coup import (
    COUP,
    Action,
    Chance,
    IllegalMoveError,
    Over,
    Role,
    State,
    apply,
    deal,
    default,
    legal,
    seen,
    view,
)
from arena.coup.events import (
    Acted,
    Blocked,
    Challenged,
    Coins,
    Event,
    Exchanged,
    Exiled,
    Forfeited,
    Lost,
    Shown,
    Unproven,
)
from arena.coup.moves import (
    CHALLENGE,
    DECLINE,
    FORFEIT,
    PASS,
    Act,
    Answer,
    Block,
    Forfeit,
    Keep,
    Lose,
    Show,
    notation,
    parse,
)
from arena.coup.state import BlockWindow, ChallengeWindow, Exchanging, Losing, Proving, Turn

Scene = Any  # the class in conftest.py
Step = Any  # one step of a random game: before, answers, after, events
RandomGame = Callable[..., Iterator[Step]]

# seats, seed, probability of a forfeit at each answer
GAMES = [(seats, seed, 0.02 if seed % 3 == 2 else 0.0) for seats in range(2, 11) for seed in range(9)]
SOME = [(seats, seed, 0.01 if seed else 0.0) for seats in range(2, 11) for seed in range(2)]


def everything(state: State) -> Counter[Role]:
    """Count all cards of the game, wherever they are."""
    face_up = [card for cards in state.board.revealed for card in cards]
    return Counter([*state.deck, *state.drawn, *(card for hand in state.hands for card in hand), *face_up])


# --- conservation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), GAMES)
def test_no_card_and_no_coin_appears_or_gets_lost(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """STYLE 19; 000:45 (two cards each, face down or up), 78 and 85-122: coins move only as an event says."""
    pack = Counter({role: COUP.copies(seats) for role in COUP.roles})
    for step in random_game(seats, seed, forfeit):
        for state in (step.before, step.after):
            board = state.board
            assert everything(state) == pack
            assert board.influence == tuple(map(len, state.hands))
            assert all(len(hand) + len(up) == 2 for hand, up in zip(state.hands, board.revealed, strict=True))
            assert board.deck == len(state.deck)
            assert all(hand == tuple(sorted(hand)) for hand in (*state.hands, state.drawn))
            assert min(board.coins) >= 0
            assert all(coins == 0 for coins, hand in zip(board.coins, state.hands, strict=True) if not hand)
            assert bool(state.drawn) == isinstance(board.phase, Exchanging)
        assert step.after.events == step.before.events + len(step.events)
        moved = [0] * seats
        for event in step.events:
            if isinstance(event, Coins):
                moved[event.seat] += event.delta
        coins = zip(step.before.board.coins, moved, strict=True)
        assert step.after.board.coins == tuple(had + delta for had, delta in coins)


class Ledger:
    """The public state of a game, kept by somebody who hears nothing but the events."""

    def __init__(self, seats: int) -> None:
        self.coins = [1, 2] if seats == 2 else [2] * seats
        self.influence = [2] * seats
        self.revealed: list[tuple[Role, ...]] = [()] * seats
        self.actor: int | None = None

    def hear(self, event: Event) -> None:
        seat = event.seat
        match event:
            case Acted():
                self.actor = seat
            case Coins(_, delta, _):
                self.coins[seat] += delta
            case Lost(_, role, _):
                self.influence[seat] -= 1
                self.revealed[seat] = (*self.revealed[seat], role)
            case Forfeited(_, roles):
                assert len(roles) == self.influence[seat]
                self.influence[seat] = 0
                self.revealed[seat] = (*self.revealed[seat], *roles)
            case Exiled():
                assert self.influence[seat] == 0


@pytest.mark.parametrize(("seats", "seed", "forfeit"), GAMES)
def test_the_public_state_follows_from_the_events_alone(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """DESIGN 3: a bot that models its opponents appends events. And steal and stolen cancel out."""
    ledger = Ledger(seats)
    for step in random_game(seats, seed, forfeit):
        for event in step.events:
            ledger.hear(seen(event, None))
        board = step.after.board
        assert tuple(ledger.coins) == board.coins
        assert tuple(ledger.influence) == board.influence
        assert tuple(ledger.revealed) == board.revealed
        deltas = {event.reason: event.delta for event in step.events if isinstance(event, Coins)}
        assert deltas.get("steal", 0) == -deltas.get("stolen", 0)
        if not isinstance(board.phase, Turn | Over):
            assert board.actor == ledger.actor


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_a_seat_can_follow_its_own_hand_from_its_copies_of_the_events(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """The contract: `cards` in the owner's copy of shown and exchanged is its whole hand."""
    hands: list[list[Role]] = []
    for step in random_game(seats, seed, forfeit):
        hands = hands or [list(hand) for hand in step.before.hands]
        for event in step.events:
            match seen(event, event.seat):
                case Shown(seat, _, cards) | Exchanged(seat, _, cards):
                    assert cards is not None
                    hands[seat] = list(cards)
                case Lost(seat, role, _):
                    hands[seat].remove(role)
                case Forfeited(seat, roles):
                    assert tuple(hands[seat]) == roles
                    hands[seat] = []
        assert [tuple(hand) for hand in hands] == list(step.after.hands)


def test_no_copy_of_an_event_but_the_owners_has_cards(random_game: RandomGame) -> None:
    """DESIGN 3: what is private in it is a field in the copy of the seat it belongs to."""
    private = 0
    for step in random_game(5, 1):
        for event in step.events:
            for seat in (None, 0, 1, 2, 3, 4):
                copy = seen(event, seat)
                if isinstance(event, Shown | Exchanged):
                    private += 1
                    assert copy == (event if seat == event.seat else replace(event, cards=None))
                else:
                    assert copy is event
    assert private


# --- the shape of a game ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), GAMES)
def test_every_game_ends_and_every_asked_seat_has_a_choice(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """STYLE 19; DESIGN 2: legal gives the full list, each move once; the default move is one of them."""
    last = None
    for step in random_game(seats, seed, forfeit):
        board = step.before.board
        assert last is None or step.before == last
        last = step.after
        living = [seat for seat, influence in enumerate(board.influence) if influence]
        assert board.phase.asked
        assert set(board.phase.asked) <= set(living)
        assert len(set(board.phase.asked)) == len(board.phase.asked)
        assert board.turn <= (200 if seats <= 4 else 300)
        for seat in board.phase.asked:
            sight = view(step.before, seat)
            moves = legal(sight)
            assert moves
            assert len(set(moves)) == len(moves)
            assert all(default(sight, lambda below, n=n: n % below) in moves for n in range(2))
    assert last is not None
    over = last.board.phase
    assert isinstance(over, Over)
    survivors = tuple(seat for seat, hand in enumerate(last.hands) if hand)
    assert over.survivors == survivors
    assert over.winner == (survivors[0] if len(survivors) == 1 else None)


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_the_same_key_and_answers_give_the_same_game(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """DESIGN 2: a record replays from its key. Another key deals otherwise."""
    assert list(random_game(seats, seed, forfeit)) == list(random_game(seats, seed, forfeit))
    deals = {deal(COUP, seats, Chance(bytes([key]) * 32, number)) for key in range(3) for number in range(3)}
    assert len(deals) == 9


def test_random_games_reach_all_there_is(random_game: RandomGame) -> None:
    """So that the tests of this file mean something: each event, phase and ending in many of the games."""
    events: Counter[str] = Counter()
    phases: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    blocks: Counter[str] = Counter()
    for seats, seed, forfeit in GAMES:
        for step in random_game(seats, seed, forfeit):
            phase = step.after.board.phase
            phases[type(phase).__name__] += 1
            events.update(type(event).__name__ for event in step.events)
            if isinstance(phase, Over):
                endings[phase.ending] += 1
            if isinstance(phase, Proving | ChallengeWindow) and phase.claim.block:
                blocks[f"{type(phase).__name__} {phase.pending.action}"] += 1
    kinds = [Acted, Coins, Challenged, Shown, Unproven, Lost, Exiled, Blocked, Exchanged, Forfeited]
    assert all(events[kind.__name__] > 20 for kind in kinds)
    assert set(phases) == {"Turn", "ChallengeWindow", "BlockWindow", "Proving", "Losing", "Exchanging", "Over"}
    assert len(blocks) == 6
    assert endings["last_standing"] > 50


# --- hidden choices ---------------------------------------------------------------------------------------------------


def public(state: State, events: Sequence[Event]) -> tuple[Any, ...]:
    return (state.board, tuple(seen(event, None) for event in events))


@pytest.mark.parametrize("seed", range(12))
def test_what_an_exchange_keeps_changes_nothing_public_until_a_card_is_seen(random_game: RandomGame, seed: int) -> None:
    """DESIGN 2: a hidden choice never shifts another draw; 000:122; rules.md: keeping all one's own looks the same.

    After every exchange the game goes on by default moves, which nobody's cards decide, until the first that does.
    """
    exchanges = 0
    steps = 0
    for step in random_game(2 + seed % 9, 100 + seed):
        if not isinstance(step.before.board.phase, Exchanging):
            continue
        exchanges += 1
        chance = Chance(bytes(32), seed)
        ends = [apply(step.before, [keep], chance) for keep in legal(view(step.before, step.before.board.actor))]
        while not isinstance(ends[0][0].board.phase, Losing | Proving | Over):
            assert all(public(*end) == public(*ends[0]) for end in ends)
            answers = [default(view(ends[0][0], seat), lambda _: 0) for seat in ends[0][0].board.phase.asked]
            ends = [apply(state, answers, chance) for state, _ in ends]
            if any(isinstance(event, Lost) for event in ends[0][1]):
                break
            steps += 1
    assert steps >= exchanges


def test_random_games_have_exchanges(random_game: RandomGame) -> None:
    """So that the test above means something."""
    found = [
        sum(isinstance(step.before.board.phase, Exchanging) for step in random_game(2 + seed % 9, 100 + seed))
        for seed in range(12)
    ]
    assert sum(found) > 10


def test_a_reshuffle_depends_on_the_cards_and_the_moment_not_on_where_they_came_from(scene: Scene) -> None:
    """DESIGN 2: labelled streams. Two ways to the same cards give the same deck."""
    first = scene("captain duke / contessa", deck="assassin duke captain").play("exchange; -; keep:captain+duke")
    other = scene("captain duke / contessa", deck="assassin captain duke").play("exchange; -; keep:captain+duke")
    assert first.state.deck == other.state.deck


# --- answers that are none --------------------------------------------------------------------------------------------

WRONG: dict[type, tuple[Answer, ...]] = {
    Turn: (PASS, CHALLENGE, DECLINE, Block(Role.DUKE), Show(Role.DUKE), Lose(Role.DUKE), Keep((Role.DUKE,))),
    ChallengeWindow: (Act(Action.INCOME), DECLINE, Block(Role.DUKE), Show(Role.DUKE), Lose(Role.DUKE)),
    BlockWindow: (Act(Action.INCOME), CHALLENGE, DECLINE, Show(Role.DUKE), Keep((Role.DUKE,))),
    Proving: (Act(Action.INCOME), PASS, CHALLENGE, Block(Role.DUKE), Lose(Role.DUKE)),
    Losing: (Act(Action.INCOME), PASS, CHALLENGE, DECLINE, Show(Role.DUKE), Keep((Role.DUKE,))),
    Exchanging: (Act(Action.INCOME), PASS, DECLINE, Lose(Role.DUKE), Keep(()), Keep((Role.DUKE,) * 5)),
}


def test_apply_refuses_answers_of_the_wrong_kind_or_number(random_game: RandomGame) -> None:
    """play.apply: IllegalMoveError. A wrong answer counts wherever it stands among right ones, also as no pass."""
    chance = Chance(bytes(32), 0)
    refused: Counter[type] = Counter()
    for seats, seed in ((2, 7), (3, 8), (5, 9)):
        for step in random_game(seats, seed):
            phase = step.before.board.phase
            for answers in ((), step.answers[1:], (*step.answers, PASS), (*step.answers, FORFEIT)):
                with pytest.raises(IllegalMoveError, match="seats are asked"):
                    apply(step.before, answers, chance)
            for wrong in WRONG[type(phase)]:
                for place in range(len(step.answers)):
                    answers = (*step.answers[:place], wrong, *step.answers[place + 1 :])
                    with pytest.raises(IllegalMoveError):
                        apply(step.before, answers, chance)
                    refused[type(phase)] += 1
            if isinstance(step.after.board.phase, Over):
                for answers in ((), (PASS,), (FORFEIT,)):
                    with pytest.raises(IllegalMoveError):
                        apply(step.after, answers, chance)
    assert refused.keys() == WRONG.keys()


# --- notation ---------------------------------------------------------------------------------------------------------

ROLES = st.sampled_from(COUP.roles)
ANSWERS = st.one_of(
    st.sampled_from([PASS, CHALLENGE, DECLINE, FORFEIT]),
    st.builds(Act, st.sampled_from(list(Action)), st.none() | st.integers(0, 9)),
    st.builds(Block, ROLES),
    st.builds(Show, ROLES),
    st.builds(Lose, ROLES),
    st.builds(Keep, st.lists(ROLES, min_size=1, max_size=4).map(lambda roles: tuple(sorted(roles)))),
)
PIECES = [*Role, *Action, "keep", "block", "show", "lose", "decline", ":", "+", "-", "!", "#", " ", "0", "1", "_", "٣"]


@given(ANSWERS)
@settings(max_examples=200, derandomize=True, deadline=None, database=None)
def test_notation_and_parse_are_inverse(answer: Answer) -> None:
    """moves.notation: one word without blanks; STYLE 19."""
    word = notation(answer)
    assert word.split() == [word]
    assert parse(word) == answer


@given(
    st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(st.characters(max_codepoint=127), max_size=12)
)
@settings(max_examples=400, derandomize=True, deadline=None, database=None)
def test_parse_reads_what_notation_writes_and_nothing_else(word: str) -> None:
    """moves.parse: ValueError for anything that `notation` can't have written."""
    try:
        answer = parse(word)
    except ValueError:
        return
    assert notation(answer) == word


@pytest.mark.parametrize(
    "word",
    ["", "pass", "steal:", "steal:x", "steal:01", "steal: 1", "steal:1_0", "income:", "block", "block:", "block:king",
     "keep:", "keep:duke+", "show:duke+duke", "lose:Duke", "tax ", "!!", "--", "steal:0:1"],
)  # fmt: skip
def test_a_word_that_is_no_move_is_refused(word: str) -> None:
    """moves.parse; records are read by it."""
    with pytest.raises(ValueError, match=r"\w"):
        parse(word)


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_a_game_replays_from_its_words(random_game: RandomGame, seats: int, seed: int, forfeit: float) -> None:
    """STYLE 19: a record replays to the same bytes; here the words alone, through notation and back."""
    for step in random_game(seats, seed, forfeit):
        answers = [parse(notation(answer)) for answer in step.answers]
        assert tuple(answers) == step.answers
        for seat, answer in zip(step.before.board.phase.asked, answers, strict=True):
            assert isinstance(answer, Forfeit) or answer in legal(view(step.before, seat))


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_windows_are_asked_clockwise_and_the_first_who_opposes_counts(
    random_game: RandomGame, seats: int, seed: int, forfeit: float
) -> None:
    """DESIGN 2 and 3: clockwise from the claimant for challenges, from the actor for blocks; one each."""
    for step in random_game(seats, seed, forfeit):
        board = step.before.board
        phase = board.phase
        if not isinstance(phase, ChallengeWindow | BlockWindow):
            continue
        start = phase.claim.seat if isinstance(phase, ChallengeWindow) else board.actor
        distances = [(seat - start) % seats for seat in phase.asked]
        assert distances == sorted(distances)
        assert 0 not in distances
        opposed = [event for event in step.events if isinstance(event, Challenged | Blocked)]
        wanted = [
            seat
            for seat, answer in zip(phase.asked, step.answers, strict=True)
            if answer == CHALLENGE or isinstance(answer, Block)
        ]
        assert [event.seat for event in opposed] in (wanted[:1], [])
        if wanted and FORFEIT not in step.answers:
            assert opposed
