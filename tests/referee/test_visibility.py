"""Tests that no line to a seat depends on anything that this seat may not know.

The main test: in random games of 2 to 10 seats, by every preset and by random
rulesets, at every line to every seat, deal again what the seat can't see in the present state (the other hands and
discards, the deck, what another drew, but not the card that it examines), replace what is private in others' events,
build the line again through the same functions, and require the same bytes. Other tests prove that this test would find
a leak, and take one more step. The rest are promises that need a separate scene: which seats passed, a truthful
decline and a liar's, the sealed pick of a draft, whether an examined player had a choice, the hidden cards of the
survivors, errors and forfeits.

`line` and `EventCursor` here and in the match's loop are the same; the last tests play real matches of scripted bots
and compare every line that they got to the ones that are built here.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from arena import coup, referee
from arena.sandbox import Script, ScriptPeer
from tests.alternate_deals import disguise, redeal, target_of, visible_roles
from tests.cases import each
from tests.games import GAMES, NUMBER, SOME, Game, Step, played, rules_of, steps_of
from tests.referee.scripted import bot as make_bot
from tests.referee.scripted import play_scripts, seatings

SEED = "5f" * 16
# --- what a seat may not know -----------------------------------------------------------------------------------------


Line = Callable[[coup.State, int, Any], bytes]


def line(state: coup.State, seat: int, feed: Any) -> bytes:
    """Build the request to a seat as the match does, and the move that an error line would name."""
    sight = coup.view_from_seat(state, seat)
    menu = referee.make_legal_moves(coup.list_legal_moves(sight))
    request = referee.wire.PhaseRequests(state.board, NUMBER).line(
        sight, feed.known(sight), 41, feed.take(seat), menu, 500, 8123
    )
    used = [referee.move_payload(coup.pick_default_move(sight, lambda below, n=n: n % below)) for n in range(2)]
    return request + json.dumps(used).encode()


def leaks(
    steps: Sequence[Step],
    seed: int,
    line: Callable[[coup.State, int, Any], object] = line,
    feed: Callable[[int], Any] = referee.wire.LineCursor,
    over_line: Callable[[int, coup.Board, Any], object] = referee.wire.encode_game_over,
) -> list[str]:
    """Return where in a game a line to a seat changes with what the seat doesn't know."""
    rng = random.Random(seed)
    board = steps[0].before.board
    seats = range(board.seats)
    true = feed(board.seats)
    other = [feed(board.seats) for _ in seats]  # for each seat, its events in the other world
    found = []
    for step in steps:
        for seat in step.before.board.phase.asked:
            here = line(step.before, seat, true)
            there = line(redeal(step.before, seat, rng), seat, other[seat])
            if here != there:
                found.append(f"{step.before.board.phase} to {seat}")
        true.add(step.events)
        for seat in seats:
            other[seat].add(disguise(step.events, seat, rng, board.rules))
    board = steps[-1].after.board
    for seat in seats:
        if over_line(NUMBER, board, true.take(seat)) != over_line(NUMBER, board, other[seat].take(seat)):
            found.append(f"game_over to {seat}")
    return found


@each("game", GAMES)
def test_every_line_to_a_seat_is_the_same_whatever_the_seat_does_not_know(game: Game) -> None:
    """Unseen cards are other hands and discards, the deck, and what others drew or examined."""
    assert leaks(played(*game), game[2]) == []


def spoken(step: Step) -> list[coup.StatementMade]:
    """Return the statements of a step, by ascending seats: they depend only on what everybody sees."""
    board = step.before.board
    statements = []
    for seat, answer in sorted(zip(board.phase.asked, step.answers, strict=True)):
        if answer != coup.FORFEIT:  # a forfeit has no statements
            other, role = (seat + board.turn) % board.seats, board.rules.roles[board.turn % 5]
            statements += [
                coup.StatementMade(seat, coup.StatementKind.HOLD, role),
                coup.StatementMade(seat, coup.StatementKind.DOUBT, role, other),
            ]
            statements.append(coup.StatementMade(seat, coup.StatementKind.TEXT, text=f"turn {board.turn}"))
    return statements


@each("game", SOME)
def test_lines_are_independent_of_hidden_cards_where_all_talk_at_every_request(game: Game) -> None:
    """Statements are events before those of their step, in the same copy for all.

    Tried with the wire's lines, and with the messages that arena.local builds without them.
    """
    steps = [replace(step, events=(*spoken(step), *step.events)) for step in played(*game)]
    assert {type(step.before.board.phase) for step in steps if spoken(step)} >= {coup.Turn, coup.ChallengeWindow}
    assert leaks(steps, game[2]) == []
    assert leaks(steps, game[2], in_process, referee.messages.MessageCursor, referee.messages.make_game_over) == []


def in_process(state: coup.State, seat: int, feed: Any) -> object:
    """Build the request to a seat as a match in this process does."""
    sight = coup.view_from_seat(state, seat)
    known, events = feed.known(sight), feed.take(seat)
    return referee.messages.make_request(
        sight, known, NUMBER, 41, events, referee.make_legal_moves(coup.list_legal_moves(sight)), 500, 8123
    )


