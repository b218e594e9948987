"""Writes to stderr without end, from its first request on, and with four processes: faster than it can be read."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        os.fork()
        os.fork()
        while True:
            os.write(2, b"thinking hard\n" * 4096)
