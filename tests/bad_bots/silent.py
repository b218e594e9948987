"""Greets, then never answers a request."""

import json
import sys

for line in sys.stdin:
    if json.loads(line)["type"] == "hello":
        print('{"type":"hello"}', flush=True)
