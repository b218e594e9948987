"""Tests of the conversations in protocol/examples: made by real matches, quoted by the protocol's pages.

A file is JSONL; each line is {"from": "referee" or "bot", "line": the message}, as one bot of the match saw it. Two
files are bare lines: what the referee sends in one of these matches, and a sample bot's answers to it. After a
change of the protocol, `python tests/referee/test_examples.py` updates the files and the pages' quotations.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from arena.coup import PRESETS
from arena.limits import Limits
from arena.referee import MatchSettings, MatchSpec, Timing
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessSandbox, Program, ScriptPeer
from tests.documents import PROTOCOL_PAGES

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "protocol" / "examples"
SAMPLES = sorted([*(ROOT / "sample_bots").glob("*.py"), *(ROOT / "sample_bots").glob("*.js")])

Line = dict[str, Any]
Answer = Callable[[Line, random.Random], list[Line]]


def _reply(request: Line, rng: random.Random) -> list[Line]:
    """Choose at random, but pass two times in three, so that the game shows more than challenges."""
    choice = rng.randrange(len(request["legal"]))
    if "pass" in request["legal"][0] and rng.random() < 0.6:
        choice = 0
    if choice % 2:
        return [{"id": request["id"], "move": request["legal"][choice]}]
    return [{"id": request["id"], "choice": choice}]


def _faulty(request: Line, rng: random.Random) -> list[Line]:
    mistakes: dict[int, list[Line]] = {
        2: [{"id": request["id"], "move": {"action": "resign"}}],
        3: [{"id": 1, "choice": 0}, {"id": request["id"], "choice": 0}],
        5: [{"id": request["id"]}],
    }
    return mistakes.get(request["id"]) or _reply(request, rng)


def _speaking(request: Line, rng: random.Random) -> list[Line]:
    """Make a statement at each turn, sometimes an invalid statement."""
    [reply] = _reply(request, rng)
    other = 1 - request["you"]["seat"]
    said: list[Any] = [
        [{"says": "hold", "role": rng.choice(request["you"]["cards"])}, {"says": "spare", "target": other}],
        [{"says": "doubt", "role": "duke", "target": other}, {"says": "text", "text": "I don't believe you."}],
        [{"says": "attack", "target": request["you"]["seat"]}],
        "Peace?",
    ]
    return [{**reply, "say": said[request["id"] % 4]} if request["kind"] == "turn" else reply]


def _conversation(seats: int, games: int, seed: int, answer: Answer, preset: str = "coup") -> list[Line]:
    """Play a match; return the conversation of bot 0 and the referee."""
    said: list[Line] = []

    def script(bot: int) -> Callable[[ScriptPeer], None]:
        def play(peer: ScriptPeer) -> None:
            rng = random.Random(seed * 100 + bot)
            for raw in peer.lines():
                message = json.loads(raw)
                answers: Iterable[Line] = ()
                if message["type"] == "hello":
                    answers = [{"type": "hello", "name": f"example-{bot}", "version": "1.0"}]
                elif message["type"] == "request":
                    answers = (answer if bot == 0 or preset == "open-table" else _reply)(message, rng)
                answers = list(answers)
                if bot == 0:
                    said.append({"from": "referee", "line": message})
                    said.extend({"from": "bot", "line": line} for line in answers)
                peer.send(b"".join(json.dumps(line).encode() + b"\n" for line in answers))

        return play

    sandbox = InProcessSandbox({str(bot): script(bot) for bot in range(seats)}, reports_wait_time=True)

    def launch(bot: int) -> Box:
        return sandbox.start(Program((str(bot),), Path()), Limits())

    rotations = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(games))
    key = bytes([seed]) * 32
    settings = MatchSettings(rules=PRESETS[preset], timing=Timing(own=True))
    play_match(MatchSpec(0, key, tuple(f"bot-{bot}" for bot in range(seats)), rotations, settings), launch)
    return said


CONVERSATIONS: dict[str, Callable[[], list[Line]]] = {
    "two_seats.jsonl": lambda: _conversation(2, 2, 7, _reply),
    "four_seats.jsonl": lambda: _conversation(4, 4, 17, _reply),
    "faults.jsonl": lambda: _conversation(2, 2, 2, _faulty),
    "talk.jsonl": lambda: _conversation(2, 1, 3, _speaking, "open-table"),
}


def _text(conversation: Iterable[Line]) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in conversation)


def _to_bot(name: str) -> str:
    """Return the referee's half of a conversation, as a bot reads it."""
    lines = map(json.loads, (EXAMPLES / name).read_text().splitlines())
    return "".join(
        json.dumps(line["line"], separators=(",", ":")) + "\n" for line in lines if line["from"] == "referee"
    )


