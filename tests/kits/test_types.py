"""The types of the kit for JavaScript, and the starter in TypeScript. Source: the kits' README, schema.json."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from arena.bots import shipped_files
from tests.kits.conversations import matches

KIT = Path(__file__).parents[2] / "protocol" / "kits" / "coup_kit.js"
TYPES = KIT.with_name("coup_kit.d.ts")
STARTER = KIT.parents[2] / "sample_bots" / "typescript"
SCHEMA = json.loads((KIT.parents[1] / "schema.json").read_text())["$defs"]
TSC = shutil.which("tsc")
needs_tsc = pytest.mark.needs("tsc", None if TSC else "tsc isn't installed: npm install -g typescript")

BOT = """\
import { Bot, Game, run, type Answer, type Event } from "./coup_kit.js";

class MyBot extends Bot {
  override turn(game: Game): Answer {
    return game.cards.includes("duke") ? game.find("tax") : game.legal[0];
  }
  override event(game: Game, event: Event): void {
    if (event.event === "lost") console.log(game.players[event.seat]?.handle, event.role, game.me.claims["duke"]);
  }
}
run(new MyBot());
"""


def members(text: str, name: str) -> set[str]:
    """Return the public fields and methods of a class."""
    body = text.split(f"class {name} ")[1].split("\n}")[0]
    found = re.findall(r"^  (?:  this\.|readonly |get |async )*(\w+)(?=\(| =|;|: )", body, re.MULTILINE)
    return {each for each in found if not each.startswith("_")} - {"constructor", "private"}


@pytest.mark.parametrize("name", ["Bot", "Game", "History", "Player"])
def test_every_name_of_the_kit_has_a_type_and_no_other_has(name: str) -> None:
    """Else an editor hides it, or offers what isn't there."""
    assert members(TYPES.read_text(), name) == members(KIT.read_text(), name)


def fields(text: str, name: str) -> set[str]:
    """Return the fields of an interface."""
    body = text.split(f"interface {name} ")[1].split("\n}")[0]
    return set(re.findall(r"^  readonly (\w+)", body, re.MULTILINE))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        *(
            (each, [each])
            for each in ("Hello", "GameStart", "GameOver", "MatchOver", "Limits", "Match", "Ruleset", "State")
        ),
        ("ErrorMessage", ["Error"]),
        ("Seat", ["Player"]),
        ("You", ["You", "ExchangingYou", "ExaminingYou"]),
        ("Move", [each for each in SCHEMA if each.endswith("Move")]),
        ("Asked<Kind extends string>", ["TurnRequest"]),
    ],
)
def test_a_message_has_the_fields_of_the_protocol(name: str, parts: list[str]) -> None:
    """No more, no fewer."""
    assert fields(TYPES.read_text(), name) == {field for part in parts for field in SCHEMA[part]["properties"]}


def test_the_types_are_given_with_the_kit() -> None:
    """So they are nobody's own work."""
    assert {TYPES, STARTER / "bot.ts", STARTER / "bot.js"} <= {path.resolve() for path in shipped_files()}


@needs_tsc
def test_the_starter_plays_what_tsc_makes_of_it(tmp_path: Path) -> None:
    """Byte for byte: bot.js is in the repository, so that it plays where there is no compiler."""
    assert TSC is not None
    for path in (*STARTER.iterdir(), KIT, TYPES):
        shutil.copy(path, tmp_path)
    (tmp_path / "bot.js").unlink()
    done = subprocess.run([TSC], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "bot.js").read_text() == (STARTER / "bot.js").read_text()


@needs_tsc
def test_every_kind_of_message_of_recorded_matches_has_a_type(tmp_path: Path) -> None:
    """A field that a type lacks, or has with another type, is an error in a literal. One message of each shape."""
    assert TSC is not None
    shutil.copy(TYPES, tmp_path)
    shapes = {shape(message): json.dumps(message) for message in matches()}
    assert len(shapes) > 100
    lines = [f"export const m{n}: Message = {text};" for n, text in enumerate(shapes.values())]
    (tmp_path / "bot.ts").write_text("\n".join(['import type { Message } from "./coup_kit.js";', *lines]))
    words = [TSC, "--strict", "--noEmit", "--target", "es2022", "--module", "commonjs", "bot.ts"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[:2000]


def shape(value: object) -> str:
    """Return the names of all fields, and the words that decide which others there are."""
    if isinstance(value, dict):
        words = {name: value.get(name) for name in ("type", "kind", "event")}
        return str((words, sorted((name, shape(each)) for name, each in value.items())))
    return str(sorted({shape(each) for each in value})) if isinstance(value, list) else ""


@needs_tsc
def test_tsc_takes_a_right_bot_and_refuses_a_misspelt_name(tmp_path: Path) -> None:
    """With --strict; the types need no @types/node."""
    assert TSC is not None
    shutil.copy(TYPES, tmp_path)
    (tmp_path / "globals.d.ts").write_text("declare const console: { log(...words: unknown[]): void };\n")
    for text, code in ((BOT, 0), (BOT.replace("game.find", "game.fnd"), 2)):
        (tmp_path / "bot.ts").write_text(text)
        words = [TSC, "--strict", "--lib", "es2022", "--module", "commonjs", "--target", "es2022", "bot.ts"]
        done = subprocess.run([*words, "globals.d.ts"], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout
