"""Challenges every claim that anyone makes, and otherwise plays quietly: coup, else foreign aid.

Most claims are true, so most of these challenges cost an influence.
"""

import json
import sys
from typing import Any


def choose(legal: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the move of `legal` to play."""
    for move in legal:
        if "challenge" in move or move.get("action") == "coup":
            return move
    for move in legal:
        if move.get("action") == "foreign_aid":
            return move
    return legal[0]  # pass on blocks, show the card when challenged, keep our hand


def main() -> None:
    """Talk to the arena until it closes our input."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print(json.dumps({"type": "hello", "name": "challenger", "version": "1.0"}), flush=True)
        elif message["type"] == "request":
            print(json.dumps({"id": message["id"], "move": choose(message["legal"])}), flush=True)


if __name__ == "__main__":
    main()
