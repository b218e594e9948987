"""`--json` and `--json-schema`: the output follows the schema. For a ladder see tests/ladder/test_answers.py."""

import json
from collections.abc import Iterator

import click
from click.testing import CliRunner
from pydantic import TypeAdapter

from arena.bots import NewBot
from arena.cli import cli
from arena.run import FieldList, RulesetList, RulesetSummary, VerificationReport
from tests.cases import each
from tests.cli_workspace import Place


def commands(command: click.Command, words: str = "") -> Iterator[tuple[str, click.Command]]:
    command = command.load() if hasattr(command, "load") else command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{words} {name}".strip())
    else:
        yield words, command


COMMANDS = dict(commands(cli))
SEEN_BY_ONE = ("--game", 1, "--seat", "one", "--from", 2)
# The other commands report their results; feed writes the protocol's own lines.
FOR_PEOPLE = {
    "play",
    "watch",
    "connect",
    "feed",
    "study run",
    "ladder serve",
    "ladder export-site",
    "ladder serve-tables",
}


@each("name", COMMANDS.keys() - FOR_PEOPLE)
def test_every_command_prints_the_schema_of_its_json(name: str) -> None:
    assert "as_json" in {parameter.name for parameter in COMMANDS[name].params}
    ran = CliRunner().invoke(cli, [*name.split(), "--json-schema"], prog_name="arena")
    assert ran.exit_code == 0, ran.exception
    schema = json.loads(ran.stdout)
    assert schema["title"] == f"arena {name} --json"
    assert schema.get("properties") or schema["anyOf"]


def test_reports_of_commands_without_a_ladder_follow_their_schemas(place: Place) -> None:
    bots = [place.bot(f"{name}.py").name for name in ("one", "two")]
    assert place.run("run", *bots, "--games", 2, "--match-games", 2, "--seed", 1, "--out", "out").code == 0
    answers: dict[tuple[object, ...], object] = {
        ("verify", "out"): VerificationReport,
        ("rules", "duel"): RulesetSummary,
        ("rules",): RulesetList,
        ("rules", "--fields"): FieldList,
        ("new", "mine", "--lang", "cpp"): NewBot,
    }
    for words, shape in answers.items():
        adapter = TypeAdapter[object](shape)
        output = place.call(*words, "--json").json
        assert json.loads(adapter.dump_json(adapter.validate_python(output, strict=False))) == output
    assert place.call("verify", "out", "--json").json == {
        "records": 1, "games": 2, "faults": 0, "planned": 1, "differences": [], "stopped": None, "note": None,
    }  # fmt: skip
    whole, part = (place.call("replay", "out", *words, "--json").json["items"] for words in ((), SEEN_BY_ONE))
    assert [game["game"] for game in whole] == [0, 1]
    assert [(game["game"], game["turns"][0]["turn"]) for game in part] == [(1, 2)]
    assert "??" in part[0]["turns"][0]["table_state"]
    assert "??" not in whole[1]["turns"][0]["table_state"]
    assert (place.folder / "mine" / "bot.cpp").is_file()