@each("game", SOME)
def test_no_moment_depends_on_what_its_seat_does_not_know(game: Game) -> None:
    """People see events as they happen, before their next line; spectators see nothing else."""
    rng = random.Random(game[2])
    names = "ABCDEFGHIJ"[: game[1]]
    steps = played(*game)
    rules = steps[0].before.board.rules
    here, there = (
        [coup.Knowledge(coup.view_from_seat(steps[0].before, seat)) for seat in range(game[1])] for _ in range(2)
    )

    def moment(
        state: coup.State, seat: int | None, events: Sequence[coup.Event], minds: Sequence[coup.Knowledge] = ()
    ) -> object:
        sight, known = None, coup.NOTHING_KNOWN
        if seat is not None:
            sight = coup.view_from_seat(state, seat)
            copies = [coup.event_for_seat(event, seat) for event in events if type(event) in coup.concerning(rules)]
            known = minds[seat].update(sight, copies)
        return referee.messages.make_moment(NUMBER, names, state.board, sight, known, 7, events)

    for step in steps:
        for seat in range(game[1]):
            other = redeal(step.after, seat, rng)
            events = disguise(step.events, seat, rng, rules)
            assert moment(step.after, seat, step.events, here) == moment(other, seat, events, there)
            assert moment(step.after, None, step.events) == moment(other, None, events)


@each("name", coup.PRESETS)
def test_the_first_line_of_a_game_shows_ones_own_cards_only(name: str) -> None:
    """`game_start` too; before a draft there are no hands, and the third set is the deck."""
    for seats in coup.seat_counts(coup.PRESETS[name]):
        rng = random.Random(seats)
        state = coup.deal_game(rules_of(name, seats), seats, coup.KeyedRng(bytes(32), 0))
        handles = list("ABCDEFGHIJ"[:seats])
        for seat in range(seats):
            other = redeal(state, seat, rng)
            assert other != state
            for start in (referee.wire.encode_game_start, referee.messages.make_game_start):
                assert start(coup.view_from_seat(other, seat), 0, SEED, handles) == start(
                    coup.view_from_seat(state, seat), 0, SEED, handles
                )


def all_cards(state: coup.State) -> Counter[coup.Role]:
    return Counter([*state.deck, *state.drawn, *sum(state.hands, ()), *sum(state.discards, ())])


@pytest.mark.parametrize("name", ["coup", "reformation-inquisitor", "andy", "duel"])
def test_dealing_again_keeps_what_the_seat_sees_and_changes_the_rest(name: str) -> None:
    rng = random.Random(1)
    changed = total = discards = 0
    for step in steps_of([game for game in GAMES if game[0] == name and game[1] in (2, 5)]):
        state = step.before
        for seat in range(state.board.seats):
            other = redeal(state, seat, rng)
            assert coup.view_from_seat(other, seat) == coup.view_from_seat(state, seat)
            assert all_cards(other) == all_cards(state)
            assert all(other.hands[owner].count(role) for owner, role in visible_roles(state, seat).items())
            assert list(map(len, other.hands)) == list(map(len, state.hands))
            total += 1
            changed += other.hands != state.hands and other.deck != state.deck
            discards += other.discards != state.discards
    assert changed > 0.75 * total
    assert bool(discards) == (name == "duel")


class OpenFeed:
    """A feed that leaks: of events of one kind others get the copy of a seat to which the event is private.

    `copy` names that seat, of those that view.private_to gives; `to_all`: everybody gets it, not only the actor.
    """

    def __init__(self, kind: type[coup.Event], copy: int, to_all: bool, seats: int) -> None:
        self._leak = (kind, copy, to_all)
        self._events: list[list[str]] = []
        self._sent = [0] * seats
        self._good = referee.wire.LineCursor(seats)
        self.known = self._good.known

    def add(self, events: Sequence[coup.Event]) -> None:
        self._good.add(events)
        kind, copy, to_all = self._leak
        for event in events:
            copies = [
                referee.wire.encode_event(len(self._events), coup.event_for_seat(event, seat))
                for seat in range(len(self._sent))
            ]
            owners = coup.list_private_seats(event)
            if isinstance(event, kind) and owners:
                for seat in range(len(copies)) if to_all else [event.seat]:
                    copies[seat] = copies[owners[copy]]
            self._events.append(copies)

    def take(self, seat: int) -> list[str]:
        events = [copies[seat] for copies in self._events[self._sent[seat] :]]
        self._sent[seat] = len(self._events)
        return events


def names_top_card(state: coup.State, seat: int, feed: Any) -> bytes:
    return line(state, seat, feed) + str(state.deck[-1]).encode()


def names_next_hand(state: coup.State, seat: int, feed: Any) -> bytes:
    return line(state, seat, feed) + repr(state.hands[seat - 1]).encode()


def names_drawn_cards(state: coup.State, seat: int, feed: Any) -> bytes:
    """Only the actor is asked in its exchange, so this one leaks the deck's next two cards in the window before it."""
    phase = state.board.phase
    leak = isinstance(phase, coup.ChallengeWindow) and phase.pending.action == "exchange"
    return line(state, seat, feed) + (repr(state.deck[-2:]).encode() if leak else b"")


def names_the_others_discards(state: coup.State, seat: int, feed: Any) -> bytes:
    return line(state, seat, feed) + repr([cards for s, cards in enumerate(state.discards) if s != seat]).encode()


def names_the_other_card_of_who_is_examined(state: coup.State, seat: int, feed: Any) -> bytes:
    examines = isinstance(state.board.phase, coup.Examining)
    return line(state, seat, feed) + (repr(state.hands[target_of(state)]).encode() if examines else b"")


