"""A method similar to a request's with another name: each language reports it in its way. Source: the kits' README."""

import shutil
from pathlib import Path

import pytest

from arena.bots import build_all, load_bots
from tests.cli_workspace import Place
from tests.kits.conftest import Made
from tests.kits.table import KITS, ROWS, Kit
from tests.kits.test_kits import example

# A bot that misspells `challenge`, and has a helper that it calls itself; where the kit names a method, its line.
SOURCES = {
    "python": (
        "bot.py",
        """from coup_kit import Bot, run

class MyBot(Bot):
    def turn(self, g):
        return self.my_odds(g) or self.best(g)
    def challange(self, g):
        return g.find("challenge")
    def lose_card(self, game):
        return 1
    def my_odds(self, g):
        return None
    def best(self, game):
        return game.find("tax")
    def load(self, path):
        return path
    def _later(self, game):
        return None

bot = MyBot()
bot.load("weights")
run(bot)
""",
        ["MyBot.challange; did you mean challenge?"],
    ),
    "javascript": (
        "bot.js",
        """const { Bot, run } = require("./coup_kit.js");
class MyBot extends Bot {
  turn(game) { return this.best(game); }
  challange(game) { return game.find("challenge"); }
  lose_card(game) { return 1; }
  best(game) { return game.find("tax"); }
  load(path) { return path; }
}
run(new MyBot());
""",
        ["MyBot.challange; it calls turn, ", "MyBot.lose_card; it calls turn, "],
    ),
    "java": (
        "MyBot.java",
        """public class MyBot extends CoupKit.Bot {
    public Move challange(Game game) { return game.find("challenge"); }
    public void gameEnd(Game game) {}
    public Move turn(Game game) { return best(game); }
    private Move best(Game game) { return game.find("tax"); }
    Move worst(Game game) { return null; }
    public double myOdds(Game game) { return 0; }
    public static void main(String[] words) { CoupKit.run(new MyBot()); }
}
""",
        ["MyBot.challange; write @Override ", "MyBot.gameEnd; write @Override "],
    ),
    "go": (
        "bot.go",
        """package main

type MyBot struct{ Base }

func (bot *MyBot) Challange(game *Game) *Move { return game.Find("challenge") }
func (bot *MyBot) GameEnd(game *Game) {}
func (bot *MyBot) Turn(game *Game) *Move { return bot.best(game) }
func (bot *MyBot) best(game *Game) *Move { return game.Find("tax") }
func (bot *MyBot) MyOdds(game *Game) float64 { return 0 }
func main() { Run(&MyBot{}) }
""",
        ["MyBot.Challange; it calls the methods ", "MyBot.GameEnd; it calls the methods "],
    ),
}


def write_misspelt(kit: Kit, folder: Path) -> Path:
    """Write a bot that misspells `challenge`, with all else that its language's starter has."""
    shutil.copytree(kit.starter, folder)
    shutil.copy(kit.file, folder)
    for path in folder.glob("*test*"):
        path.unlink()
    name, source, _ = SOURCES[kit.language]
    (folder / name).write_text(source)
    for path in folder.glob("Test*"):
        path.unlink()
    return folder


@pytest.mark.parametrize("kit", [row for row in ROWS if row.id in SOURCES])
def test_a_misspelt_method_is_named_at_the_start(kit: Kit, tmp_path: Path) -> None:
    """Methods that the bot calls, or that look different, aren't reported. The compilers of Rust and C++ do it."""
    named = SOURCES[kit.language][2]
    folder = write_misspelt(kit, tmp_path / "bot")
    (bot,), _ = load_bots([str(folder)])
    build_all([bot], tmp_path / "logs", 240)
    ran = Made(bot.argv, bot.cwd).feed(example())
    lines = [line for line in ran.err.splitlines() if "never calls" in line]
    assert len(lines) == len(named), ran.err
    for line, words in zip(sorted(lines), named, strict=True):
        assert line.startswith(f"coup_kit: the kit never calls {words}"), line
    assert ran.code == 0


def test_a_class_in_place_of_a_bot_is_refused_with_the_right_code(place: Place) -> None:
    text = "from coup_kit import Bot, run\n\nclass MyBot(Bot): ...\n\nrun(MyBot)\n"
    checked = place.call("check", str(place.bot("mine.py", text)), "--quick", "--rules", "coup", "--sandbox", "process")
    assert "write run(MyBot())" in " ".join(checked.out.split())


def test_check_warns_of_a_method_that_the_kit_never_calls(place: Place) -> None:
    """The bot passes, since the method may be an unused helper."""
    folder = write_misspelt(KITS[0], place.folder / "mine")
    checked = place.call("check", str(folder), "--quick", "--rules", "coup", "--sandbox", "process")
    assert checked.code == 0, checked.out
    output = " ".join(checked.out.split())
    assert "warn methods a method isn't part of the kit" in output
    assert "MyBot.challange; did you mean challenge?" in output
