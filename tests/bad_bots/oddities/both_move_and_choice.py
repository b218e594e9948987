"""Gives a legal move and its index, where exactly one of them is asked for."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(
            json.dumps({"id": message["id"], "move": message["legal"][0], "choice": 0}).encode() + b"\n"
        )
        sys.stdout.buffer.flush()
