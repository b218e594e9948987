"""Dies of a segmentation fault (signal 11) at its first request."""

import json
import os
import signal
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        os.kill(os.getpid(), signal.SIGSEGV)
