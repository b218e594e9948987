"""Puts NaN, which JSON doesn't have, into a field that is ignored."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'{"id":%d,"choice":0,"sure":NaN}' % message["id"] + b"\n")
        sys.stdout.buffer.flush()
