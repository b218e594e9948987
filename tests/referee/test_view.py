"""No line to a seat depends on anything that this seat may not know.

The main test is that of DESIGN 3, "What must not leak": in random games of 2 to 10 seats, at every line to every seat,
deal anew what the seat can't see in the present state (the other hands, the deck, what another drew), replace what is
private in others' events, build the line again through the same functions, and demand the same bytes. Others show
that this test would find a leak, and go one step on. The rest are the promises that need a scene of their own: who
passed, a truthful decline against a liar's, the hidden cards of the survivors, errors and forfeits.

`line` and `Feed` here and in the match's loop are the same functions; the last tests play real matches of scripted bots
and hold every line they got against the ones that are built here.
"""

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from arena.coup import COUP, Chance, Over, Role, State, View, apply, deal, default, legal, view
from arena.coup.events import Event, Exchanged, Lost, Shown
from arena.coup.moves import CHALLENGE, DECLINE, FORFEIT, PASS, Act, Answer, Block, Keep, Lose, Show, parse
from arena.coup.state import BlockWindow, ChallengeWindow, Exchanging, Losing, Proving, Turn
from arena.referee import MatchSpec, Record, play_match, read, wire
from arena.sandbox import Box, FakeSandbox, Limits, Peer, Program, Script

GAME = 3  # the number of the game in its match
SEEDS = [(seats, seed, 0.02 if seed % 3 == 2 else 0.0) for seats in range(2, 11) for seed in range(6)]
SOME = [(seats, 10 + seed, 0.0) for seats in (2, 3, 4, 6, 9) for seed in range(3)]


# --- random games ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    before: State
    answers: tuple[Answer, ...]
    after: State
    events: tuple[Event, ...]
    chance: Chance


def choose(sight: View, rng: random.Random, calm: float) -> Answer:
    """Choose at random, but pass with the probability `calm`, mostly prove what can be proven, and like exchanges."""
    moves = legal(sight)
    match sight.board.phase:
        case ChallengeWindow() | BlockWindow():
            return PASS if rng.random() < calm else rng.choice(moves[1:])
        case Proving():
            return moves[0] if rng.random() < 0.8 else DECLINE
        case Turn() if rng.random() < 0.2:
            return next((move for move in moves if isinstance(move, Act) and move.action == "exchange"), moves[0])
    return rng.choice(moves)


def play(seats: int, seed: int, forfeit: float = 0.0) -> Iterator[Step]:
    """Play one random game; each answer is a forfeit with the given probability."""
    rng = random.Random(f"{seats}/{seed}")
    calm = rng.choice([0.3, 0.7, 0.9, 0.97])
    chance = Chance(bytes([seats, seed]) * 16, GAME)
    state = deal(COUP, seats, chance)
    while asked := state.board.phase.asked:
        answers = tuple(FORFEIT if rng.random() < forfeit else choose(view(state, s), rng, calm) for s in asked)
        after, events = apply(state, answers, chance)
        yield Step(state, answers, after, events, chance)
        state = after


# --- what a seat doesn't know -----------------------------------------------------------------------------------------


def redealt(state: State, seat: int, rng: random.Random) -> State:
    """Return the state with all cards dealt anew that the seat doesn't see: hands, deck and drawn cards of others."""
    own_drawn = seat == state.board.actor
    hidden = [card for other, hand in enumerate(state.hands) if other != seat for card in hand]
    hidden += state.deck
    hidden += () if own_drawn else state.drawn
    rng.shuffle(hidden)

    def take(count: int) -> tuple[Role, ...]:
        return tuple(sorted(hidden.pop() for _ in range(count)))

    hands = tuple(hand if other == seat else take(len(hand)) for other, hand in enumerate(state.hands))
    drawn = state.drawn if own_drawn else take(len(state.drawn))
    return replace(state, hands=hands, drawn=drawn, deck=tuple(hidden))


