"""Says what can't be said, a different thing beside each answer; its moves are legal."""

import json
import sys

SAYS = [
    '"hello"',
    "null",
    "{}",
    "7",
    "[[]]",
    '[{"says":"hold"}]',
    '[{"says":"hold","role":"inquisitor"}]',
    '[{"says":"spare","target":SELF}]',
    '[{"says":"attack","target":9}]',
    '[{"says":"attack","target":true}]',
    '[{"says":"swear","role":"duke"}]',
    '[{"says":"text","text":"' + 201 * "x" + '"}]',
    '[{"says":"text","text":""}]',
    r'[{"says":"text","text":"\u0000"}]',
    r'[{"says":"text","text":"\u001b[2J"}]',
    r'[{"says":"text","text":"\u202e"}]',
    "[" + ",".join(10_000 * ["1"]) + "]",
    "[" * 28 + "]" * 28,
]

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        say = SAYS[message["id"] % len(SAYS)].replace("SELF", str(message["you"]["seat"]))
        print(f'{{"id":{message["id"]},"choice":0,"say":{say}}}', flush=True)
