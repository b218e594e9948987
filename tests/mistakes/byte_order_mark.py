"""Begins every line with a byte order mark."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('\ufeff{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print("\ufeff" + json.dumps({"id": message["id"], "choice": 0}), flush=True)
