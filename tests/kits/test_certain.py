"""What a kit knows for certain, against the engine's truth and against cases. Source: the kits' README."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.coup import FORFEIT, PRESETS, Answer, Chance, Over, Pass, apply, deal, derived, legal, view
from arena.referee import MatchSpec, Terms, hello, menus, wire
from protocol.kits.coup_kit import Bot, Game
from tests.kits.conftest import Made
from tests.kits.table import KITS, Kit, each_kit

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
                yield question.line(view(state, 0), asked, feed.take(0), menus.menu(moves), 500, 10_000), state, asked
            quiet = isinstance(moves[0], Pass) and rng.random() < 0.6
            gone = seat and rng.random() < 0.002
            answers.append(FORFEIT if gone else moves[0] if quiet else rng.choice(moves))
        state, events = apply(state, answers, chance)
        feed.add(events)
    over = state.board.phase
    assert isinstance(over, Over)
    yield wire.game_over(0, over, feed.take(0)), state, 0


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
