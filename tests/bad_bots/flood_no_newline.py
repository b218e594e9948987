"""Answers its first request with a line that never ends."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        while True:
            sys.stdout.write("x" * 65536)
