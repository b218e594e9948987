"""The honest opponent of every attack: always play the first legal move."""

from __future__ import annotations

import json
import sys


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print('{"type":"hello"}', flush=True)
        elif message["type"] == "request":
            print(json.dumps({"id": message["id"], "choice": 0}), flush=True)


if __name__ == "__main__":
    main()
