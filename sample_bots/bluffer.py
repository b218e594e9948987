"""Claims whatever helps, held or not: taxes as Duke every turn, and blocks everything that can be blocked.

The one caution: after it has been caught with a role it does not claim that role again in this game unless it holds it.
"""

import json
import os
import sys

# The role that each action claims.
ROLE_FOR = {"assassinate": "assassin", "steal": "captain", "tax": "duke", "exchange": "ambassador"}


def choose(request: dict, caught: set[str]) -> dict:
    """Return the move of request["legal"] to play; `caught` are the roles that nobody believes from us any more."""
    legal: list[dict] = request["legal"]
    cards: list[str] = request["you"]["cards"]
    players: list[dict] = request["state"]["players"]

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


def send(message: dict) -> None:
    """Write one line, in one piece: `print` would write its end apart, which wakes the arena twice."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Talk to the arena until the match is over."""
    caught: set[str] = set()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            send({"type": "hello", "name": "bluffer", "version": "1.0"})
        elif message["type"] == "game_start":
            caught = set()
        elif message["type"] == "request":
            for event in message["events"]:
                if event["event"] == "unproven" and event["seat"] == message["you"]["seat"]:
                    caught.add(event["role"])
            send({"id": message["id"], "move": choose(message, caught)})
        elif message["type"] == "match_over":
            os._exit(0)  # at once, without Python's tidying up: close your files before


if __name__ == "__main__":
    main()
