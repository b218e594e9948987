"""Writes one byte of its answer every 100 ms."""

import json
import sys
import time

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        for character in json.dumps({"id": message["id"], "choice": 0}) + "\n":
            print(character, end="", flush=True)
            time.sleep(0.1)
