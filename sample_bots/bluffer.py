"""Claims whatever helps, held or not: taxes as Duke every turn, and blocks everything that can be blocked.

The one caution: after it has been caught with a role it does not claim that role again in this game unless it holds it.
"""

import json
import sys
from typing import Any

Move = dict[str, Any]

# The role that each action claims.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}


def choose(request: dict[str, Any], caught: set[str]) -> Move:
    """Return the move of request["legal"] to play; `caught` are the roles that nobody believes from us any more."""
    legal: list[Move] = request["legal"]
    cards: list[str] = request["you"]["cards"]
    players: list[dict[str, Any]] = request["state"]["players"]

    def believable(role: str) -> bool:
        return role in cards or role not in caught

    if request["kind"] == "turn":
        for action in ("coup", "assassinate", "tax", "steal"):
            moves = [move for move in legal if move.get("action") == action]
            if moves and believable(ROLE_FOR.get(action, "")):
                return max(moves, key=lambda move: players[move["target"]]["coins"] if "target" in move else 0)
    if request["kind"] == "block":
        blocks = [move for move in legal if "block" in move]
        blocks.sort(key=lambda move: move["block"] not in cards)  # a true block first: it survives a challenge
        for move in blocks:
            if believable(move["block"]):
                return move
    return legal[0]  # the quiet move: income, pass, show the card, keep our hand


def main() -> None:
    """Talk to the arena until it closes our input."""
    caught: set[str] = set()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print(json.dumps({"type": "hello", "name": "bluffer", "version": "1.0"}), flush=True)
        elif message["type"] == "game_start":
            caught = set()
        elif message["type"] == "request":
            for event in message["events"]:
                if event["event"] == "unproven" and event["seat"] == message["you"]["seat"]:
                    caught.add(event["role"])
            print(json.dumps({"id": message["id"], "move": choose(message, caught)}), flush=True)


if __name__ == "__main__":
    main()
