"""Plays any legal move at random. The smallest bot there is: copy it and change the line that chooses."""

import json
import random
import sys

rng = random.Random(0)

for line in sys.stdin:  # one JSON message a line; the loop ends when the arena closes our input
    message = json.loads(line)
    if message["type"] == "hello":
        rng = random.Random(message["bot_seed"])  # the arena's seed, so that a run can be repeated
        print(json.dumps({"type": "hello", "name": "random", "version": "1.0"}), flush=True)
    elif message["type"] == "request":  # the only kind of line that wants an answer
        choice = rng.randrange(len(message["legal"]))
        print(json.dumps({"id": message["id"], "choice": choice}), flush=True)