def reveals_cards_dealt_after_the_draft(state: coup.State, seat: int, feed: Any) -> bytes:
    drafts = isinstance(state.board.phase, coup.Drafting)
    return line(state, seat, feed) + (repr(state.deck[-2:]).encode() if drafts else b"")


def offers_only_good_challenges(state: coup.State, seat: int, feed: Any) -> bytes:
    phase = state.board.phase
    if isinstance(phase, coup.ChallengeWindow) and phase.claim.role in state.hands[phase.claim.seat]:
        return line(state, seat, feed).replace(b',{"challenge":true}', b"")
    return line(state, seat, feed)


def reveals_whether_a_claim_was_true(state: coup.State, seat: int, feed: Any) -> bytes:
    """The legal moves of a loser reveal whether a player that declined had lied."""
    others = [card for other, hand in enumerate(state.hands) if other != seat for card in hand]
    return line(state, seat, feed) + (
        b"!" if isinstance(state.board.phase, coup.Losing) and coup.Role.DUKE in others else b""
    )


@pytest.mark.parametrize(
    "leaky",
    [
        names_top_card,
        names_next_hand,
        names_drawn_cards,
        names_the_others_discards,
        names_the_other_card_of_who_is_examined,
        reveals_cards_dealt_after_the_draft,
        offers_only_good_challenges,
        reveals_whether_a_claim_was_true,
    ],
)
def test_a_line_that_leaks_is_found(leaky: Line) -> None:
    assert any(leaks(played(*game), game[2], line=leaky) for game in SOME)


FEEDS = [
    (coup.Shown, 0, True),
    (coup.Exchanged, 0, True),
    (coup.HandShown, 0, True),
    (coup.Drafted, 0, True),
    (coup.CardExamined, 0, True),  # all see the card
    (coup.CardExamined, 1, False),  # the inquisitor sees the hand after the card was replaced
]


@pytest.mark.parametrize(("kind", "copy", "to_all"), FEEDS)
def test_a_feed_that_leaks_is_found(kind: type[coup.Event], copy: int, to_all: bool) -> None:
    """The same for the private part of events. An examination has two copies."""

    def feed(seats: int) -> OpenFeed:
        return OpenFeed(kind, copy, to_all, seats)

    assert any(leaks(played(*game), game[2], feed=feed) for game in SOME)


class OpenMind:
    """A feed by which a seat knows what follows from whole events. A compiled feed has no subclasses."""

    def __init__(self, seats: int) -> None:
        self._feed = referee.wire.LineCursor(seats)
        self.take = self._feed.take
        self._whole: list[list[coup.Event]] = [[] for _ in range(seats)]
        self._knowing: dict[int, coup.Knowledge] = {}

    def add(self, events: Sequence[coup.Event]) -> None:
        self._feed.add(events)
        for heard in self._whole:
            heard += events

    def known(self, sight: coup.View) -> coup.CertainCards:
        mind = self._knowing.setdefault(sight.seat, coup.Knowledge(sight))
        heard, self._whole[sight.seat] = self._whole[sight.seat], []
        kinds = coup.concerning(sight.board.rules)
        return mind.update(sight, [event for event in heard if type(event) in kinds])


def test_what_a_seat_knows_for_certain_is_compared_too() -> None:
    """A seat that learns which card another player examined would get another `known`."""
    assert any(leaks(played(*game), game[2], feed=OpenMind) for game in SOME)


# --- one step on ------------------------------------------------------------------------------------------------------


def reveals_a_hand(step: Step, events: Sequence[coup.Event]) -> bool:
    """Return whether a card was turned up or shown that no answer named: hidden cards decided."""
    if any(isinstance(event, coup.HandShown) for event in events):
        return True
    if step.before.board.rules.prove == "automatic" and any(isinstance(event, coup.Challenged) for event in events):
        return True
    # A player's last card.
    return sum(isinstance(event, coup.Lost) for event in events) > isinstance(step.answers[0], coup.Lose)


@each("game", SOME)
def test_requests_and_events_are_independent_of_hidden_cards(game: Game) -> None:
    """Whether a request is sent must never reveal anything hidden.

    The same answers in the other world must lead to the same board and the same public events, but where a card is
    turned up that the seat couldn't know. What an exchange keeps and what an examined player reveals may differ.
    """
    rng = random.Random(game[2])
    steps = played(*game)
    compared = 0
    for step in steps:
        asked = step.before.board.phase.asked
        for seat in range(game[1]):
            other = redeal(step.before, seat, rng)
            answers = list(step.answers)
            for place, answerer in enumerate(asked):
                moves = coup.list_legal_moves(coup.view_from_seat(other, answerer))
                if isinstance(answers[place], coup.Keep | coup.Reveal) and answers[place] not in moves:
                    answers[place] = rng.choice(moves)
            if any(
                answer not in coup.list_legal_moves(coup.view_from_seat(other, s))
                for s, answer in zip(asked, answers, strict=True)
            ):
                continue  # it shows or loses a card that it hasn't got there
            after, events = coup.apply_moves(other, answers, step.chance)
            if reveals_a_hand(step, events):
                continue
            compared += 1
            assert after.board == step.after.board
            assert [referee.wire.encode_event(0, coup.event_for_seat(event, None)) for event in events] == [
                referee.wire.encode_event(0, coup.event_for_seat(event, None)) for event in step.events
            ]
    assert compared > game[1] * len(steps) / 2


# --- windows ----------------------------------------------------------------------------------------------------------


