"""Takes income until a coup can be paid for, then launches it. Never claims a role, never challenges, never blocks."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        answer: dict = {"type": "hello", "name": "turtle", "version": "1.0"}
    elif message["type"] == "request":
        # A coup is legal once we can pay. The first legal move is a quiet one: income, pass, show the card if held.
        coups = [move for move in message["legal"] if move.get("action") == "coup"]
        answer = {"id": message["id"], "move": (coups or message["legal"])[0]}
    else:  # only those two want an answer
        continue
    sys.stdout.write(json.dumps(answer) + "\n")  # the line in one piece: `print` would write its end apart
    sys.stdout.flush()
