"""`--json` and `--json-schema`: what is printed is what the schema says. Of a ladder's commands see tests/ladder/views."""

import json
from collections.abc import Iterator

import click
from click.testing import CliRunner
from pydantic import TypeAdapter

from arena.bots import NewBot
from arena.cli import cli
from arena.cli.unfold import ToldGames
from arena.run import FieldList, Replayed, Rules, RulesList
from tests.each import each
from tests.place import Place


def commands(command: click.Command, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield the ladder's commands, with their words."""
    command = command.load() if hasattr(command, "load") else command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{words} {name}".strip())
    else:
        yield words, command


COMMANDS = dict(commands(cli))
FOR_PEOPLE = {"play", "watch"}  # what they kept, the other commands tell


@each("name", COMMANDS.keys() - FOR_PEOPLE)
def test_every_command_answers_in_json_and_prints_the_schema_of_that(name: str) -> None:
    """Without a ladder, and without the words that it needs otherwise."""
    assert "as_json" in {parameter.name for parameter in COMMANDS[name].params}
    ran = CliRunner().invoke(cli, [*name.split(), "--json-schema"], prog_name="arena")
    assert ran.exit_code == 0, ran.exception
    schema = json.loads(ran.stdout)
    assert schema["title"] == f"arena {name} --json"
    assert schema.get("properties") or schema["anyOf"]


def test_a_run_told_and_verified_is_what_the_schemas_say(place: Place) -> None:
    """Of the commands that read a run, a ruleset or nothing."""
    bots = [place.bot(f"{name}.py").name for name in ("one", "two")]
    assert place.run("run", *bots, "--games", 2, "--match-games", 2, "--out", "out").code == 0
    answers: list[tuple[object, tuple[object, ...]]] = [
        (Replayed, ("verify", "out")),
        (ToldGames, ("replay", "out")),
        (ToldGames, ("replay", "out", "--game", 1, "--seat", "one", "--from", 2)),
        (Rules, ("rules", "duel")),
        (RulesList, ("rules",)),
        (FieldList, ("rules", "--fields")),
        (NewBot, ("new", "mine", "--lang", "c")),
    ]
    values = {}
    for shape, words in answers:
        ran = place.run(*words, "--json")
        assert ran.code == 0, ran.err
        adapter = TypeAdapter[object](shape)
        values[words] = adapter.validate_json(ran.out)
        assert json.loads(adapter.dump_json(values[words])) == json.loads(ran.out)
    assert values["verify", "out"] == Replayed(1, 2, 0)
    games = [values[words].rows for words in values if words[0] == "replay"]  # type: ignore[attr-defined]
    assert [len(rows) for rows in games] == [2, 1]
    assert "??" in games[1][0].turns[0].table
    assert "??" not in games[0][1].turns[0].table
    assert (place.folder / "mine" / "bot.c").is_file()
