"""What a kit knows for certain, against the engine's truth and against cases. Source: the kits' README."""

import json
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from arena.coup import FORFEIT, PRESETS, Answer, Chance, Pass, apply, deal, derived, legal, view
from arena.referee import MatchSpec, Terms, hello, menus, wire
from protocol.kits.coup_kit import Bot, Game
from tests.kits.conftest import Made
from tests.kits.conversations import MATCHES, match
from tests.kits.table import Kit, each_kit

Message = dict[str, Any]
CASES = Path(__file__).parents[2] / "protocol" / "kits" / "cases.jsonl"
GAMES = 12


class Follower(Bot):
    """Follows a game, and keeps what it sees it through."""

    def match_start(self, game: Game) -> None:
        self.game = game


def played(preset: str, seats: int, rng: random.Random) -> Iterator[tuple[str, Any, int]]:
    """Yield each line of a game that seat 0 hears, with the board that was true then, and the seat's hidden cards."""
    rules = PRESETS[preset]
    spec = MatchSpec(0, bytes(32), tuple(map(str, range(seats))), (tuple(range(seats)),), Terms(rules=rules))
    chance = Chance(derived(bytes(32), f"{preset} {rng.random()}"), 0)
    state = deal(rules, seats, chance)
    feed = wire.Feed(seats)
    yield hello(spec, 0), state, 0
    yield wire.game_start(view(state, 0), 0, spec.game_seed(0, 0), spec.handles), state, 0
    asked = 0
    while state.board.phase.asked:
        question = wire.Question(state.board, 0)
        answers: list[Answer] = []
        for seat in state.board.phase.asked:
            moves = legal(view(state, seat))
            if seat == 0:
                asked += 1
                sight, menu = view(state, 0), menus.menu(moves)
                yield question.line(sight, feed.known(sight), asked, feed.take(0), menu, 500, 10_000), state, asked
            quiet = isinstance(moves[0], Pass) and rng.random() < 0.6
            gone = seat and rng.random() < 0.002
            answers.append(FORFEIT if gone else moves[0] if quiet else rng.choice(moves))
        state, events = apply(state, answers, chance)
        feed.add(events)
    yield wire.game_over(0, state.board, feed.take(0)), state, 0


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_odds_of_0_and_1_are_always_true_and_the_end_is_the_engines(preset: str) -> None:
    """In every preset: also of cards that lie in the deck, and of the table that `game_over` leaves."""
    rng = random.Random(preset)
    rules = PRESETS[preset]
    for number in range(GAMES):
        seats = max(rules.min_seats, min(2 + number % 5, rules.max_seats))
        bot = Follower()
        for line, state, _ in played(preset, seats, rng):
            message = json.loads(line)
            bot.reply(message)
            if message["type"] == "hello":
                continue
            hands = state.hands
            for player in bot.game.players:
                for role in bot.game.rules["deck"]:
                    odds = bot.game.odds(player.seat, role)
                    assert 0 <= odds <= 1
                    if odds in (0, 1):
                        assert (role in hands[player.seat]) == bool(odds), (message, player.seat, role)
            if message["type"] == "game_over":
                board = state.board
                assert [player.coins for player in bot.game.players] == list(board.coins)
                assert [player.influence for player in bot.game.players] == [len(hand) for hand in hands]
                assert [player.revealed for player in bot.game.players] == [list(cards) for cards in board.revealed]
                assert sorted(bot.game.cards) == sorted(hands[0])
                assert bot.game.me.alive == bool(hands[0])


HISTORY = ("claimed", "challenged", "proven", "caught", "challenges", "won_challenges", "blocks")


def history(messages: list[Message], handle: str) -> dict[str, int]:
    """Count what a handle did in all games."""
    found = dict.fromkeys(HISTORY, 0)
    players: list[str] = []
    challenger = ""
    for message in messages:
        if message["type"] == "game_start":
            players = message["players"]
        for event in message.get("events", []):
            name, mine = event["event"], players[event["seat"]] == handle
            found["claimed"] += mine and ("claim" in event or name == "block")
            found["blocks"] += mine and name == "block"
            found["challenges"] += mine and name == "challenge"
            found["challenged"] += name == "challenge" and players[event["claimant"]] == handle
            found["proven"] += mine and name in ("shown", "shown_hand")
            found["caught"] += mine and name == "unproven"
            if name == "challenge":
                challenger = players[event["seat"]]
            found["won_challenges"] += name == "unproven" and challenger == handle
    return found


def test_the_kit_for_python_counts_what_players_did_in_all_games() -> None:
    """Of each handle, as counted slowly from all events."""
    for preset, seats in MATCHES:
        bot = Follower()
        messages = match(preset, seats)
        for message in messages:
            bot.reply(message)
        for player in bot.game.players:
            counted = {name: getattr(player.history, name) for name in HISTORY}
            assert counted == history(messages, player.handle), preset


def cases() -> list[Message]:
    return [json.loads(line) for line in CASES.read_text().splitlines()]


COUNTS = ("claims", "caught", "shown", "blocks")
TABLE = ("alive", "influence", "coins", "revealed")


@each_kit
def test_a_kit_knows_what_the_cases_say(kit: Kit, made: Callable[[Kit, Path], Made]) -> None:
    """After each line, at requests and at the end of a game."""
    steps = [step for case in cases() for step in case["steps"]]
    ends = [step for step in steps if step["line"]["type"] == "match_over"]
    messages = [step["line"] for step in steps if step not in ends] + [ends[-1]["line"]]
    ran = made(kit, kit.probe).hears(messages, "know")
    assert ran.code == 0, ran.err
    told = iter(map(json.loads, ran.err.splitlines()))
    for case in cases():
        for step in case["steps"]:
            if step["line"]["type"] in ("request", "game_over"):
                check(next(told), step["knows"], case["case"])
    assert list(told) == []


def check(told: Message, knows: Message, case: str) -> None:
    """Compare what a probe told with what a case says."""
    for seat, odds in knows.get("odds", {}).items():
        for role, chance in odds.items():
            number = told["odds"][int(seat)][role]
            exact = chance in ("0", "1")
            wanted = float(Fraction(chance))
            assert number == wanted if exact else number == pytest.approx(wanted, abs=1e-8), (case, seat, role)
    for name in (*COUNTS, "known"):
        for seat, wanted in knows.get(name, {}).items():
            assert told[name][int(seat)] == wanted, (case, name)
    for name in (*TABLE, "cards"):
        if name in knows:
            assert told[name] == knows[name], (case, name)
