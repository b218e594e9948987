"""Puts 10,000 nested lists into a field that is ignored."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(
            b'{"id":%d,"choice":0,"note":%s}' % (message["id"], b"[" * 10_000 + b"]" * 10_000) + b"\n"
        )
        sys.stdout.buffer.flush()