def disguised(events: Sequence[Event], seat: int, rng: random.Random) -> list[Event]:
    """Return the events with other cards in what is private to other seats."""
    return [
        replace(event, cards=tuple(rng.choices(COUP.roles, k=len(event.cards or ()))))
        if isinstance(event, Shown | Exchanged) and event.seat != seat
        else event
        for event in events
    ]


Line = Callable[[State, int, Sequence[str]], bytes]


def line(state: State, seat: int, events: Sequence[str]) -> bytes:
    """Build the request to a seat as the match does, and the move that an error line would name."""
    sight = view(state, seat)
    request = wire.Question(state.board, GAME).line(sight, 41, events, wire.menu(legal(sight)), 500, 8123)
    used = [wire.move_payload(default(sight, lambda below, n=n: n % below)) for n in range(2)]
    return request + json.dumps(used).encode()


def leaks(
    seats: int, seed: int, forfeit: float, line: Line = line, feed: Callable[[int], Any] = wire.Feed
) -> list[str]:
    """Return where in a random game a line to a seat is another when what the seat doesn't know is."""
    rng = random.Random(seed)
    true = feed(seats)
    other = [feed(seats) for _ in range(seats)]  # for each seat, what it would be told in the other world
    found = []
    step = None
    for step in play(seats, seed, forfeit):
        for seat in step.before.board.phase.asked:
            here = line(step.before, seat, true.take(seat))
            there = line(redealt(step.before, seat, rng), seat, other[seat].take(seat))
            if here != there:
                found.append(f"{step.before.board.phase} to {seat}")
        true.add(step.events)
        for seat in range(seats):
            other[seat].add(disguised(step.events, seat, rng))
    assert step is not None
    over = step.after.board.phase
    assert isinstance(over, Over)
    for seat in range(seats):
        if wire.game_over(GAME, over, true.take(seat)) != wire.game_over(GAME, over, other[seat].take(seat)):
            found.append(f"game_over to {seat}")
    return found


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_every_line_to_a_seat_is_the_same_whatever_the_seat_does_not_know(
    seats: int, seed: int, forfeit: float
) -> None:
    """DESIGN 3, "What must not leak": any unseen card. hidden_information.md 4, 5, 8, 9, 10 and 12."""
    assert leaks(seats, seed, forfeit) == []


@pytest.mark.parametrize("seats", range(2, 11))
def test_the_first_line_of_a_game_shows_ones_own_cards_only(seats: int) -> None:
    """DESIGN 3, the same for `game_start`."""
    rng = random.Random(seats)
    state = deal(COUP, seats, Chance(bytes(32), 0))
    handles = list("ABCDEFGHIJ"[:seats])
    for seat in range(seats):
        other = redealt(state, seat, rng)
        assert other != state
        assert wire.game_start(view(other, seat), 0, handles) == wire.game_start(view(state, seat), 0, handles)


def test_dealing_anew_keeps_what_the_seat_sees_and_changes_the_rest() -> None:
    """So that the tests of this file mean something."""
    rng = random.Random(1)
    changed = total = 0
    for step in play(5, 1):
        for seat in range(5):
            other = redealt(step.before, seat, rng)
            assert view(other, seat) == view(step.before, seat)
            assert sorted([*other.deck, *other.drawn, *sum(other.hands, ())]) == sorted(
                [*step.before.deck, *step.before.drawn, *sum(step.before.hands, ())]
            )
            total += 1
            changed += other.hands != step.before.hands and other.deck != step.before.deck
    assert changed > 0.8 * total


class OpenFeed:
    """A feed that leaks: everybody gets the owner's copy."""

    def __init__(self, seats: int) -> None:
        self._events: list[str] = []
        self._sent = [0] * seats

    def add(self, events: Sequence[Event]) -> None:
        for event in events:
            self._events.append(wire.event(len(self._events), event, event.seat))

    def take(self, seat: int) -> list[str]:
        events = self._events[self._sent[seat] :]
        self._sent[seat] = len(self._events)
        return events


