"""Writes half of its first answer, without a newline, and exits with code 0."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0})[:8], end="", flush=True)
        sys.exit(0)
