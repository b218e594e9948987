"""Closes its stdout at the first request and lives on, still reading."""

import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        os.close(1)
os._exit(0)  # an ordinary exit would stumble over the closed stdout
