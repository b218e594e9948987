"""The promises of docs/reference/compatibility.md, each compared with an example of release 1.0.

Files of `1.0` never change once the release is out, and neither do those of FROZEN: what 1.1 adds gets examples of its
own. Until then, `python -m tests.compatibility.test_promises` writes those that are made from the code.
"""

import hashlib
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from arena.bots import load_bots
from arena.cli import cli
from arena.referee import read_record, verify_record
from ladder.service import read_settings
from tests.cases import each
from tests.cli.test_answers import COMMANDS
from tests.cli_workspace import Place
from tests.referee.test_examples import CONVERSATIONS

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent / "1.0"
RECORD = "docs/reference/record.example.jsonl"
MIGRATIONS = "ladder/store/database/migrations/versions"
FROZEN = {
    RECORD: "dcbcb4591e7eb0b349637f1af1654acdd96b8c1db6fa95846fd8befd6f235435",
    f"{MIGRATIONS}/0100_initial.py": "2e6c09132061353b0be5c625695cadd6a0ffd6cce605e4796f50e2ce56dcbaf7",
    f"{MIGRATIONS}/0100.sql": "472fcd31f216f6247a2b44bb779f2f4a7ddbc1c5b4a1670493bbb2622527fa1c",
}


def missing(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the paths in `old` at which `new` lacks something or has another value. Objects may get fields."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key in old for found in missing(old[key], new.get(key), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [found for i, pair in enumerate(zip(old, new, strict=True)) for found in missing(*pair, f"{path}[{i}]")]
    return [] if old == new else [path]


def describe_parameter(parameter: click.Parameter) -> dict[str, Any]:
    """Return what callers rely on: words by which the parameter is given, number of values, and choices."""
    choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
    known: dict[str, Any] = dict.fromkeys((*parameter.opts, *parameter.secondary_opts), True)
    known |= {f"choice {choice}": True for choice in choices}
    return known | {"values": 0 if getattr(parameter, "is_flag", False) else parameter.nargs}


def describe_commands() -> dict[str, Any]:
    return {
        words: {str(parameter.name): describe_parameter(parameter) for parameter in command.params}
        for words, command in COMMANDS.items()
    }


def describe_reports() -> dict[str, Any]:
    """Return what --json prints: command or type -> field -> its JSON schema in short."""
    reports = {}
    for words, command in COMMANDS.items():
        if any(parameter.name == "as_json" for parameter in command.params):
            schema = json.loads(CliRunner().invoke(cli, [*words.split(), "--json-schema"], prog_name="arena").stdout)
            kinds = {words: schema, **schema.pop("$defs", {})}
            reports |= {name: describe_type(kind) for name, kind in kinds.items()}
    return reports


def describe_type(schema: dict[str, Any]) -> dict[str, str]:
    required = schema.get("required", ())
    return {
        name: ("" if name in required else "optional ") + describe_values(field)
        for name, field in schema.get("properties", {}).items()
    }


def describe_values(schema: dict[str, Any]) -> str:
    """Return a schema as a short text."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for key in ("const", "enum"):
        if key in schema:
            return str(schema[key]) if isinstance(schema[key], int) else "word"  # more words may come
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(sorted(describe_values(part) for part in schema[key]))
    inner = schema.get("items") or schema.get("additionalProperties")
    return str(schema.get("type", "any")) + (f"<{describe_values(inner)}>" if isinstance(inner, dict) else "")


MADE = {"commands.json": describe_commands, "reports.json": describe_reports}


def read(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text("utf-8"))


@each("path", FROZEN)
def test_a_frozen_file_is_the_released_one(path: str) -> None:
    """Records and the schema of the database: their own tests read the file and upgrade from it."""
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == FROZEN[path]


def test_a_record_of_the_release_is_read_and_verified() -> None:
    verify_record(read_record((ROOT / RECORD).read_text("utf-8")))


def test_the_wire_has_each_line_and_field_of_the_release() -> None:
    old = [json.loads(line) for line in (EXAMPLES / "wire.jsonl").read_text("utf-8").splitlines()]
    assert missing(old, CONVERSATIONS["two_seats.jsonl"]()) == []


def test_a_bot_toml_of_the_release_is_read(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "bot.toml", tmp_path)
    (tmp_path / "bot.py").touch()
    ([bot], _) = load_bots([str(tmp_path)])
    assert (bot.name, bot.argv[1:], bot.build) == ("my bot", ("bot.py",), ("make", "-j2"))


def test_a_ladder_toml_of_the_release_is_read() -> None:
    old = tomllib.loads((EXAMPLES / "ladder.toml").read_text("utf-8"))
    old, new = (json.loads(json.dumps(each, default=str)) for each in (old, read_settings(EXAMPLES).model_dump()))
    assert missing(old, new) == []


def test_each_command_and_option_of_the_release_exists() -> None:
    now = describe_commands()
    assert missing(read("commands.json"), now) == []


def test_no_parameter_became_required() -> None:
    old = read("commands.json")
    required = [
        f"{words} {parameter.name}"
        for words, command in COMMANDS.items()
        for parameter in command.params
        if parameter.required and words in old and parameter.name not in old[words]
    ]
    assert required == []


def test_each_report_has_the_fields_of_the_release() -> None:
    assert missing(read("reports.json"), describe_reports()) == []


@each("words, code", [("--version", 0), ("check missing.py", 1), ("run --nonsense", 2), ("nonsense", 2)])
def test_an_exit_code_is_that_of_the_release(words: str, code: int, place: Place) -> None:
    assert place.call(*words.split()).code == code


if __name__ == "__main__":
    for name, make in MADE.items():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in make().items()]
        (EXAMPLES / name).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