def names_top_card(state: State, seat: int, events: Sequence[str]) -> bytes:
    return line(state, seat, events) + str(state.deck[-1]).encode()


def names_next_hand(state: State, seat: int, events: Sequence[str]) -> bytes:
    return line(state, seat, events) + repr(state.hands[seat - 1]).encode()


def names_drawn_cards(state: State, seat: int, events: Sequence[str]) -> bytes:
    """Only the actor is asked in its exchange, so this one leaks the deck's next two cards in the window before it."""
    phase = state.board.phase
    leak = isinstance(phase, ChallengeWindow) and phase.pending.action == "exchange"
    return line(state, seat, events) + (repr(state.deck[-2:]).encode() if leak else b"")


def offers_only_good_challenges(state: State, seat: int, events: Sequence[str]) -> bytes:
    phase = state.board.phase
    if isinstance(phase, ChallengeWindow) and phase.claim.role in state.hands[phase.claim.seat]:
        return line(state, seat, events).replace(b',{"challenge":true}', b"")
    return line(state, seat, events)


def tells_whether_a_claim_was_true(state: State, seat: int, events: Sequence[str]) -> bytes:
    """A loser is told by its list whether who declined had lied."""
    others = [card for other, hand in enumerate(state.hands) if other != seat for card in hand]
    return line(state, seat, events) + (b"!" if isinstance(state.board.phase, Losing) and Role.DUKE in others else b"")


@pytest.mark.parametrize(
    "leaky",
    [names_top_card, names_next_hand, names_drawn_cards, offers_only_good_challenges, tells_whether_a_claim_was_true],
)
def test_a_line_that_leaks_is_found(leaky: Line) -> None:
    """So that the main test means something: the commonest mistakes of hidden_information.md 4, 5 and 6."""
    assert any(leaks(seats, seed, forfeit, line=leaky) for seats, seed, forfeit in SOME)


def test_a_feed_that_leaks_is_found() -> None:
    """The same for the private part of events, hidden_information.md 8, 10 and 12."""
    assert any(leaks(seats, seed, forfeit, feed=OpenFeed) for seats, seed, forfeit in SOME)


# --- one step on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_who_is_asked_next_and_what_is_told_depends_on_nothing_hidden(seats: int, seed: int, forfeit: float) -> None:
    """DESIGN 2: whether a request comes must never tell anything hidden.

    The same answers in the other world must lead to the same board and the same public events, but where a card is
    turned up that the seat couldn't know.
    """
    rng = random.Random(seed)
    compared = 0
    for step in play(seats, seed, forfeit):
        for seat in range(seats):
            other = redealt(step.before, seat, rng)
            answers = list(step.answers)
            for place, asked in enumerate(step.before.board.phase.asked):
                moves = legal(view(other, asked))
                if isinstance(answers[place], Keep) and answers[place] not in moves:
                    answers[place] = rng.choice(moves)
            asked = step.before.board.phase.asked
            if any(answer not in legal(view(other, s)) for s, answer in zip(asked, answers, strict=True)):
                continue  # it shows or loses a card that it hasn't got there
            after, events = apply(other, answers, step.chance)
            turned_up = sum(isinstance(event, Lost) for event in events) - isinstance(answers[0], Lose)
            if turned_up:
                continue  # somebody's last card
            compared += 1
            assert after.board == step.after.board
            assert [wire.event(0, event, None) for event in events] == [
                wire.event(0, event, None) for event in step.events
            ]
    assert compared > 20


# --- windows ----------------------------------------------------------------------------------------------------------


