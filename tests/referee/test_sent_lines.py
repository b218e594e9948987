"""Tests that the lines to a bot can be recomputed from the record, byte for byte except the bank.

Source: the docstring of arena/referee/sent_lines.py.
"""

import json
import random
import re
from pathlib import Path

import pytest

from arena import referee
from arena.coup import PRESETS, Ruleset, seat_counts
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import InProcessSandbox, Program, Script, ScriptPeer
from tests.cases import each

HELLO = b'{"type":"hello"}\n'
BANK = re.compile(rb'"bank_ms":\d+')


def bot(seen: list[bytes], seed: int, wrong: float = 0.0, dies: float = 0.0) -> Script:
    """Return a bot that chooses at random, sometimes wrongly, and sometimes dies; `seen` collects its lines."""
    dice = random.Random(seed)

    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            seen.append(line)
            message = json.loads(line)
            if message["type"] == "hello":
                peer.send(HELLO)
            elif message["type"] == "request":
                if dice.random() < dies:
                    peer.die(3)
                choice = 999 if dice.random() < wrong else dice.randrange(len(message["legal"]))
                peer.send(b'{"id":%d,"choice":%d}\n' % (message["id"], choice))

    return script


def played(
    rules: Ruleset, seats: int, wrong: float = 0.0, dies: float = 0.0
) -> tuple[referee.Record, list[list[bytes]]]:
    """Return the record of a match, as it is read, and what each bot saw."""
    seen: list[list[bytes]] = [[] for _ in range(seats)]
    scripts = {f"bot{number}": bot(seen[number], number, wrong, dies) for number in range(seats)}
    seatings = tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(2))
    spec = referee.MatchSpec(7, bytes(range(32)), tuple(scripts), seatings, referee.MatchSettings(rules=rules))
    sandbox = InProcessSandbox(scripts)
    result = play_match(spec, lambda number: sandbox.start(Program((f"bot{number}",), Path()), Limits()))
    return referee.read_record(referee.write_record(result.record)), seen


def plain(lines: list[bytes]) -> list[bytes]:
    return [BANK.sub(b"", line) for line in lines]


@pytest.mark.parametrize("name", PRESETS)
def test_the_lines_of_every_preset_are_recomputed(name: str) -> None:
    rules = PRESETS[name]
    record, seen = played(rules, seat_counts(rules)[:3][-1])
    for number, lines in enumerate(seen):
        again = [each.line for each in referee.sent_lines(record, number)]
        assert plain(again) == plain(lines)


@each("wrong, dies", [(0.05, 0.0), (0.0, 0.1), (0.3, 0.05)])
def test_errors_forfeits_and_restarts_are_recomputed(wrong: float, dies: float) -> None:
    """A bot that dies gets lines up to that request; the process of the next game gets another hello."""
    record, seen = played(PRESETS["coup"], 4, wrong, dies)
    assert any(game.faults for game in record.games)
    for number, lines in enumerate(seen):
        again = [each.line for each in referee.sent_lines(record, number)]
        assert plain(again) == plain(lines)


def test_each_line_has_the_game_in_which_it_was_sent() -> None:
    record, _ = played(PRESETS["coup"], 3)
    for line in referee.sent_lines(record, 1):
        message = json.loads(line.line)
        assert message.get("game", line.game) == line.game
