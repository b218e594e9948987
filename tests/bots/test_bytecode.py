"""Bytecode: a bot's modules are compiled once, in its own box. A failure there costs only the bytecode."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from arena import sandbox
from arena.bots import Bot, BytecodeCache, load_bots, parse_bytecode
from arena.limits import Limits
from tests.cli_workspace import QUICK_BOT, Place

Needs = Callable[[str, str | None], None]
Files = tuple[tuple[str, bytes], ...]

LIMIT_S = 60.0


class Compiler:
    def __init__(self, folder: Path, choice: sandbox.SandboxChoice) -> None:
        self.folder = folder
        self.choice = choice
        self.sandbox: sandbox.Sandbox = sandbox.make_sandbox(choice, folder / "scratch")

    def bot(self, name: str, **modules: str) -> Bot:
        """Write a bot in Python that prints a value of its module `other`."""
        home = self.folder / name
        home.mkdir()
        (home / "bot.toml").write_text('run = "python3 bot.py"\n')
        (home / "bot.py").write_text("import os, other\nos.write(1, f'{other.VALUE} {other.__cached__}'.encode())\n")
        for module, source in modules.items():
            path = home / f"{module.replace('_in_', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(source)
        return load_bots([str(home)], sandbox.programs_of(self.choice.name))[0][0]

    def compiled(self, bot: Bot) -> Files:
        made = BytecodeCache()
        found = made.files_of(bot, self.choice, self.sandbox)
        assert made.files_of(bot, self.choice, self.sandbox) is found, "it is compiled once"
        return found

    def printed(self, bot: Bot, bytecode: Files) -> str:
        box = self.sandbox.start(sandbox.Program(bot.argv, bot.cwd, files=bot.path, bytecode=bytecode), Limits())
        try:
            assert sandbox.wait_readable(box.stdout, LIMIT_S)
            return os.read(box.stdout, 4_096).decode()
        finally:
            box.close()


@pytest.fixture(params=sandbox.ISOLATING_SANDBOXES)
def builder(request: pytest.FixtureRequest, tmp_path: Path, needs: Needs) -> Iterator[Compiler]:
    needs(request.param, sandbox.unavailable_reason(request.param))
    made = Compiler(tmp_path, sandbox.SandboxChoice(request.param))
    yield made
    made.sandbox.close()


@pytest.fixture
def bubblewrap_compiler(tmp_path: Path, bubblewrap: None) -> Iterator[Compiler]:
    made = Compiler(tmp_path, sandbox.SandboxChoice("bubblewrap"))
    yield made
    made.sandbox.close()


def test_a_bot_plays_from_its_bytecode_and_its_folder_stays_clean(builder: Compiler) -> None:
    """Another value in the source shows that Python used the bytecode."""
    one, two = (builder.bot(name, other=f"VALUE = '{name}'\n") for name in ("one", "two"))
    made = builder.compiled(one)
    said, where = builder.printed(two, made).split()
    assert said == "one"
    assert where in {f"/bot/{name}" for name, _ in made}
    assert builder.printed(two, ()).split()[0] == "two"
    assert list(builder.folder.rglob("__pycache__")) == []


def test_modules_that_cannot_be_compiled_are_skipped(bubblewrap_compiler: Compiler) -> None:
    bad = {"syntax": "def", "deep": "(" * 10_000, "null": "\0", "long": "x = " + "+".join("1" * 100_000)}
    made = bubblewrap_compiler.compiled(
        bubblewrap_compiler.bot("b", other="VALUE = 1\n", sub_in_more="VALUE = 2\n", **bad)
    )
    tag = sys.implementation.cache_tag
    assert {f"__pycache__/other.{tag}.pyc", f"sub/__pycache__/more.{tag}.pyc"} <= {name for name, _ in made}
    assert not {name for name, _ in made if "syntax" in name or "deep" in name or "null" in name}


def test_no_code_of_a_bot_runs_during_compilation(bubblewrap_compiler: Compiler) -> None:
    hostile = dict.fromkeys(("marshal", "os", "importlib", "sitecustomize"), "raise SystemExit('it was run')\n")
    made = bubblewrap_compiler.compiled(bubblewrap_compiler.bot("b", other="VALUE = 1\n", **hostile))
    assert len(made) == len(hostile) + 2


SEES = "import os, sys, other\nprint(other.__cached__, os.listdir('__pycache__'), file=sys.stderr, flush=True)\n"


def test_checks_and_matches_show_the_same_bytecode(place: Place, bubblewrap: None) -> None:
    """Otherwise a bot could distinguish them."""
    place.bot("b/bot.toml", 'run = "python3 bot.py"\n')
    place.bot("b/other.py", "VALUE = 1\n")
    place.bot("b/bot.py", SEES + QUICK_BOT)
    flags = ("--sandbox", "bubblewrap", "--seats", 2)
    match = place.run("run", "b", "c=b", "--games", 2, "--match-games", 2, "--jobs", 1, "--out", "run", *flags)
    table = place.run("watch", "b", "c=b", "--out", "watch", *flags)
    assert (match.code, table.code) == (0, 0), (match.err, table.err)
    seen = {line for path in place.folder.glob("*/logs/*b-1.txt") for line in path.read_text().splitlines()}
    assert len(list(place.folder.glob("*/logs/*b-1.txt"))) == 2
    (line,) = (line for line in seen if "pycache" in line)
    place.bot("b/bot.py", SEES + "sys.exit('for the examiner')\n")
    step = place.run("check", "b", "--quick", "--rules", "coup", "--sandbox", "bubblewrap", "--json").json["bots"][0][
        "steps"
    ][-1]
    assert step["stderr"] == [line, "for the examiner"]


def test_only_folders_that_python_runs_in_a_box_are_compiled(bubblewrap_compiler: Compiler) -> None:
    """A bare file has no modules, and a plain process runs in the author's folder."""
    bot = bubblewrap_compiler.bot("b", other="VALUE = 1\n")
    bare = load_bots([str(bot.path / "bot.py")])[0][0]
    for other, choice in (
        (bot, sandbox.SandboxChoice("process")),
        (bare, bubblewrap_compiler.choice),
        (replace(bot, argv=("sh",)), bubblewrap_compiler.choice),
    ):
        made = BytecodeCache()
        assert [made.files_of(other, choice, bubblewrap_compiler.sandbox) for _ in range(3)] == [(), (), ()]


