"""Answers two requests and exits with code 0 when it gets the third."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        if message["id"] == 3:
            sys.exit(0)
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
