"""Tests of the bot's choices, without the arena: `python3 test_bot.py`."""

from __future__ import annotations

import unittest

from bot import MyBot
from coup_kit import Bot, Message, Move

HELLO: Message = {
    "type": "hello",
    "ruleset": {"name": "coup", "deck": dict.fromkeys(["ambassador", "assassin", "captain", "contessa", "duke"], 3)},
    "match": {"games": 1, "seats": 3, "your_handle": "A", "handles": ["A", "B", "C"]},
    "bot_seed": "5f1c09a7d2e84b3690c1f7a85d3e2b46",
}


def ask(
    bot: Bot, kind: str, cards: list[str], legal: list[Move], revealed: list[str] | None = None, **more: object
) -> Move:
    """Start a game of three players as seat 0, and return the bot's move. `revealed`: a lost card of seat 2."""
    lost = revealed or []
    state = {
        "turn": 1,
        "actor": 0,
        "deck": 9,
        "players": [
            {"coins": 2, "influence": len(cards), "revealed": []},
            {"coins": 2, "influence": 2, "revealed": []},
            {"coins": 5, "influence": 2 - len(lost), "revealed": lost},
        ],
    }
    now: Message = {"game": 0, "state": state, "you": {"seat": 0, "cards": cards}}
    bot.reply(HELLO)
    bot.reply({"type": "game_start", "seat": 0, "players": ["A", "B", "C"], **now})
    reply = bot.reply({"type": "request", "id": 1, "kind": kind, "events": [], "legal": legal, **now, **more})
    assert reply is not None
    return legal[reply["choice"]]


TURN: list[Move] = [
    {"action": "income"},
    {"action": "tax"},
    {"action": "steal", "target": 1},
    {"action": "steal", "target": 2},
]
PASS_OR_CHALLENGE: list[Move] = [{"pass": True}, {"challenge": True}]


class TestMyBot(unittest.TestCase):
    def test_it_taxes_with_a_duke_and_not_without(self) -> None:
        assert ask(MyBot(), "turn", ["contessa", "duke"], TURN) == {"action": "tax"}
        assert ask(MyBot(), "turn", ["contessa", "contessa"], TURN) == {"action": "income"}

    def test_it_steals_from_the_richest(self) -> None:
        assert ask(MyBot(), "turn", ["captain", "contessa"], TURN) == {"action": "steal", "target": 2}

    def test_it_challenges_only_what_is_very_unlikely(self) -> None:
        claim = {"seat": 1, "role": "duke", "block": False}
        pending = {"actor": 1, "action": "tax"}
        for cards, revealed, move in (
            (["captain", "contessa"], [], {"pass": True}),
            (["duke", "duke"], ["duke"], {"challenge": True}),
        ):
            found = ask(MyBot(), "challenge", cards, PASS_OR_CHALLENGE, revealed, claim=claim, pending=pending)
            assert found == move


if __name__ == "__main__":
    unittest.main()