def sent(before: coup.State, state: coup.State, events: Sequence[coup.Event]) -> list[bytes]:
    """Return what each seat is sent after an event: its next request, or the events for its next line."""
    feed = referee.wire.LineCursor(state.board.seats)
    for seat in range(state.board.seats):
        feed.known(coup.view_from_seat(before, seat))
    feed.add(events)
    return [
        line(state, seat, feed) if seat in state.board.phase.asked else "".join(feed.take(seat)).encode()
        for seat in range(state.board.seats)
    ]


@each("game", SOME)
def test_lines_hide_whether_a_later_seat_wanted_to_challenge_or_block(game: Game) -> None:
    rng = random.Random(game[2])
    compared = windows = 0
    for step in played(*game):
        phase = step.before.board.phase
        if not isinstance(phase, coup.ChallengeWindow | coup.BlockWindow) or len(phase.asked) < 2:
            continue
        windows += 1
        first = rng.randrange(len(phase.asked) - 1)
        opposing = [coup.list_legal_moves(coup.view_from_seat(step.before, seat))[1:] for seat in phase.asked]
        base: list[coup.MoveOrForfeit] = [coup.PASS] * len(phase.asked)
        base[first] = opposing[first][0]
        expected = sent(step.before, *coup.apply_moves(step.before, base, step.chance))
        for _ in range(2):
            wanted = base[: first + 1] + [rng.choice((coup.PASS, *moves)) for moves in opposing[first + 1 :]]
            assert sent(step.before, *coup.apply_moves(step.before, wanted, step.chance)) == expected
            compared += wanted != base
    assert compared or windows < 5


def test_no_event_names_a_pass() -> None:
    quiet: Counter[str] = Counter()
    for step in steps_of(SOME):
        phase = step.before.board.phase
        if isinstance(phase, coup.ChallengeWindow | coup.BlockWindow) and set(step.answers) == {coup.PASS}:
            quiet[phase.pending.action] += 1
            names = {
                json.loads(referee.wire.encode_event(0, coup.event_for_seat(event, None)))["event"]
                for event in step.events
            }
            assert names <= {"coins", "lost", "exiled", "resolved"}  # what the action does
            assert {event.seat for event in step.events} <= {step.before.board.actor, phase.pending.target}
    assert len(quiet) == 7
    assert min(quiet.values()) > 10


# --- declining --------------------------------------------------------------------------------------------------------


EMBEZZLERS: list[Game] = [("reformation", 4, seed, 0.0) for seed in range(20, 80)]


def test_a_truthful_decline_looks_to_the_others_like_a_liars() -> None:
    """rules.md#proof "or do not wish to". The liar has another card in the place of the claimed one.

    Both decline and then lose the same other card; the others are sent the same bytes until then and afterwards. The
    same holds for an embezzler: with the Duke the player must concede, without it may (rules.md#embezzlement).
    """
    compared: Counter[bool] = Counter()
    for step in steps_of([*GAMES, *EMBEZZLERS]):
        phase = step.before.board.phase
        if not isinstance(phase, coup.Proving):
            continue
        claimant, role, denies = phase.claim.seat, phase.claim.role, phase.claim.denies
        hand = step.before.hands[claimant]
        others = [card for card in hand if card != role]
        swap = next((card for card in step.before.deck if card != role), None)
        if len(hand) != 2 or len(others) != 1 or swap is None:
            continue
        deck = list(step.before.deck)
        deck[deck.index(swap)] = role
        lacks = step.before._replace(
            deck=tuple(deck),
            hands=tuple(
                tuple(sorted((*others, swap))) if seat == claimant else cards
                for seat, cards in enumerate(step.before.hands)
            ),
        )
        menus = [coup.list_legal_moves(coup.view_from_seat(state, claimant)) for state in (step.before, lacks)]
        if denies and not step.before.board.rules.embezzle_concede:
            assert menus == [(coup.DECLINE,), (coup.SHOW_HAND,)]
            continue  # players decline there only if they must
        assert menus == (
            [(coup.DECLINE,), (coup.SHOW_HAND, coup.DECLINE)]
            if denies
            else [(coup.Show(role), coup.DECLINE), (coup.DECLINE,)]
        )
        worlds = [step.before, lacks]
        for answer in (coup.DECLINE, coup.Lose(others[0])):
            before, ends = worlds, [coup.apply_moves(state, [answer], step.chance) for state in worlds]
            worlds = [state for state, _ in ends]
            if not worlds[0].hands[claimant]:
                break  # it blocked its own assassination: its last card is turned up, too
            here, there = (sent(state, *end) for state, end in zip(before, ends, strict=True))
            assert [x for s, x in enumerate(here) if s != claimant] == [x for s, x in enumerate(there) if s != claimant]
            assert worlds[0].board == worlds[1].board
        compared[denies] += 1
    assert compared[False] > 100
    assert compared[True] > 10


# --- the draft --------------------------------------------------------------------------------------------------------

