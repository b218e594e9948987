"""Gives false as its choice."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'{"id":%d,"choice":false}' % message["id"] + b"\n")
        sys.stdout.buffer.flush()
