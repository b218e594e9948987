"""Plays any legal move at random. The smallest bot there is: copy it and change the line that chooses."""

import json
import random
import sys

rng = random.Random(0)

for line in sys.stdin:  # one JSON message a line; the loop ends when the arena closes our input
    message = json.loads(line)
    if message["type"] == "hello":
        rng = random.Random(message["bot_seed"])  # the arena's seed, so that a run can be repeated
        answer: dict[str, object] = {"type": "hello", "name": "random", "version": "1.0"}
    elif message["type"] == "request":
        answer = {"id": message["id"], "choice": rng.randrange(len(message["legal"]))}
    else:  # only those two want an answer
        continue
    sys.stdout.write(json.dumps(answer) + "\n")  # the line in one piece: `print` would write its end apart
    sys.stdout.flush()
