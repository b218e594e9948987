"""Puts a raw U+2028 into a string, which is valid: only LF ends a line."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        sys.stdout.buffer.write(b'{"id":%d,"choice":0,"note":"\xe2\x80\xa8"}' % message["id"] + b"\n")
        sys.stdout.buffer.flush()
