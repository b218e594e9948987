"""The language of a bot."""

from pathlib import Path

from arena.bots import KITS, LANGUAGES, Bot, language_of, load_bots
from tests.cases import each

SAMPLES = Path(__file__).parents[2] / "sample_bots"


@each("kit", KITS)
def test_a_kit_shows_the_language(tmp_path: Path, kit: str) -> None:
    assert language_of(Bot("bot", tmp_path, ("./bot",), tmp_path, None, "", kit=kit)) == LANGUAGES[kit].name


@each("sample, language", [("honest.py", "Python"), ("shell.sh", "shell")])
def test_a_sample_that_needs_no_kit_shows_its_language(sample: str, language: str) -> None:
    [bot], _ = load_bots([str(SAMPLES / sample)])
    assert language_of(bot) == language


@each("argv, build, names, language", [
    (("./bot",), ("cargo", "build"), (), "Rust"),
    (("./bot",), ("make",), ("main.c",), "C"),
    (("/usr/bin/python3.12", "-m", "bot"), None, ("Makefile",), "Python"),
    (("/usr/bin/env", "node", "x"), None, (), "JavaScript"),
    (("./bot",), None, ("bot",), None),
    (("env", f"{'1' * 60_000}a"), None, (), None),  # at once: a pattern took a minute
    (("./bot",), ("sh", "build.sh"), ("build.sh", "main.cpp"), "C++"),
    (("./bot",), ("./build.sh",), ("build.sh", "main.rs"), "Rust"),
    (("./bot",), ("python3", "build.py"), ("build.py", "main.c"), "C"),
    (("./bot",), ("env", "CXX=c++", "g++-13", "-o", "bot", "main.c"), ("main.c",), "C++"),
    (("./bot",), ("make",), ("generate.py", "main.go"), "Go"),
    (("node", "bot.js"), ("cargo", "build"), ("bot.js", "lib.rs"), "JavaScript"),
    (("python3", "bot.py"), ("gcc", "-shared", "fast.c"), ("bot.py", "fast.c"), "Python"),
    (("/usr/bin/env", "-S", "pypy3.10", "-u", "bot"), None, ("bot",), "Python"),
    (("./bot.rb",), None, ("a.c", "bot.rb"), "Ruby"),
    (("sh", "run.sh"), None, ("bot.js", "run.sh"), "JavaScript"),
    (("./bot", "node"), None, ("bot", "main.c"), "C"),
    (("sh", "run.sh"), ("python3", "build.py"), ("data",), "shell"),
    (("./bot",), ("python3", "build.py"), ("bot",), "Python"),
])  # fmt: skip
def test_a_bot_without_a_kit_shows_it_by_commands_and_files(
    tmp_path: Path, argv: tuple[str, ...], build: tuple[str, ...] | None, names: tuple[str, ...], language: str | None
) -> None:
    folder = tmp_path / f"bot-{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    for name in names:
        (folder / name).touch()
    assert language_of(Bot("bot", folder, argv, folder, build, "")) == language
