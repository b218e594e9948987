"""Fails at its fiftieth request."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        if message["id"] == 50:
            raise KeyError("opponent")
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
