"""Prints what it thinks to standard output."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print("thinking about", message["kind"], flush=True)
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
