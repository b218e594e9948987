"""Writes a file into its own folder."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        with open("games.log", "a") as log:
            log.write(line)
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
