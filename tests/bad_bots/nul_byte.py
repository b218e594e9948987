"""Puts a raw NUL byte behind the object."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'{"id":%d,"choice":0}\0' % message["id"] + b"\n")
        sys.stdout.buffer.flush()
