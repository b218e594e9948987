"""The honest opponent of every attack: always play the first legal move.

usage: player.py [MS]     sleep before each answer, so that an opponent has time of its own
"""

from __future__ import annotations

import json
import sys
import time


def main() -> None:
    pause = int(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print('{"type":"hello"}', flush=True)
        elif message["type"] == "request":
            time.sleep(pause)
            print(json.dumps({"id": message["id"], "choice": 0}), flush=True)


if __name__ == "__main__":
    main()