def sent(state: State, events: Sequence[Event]) -> list[bytes]:
    """Return what each seat is sent when something has happened: its next request, or the events for its next line."""
    feed = wire.Feed(state.board.seats)
    feed.add(events)
    taken = [feed.take(seat) for seat in range(state.board.seats)]
    return [
        line(state, seat, told) if seat in state.board.phase.asked else "".join(told).encode()
        for seat, told in enumerate(taken)
    ]


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SOME)
def test_nobody_learns_whether_a_later_seat_also_wanted_to_challenge_or_block(
    seats: int, seed: int, forfeit: float
) -> None:
    """DESIGN 2 and 3: who passed or wanted to challenge; hidden_information.md 1 to 3."""
    rng = random.Random(seed)
    compared = 0
    for step in play(seats, seed, forfeit):
        phase = step.before.board.phase
        if not isinstance(phase, ChallengeWindow | BlockWindow) or len(phase.asked) < 2:
            continue
        first = rng.randrange(len(phase.asked) - 1)
        opposing = [legal(view(step.before, seat))[1:] for seat in phase.asked]
        base: list[Answer] = [PASS] * len(phase.asked)
        base[first] = opposing[first][0]
        expected = sent(*apply(step.before, base, step.chance))
        for _ in range(2):
            wanted = base[: first + 1] + [rng.choice((PASS, *moves)) for moves in opposing[first + 1 :]]
            assert sent(*apply(step.before, wanted, step.chance)) == expected
            compared += wanted != base
    assert compared or seats == 2


def test_no_event_names_a_pass() -> None:
    """DESIGN 2: events are for the challenge or block that counts; a window in which all pass has none of its own."""
    quiet = 0
    for step in play(6, 4):
        phase = step.before.board.phase
        if isinstance(phase, ChallengeWindow | BlockWindow) and set(step.answers) == {PASS}:
            quiet += 1
            names = {json.loads(wire.event(0, event, None))["event"] for event in step.events}
            assert names <= {"coins", "lost", "exiled"}  # what the action does
            assert {event.seat for event in step.events} <= {step.before.board.actor, phase.pending.target}
    assert quiet > 10


# --- declining --------------------------------------------------------------------------------------------------------


def test_a_truthful_decline_looks_to_the_others_like_a_liars() -> None:
    """000:159 "or do not wish to"; DESIGN 3. The liar has another card in the place of the one that was claimed.

    Both decline and then lose the same other card; the others are sent the same bytes until then and afterwards.
    """
    compared = 0
    for step in (step for one in SEEDS + SOME for step in play(*one)):
        phase = step.before.board.phase
        if not isinstance(phase, Proving):
            continue
        claimant, role = phase.claim.seat, phase.claim.role
        hand = step.before.hands[claimant]
        others = [card for card in hand if card != role]
        swap = next((card for card in step.before.deck if card != role), None)
        if len(hand) != 2 or len(others) != 1 or swap is None:
            continue
        deck = list(step.before.deck)
        deck[deck.index(swap)] = role
        lies = replace(
            step.before,
            deck=tuple(deck),
            hands=tuple(
                tuple(sorted((*others, swap))) if seat == claimant else cards
                for seat, cards in enumerate(step.before.hands)
            ),
        )
        assert legal(view(step.before, claimant)) == (Show(role), DECLINE)
        assert legal(view(lies, claimant)) == (DECLINE,)
        worlds = [step.before, lies]
        for answer in (DECLINE, Lose(others[0])):
            ends = [apply(state, [answer], step.chance) for state in worlds]
            worlds = [state for state, _ in ends]
            truthful, lying = (sent(*end) for end in ends)
            assert [x for s, x in enumerate(truthful) if s != claimant] == [
                x for s, x in enumerate(lying) if s != claimant
            ]
            assert worlds[0].board == worlds[1].board
        compared += 1
    assert compared > 50


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seats", "seed", "forfeit"), SEEDS)
def test_the_last_line_never_shows_the_survivors_cards(seats: int, seed: int, forfeit: float) -> None:
    """DESIGN 3, "the hidden cards of the game's survivors"; hidden_information.md 14."""
    feed = wire.Feed(seats)
    step = None
    for step in play(seats, seed, forfeit):
        feed.add(step.events)
    assert step is not None
    over = step.after.board.phase
    assert isinstance(over, Over)
    for seat in range(seats):
        message = json.loads(wire.game_over(GAME, over, feed.take(seat)))
        assert list(message) == ["type", "game", "winner", "reason", "survivors", "events"]
        assert message["survivors"] == [s for s, hand in enumerate(step.after.hands) if hand]
        for event in message["events"]:
            if "cards" in event:  # in one's own copy
                assert event["seat"] == seat
            if "roles" in event or event["event"] == "lost":
                assert event["seat"] not in message["survivors"] or step.after.board.revealed[event["seat"]]