DRAFTS = ["duel", *(f"random {seed}" for seed in range(100, 110))]


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("name", DRAFTS)
def test_a_pick_in_the_draft_changes_no_byte_for_the_other(name: str, seat: int) -> None:
    """rules.md#draft "in secret": the picks are sealed, the discards never shown.

    The game is played on in five worlds, one for each pick of the other, until a card of its decides something.
    """
    rules = rules_of(name, 2)
    compared = 0
    for seed in range(3 if rules.draft else 0):
        rng = random.Random(seed)
        chance = coup.KeyedRng(bytes([seed]) * 32, NUMBER)
        start = coup.deal_game(rules, 2, chance, seed % 2)
        assert isinstance(start.board.phase, coup.Drafting)
        first = line(start, seat, referee.wire.LineCursor(2))
        own, picks = (
            rng.choice(coup.list_legal_moves(coup.view_from_seat(start, seat))),
            coup.list_legal_moves(coup.view_from_seat(start, 1 - seat)),
        )
        ends = [coup.apply_moves(start, [own, pick] if seat == 0 else [pick, own], chance) for pick in picks]
        worlds = [state for state, _ in ends]
        assert len({state.hands[1 - seat] for state in worlds}) == len(picks) == 5
        assert all(first == line(redeal(start, seat, rng), seat, referee.wire.LineCursor(2)) for _ in range(5))
        feeds = [referee.wire.LineCursor(2) for _ in worlds]
        while True:
            for feed, (_, events) in zip(feeds, ends, strict=True):
                feed.add(events)
            phase = worlds[0].board.phase
            assert all(state.board == worlds[0].board for state in worlds)
            if isinstance(phase, coup.Examining):
                break  # it looks at one of the other's cards
            if seat in phase.asked:
                lines = {line(state, seat, feed) for state, feed in zip(worlds, feeds, strict=True)}
                compared += 1
            else:
                lines = {"".join(feed.take(seat)).encode() for feed in feeds}
            assert len(lines) == 1
            if not isinstance(phase, coup.Turn | coup.ChallengeWindow | coup.BlockWindow | coup.ChoosingSide):
                break
            quiet = isinstance(phase, coup.ChallengeWindow | coup.BlockWindow)
            answers = [
                coup.PASS if quiet else rng.choice(coup.list_legal_moves(coup.view_from_seat(worlds[0], asked)))
                for asked in phase.asked
            ]
            ends = [coup.apply_moves(state, answers, chance) for state in worlds]
            worlds = [state for state, _ in ends]
            if any(isinstance(event, coup.Lost) for event in ends[0][1]):
                break
    assert compared > 3 or not rules.draft


# --- an examination ---------------------------------------------------------------------------------------------------


def test_lines_hide_whether_an_examined_player_had_two_different_cards() -> None:
    """rules.md#examine "their choice"; a player with two cards is asked, also if they are the same.

    In the other world the target has the card that it shows twice. All but the target are sent the same, before and
    after the inquisitor has decided; and the inquisitor too learns only the one card.
    """
    compared: Counter[coup.ExamineDecision] = Counter()
    for step in steps_of(GAMES):
        phase = step.before.board.phase
        (answer, *_) = step.answers
        if not isinstance(phase, coup.Revealing) or not isinstance(answer, coup.Reveal):
            continue
        target, actor = target_of(step.before), step.before.board.actor
        one, two = step.before.hands[target]
        role, other = answer.role, two if answer.role == one else one
        if one == two or role not in step.before.deck:
            continue
        deck = list(step.before.deck)
        deck[deck.index(role)] = other
        hands = tuple((role, role) if seat == target else hand for seat, hand in enumerate(step.before.hands))
        twin = step.before._replace(hands=hands, deck=tuple(deck))
        assert coup.list_legal_moves(coup.view_from_seat(step.before, target)) == (coup.Reveal(one), coup.Reveal(two))
        assert coup.list_legal_moves(coup.view_from_seat(twin, target)) == (answer,)
        ends = [coup.apply_moves(state, [answer], step.chance) for state in (step.before, twin)]
        assert all(coup.view_from_seat(state, actor).seen == role for state, _ in ends)
        for decision in (coup.HAND_BACK, coup.FORCE_SWAP):
            here, there = (sent(state, *end) for state, end in zip((step.before, twin), ends, strict=True))
            assert here[:target] + here[target + 1 :] == there[:target] + there[target + 1 :]
            here, there = (sent(state, *coup.apply_moves(state, [decision], step.chance)) for state, _ in ends)
            assert here[:target] + here[target + 1 :] == there[:target] + there[target + 1 :]
            compared[decision] += 1
    assert compared[coup.HAND_BACK] == compared[coup.FORCE_SWAP] > 50


def test_a_choice_of_the_card_to_show_is_asked_for_by_the_public_count_alone() -> None:
    """rules.md#examine: with one card, that card is examined, without a request."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for step in steps_of(GAMES):
        before, phase = step.before.board, step.after.board.phase
        if isinstance(phase, coup.Revealing | coup.Examining) and not isinstance(before.phase, coup.Revealing):
            target = target_of(step.after)
            asked = isinstance(phase, coup.Revealing)
            two = step.after.board.influence[target] == 2
            assert asked == (two and before.rules.examine_pick == "target")
            assert coup.view_from_seat(step.after, target).seen is None
            counts[asked, two] += 1
    assert counts.keys() == {(True, True), (False, True), (False, False)}


def test_an_examined_card_is_seen_by_the_inquisitor_and_only_while_it_decides() -> None:
    """rules.md#examine: the card is shown to the inquisitor; the others and spectators see only that one was."""
    looks = 0
    for before, after in pairwise(steps_of(SOME)):
        state = after.before
        for seat in range(state.board.seats):
            looks_now = isinstance(state.board.phase, coup.Examining) and seat == state.board.actor
            assert (coup.view_from_seat(state, seat).seen is not None) == looks_now
        for event in before.events:
            if isinstance(event, coup.CardExamined):
                looks += 1
                seats = range(before.after.board.seats)
                copies = {
                    seat: json.loads(referee.wire.encode_event(0, coup.event_for_seat(event, seat)))
                    for seat in (None, *seats)
                }
                output = {seat: "".join(key[0] for key in ("role", "cards") if key in copies[seat]) for seat in copies}
                full = "rc" if event.replaced else "r"
                assert output == dict.fromkeys(copies, "") | {event.seat: "r", event.target: full}
    assert looks > 10