def _from_bot(bot: Path, heard: str) -> str:
    """Return what a bot writes when it reads these lines. It must write nothing else."""
    done = subprocess.run(
        ["node" if bot.suffix == ".js" else sys.executable, str(bot)],
        input=heard,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "protocol" / "kits")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _quoted(spec: str) -> str:
    """Return a page with every quotation of an example up to date."""

    def quote(found: re.Match[str]) -> str:
        name, first, last = found[1], int(found[2]), int(found[3])
        lines = (EXAMPLES / name).read_text().splitlines()[first - 1 : last]
        body = "".join(json.dumps(json.loads(line)["line"], separators=(",", ":")) + "\n" for line in lines)
        return f"<!-- example: {name} lines {first}-{last} -->\n```json\n{body}```"

    return re.sub(r"<!-- example: (\S+) lines (\d+)-(\d+) -->\n```json\n(?:[^`]*)```", quote, spec)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_an_example_is_what_the_referee_sends_today(name: str) -> None:
    assert (EXAMPLES / name).read_text() == _text(CONVERSATIONS[name]())


def test_the_examples_show_every_kind_of_request_and_most_events() -> None:
    lines = [json.loads(line)["line"] for name in CONVERSATIONS for line in (EXAMPLES / name).read_text().splitlines()]
    kinds = {line["kind"] for line in lines if line.get("type") == "request"}
    assert kinds == {"turn", "challenge", "block", "prove", "lose", "exchange"}
    events = {event["event"] for line in lines for event in line.get("events", [])}
    shown = {"action", "coins", "challenge", "shown", "unproven", "lost", "exiled", "block", "exchanged"}
    assert events >= {*shown, "say"}
    assert {line["type"] for line in lines if "type" in line} >= {"error", "game_over", "match_over"}


def test_the_spec_quotes_the_examples_exactly() -> None:
    pages = [page.read_text(encoding="utf-8") for page in PROTOCOL_PAGES]
    assert "<!-- example: two_seats.jsonl" in "".join(pages)
    assert [_quoted(page) for page in pages] == pages


def test_the_two_files_of_bare_lines_are_a_first_try_for_every_bot() -> None:
    """SPEC: `mybot < to_bot.jsonl` prints the lines of from_bot.jsonl, one for each line that needs an answer."""
    heard = (EXAMPLES / "to_bot.jsonl").read_text()
    assert heard == _to_bot("two_seats.jsonl")
    said = (EXAMPLES / "from_bot.jsonl").read_text()
    assert said == _from_bot(ROOT / "tests" / "plain" / "honest.py", heard)
    output = list(map(json.loads, heard.splitlines()))
    assert [reply.get("id") for reply in map(json.loads, said.splitlines())] == [
        message.get("id") for message in output if message["type"] in ("hello", "request")
    ]
    kinds = {message["kind"] for message in output if message["type"] == "request"}
    assert kinds == {"turn", "challenge", "block", "prove", "lose", "exchange"}


@pytest.mark.parametrize("bot", SAMPLES, ids=lambda path: path.name)
def test_a_sample_bot_answers_every_request_of_an_example_legally(bot: Path) -> None:
    for name in ("faults.jsonl", "four_seats.jsonl"):
        heard = _to_bot(name)
        output = list(map(json.loads, heard.splitlines()))
        hello, *replies = map(json.loads, _from_bot(bot, heard).splitlines())
        assert hello["type"] == "hello"
        requests = [line for line in output if line["type"] == "request"]
        assert [reply["id"] for reply in replies] == [request["id"] for request in requests]
        for request, reply in zip(requests, replies, strict=True):
            if "choice" in reply:
                assert 0 <= reply["choice"] < len(request["legal"])
            else:
                assert reply["move"] in request["legal"]


if __name__ == "__main__":
    EXAMPLES.mkdir(exist_ok=True)
    for example, make in CONVERSATIONS.items():
        (EXAMPLES / example).write_text(_text(make()))
    output = _to_bot("two_seats.jsonl")
    (EXAMPLES / "to_bot.jsonl").write_text(output)
    (EXAMPLES / "from_bot.jsonl").write_text(_from_bot(ROOT / "tests" / "plain" / "honest.py", output))
    for page in PROTOCOL_PAGES:
        page.write_text(_quoted(page.read_text(encoding="utf-8")), encoding="utf-8")
