"""Prints a dict as Python shows it."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print({"id": message["id"], "choice": 0}, flush=True)