# --- the end ----------------------------------------------------------------------------------------------------------


@each("game", GAMES)
def test_the_last_line_never_shows_the_survivors_cards(game: Game) -> None:
    feed = referee.wire.LineCursor(game[1])
    steps = played(*game)
    for step in steps:
        feed.add(step.events)
    last = steps[-1].after
    over = last.board.phase
    assert isinstance(over, coup.Over)
    for seat in range(game[1]):
        message = json.loads(referee.wire.encode_game_over(NUMBER, last.board, feed.take(seat)))
        assert list(message) == ["type", "game", "winner", "reason", "survivors", "events", "state"]
        assert message["state"] == referee.messages.make_public_state(last.board)
        living = [s for s, hand in enumerate(last.hands) if hand]  # empty if all left at once or one in the draft
        assert message["survivors"] == (living or list(over.survivors))
        for event in message["events"]:
            if "cards" in event:  # in one's own copy
                assert owner(event) == seat
            if event["event"] in ("forfeit", "lost"):
                assert event["seat"] not in living or event["role"] in last.board.revealed[event["seat"]]
            if event["event"] == "examined" and "role" in event:
                assert seat in (event["seat"], event["target"])


def owner(event: dict[str, Any]) -> Any:
    """Return the seat to which the field `cards` of an event belongs."""
    return event["target"] if event["event"] == "examined" else event["seat"]


# --- real matches -----------------------------------------------------------------------------------------------------


@dataclass
class Played:
    spec: referee.MatchSpec
    record: referee.Record
    lines: list[list[bytes]]  # what each bot was sent


def match(
    seats: int,
    misbehave: Callable[[random.Random, dict[str, Any]], bytes | None],
    games: int = 1,
    rules: coup.Ruleset = coup.COUP,
    timings: tuple[referee.Timing, ...] = (),
    watch: referee.MatchObserver | None = None,
) -> Played:
    """Play a match of bots that choose at random; bot 0 sends the result of `misbehave` instead where that isn't None.

    An empty result makes it die.
    """
    lines: list[list[bytes]] = [[] for _ in range(seats)]
    talk = rules.talk is not coup.Talk.OFF

    def player(number: int) -> Script:
        rng = random.Random(number)

        def answer(peer: ScriptPeer, request: dict[str, Any]) -> bytes | None:
            instead = misbehave(rng, request) if number == 0 else None
            if instead == b"":
                peer.die(1)
            if instead is not None:
                return instead
            calm = request["kind"] in ("challenge", "block") and rng.random() < 0.7
            index = 0 if calm else rng.randrange(len(request["legal"]))
            say = b',"say":%s' % json.dumps(scripted(request, rules.talk)).encode() if talk else b""
            return b'{"id":%d,"choice":%d%s}\n' % (request["id"], index, say)

        return make_bot(answer, lines[number])

    bots = tuple(f"secretive{number}" for number in range(seats))
    settings = referee.MatchSettings(rules=rules, lives=1000)
    spec = referee.MatchSpec(0, bytes([seats]) * 32, bots, seatings(seats, games), settings, timings)
    return Played(spec, play_scripts(spec, list(map(player, range(seats))), observer=watch).record, lines)


def scripted(request: dict[str, Any], talk: coup.Talk) -> list[dict[str, Any]]:
    """Return a bot's statements with an answer: they reveal only the turn and the kind of request."""
    turn = request["state"]["turn"]
    held = {"says": "hold", "role": ("captain", "duke")[turn % 2]}
    text = {"says": "text", "text": f"{request['kind']} in turn {turn}"}
    return [held, text] if talk is coup.Talk.TEXT else [held]


def talking(name: str, seats: int) -> coup.Ruleset:
    """Return the ruleset of a match; "talking NAME" is NAME with talk."""
    base = name.removeprefix("talking ")
    return replace(rules_of(base, seats), talk=coup.Talk.TEXT if base != name else rules_of(base, seats).talk)


def statements_of(
    game: referee.GameRecord, place: int, asked: Sequence[int], state: coup.State
) -> list[coup.StatementMade]:
    """Return the statements of the bots of `match` in a step, by `scripted`: none with a fault or a forfeit."""
    faulty = {fault.step for fault in game.faults}
    said = []
    for at, seat in sorted(enumerate(asked, start=place), key=lambda pair: pair[1]):
        if at not in faulty and game.moves[at] != "#":
            message = {"state": {"turn": state.board.turn}, "kind": referee.messages.KINDS[type(state.board.phase)]}
            held, *texts = scripted(message, state.board.rules.talk)
            said.append(coup.StatementMade(seat, coup.StatementKind.HOLD, coup.Role(held["role"])))
            said += [coup.StatementMade(seat, coup.StatementKind.TEXT, text=text["text"]) for text in texts]
    return said


