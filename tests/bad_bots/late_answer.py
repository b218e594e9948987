"""Answers its first request 1 ms after its free time and its bank have run out, then behaves."""

import json
import sys
import time

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        if message["id"] == 1:
            time.sleep((message["clock"]["limit_ms"] + message["clock"]["bank_ms"] + 1) / 1000)
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
