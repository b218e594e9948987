"""Begins every line with a byte order mark."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'\xef\xbb\xbf{"id":%d,"choice":0}' % message["id"] + b"\n")
        sys.stdout.buffer.flush()
