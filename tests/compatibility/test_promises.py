"""The promises of docs/reference/compatibility.md, each compared with an example of release 1.0.

Files of `1.0` and those of FROZEN never change: what 1.1 adds gets examples of its own, for which
`python -m tests.compatibility.test_promises FOLDER` writes those that are made from the code.
"""

import hashlib
import io
import json
import signal
import sys
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

from arena.bots import load_bots
from arena.cli import cli
from arena.coup import PRESETS
from arena.referee import MatchSettings, read_record, verify_record, write_record
from ladder.settings import LadderSettings, read_settings
from tests.cases import each
from tests.cli.test_answers import COMMANDS
from tests.cli_workspace import Place
from tests.compatibility.old_matches import lines_to, names_in, play, read_matches
from tests.referee.test_examples import CONVERSATIONS

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parent / "1.0"
LIMITS = {"minimum", "exclusiveMinimum", "maximum"}
RECORD = "docs/reference/record.example.jsonl"
MIGRATIONS = "ladder/store/migrations/versions"
FROZEN = {
    RECORD: "dcbcb4591e7eb0b349637f1af1654acdd96b8c1db6fa95846fd8befd6f235435",
    f"{MIGRATIONS}/0100_initial.py": "2e6c09132061353b0be5c625695cadd6a0ffd6cce605e4796f50e2ce56dcbaf7",
    f"{MIGRATIONS}/0100.sql": "472fcd31f216f6247a2b44bb779f2f4a7ddbc1c5b4a1670493bbb2622527fa1c",
}


