"""Reads a file by a path that holds nowhere else."""

import json
import sys

with open("data/weights.json") as file:
    weights = json.load(file)

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
