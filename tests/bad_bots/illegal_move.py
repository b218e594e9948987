"""Answers every request with a move that is never legal."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "move": {"action": "resign"}}), flush=True)
