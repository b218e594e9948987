"""Prints debug text to stdout before every answer."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print("thinking about request", message["id"])
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
