"""Tests that the lines to a bot can be recomputed from the record, byte for byte except the bank.

Source: the docstring of arena/referee/sent_lines.py.
"""

import json
import random
import re

import pytest

from arena import referee
from arena.coup import PRESETS, Ruleset, seat_counts
from arena.sandbox import ScriptPeer
from tests.cases import each
from tests.referee.scripted import Answer, Request, bot, play_scripts, reply, seatings

BANK = re.compile(rb'"bank_ms":\d+')


def played(
    rules: Ruleset, seats: int, wrong: float = 0.0, dies: float = 0.0
) -> tuple[referee.Record, list[list[bytes]]]:
    """Return the record of a match of bots that choose at random, as it is read, and what each bot saw."""
    seen: list[list[bytes]] = [[] for _ in range(seats)]

    def at_random(dice: random.Random) -> Answer:
        def answer(peer: ScriptPeer, request: Request) -> bytes:
            if dice.random() < dies:
                peer.die(3)
            return reply(request, 999 if dice.random() < wrong else dice.randrange(len(request["legal"])))

        return answer

    scripts = [bot(at_random(random.Random(number)), lines) for number, lines in enumerate(seen)]
    names = tuple(f"bot{number}" for number in range(seats))
    spec = referee.MatchSpec(7, bytes(range(32)), names, seatings(seats, 2), referee.MatchSettings(rules=rules))
    return referee.read_record(referee.write_record(play_scripts(spec, scripts).record)), seen


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
