"""Takes income until a coup can be paid for, then launches it. Never claims a role, never challenges, never blocks."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "hello", "name": "turtle", "version": "1.0"}), flush=True)
    elif message["type"] == "request":
        # A coup is legal once we can pay. The first legal move is a quiet one: income, pass, show the card if held.
        coups = [move for move in message["legal"] if move.get("action") == "coup"]
        move = (coups or message["legal"])[0]
        print(json.dumps({"id": message["id"], "move": move}), flush=True)
