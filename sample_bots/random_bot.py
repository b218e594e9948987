"""Plays any legal move at random. The smallest bot there is: copy it and change the line that chooses."""

import json
import random
import sys

rng = random.Random(0)

for line in sys.stdin:  # one JSON message a line; the loop ends when the arena closes standard input
    message = json.loads(line)
    if seed := message.get("game_seed") or message.get("bot_seed"):
        rng = random.Random(seed)  # the arena's seed, so that a game can be repeated
    if message["type"] == "hello":
        answer: dict[str, object] = {"type": "hello", "name": "random", "version": "1.0"}
    elif message["type"] == "request":
        answer = {"id": message["id"], "choice": rng.randrange(len(message["legal"]))}
    else:  # other messages need no answer
        continue
    sys.stdout.write(json.dumps(answer) + "\n")  # in one write: `print` would write the newline separately
    sys.stdout.flush()
