"""Behaves until the match is over, then ignores end of file and SIGTERM and never leaves."""

import json
import signal
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)

while True:
    signal.pause()
