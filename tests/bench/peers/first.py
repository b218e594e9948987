"""A cheap bot in Python: it reads a line, and takes one legal move after the other."""

import json
import sys

taken = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "hello"}), flush=True)
    elif message["type"] == "request":
        taken += 1
        print(json.dumps({"id": message["id"], "choice": taken % len(message["legal"])}), flush=True)
