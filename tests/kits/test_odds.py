"""Moves of a starter and odds of its kit, compared with the engine; counts of two kits. Source: the kits' README."""

import json
import shutil
from typing import Any

import pytest

from protocol.kits.coup_kit import Bot, Game
from tests.kits.conversations import MATCHES, match, matches, truths
from tests.kits.table import KITS, Kit, each_kit
from tests.kits.test_kits import Make, choices

Message = dict[str, Any]


@pytest.fixture(scope="session")
def starter_moves(made: Make) -> list[int]:
    return choices(made(KITS[0], KITS[0].starter), matches())[0]


@each_kit
def test_starters_play_alike_and_their_odds_are_the_engines(kit: Kit, made: Make, starter_moves: list[int]) -> None:
    """1,000 requests of every preset are compared, and the cards and influence at the end of each game.

    In a draft the opponent has no cards, but is an opponent.
    """
    assert choices(made(kit, kit.starter), matches())[0] == starter_moves
    ran = made(kit, kit.probe).feed(matches(), "odds")
    assert ran.code == 0, ran.err
    reckoned = list(map(json.loads, ran.err.splitlines()))
    assert len(truths()) > 1000
    for output, truth in zip(reckoned, truths(), strict=True):
        if isinstance(truth, dict):
            assert {**output, "cards": sorted(output["cards"])} == truth
            continue
        for chances, wanted in zip(output, truth, strict=True):
            assert {role: chances[role] for role in wanted} == pytest.approx(wanted, abs=1e-9)


class Historian(Bot):
    def match_start(self, game: Game) -> None:
        self.game = game
        self.ends: list[Any] = []

    def game_over(self, game: Game) -> None:
        counted = [{name: dict(getattr(player, name)) for name in COUNTS} for player in game.players]
        histories = [{name: getattr(player.history, name) for name in HISTORY} for player in game.players]
        self.ends.append([{**counts, "history": did} for counts, did in zip(counted, histories, strict=True)])


COUNTS = ("claims", "caught", "shown", "blocks")
HISTORY = ("claimed", "challenged", "proven", "caught", "challenges", "won_challenges", "blocks")


def count_actions(messages: list[Message], handle: str) -> dict[str, int]:
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


def test_the_kit_for_python_counts_actions_of_all_games() -> None:
    for preset, seats in MATCHES:
        bot = Historian()
        messages = match(preset, seats)
        for message in messages:
            bot.reply(message)
        for player, output in zip(bot.game.players, bot.ends[-1], strict=True):
            assert output["history"] == count_actions(messages, player.handle), preset


@pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")
def test_the_kit_for_javascript_counts_as_the_one_for_python_does(made: Make) -> None:
    bot, ends = Historian(), []
    for message in matches():
        bot.reply(message)
        if message["type"] == "game_over":
            ends.append(bot.ends[-1])
    kit = next(kit for kit in KITS if kit.language == "javascript")
    ran = made(kit, kit.probe).feed(matches(), "history")
    text = json.dumps(ends).replace("won_challenges", "wonChallenges")
    assert list(map(json.loads, ran.err.splitlines())) == json.loads(text)


# Events after claims of a duke and of a captain, and the roles that a player may still hold.
FORGOTTEN: list[tuple[Message, set[str]]] = [
    ({"event": "lost", "seat": 1, "role": "duke", "reason": "coup"}, {"captain"}),
    ({"event": "lost", "seat": 1, "role": "contessa", "reason": "coup"}, {"duke", "captain"}),
    ({"event": "shown", "seat": 1, "role": "duke"}, {"captain"}),
    ({"event": "shown", "seat": 1, "role": "duke", "replaced": False}, {"duke", "captain"}),
    ({"event": "unproven", "seat": 1, "role": "captain"}, {"duke"}),
    ({"event": "exchanged", "seat": 1, "count": 2}, set()),
    ({"event": "exchanged", "seat": 2, "count": 2}, {"duke", "captain"}),
    ({"event": "shown_hand", "seat": 1, "roles": ["assassin", "contessa"]}, set()),
    ({"event": "examined", "seat": 2, "target": 1, "replaced": True}, set()),
    ({"event": "examined", "seat": 0, "target": 1, "replaced": True, "role": "duke"}, {"captain"}),
    ({"event": "examined", "seat": 0, "target": 1, "replaced": False, "role": "duke"}, {"duke", "captain"}),
    ({"event": "forfeit", "seat": 1, "roles": ["duke", "duke"]}, set()),
]


@pytest.mark.parametrize(("event", "left"), FORGOTTEN)
def test_a_claim_is_forgotten_when_the_card_has_gone(event: Message, left: set[str]) -> None:
    """All claims are forgotten when the cards may be others."""
    bot = Historian()
    hello, start, request, *_ = match("coup", 3)
    claims = [{"event": "action", "seat": 1, "action": action, "claim": role} for action, role in CLAIMS]
    for message in (hello, start, {**request, "events": [*claims, event]}):
        bot.reply(message)
    assert set(bot.game.players[1].claims) == left


CLAIMS = (("tax", "duke"), ("steal", "captain"))
