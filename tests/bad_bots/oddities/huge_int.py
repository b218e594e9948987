"""Puts an integer of 5,000 digits into a field that is ignored."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'{"id":%d,"choice":0,"sure":%s}' % (message["id"], b"9" * 5_000) + b"\n")
        sys.stdout.buffer.flush()
