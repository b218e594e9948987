"""The command `arena odds`. Source: its help; tests/coup/test_odds.py tests the odds."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arena.cli import cli
from protocol.kits.coup_kit import Bot
from protocol.kits.coup_kit import Game as KitGame
from tests.cases import each
from tests.command import completed
from tests.kits.conversations import MATCHES, match

odds = cli.commands["odds"].load()  # type: ignore[attr-defined]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(odds, arguments, env={"COLUMNS": "80"})
    assert result.exception is None or isinstance(result.exception, SystemExit), "no way of using it shows a traceback"
    return result


def test_odds_prints_the_worked_example() -> None:
    """15/26 = 57.7 % that an opponent has no duke, if I have none (rules.md#odds)."""
    result = run("--own", "captain,contessa", "--players", "2")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines() if line.startswith(("role", "duke", "captain "))] == [
        ["role", "unseen", "with", "2", "cards", "nobody"],
        ["captain", "2", "29.5%", "70.5%"],
        ["duke", "3", "42.3%", "57.7%"],
    ]
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_odds_as_json() -> None:
    result = run(
        "--own", "duke, captain", "--revealed", "contessa", "--players", "4", "--cards-left", "2, 2,1", "--json"
    )
    found = json.loads(result.stdout)
    assert [*found] == [
        "rules", "players", "own", "revealed", "unseen", "copies_unseen", "held_by_influence", "influences",
        "held_by_opponent", "not_held", "seats",
    ]  # fmt: skip
    assert (found["own"], found["revealed"], found["influences"]) == (["captain", "duke"], ["contessa"], [2, 2, 1])
    assert found["copies_unseen"] == {"ambassador": 3, "assassin": 3, "captain": 2, "contessa": 2, "duke": 2}
    assert [one["duke"] for one in found["held_by_opponent"]] == pytest.approx([21 / 66, 21 / 66, 2 / 12])
    assert found["not_held"]["duke"] == pytest.approx(252 / 792)


def test_odds_without_influences_omits_the_odds_of_each_player() -> None:
    plain = run("--own", "duke,captain", "--revealed", "contessa", "--players", "4")
    assert "nobody" not in plain.stdout
    assert "with 2 cards  with 1 card" in plain.stdout
    assert "--cards-left" in plain.stdout
    found = json.loads(run("--own", "duke,captain", "--revealed", "contessa", "--players", "4", "--json").stdout)
    assert (found["influences"], found["held_by_opponent"], found["not_held"]) == (None, None, None)


def test_odds_of_other_rules(tmp_path: Path) -> None:
    assert "inquisitor" in run("--own", "duke,duke", "--players", "3", "--rules", "treason").stdout
    path = tmp_path / "my.toml"
    path.write_text("inquisitor = true\n")
    assert run("--own", "duke,inquisitor", "--players", "3", "--rules", str(path)).stdout.startswith("my, 3")


class OddsBot(Bot):
    def match_start(self, game: KitGame) -> None:
        self.game = game


def kit_odds(lines: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], list[dict[str, float]]]]:
    """Yield each request, and the odds of the kit for each opponent at it, in the order of the seats."""
    bot = OddsBot()
    for line in lines:
        bot.reply(deepcopy(line))
        if line["type"] == "request":
            others = [player.seat for player in bot.game.players if player.seat != line["you"]["seat"]]
            yield line, [{role: bot.game.odds(seat, role) for role in bot.game.rules["deck"]} for seat in others]


def test_odds_of_a_request_are_those_of_the_kits() -> None:
    """Of one request of each preset in which something is certain about an opponent."""
    tried = 0
    for preset, seats in MATCHES:
        certain = (each for each in kit_odds(match(preset, seats)) if "players" in each[0]["you"].get("known", {}))
        for request, wanted in islice(certain, 1):
            words = ["--rules", preset, "--known"]
            result = CliRunner().invoke(odds, [*words, "-", "--json"], input=json.dumps(request))
            found = json.loads(result.stdout)
            assert found["held_by_opponent"] == [pytest.approx(chances) for chances in wanted]
            assert {0.0, 1.0} & {chance for chances in found["held_by_opponent"] for chance in chances.values()}
            assert found["seats"] == [seat for seat in range(seats) if seat != request["you"]["seat"]]
            assert run(*words, json.dumps(request)).stdout.split().count("seat") == seats - 1
            tried += 1
    assert tried > 2


def test_input_that_is_not_utf8_or_is_closed_is_refused() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    ran = completed(["odds", "--known", "-"], b"\xff", text=False, env=environment)  # type: ignore[arg-type]
    assert (ran.returncode, b"isn't a request" in ran.stderr) == (2, True), ran.stderr
    command = ["sh", "-c", 'exec "$0" -m arena.cli odds --known - <&-', sys.executable]
    closed = subprocess.run(command, capture_output=True)
    assert (closed.returncode, b"isn't a request" in closed.stderr) == (2, True), closed.stderr


REQUEST = json.dumps(next(line for line in match("duel", 2) if line["type"] == "request"))

# Errors of the options, and one of the odds themselves.
BAD: dict[str, tuple[list[str], str]] = {
    "no such role": (
        ["--own", "duke,king", "--players", "2"],
        "arena: --own 'duke,king': unknown role 'king'; the roles of coup are ambassador, assassin, captain,",
    ),
    "a digit that isn't ASCII": (
        ["--own", "duke,duke", "--players", "3", "--cards-left", "²,2"],
        "arena: --cards-left '²,2': write one number for each opponent, separated by commas",
    ),
    "a draft": (["--own", "duke,duke", "--players", "2", "--rules", "duel"], "arena: after a draft"),
    "too many players": (["--own", "duke,duke", "--players", "7", "--rules", "classroom"], "3 to 6 players, not 7"),
    "no cards": (["--players", "2"], "name your cards and the players"),
    "a request and cards": (["--known", "{}", "--own", "duke,duke"], "omit --own"),
    "no request": (["--known", '{"players":[]}'], "--known isn't a request"),
    "a request of other rules": (["--known", REQUEST, "--rules", "classroom"], "Name the rules of the request"),
    "no such rules": (["--own", "duke,duke", "--players", "2", "--rules", "x"], 'arena: unknown ruleset "x".'),
}


@each("arguments, output", BAD.values(), ids=BAD)
def test_odds_refuses_impossible_cards(arguments: list[str], output: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert output in result.stderr