def test_a_bot_that_ships_its_own_python_is_not_compiled_by_it(bubblewrap_compiler: Compiler) -> None:
    bot = bubblewrap_compiler.bot("b", other="VALUE = 1\n")
    own = bot.path / "python"
    own.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    own.chmod(0o755)
    assert bubblewrap_compiler.compiled(bot) != ()
    assert bubblewrap_compiler.compiled(replace(bot, argv=(str(own), "bot.py"))) == ()


def test_the_cache_of_bytecode_is_bounded(bubblewrap_compiler: Compiler) -> None:
    """The bot that hasn't played for the longest time is compiled again."""
    one, two, three = (bubblewrap_compiler.bot(name, other=f"VALUE = '{name}'\n") for name in ("one", "two", "six"))
    made = BytecodeCache(2 * sum(len(data) for _, data in bubblewrap_compiler.compiled(one)))
    first = made.files_of(one, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox)
    second = made.files_of(two, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox)
    assert made.files_of(one, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox) is first
    made.files_of(three, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox)
    assert made.files_of(one, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox) is first
    assert made.files_of(two, bubblewrap_compiler.choice, bubblewrap_compiler.sandbox) is not second


def entry(name: bytes, data: bytes = b"x") -> bytes:
    return b"%d %d\n%s%s" % (len(name), len(data), name, data)


GOOD = entry(b"./a/__pycache__/m.pyc")


@pytest.mark.parametrize(
    "strange",
    [
        entry(b"m.pyc"),
        entry(b"../__pycache__/m.pyc"),
        entry(b"a/../../__pycache__/m.pyc"),
        entry(b"/bot/__pycache__/m.pyc"),
        entry(b"__pycache__/m\0.pyc"),
        entry(b"__pycache__/" + b"m" * 256),
        entry(b"a/" * 600 + b"__pycache__/m.pyc"),
        b"17 99999999\n__pycache__/m.pyc",
        b"-1 5\n",
        b"99999 5\n",
        b"rubbish",
    ],
)
def test_reading_stops_at_the_first_entry_that_is_not_bytecode(strange: bytes) -> None:
    """Entries before it stay; of two with one name the last counts."""
    assert parse_bytecode(GOOD + GOOD + strange + entry(b"__pycache__/late.pyc")) == (("a/__pycache__/m.pyc", b"x"),)