def missing(old: Any, new: Any, path: str = "") -> list[str]:
    """Return the paths in `old` at which `new` lacks something or has another value. Objects may get fields.

    A value of the name `range`, (minimum, maximum) with None for infinity, may grow; texts of the name `message` may
    change, and the `sha256` of a record, whose lines may get fields.
    """
    if path.endswith(".range") and isinstance(new, list):
        wider = [new[0] is None or (old[0] is not None and new[0] <= old[0])]
        wider += [new[1] is None or (old[1] is not None and new[1] >= old[1])]
        return [] if all(wider) else [path]
    if path.endswith((".message", ".sha256")) and isinstance(old, str) and isinstance(new, str):
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return [found for key in old for found in missing(old[key], new.get(key), f"{path}.{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [found for i, pair in enumerate(zip(old, new, strict=True)) for found in missing(*pair, f"{path}[{i}]")]
    return [] if old == new else [path]


def describe_parameter(parameter: click.Parameter) -> dict[str, Any]:
    """Return what callers rely on: the words that give the parameter, its values and their number, and its default."""
    choices = parameter.type.choices if isinstance(parameter.type, click.Choice) else ()
    known: dict[str, Any] = dict.fromkeys((*parameter.opts, *parameter.secondary_opts), True)
    known |= {f"choice {choice}": True for choice in choices}
    known["values"] = 0 if getattr(parameter, "is_flag", False) else parameter.nargs
    if getattr(parameter, "multiple", False):
        known["repeatable"] = True
    if isinstance(parameter.type, (click.IntRange, click.FloatRange)):
        known["range"] = [parameter.type.min, parameter.type.max]
    default = parameter.default
    if isinstance(default, (bool, int, float, str, list, tuple)) and default not in ((), False):
        known["default"] = list(default) if isinstance(default, tuple) else default
    return known


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


def describe_settings() -> dict[str, Any]:
    """Return the settings of ladder.toml: section -> key -> its type, words and range."""
    schema = LadderSettings.model_json_schema()
    kinds = {"ladder.toml": schema, **schema.pop("$defs", {})}
    return {name: describe_type(kind) for name, kind in kinds.items()}


def describe_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a type's fields, or the words of an enumeration."""
    required = schema.get("required", ())
    fields = {name: _describe_field(field, name in required) for name, field in schema.get("properties", {}).items()}
    return fields or _words(schema)


def _describe_field(field: dict[str, Any], required: bool) -> dict[str, Any]:
    known = {"type": ("" if required else "optional ") + describe_values(field), **_words(field)}
    bounded = next((part for part in (field, *field.get("anyOf", ())) if LIMITS & set(part)), {})
    if bounded:
        low, high = bounded.get("minimum", bounded.get("exclusiveMinimum")), bounded.get("maximum")
        known["range"] = [low, high]
    return known


def _words(schema: Any) -> dict[str, bool]:
    """Return the words of the enumerations and constants in a schema, but for those of types that it refers to."""
    if isinstance(schema, list):
        return {word: True for part in schema for word in _words(part)}
    if not isinstance(schema, dict):
        return {}
    found = [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else ())]
    found += [word for key in ("anyOf", "oneOf", "items", "additionalProperties") for word in _words(schema.get(key))]
    return {word if str(word).startswith("word ") else f"word {word}": True for word in found if isinstance(word, str)}


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


KITS_OF_1_0 = ("python", "javascript", "java", "cpp", "rust", "go")
FULL_BOT_TOML = 'name = "my bot"\nrun = ["python3", "bot.py"]\nbuild = "make -j2"\nkit = "python"\n'
SCHEMAS = {"protocol_schema.json": "protocol/schema.json", "records_schema.json": "docs/reference/records.schema.json"}


def describe_schema(path: str) -> dict[str, Any]:
    kinds = json.loads((ROOT / path).read_text("utf-8"))["$defs"]
    return {name: describe_type(kind) for name, kind in kinds.items()}


MADE = {"commands.json": describe_commands, "reports.json": describe_reports, "settings.json": describe_settings}


def read(name: str) -> Any:
    return json.loads((EXAMPLES / name).read_text("utf-8"))


@each("path", FROZEN)
def test_a_frozen_file_is_the_released_one(path: str) -> None:
    """Records and the schema of the database: their own tests read the file and upgrade from it."""
    assert hashlib.sha256((ROOT / path).read_bytes()).hexdigest() == FROZEN[path]


def test_a_record_of_the_release_is_read_and_verified() -> None:
    verify_record(read_record((ROOT / RECORD).read_text("utf-8")))


@each("name", CONVERSATIONS)
def test_the_wire_has_each_line_and_field_of_the_release(name: str) -> None:
    """Conversations with faults, talk and forfeits, made by a match of today."""
    old = [json.loads(line) for line in (EXAMPLES / "wire" / name).read_text("utf-8").splitlines()]
    assert missing(old, CONVERSATIONS[name]()) == []


MATCHES = read_matches()


@each("preset", MATCHES)
def test_a_match_of_the_release_is_read_written_and_sent_as_then(preset: str) -> None:
    """Each field of the record is written again as it was, and each line to a bot has the fields of then."""
    old = MATCHES[preset]
    record = read_record(old["record"])
    verify_record(record)
    assert (
        missing(*([json.loads(line) for line in text.splitlines()] for text in (old["record"], write_record(record))))
        == []
    )
    for bot, lines in enumerate(old["sent"]):
        assert missing(lines, lines_to(record, bot)) == []


@each("preset", ("coup", "andy", "reformation-inquisitor", "open-table"))
def test_bots_of_the_release_play_as_then(preset: str) -> None:
    """All forms of replies are accepted, and have the same effect. Measured times differ."""
    old, new = (
        [json.loads(line) for line in text.splitlines()]
        for text in (MATCHES[preset]["record"], write_record(play(preset)))
    )
    for line in (*old, *new):
        line.pop("times_us", None)
    assert missing(old, new) == []


def test_the_matches_of_the_release_have_every_field_of_a_record_and_event_of_the_wire() -> None:
    """Without one of them, a change of it would be missed. Requests and replies are of the protocol of 1.0."""
    lines = [line for match in MATCHES.values() for line in (*match["record"].splitlines(), *match["sent"])]
    found = {name for line in lines for name in names_in(json.loads(line) if isinstance(line, str) else line)}
    fields = {name.partition("=")[0] for name in found}
    optional = "timings digests sides step got used detail count said role target text"
    assert set(optional.split()) - fields == set()
    kinds = "turn challenge block prove lose exchange allegiance draft examine_show examine_decide keep_shown"
    assert {f"kind={kind}" for kind in kinds.split()} - found == set()
    events = (
        "action allegiances block challenge coins converted drafted examined exchanged exiled forfeit lost resolved"
    )
    assert {f"event={name}" for name in f"{events} say shown shown_hand unproven".split()} - found == set()


def test_the_schema_of_the_protocol_has_the_words_and_fields_of_the_release() -> None:
    """They include what no example of a match has, such as rare reasons."""
    for name, path in SCHEMAS.items():
        old, new = read(name), describe_schema(path)
        assert missing(old, new) == [], path


@each(
    "text, name, run, build, kit",
    [
        (FULL_BOT_TOML, "my bot", ("bot.py",), ("make", "-j2"), "python"),
        ('run = "python3 bot.py --deep \'a b\'"', None, ("bot.py", "--deep", "a b"), None, None),
        ('run = ["python3", "bot.py"]\nbuild = ["make", "-j2"]', None, ("bot.py",), ("make", "-j2"), None),
        *[(f'run = "python3 bot.py"\nkit = "{kit}"', None, ("bot.py",), None, kit) for kit in KITS_OF_1_0],
    ],
)  # fmt: skip
def test_a_bot_toml_of_the_release_is_read(
    text: str, name: str | None, run: tuple[str, ...], build: tuple[str, ...] | None, kit: str | None, tmp_path: Path
) -> None:
    """Commands are lists or texts, and all but `run` is optional."""
    folder = tmp_path / str(len(list(tmp_path.iterdir())))
    folder.mkdir()
    (folder / "bot.toml").write_text(text, "utf-8")
    (folder / "bot.py").touch()
    ([bot], _) = load_bots([str(folder)])
    assert (bot.name, bot.argv[1:], bot.build, bot.kit) == (name or folder.name, run, build, kit)


def test_a_ladder_toml_of_the_release_is_read() -> None:
    old = tomllib.loads((EXAMPLES / "ladder.toml").read_text("utf-8"))
    old, new = (json.loads(json.dumps(each, default=str)) for each in (old, read_settings(EXAMPLES).model_dump()))
    assert missing(old, new) == []


def test_each_setting_has_the_type_words_and_range_of_the_release() -> None:
    assert missing(read("settings.json"), describe_settings()) == []


def test_each_ruleset_of_the_release_is_a_preset_of_the_same_rules() -> None:
    old = {
        preset: json.loads(match["record"].partition("\n")[0])["terms"]["rules"] for preset, match in MATCHES.items()
    }
    new = {name: MatchSettings(rules=rules).to_json()["rules"] for name, rules in PRESETS.items()}
    assert missing(old, json.loads(json.dumps(new))) == []


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


@each(
    "words, code",
    [
        ("--version", 0), ("check missing.py", 1), ("run --nonsense", 2), ("nonsense", 2), ("rules nonsense", 2),
        ("verify old", 0), ("verify changed", 1), ("verify changed --json", 1), ("verify cut", 2), ("stats old", 0),
        ("stats cut", 2), ("stats old cut", 1),
    ],
)  # fmt: skip
def test_an_exit_code_is_that_of_the_release(words: str, code: int, place: Place) -> None:
    """Of a frozen record, of one with another digest of its events, and of one without its end."""
    old = (ROOT / RECORD).read_text("utf-8")
    record = read_record(old)
    changed = write_record(replace(record, games=(replace(record.games[0], digest="0" * 64),)))
    for name, text in {"old": old, "changed": changed, "cut": old[:-100]}.items():
        (place.folder / name).write_text(text, "utf-8")
    assert place.call(*words.split()).code == code


class Interrupted(io.BytesIO):
    """Standard input during which the user presses Ctrl-C."""

    def read(self, size: int | None = -1) -> bytes:
        if size == 0:  # click asks whether it is binary
            return b""
        raise KeyboardInterrupt


def test_an_interrupted_command_and_run_have_the_exit_code_of_the_release(place: Place) -> None:
    assert CliRunner().invoke(cli, ["odds", "--known", "-"], input=Interrupted()).exit_code == 130
    process = place.start("run", *place.bots(2), "--games", 10_000, "--match-games", 2, "--out", "out")
    place.wait((place.folder / "out" / "records" / "000000.jsonl").exists, process=process)
    process.send_signal(signal.SIGINT)
    assert place.end(process).code == 130


if __name__ == "__main__":
    schemas = {name: partial(describe_schema, path) for name, path in SCHEMAS.items()}
    for name, make in (MADE | schemas).items():
        lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in make().items()]
        Path(sys.argv[1], name).write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
