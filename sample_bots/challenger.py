"""Challenges every claim that anyone makes, and otherwise plays quietly: coup, else foreign aid.

Most claims are true, so most of these challenges cost an influence.
"""

import json
import os
import sys


def choose(legal: list[dict]) -> dict:
    """Return the move of `legal` to play."""
    for move in legal:
        if "challenge" in move or move.get("action") == "coup":
            return move
    for move in legal:
        if move.get("action") == "foreign_aid":
            return move
    return legal[0]  # pass on blocks, show the card when challenged, keep our hand


def send(message: dict) -> None:
    """Write one line, in one piece: `print` would write its end apart, which wakes the arena twice."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Talk to the arena until the match is over."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            send({"type": "hello", "name": "challenger", "version": "1.0"})
        elif message["type"] == "request":
            send({"id": message["id"], "move": choose(message["legal"])})
        elif message["type"] == "match_over":
            os._exit(0)  # at once, without Python's tidying up: close your files before


if __name__ == "__main__":
    main()
