"""Prints a banner before its hello, which is so no hello, and then behaves."""

import json
import sys

print("MegaBot 3000 ready", flush=True)

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print("Hello from MegaBot 3000", flush=True)
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
