"""Writes all through a buffer of its own, and never flushes it."""

import json
import sys

out = open(1, "w")  # noqa: SIM115

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        out.write('{"type":"hello"}\n')
    elif message["type"] == "request":
        out.write(json.dumps({"id": message["id"], "choice": 0}) + "\n")
