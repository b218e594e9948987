"""Answers its first request, then closes its stdin and lives on for ever."""

import json
import os
import signal
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
        os.close(0)
        signal.pause()
