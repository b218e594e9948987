"""Answers its first request again and again, with valid lines and without end."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        answers = (json.dumps({"id": message["id"], "choice": 0}) + "\n") * 1000
        while True:
            sys.stdout.write(answers)
