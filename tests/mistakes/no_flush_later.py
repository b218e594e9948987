"""Flushes its hello, and no line after it."""

import json
import sys

out = open(1, "w")  # noqa: SIM115

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', file=out, flush=True)
    elif message["type"] == "request":
        out.write(json.dumps({"id": message["id"], "choice": 0}) + "\n")
