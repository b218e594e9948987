"""Writes 1 MiB to stderr, far more than a pipe holds, before every answer."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stderr.write("thinking hard\n" * 74900)
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