def rebuilt(played: Played) -> list[list[bytes]]:
    """Build the lines to each bot from the record alone, by the functions that the tests above use."""
    spec = played.spec
    lines: list[list[bytes]] = [[] for _ in spec.bots]
    number = [0] * len(spec.bots)
    for game, seating in zip(played.record.games, spec.seatings, strict=True):
        feed = referee.wire.LineCursor(spec.seats)
        handles = [spec.handles[bot] for bot in seating]
        state = coup.deal_game(spec.settings.rules, spec.seats, coup.KeyedRng(spec.key, game.game), game.starter)
        for seat, bot in enumerate(seating):
            lines[bot].append(
                referee.wire.encode_game_start(
                    coup.view_from_seat(state, seat), game.game, spec.game_seed(bot, game.game), handles
                )
            )
        place = 0
        while asked := state.board.phase.asked:
            question = referee.wire.PhaseRequests(state.board, game.game)
            for seat in asked:
                bot = seating[seat]
                number[bot] += 1
                sight = coup.view_from_seat(state, seat)
                menu = referee.make_legal_moves(coup.list_legal_moves(sight))
                known, output = feed.known(sight), feed.take(seat)
                lines[bot].append(question.line(sight, known, number[bot], output, menu, 500, 10_000))
            answers = [coup.parse_move(word) for word in game.moves[place : place + len(asked)]]
            if spec.settings.rules.talk is not coup.Talk.OFF:
                feed.add(statements_of(game, place, asked, state))
            place += len(asked)
            state, events = coup.apply_moves(state, answers, coup.KeyedRng(spec.key, game.game))
            feed.add(events)
        for seat, bot in enumerate(seating):
            lines[bot].append(referee.wire.encode_game_over(game.game, state.board, feed.take(seat)))
    return lines


def without_clock(line: bytes) -> bytes:
    return re.sub(rb',"clock":\{[^}]*\}', b"", line)


def clock_of(line: bytes) -> dict[str, int]:
    clock: dict[str, int] = json.loads(line)["clock"]
    return clock


def seeds_of(lines: list[bytes]) -> list[str]:
    """Return the seeds sent to a bot: the match's, then each game's."""
    heard = [json.loads(line) for line in lines]
    return [message[name] for message in heard for name in ("bot_seed", "game_seed") if name in message]


def well_behaved(_: random.Random, __: dict[str, Any]) -> None:
    return None


def garbled(rng: random.Random, request: dict[str, Any]) -> bytes | None:
    return b'{"id":%d,"choice":999}\n' % request["id"] if rng.random() < 0.3 else None


MATCHES = [
    *(("coup", seats) for seats in (2, 3, 5)),
    ("duel", 2),
    ("reformation-inquisitor", 4),
    ("treason", 3),
    ("classroom", 4),
    ("andy", 3),
    ("blog", 5),
    ("random 102", 2),
    ("random 3", 3),
    ("open-table", 4),
    ("talking duel", 2),
    ("talking reformation-inquisitor", 4),
    ("talking andy", 3),
    ("talking treason", 3),
]


@cache
def example(name: str, seats: int, misbehave: Callable[[random.Random, dict[str, Any]], bytes | None]) -> Played:
    """Play one of these matches, for both tests of its lines."""
    return match(seats, misbehave, games=3, rules=talking(name, seats))


@pytest.mark.parametrize(("name", "seats"), MATCHES)
@pytest.mark.parametrize("misbehave", [well_behaved, garbled])
def test_a_match_sends_the_lines_that_these_tests_build_and_no_others(
    name: str, seats: int, misbehave: Callable[[random.Random, dict[str, Any]], bytes | None]
) -> None:
    """Clocks are ignored. Other lines are the hello, match_over, and the errors of the offender."""
    played = example(name, seats, misbehave)
    expected = rebuilt(played)
    assert any(game.statements for game in played.record.games) == (talking(name, seats).talk is not coup.Talk.OFF)
    for bot, lines in enumerate(played.lines):
        kinds = [json.loads(line)["type"] for line in lines]
        assert (kinds[0], kinds[-1]) == ("hello", "match_over")
        assert set(kinds[1:-1]) - {"error"} == {"game_start", "request", "game_over"}
        assert bot == 0 or "error" not in kinds
        got = [line for line, kind in zip(lines, kinds, strict=True) if kind in ("game_start", "request", "game_over")]
        assert list(map(without_clock, got)) == list(map(without_clock, expected[bot]))


def test_a_bots_own_times_change_no_byte_of_anothers_lines() -> None:
    """A person has no clock, which no other player learns. Banks are ignored, as the machine may take from them."""
    alike = match(3, garbled, games=2)
    timings = (referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0), referee.Timing(), referee.Timing())
    own = match(3, garbled, games=2, timings=timings)
    for bot in (1, 2):
        assert list(map(without_clock, own.lines[bot])) == list(map(without_clock, alike.lines[bot]))
        assert {clock_of(line)["limit_ms"] for line in own.lines[bot] if b'"clock":{' in line} == {500}
    assert {clock_of(line)["limit_ms"] for line in own.lines[0] if b'"clock":{' in line} == {referee.UNTIMED_MS}
    assert list(map(without_clock, own.lines[0][1:])) == list(map(without_clock, alike.lines[0][1:]))


