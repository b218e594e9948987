"""The commands `arena rules` and `arena odds`. Source: their help."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from arena.cli import cli
from arena.coup import PRESETS

odds, rules = cli.commands["odds"].load(), cli.commands["rules"].load()  # type: ignore[attr-defined]

ROOT = Path(__file__).parents[2]
LIMIT_S = 60  # for every process that a test starts


def run(command: click.Command, *arguments: str) -> Result:
    result = CliRunner().invoke(command, arguments, env={"COLUMNS": "80"})
    assert result.exception is None or isinstance(result.exception, SystemExit), "no way of using it shows a traceback"
    return result


def check_refusal(command: click.Command, *arguments: str) -> str:
    result = run(command, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


# --- arena rules ------------------------------------------------------------------------------------------------------


def test_rules_lists_the_presets() -> None:
    result = run(rules)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[1 : len(PRESETS) + 1]] == [*PRESETS]
    assert "arena rules NAME" in lines[-1]


@pytest.mark.parametrize("name", PRESETS)
def test_rules_with_a_name_prints_the_sheet_of_that_game(name: str) -> None:
    result = run(rules, name)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{name}: ")
    assert "Differences from the base game" in result.stdout
    assert all(len(line) <= 80 and line == line.rstrip() for line in result.stdout.splitlines())


def test_rules_with_a_file_prints_the_sheet_of_a_custom_game(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('base = "classroom"\nforced_coup = "off"\nname = "[red]monday :smile:"\n')
    result = run(rules, str(path))
    assert result.stdout.startswith("[red]monday :smile:\n3-6 players.")
    assert "- forced_coup = 0 (#forced-coup); the base game has 10\n" in result.stdout


def test_rules_fields_prints_the_fields() -> None:
    result = run(rules, "--fields")
    assert result.exit_code == 0
    assert 'first_player = "seat_0"\n' in result.stdout


def test_rules_refuses_an_unknown_ruleset(tmp_path: Path) -> None:
    assert check_refusal(rules, "tresaon").startswith('arena: unknown ruleset "tresaon"; did you mean treason?\n')
    path = tmp_path / "my.toml"
    path.write_text("colour = 1\n")
    assert check_refusal(rules, str(path)).startswith(f'arena: {path}: unknown field "colour".\n')
    assert check_refusal(rules, "coup", "--fields") == "arena: --fields is the same for all rulesets: omit the name\n"


# --- arena odds -------------------------------------------------------------------------------------------------------


def test_odds_prints_the_worked_example() -> None:
    """15/26 = 57.7 % that an opponent has no duke, if I have none (rules.md#odds)."""
    result = run(odds, "--own", "captain,contessa", "--players", "2")
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines() if line.startswith(("role", "duke", "captain "))] == [
        ["role", "unseen", "with", "2", "cards", "nobody"],
        ["captain", "2", "29.5%", "70.5%"],
        ["duke", "3", "42.3%", "57.7%"],
    ]
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_odds_as_json() -> None:
    result = run(
        odds, "--own", "duke, captain", "--revealed", "contessa", "--players", "4", "--cards-left", "2, 2,1", "--json"
    )
    found = json.loads(result.stdout)
    assert [*found] == [
        "rules", "players", "own", "revealed", "unseen", "copies_unseen", "held_by_influence", "influences",
        "held_by_opponent", "not_held",
    ]  # fmt: skip
    assert (found["own"], found["revealed"], found["influences"]) == (["captain", "duke"], ["contessa"], [2, 2, 1])
    assert found["copies_unseen"] == {"ambassador": 3, "assassin": 3, "captain": 2, "contessa": 2, "duke": 2}
    assert [one["duke"] for one in found["held_by_opponent"]] == pytest.approx([21 / 66, 21 / 66, 2 / 12])
    assert found["not_held"]["duke"] == pytest.approx(252 / 792)


def test_odds_without_influences_omits_the_odds_of_each_player() -> None:
    plain = run(odds, "--own", "duke,captain", "--revealed", "contessa", "--players", "4")
    assert "nobody" not in plain.stdout
    assert "with 2 cards  with 1 card" in plain.stdout
    assert "--cards-left" in plain.stdout
    found = json.loads(run(odds, "--own", "duke,captain", "--revealed", "contessa", "--players", "4", "--json").stdout)
    assert (found["influences"], found["held_by_opponent"], found["not_held"]) == (None, None, None)


def test_odds_of_other_rules(tmp_path: Path) -> None:
    assert "inquisitor" in run(odds, "--own", "duke,duke", "--players", "3", "--rules", "treason").stdout
    path = tmp_path / "my.toml"
    path.write_text("inquisitor = true\n")
    assert run(odds, "--own", "duke,inquisitor", "--players", "3", "--rules", str(path)).stdout.startswith("my, 3")


BAD: dict[str, tuple[Sequence[str], str]] = {
    "no such role": (
        ["--own", "duke,king", "--players", "2"],
        "arena: --own 'duke,king': unknown role 'king'; the roles of coup are ambassador, assassin, captain,",
    ),
    "no cards": (["--own", "", "--players", "2"], "arena: a player has 1 or 2 cards face down, not 0"),
    "words for numbers": (
        ["--own", "duke,duke", "--players", "3", "--cards-left", "two,2"],
        "arena: --cards-left 'two,2': write one number for each opponent, separated by commas",
    ),
    "a digit that isn't ASCII": (
        ["--own", "duke,duke", "--players", "3", "--cards-left", "²,2"],
        "write one number for each opponent",
    ),
    "influences that don't fit": (
        ["--own", "duke,duke", "--players", "3", "--cards-left", "1,2"],
        "arena: opponents with 1, 2 cards have lost 1, and 0 of theirs are face up",
    ),
    "a draft": (["--own", "duke,duke", "--players", "2", "--rules", "duel"], "arena: after a draft"),
    "too many players": (["--own", "duke,duke", "--players", "7", "--rules", "classroom"], "3 to 6 players, not 7"),
    "no such rules": (["--own", "duke,duke", "--players", "2", "--rules", "x"], 'arena: unknown ruleset "x".'),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_odds_refuses_impossible_cards(case: tuple[Sequence[str], str]) -> None:
    arguments, output = case
    assert output in check_refusal(odds, *arguments)


# --- the process ------------------------------------------------------------------------------------------------------


def process(code: str, stdout: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code],
        env={"PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
        timeout=LIMIT_S, check=False,
    )  # fmt: skip


def test_importing_the_commands_imports_nothing_slow() -> None:
    """`arena --help` imports this file, but not what the commands use."""
    code = "import sys, arena.cli; print(*(name for name in sys.modules if name.startswith(('rich', 'arena'))))"
    found = process(code, subprocess.PIPE).stdout.split()
    assert [name for name in found if name != "arena" and not name.startswith("arena.cli")] == []
