"""The types of the kit for JavaScript. Source: the kits' README."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2] / "protocol" / "kits" / "coup_kit.js"
TYPES = KIT.with_name("coup_kit.d.ts")
TSC = shutil.which("tsc")

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


@pytest.mark.needs("tsc", None if TSC else "tsc isn't installed: npm install -g typescript")
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
