"""What a kit costs a bot: CPU time a request, beside a bot that is written by hand and makes the same choices.

Both are told real lines (protocol/examples/to_bot.jsonl, again and again) over pipes; each request waits for the answer
to the one before. What a program takes to start is taken off: it is what a short conversation costs.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "protocol" / "examples" / "to_bot.jsonl").read_bytes().splitlines(keepends=True)[:-1]
REQUESTS = sum(b'"type":"request"' in line for line in LINES)

BY_HAND = {
    "python": """\
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print(json.dumps({"type": "hello", "name": "by hand"}), flush=True)
    elif message["type"] == "request":
        legal = message["legal"]
        cards = message["you"]["cards"]
        move = legal[0]
        if message["kind"] == "turn" and "duke" in cards:
            move = next((move for move in legal if move["action"] == "tax"), move)
        print(json.dumps({"id": message["id"], "move": move}), flush=True)
""",
    "javascript": """\
const readline = require("node:readline");

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  if (message.type === "hello") process.stdout.write(JSON.stringify({ type: "hello", name: "by hand" }) + "\\n");
  else if (message.type === "request") {
    const { legal, you } = message;
    let move = legal[0];
    if (message.kind === "turn" && you.cards.includes("duke")) move = legal.find((m) => m.action === "tax") ?? move;
    process.stdout.write(JSON.stringify({ id: message.id, move }) + "\\n");
  }
});
""",
}

WITH_KIT = {
    "python": """\
from coup_kit import Bot, run


class MyBot(Bot):
    def turn(self, game):
        return game.find("tax") if "duke" in game.cards else game.legal[0]


run(MyBot())
""",
    "javascript": """\
const { Bot, run } = require("./coup_kit.js");

class MyBot extends Bot {
  turn(game) {
    return game.cards.includes("duke") ? game.find("tax") : game.legal[0];
  }
}

run(new MyBot());
""",
}

PROGRAMS = {"python": (sys.executable, ".py"), "javascript": ("node", ".js")}


def us_a_request(language: str, repeats: int, rounds: int) -> tuple[float, float]:
    """Return CPU microseconds a request of the bot by hand and of the one with the kit: the least of some rounds."""
    program, ending = PROGRAMS[language]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"coup_kit{ending}").write_bytes((ROOT / "protocol" / "kits" / f"coup_kit{ending}").read_bytes())
        found = []
        for source in (BY_HAND[language], WITH_KIT[language]):
            bot = folder / f"bot{len(found)}{ending}"
            bot.write_text(source)
            argv = [program, str(bot)]
            found.append([_cpu_s(argv, repeats + 1) - _cpu_s(argv, 1) for _ in range(rounds)])
    by_hand, with_kit = (1e6 * min(seconds) / (repeats * REQUESTS) for seconds in found)
    return by_hand, with_kit


def _cpu_s(argv: list[str], repeats: int) -> float:
    """Return the CPU seconds that a bot takes for so many matches."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as bot:
        assert bot.stdin is not None
        assert bot.stdout is not None
        for _ in range(repeats):
            for line in LINES:
                bot.stdin.write(line)
                if b'"type":"request"' in line or b'"type":"hello"' in line:
                    bot.stdin.flush()
                    bot.stdout.readline()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
