"""Behaves, but leaves a daemon (setsid, double fork) and a child in its group; both ignore SIGTERM."""

import json
import os
import signal
import sys
import time


def stay(name: str, done: int) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, f"{name} {os.getpid()}\n".encode())  # in one piece: the other one writes too
    os.close(done)
    time.sleep(60)  # not for ever: a test that fails leaves no process for long
    os._exit(0)


reading, writing = os.pipe()
if os.fork() == 0:
    stay("child", writing)
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork() == 0:
        stay("daemon", writing)
    os._exit(0)
os.waitpid(middle, 0)
os.close(writing)
os.read(reading, 1)  # end of file: both have settled

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
