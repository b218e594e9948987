"""Pads every answer, valid otherwise, to one byte more than a line may have."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        line_bytes = message["limits"]["line_bytes"]
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        answer = json.dumps({"id": message["id"], "choice": 0, "note": ""})
        print(answer.replace('""', '"' + "x" * (line_bytes + 1 - len(answer)) + '"'), flush=True)