def test_a_spectator_changes_no_byte_of_any_line() -> None:
    """Only the spectator learns for whom the table waits. It ends a match after a whole game."""

    class Looks(referee.MatchObserver):
        def __init__(self) -> None:
            self.asks: list[Sequence[int]] = []
            self.games: list[referee.GameRecord] = []
            self.event_count = 0

        def asked(self, bots: Sequence[int]) -> None:
            self.asks.append(bots)

        def moved(self, game: int, state: coup.State, first: int, events: Sequence[coup.Event]) -> None:
            assert first == self.event_count
            self.event_count += len(events)

        def game_over(self, game: referee.GameRecord) -> bool:
            self.games.append(game)
            self.event_count = 0
            return len(self.games) < 2

    watch = Looks()
    unseen, watched = match(3, garbled, games=3), match(3, garbled, games=3, watch=watch)
    for before, after in zip(unseen.lines, watched.lines, strict=True):
        cut = next(place for place, line in enumerate(before) if b'"type":"game_start","game":2' in line)
        assert list(map(without_clock, after[:-1])) == list(map(without_clock, before[:cut]))
    assert watched.record.games == tuple(watch.games)
    assert len(watch.games) == 2
    assert watch.asks[0] == [0, 1, 2]
    assert all(watch.asks)
    assert sum(map(len, watch.asks[1:])) == sum(len(game.moves) for game in watch.games)


def test_an_error_line_has_only_the_offenders_own_data() -> None:
    """It holds what the bot sent, and one of its legal moves."""
    played = match(3, garbled, games=3)
    request: dict[str, Any] = {}
    errors = 0
    for line in map(json.loads, played.lines[0]):
        if line["type"] == "request":
            request = line
        if line["type"] == "error":
            errors += 1
            assert list(line) == ["type", "id", "code", "message", "got", "used", "lives"]
            assert (line["id"], line["code"]) == (request["id"], "illegal_move")
            assert line["got"] == f'{{"id":{request["id"]},"choice":999}}'
            assert line["used"] in request["legal"]
            assert not any(role in line["message"] for role in coup.Role)
    assert errors > 3


def test_a_forfeit_shows_the_cards_and_coins_that_are_lost_and_nothing_else() -> None:
    """The others see `forfeit`, without the reason; `roles` are public from then on."""
    played = match(4, lambda rng, request: b"" if request["id"] == 3 else None)
    for lines in played.lines[1:]:
        (line,) = [line for line in lines if b'"event":"forfeit","seat":0' in line]
        event = next(e for e in json.loads(line)["events"] if e["event"] == "forfeit")
        assert list(event) == ["n", "event", "seat", "roles"]
        assert not any(word in b"".join(lines) for word in (b"exited", b"closed", b"error", b"fault"))


def test_no_line_contains_the_key_or_another_bots_name() -> None:
    """Files of other bots are hidden too, and one seed doesn't reveal another."""
    played = match(4, garbled, games=3)
    key = played.spec.key
    secrets = [key.hex().encode(), key, *(name.encode() for name in played.spec.bots)]
    for lines in played.lines:
        assert not any(secret in b"".join(lines) for secret in secrets)
    seeds = [seed for lines in played.lines for seed in seeds_of(lines)]
    assert len(set(seeds)) == len(seeds) == 4 * (1 + 3)


def test_a_bots_dice_follow_from_the_key_and_its_slot_alone() -> None:
    """A pair of matches of one key has the same dice, whatever the other bots, their play, and the seats."""
    one = referee.MatchSpec(0, bytes(32), ("a", "b", "c"), ((0, 1, 2), (1, 2, 0)))
    other = referee.MatchSpec(0, bytes(32), ("x", "b", "z"), ((2, 0, 1), (0, 1, 2)))
    for game in range(3):
        assert one.game_seed(1, game) == other.game_seed(1, game)
    assert one.game_seed(1, 0) != referee.MatchSpec(0, bytes([1]) * 32, one.bots, one.seatings).game_seed(1, 0)
    calm, faulty = match(3, well_behaved, games=3), match(3, garbled, games=3)
    assert list(map(seeds_of, calm.lines)) == list(map(seeds_of, faulty.lines))


def test_other_rules_and_other_hands_leave_the_dice_as_they_are() -> None:
    """Seeds are drawn from separately labelled streams."""
    usual, duel = match(2, well_behaved, games=2), match(2, well_behaved, games=2, rules=coup.PRESETS["duel"])
    assert list(map(seeds_of, usual.lines)) == list(map(seeds_of, duel.lines))


@pytest.mark.parametrize(("name", "seats"), MATCHES)
def test_a_bots_lines_hold_private_parts_of_its_own_seat_only(name: str, seats: int) -> None:
    """The contract: `cards`, `drawn`, `discards` and `seen` are in `you`, and `cards` in the seat's own copies."""
    played = example(name, seats, well_behaved)
    private = 0
    for bot, lines in enumerate(played.lines):
        seat = None
        for message in map(json.loads, lines):
            if message["type"] == "game_start":
                seat = message["seat"]
                assert played.spec.seatings[message["game"]][seat] == bot
            if "you" in message:
                assert message["you"]["seat"] == seat
                assert ("drawn" in message["you"]) == (message.get("kind") == "exchange")
                assert ("seen" in message["you"]) == (message.get("kind") == "examine_decide")
            assert not set(message.get("state", {})) & {"drawn", "discards", "seen", "hands"}
            for event in message.get("events", ()):
                if "cards" in event:
                    private += 1
                    assert owner(event) == seat
                    assert event["event"] in ("shown", "exchanged", "shown_hand", "drafted", "examined")
                if event["event"] == "examined":
                    assert ("role" in event) == (seat in (event["seat"], event["target"]))
    assert private