# --- real matches -----------------------------------------------------------------------------------------------------


@dataclass
class Played:
    spec: MatchSpec
    record: Record
    lines: list[list[bytes]]  # what each bot was sent


def match(seats: int, misbehave: Callable[[random.Random, dict[str, Any]], bytes | None], games: int = 1) -> Played:
    """Play a match of bots that choose at random; bot 0 sends what `misbehave` returns instead where that isn't None.

    An empty return makes it die.
    """
    lines: list[list[bytes]] = [[] for _ in range(seats)]

    def script(number: int) -> Script:
        rng = random.Random(number)

        def run(peer: Peer) -> None:
            for got in peer.lines():
                lines[number].append(got)
                message = json.loads(got)
                if message["type"] == "hello":
                    peer.send(b'{"type":"hello"}\n')
                if message["type"] != "request":
                    continue
                instead = misbehave(rng, message) if number == 0 else None
                if instead == b"":
                    peer.die(1)
                elif instead is not None:
                    peer.send(instead)
                else:
                    calm = message["kind"] in ("challenge", "block") and rng.random() < 0.7
                    index = 0 if calm else rng.randrange(len(message["legal"]))
                    peer.send(b'{"id":%d,"choice":%d}\n' % (message["id"], index))

        return run

    bots = tuple(f"secretive{number}" for number in range(seats))
    sandbox = FakeSandbox({name: script(number) for number, name in enumerate(bots)})
    seatings = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(games))
    spec = MatchSpec(match=0, key=bytes([seats]) * 32, bots=bots, seatings=seatings, lives=1000)

    def launch(number: int) -> Box:
        return sandbox.start(Program((bots[number],), Path()), Limits())

    record = read(play_match(spec, launch).record)
    return Played(spec, record, lines)


def rebuilt(played: Played) -> list[list[bytes]]:
    """Build the lines to each bot from the record alone, by the functions that the tests above use."""
    spec = played.spec
    lines: list[list[bytes]] = [[] for _ in spec.bots]
    number = [0] * len(spec.bots)
    for game, seating in zip(played.record.games, spec.seatings, strict=True):
        feed = wire.Feed(spec.seats)
        handles = [spec.handles[bot] for bot in seating]
        state = deal(COUP, spec.seats, Chance(spec.key, game.game))
        for seat, bot in enumerate(seating):
            lines[bot].append(wire.game_start(view(state, seat), game.game, handles))
        words = iter(game.words)
        while asked := state.board.phase.asked:
            question = wire.Question(state.board, game.game)
            for seat in asked:
                bot = seating[seat]
                number[bot] += 1
                sight = view(state, seat)
                menu = wire.menu(legal(sight))
                lines[bot].append(question.line(sight, number[bot], feed.take(seat), menu, 500, 10_000))
            answers = [parse(next(words)) for _ in asked]
            state, events = apply(state, answers, Chance(spec.key, game.game))
            feed.add(events)
        over = state.board.phase
        assert isinstance(over, Over)
        for seat, bot in enumerate(seating):
            lines[bot].append(wire.game_over(game.game, over, feed.take(seat)))
    return lines


def without_clock(line: bytes) -> bytes:
    return re.sub(rb',"clock":\{[^}]*\}', b"", line)


def well_behaved(_: random.Random, __: dict[str, Any]) -> None:
    return None


