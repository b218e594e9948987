"""Matches of release 1.0 in each preset.

`matches.json.gz` has, for each preset, the record of a match and the lines that three of its bots were sent: one with
faults, one that forfeits, and one without either. Together they have each event, each statement, and each optional
field of a record. They never change.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from arena import referee
from arena.coup import PRESETS
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessSandbox, Program, ScriptPeer

FILE = Path(__file__).parent / "1.0" / "matches.json.gz"
GAMES = 6

Line = dict[str, Any]


def read_matches() -> dict[str, Any]:
    """Return the matches: preset -> {"record": its text, "sent": [the lines to bots 0, 1 and 2]}."""
    matches: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return matches


def lines_to(record: referee.Record, bot: int) -> list[Line]:
    """Return what a bot was sent, by the arena of today."""
    return [json.loads(sent.line) for sent in referee.sent_lines(record, bot)]


def names_in(values: Any) -> Iterator[str]:
    """Yield each name of a field in JSON, and "field=word" for each word."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield f"{name}={value}" if isinstance(value, str) and value.isidentifier() else name
            yield from names_in(value)
    elif isinstance(values, list):
        for value in values:
            yield from names_in(value)


def _answers(bot: int, message: Line, rng: random.Random) -> list[bytes]:
    if message["type"] == "hello":
        return [b'{"type":"hello","name":"old","version":"1.0"}']
    if message["type"] != "request":
        return []
    id, legal = message["id"], message["legal"]
    reply: Line = {"id": id, "choice": rng.randrange(len(legal))}
    if "pass" in legal[0] and rng.random() < 0.5:
        reply["choice"] = 0
    if bot == 2 or id % 2:
        reply["move"] = legal[reply.pop("choice")]
    others = [seat for seat in range(len(message["state"]["players"])) if seat != message["you"]["seat"]]
    if message["kind"] == "turn":
        reply["say"] = [
            {"says": "hold", "role": "duke"}, {"says": "lack", "role": "captain"},
            {"says": "attack", "target": others[0]}, {"says": "spare", "target": others[-1]},
            {"says": "doubt", "role": "duke", "target": others[0]}, {"says": "text", "text": f"It is turn {id}."},
        ][id % 6 : id % 6 + 2]  # fmt: skip
    if bot == 0 and id % 9 == 3:
        bad: list[Line] = [{"id": id, "move": {"action": "resign"}}, {"id": id}, {"id": id, "choice": 99}]
        return [json.dumps(bad[id // 9 % 3]).encode()]
    if bot == 0 and id % 9 == 6:
        return [b"not JSON"] if id % 2 else [b'{"note":1}'] * 2 + [json.dumps(reply).encode()]
    if bot == 1 and id % 11 >= 8:
        return [json.dumps({"id": 0, "choice": 0}).encode()]
    return [json.dumps(reply).encode()]


def seats(preset: str) -> int:
    return 2 if PRESETS[preset].max_seats == 2 else 4


def play(preset: str) -> referee.Record:
    """Play the match again: bots of 1.0 at the table of today."""
    count = seats(preset)

    def script(bot: int) -> Callable[[ScriptPeer], None]:
        def run(peer: ScriptPeer) -> None:
            rng = random.Random(f"{preset} {bot}")
            for raw in peer.lines():
                peer.send(b"".join(line + b"\n" for line in _answers(bot, json.loads(raw), rng)))

        return run

    sandbox = InProcessSandbox({str(bot): script(bot) for bot in range(count)}, reports_wait_time=True)

    def launch(bot: int) -> Box:
        return sandbox.start(Program((str(bot),), Path()), Limits())

    rotations = tuple(tuple((seat + game) % count for seat in range(count)) for game in range(GAMES))
    names = tuple(f"bot-{bot}" for bot in range(count))
    settings = referee.MatchSettings(
        rules=PRESETS[preset], timing=referee.Timing(own=True), open_names=preset == "coup"
    )
    timings = (
        (referee.Timing(own=True), *[referee.Timing(own=True, limit_ms=900)] * (count - 1)) if preset == "coup" else ()
    )
    digests = tuple(f"{bot:064x}" for bot in range(count)) if preset == "coup" else ()
    spec = referee.MatchSpec(0, bytes([len(preset)]) * 32, names, rotations, settings, timings, digests)
    return play_match(spec, launch).record