def garbled(rng: random.Random, request: dict[str, Any]) -> bytes | None:
    return b'{"id":%d,"choice":999}\n' % request["id"] if rng.random() < 0.3 else None


@pytest.mark.parametrize("seats", [2, 3, 5])
@pytest.mark.parametrize("misbehave", [well_behaved, garbled])
def test_a_match_sends_the_lines_that_these_tests_build_and_no_others(
    seats: int, misbehave: Callable[[random.Random, dict[str, Any]], bytes | None]
) -> None:
    """DESIGN 3: the clock aside. Besides them there are the hello, match_over, and error lines for the offender."""
    played = match(seats, misbehave, games=3)
    expected = rebuilt(played)
    for bot, lines in enumerate(played.lines):
        kinds = [json.loads(line)["type"] for line in lines]
        assert (kinds[0], kinds[-1]) == ("hello", "match_over")
        assert set(kinds[1:-1]) - {"error"} == {"game_start", "request", "game_over"}
        assert bot == 0 or "error" not in kinds
        got = [line for line, kind in zip(lines, kinds, strict=True) if kind in ("game_start", "request", "game_over")]
        assert list(map(without_clock, got)) == list(map(without_clock, expected[bot]))


def test_an_error_line_holds_nothing_but_the_offenders_own() -> None:
    """DESIGN 3; hidden_information.md 13: what it sent, and a move out of its own list."""
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
            assert not any(role in line["message"] for role in Role)
    assert errors > 3


def test_a_forfeit_shows_the_cards_and_coins_that_are_lost_and_nothing_else() -> None:
    """DESIGN 3: the others see `forfeit`, never why; `roles` are public from then on."""
    played = match(4, lambda rng, request: b"" if request["id"] == 3 else None)
    for lines in played.lines[1:]:
        (line,) = [line for line in lines if b'"event":"forfeit","seat":0' in line]
        event = next(e for e in json.loads(line)["events"] if e["event"] == "forfeit")
        assert list(event) == ["n", "event", "seat", "roles"]
        assert not any(word in b"".join(lines) for word in (b"exited", b"closed", b"error", b"fault"))


def test_nothing_that_crosses_the_pipe_tells_the_key_or_another_bots_name() -> None:
    """DESIGN 2: nothing about keys crosses the pipe; DESIGN 3: other bots' file names."""
    played = match(4, garbled)
    key = played.spec.key
    secrets = [key.hex().encode(), key, *(name.encode() for name in played.spec.bots)]
    for lines in played.lines:
        assert not any(secret in b"".join(lines) for secret in secrets)
    seeds = [json.loads(lines[0])["bot_seed"] for lines in played.lines]
    assert len(set(seeds)) == 4


def test_a_bots_lines_hold_private_parts_of_its_own_seat_only() -> None:
    """The contract: `cards` and `drawn` stand in `you`, and in one's own copies of shown and exchanged."""
    played = match(4, well_behaved, games=4)
    private = 0
    for bot, lines in enumerate(played.lines):
        seat = None
        for message in map(json.loads, lines):
            if message["type"] == "game_start":
                seat = message["seat"]
                assert played.spec.seatings[message["game"]][seat] == bot
            if "you" in message:
                assert message["you"]["seat"] == seat
            for event in message.get("events", ()):
                if "cards" in event:
                    private += 1
                    assert (event["seat"], event["event"]) in ((seat, "shown"), (seat, "exchanged"))
    assert private


def test_the_games_of_these_tests_have_every_phase() -> None:
    """So that the tests of this file mean something."""
    phases = {type(step.before.board.phase) for one in SEEDS for step in play(*one)}
    assert phases == {Turn, ChallengeWindow, BlockWindow, Proving, Losing, Exchanging}
    answers = {type(answer) for one in SEEDS for step in play(*one) for answer in step.answers}
    assert {type(CHALLENGE), type(FORFEIT), Block, Keep, Show} <= answers
