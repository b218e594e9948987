"""Bots that play with a kit outside of their folder. Source: arena/bots/bot_loader.py, docs/reference/bot-toml.md."""

import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from arena import bots
from tests.cli_workspace import Place
from tests.kits.table import KITS

BARE = b"from coup_kit import Bot, run\n\nrun(Bot())\n"
TOML = 'kit = "python"\nrun = ["python3", "bot.py"]\n'
# Kit -> its version, and the beginning of its SHA-256.
VERSIONS: dict[str, tuple[int, str]] = {
    "coup_kit.py": (12, "aa4747c4e0a9"),
    "coup_kit.js": (9, "cbeb59a1e3bf"),
    "CoupKit.java": (9, "9234d7bc2360"),
    "coup_kit.hpp": (8, "8d9f419afec2"),
    "coup_kit.rs": (9, "2a301ae5e986"),
    "coup_kit.go": (9, "abd33fec0e2c"),
}


def write_file(folder: Path) -> Path:
    folder.mkdir()
    (folder / "bot.py").write_bytes(BARE)
    return folder / "bot.py"


def write_folder(folder: Path) -> Path:
    write_file(folder)
    (folder / "bot.toml").write_text(TOML)
    return folder


@pytest.mark.parametrize("make", [write_file, write_folder])
def test_a_bot_gets_the_kit_in_a_copy_of_its_folder(make: Callable[[Path], Path], tmp_path: Path) -> None:
    ((bot,), _) = bots.load_bots([str(make(tmp_path / "mine"))])
    before = bots.digest_of(tmp_path / "mine")
    assert bots.is_missing_kit(bot, True)
    copy = bots.copy_with_kit(bot, True, tmp_path / "copy")
    assert bots.digest_of(tmp_path / "mine") == before
    assert (tmp_path / "copy" / "coup_kit.py").read_bytes() == KITS[0].file.read_bytes()
    assert (copy.path, copy.cwd, copy.name) == (tmp_path / "copy", tmp_path / "copy", bot.name)
    assert copy.digest == bots.digest_of(tmp_path / "copy") != bot.digest
    assert not bots.is_missing_kit(copy, True)
    (tmp_path / "copy" / "coup_kit.py").write_bytes(b"")
    assert bots.digest_of(tmp_path / "copy") != copy.digest


@pytest.mark.parametrize("make", [write_file, write_folder])
def test_a_plain_process_finds_the_kit_compiled(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """In a box it is compiled with the bot's own modules: tests/bots/test_bytecode.py."""
    ((bot,), _) = bots.load_bots([str(make(tmp_path / "mine"))])
    boxed, plain = (bots.copy_with_kit(bot, isolates, tmp_path / f"{isolates}") for isolates in (True, False))
    assert not (boxed.path / "__pycache__").exists()
    assert plain.digest == boxed.digest == bots.digest_of(plain.path)
    code = "import sys; sys.path[0] = sys.argv[1]; import coup_kit"
    done = subprocess.run(
        [sys.executable, "-v", "-c", code, str(plain.path)], capture_output=True, text=True, check=True
    )
    assert re.search(r"__pycache__/coup_kit\.\S+\.pyc matches", done.stderr)


@pytest.mark.parametrize("imports", [True, False])
def test_a_bot_gets_the_encoding_that_it_imports(imports: bool, tmp_path: Path) -> None:
    path = write_folder(tmp_path / "mine")
    with (path / "bot.py").open("a") as file:
        file.write("from coup_env import Player\n" * imports)
    ((bot,), _) = bots.load_bots([str(path)])
    assert (bots.copy_with_kit(bot, True, tmp_path / "copy").path / "coup_env.py").exists() == imports


@pytest.mark.parametrize("make", [write_file, write_folder])
def test_a_bot_with_its_own_kit_plays_with_it(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "mine")
    (tmp_path / "mine" / "coup_kit.py").write_bytes(b"# mine\n")
    ((bot,), _) = bots.load_bots([str(path)])
    copy = bots.copy_with_kit(bot, True, tmp_path / "copy")
    assert (copy.cwd / "coup_kit.py").read_bytes() == b"# mine\n"
    assert (copy is bot) == (make is write_folder)
    assert bots.copy_with_kit(bot, False, tmp_path / "other") is bot, "as a plain process it finds the files next to it"


@pytest.mark.parametrize(
    ("name", "text", "asks"),
    [
        ("bot.py", b"import coup_kit\n", True),
        ("bot", b"#!/usr/bin/env python3\nfrom coup_kit import *\n", True),
        ("bot.py", b"try:\n    import coup_kit as kit\nexcept ImportError:\n    pass\n", True),
        ("bot.js", b"const { Bot, run } = require('./coup_kit');\n", True),
        ("bot.js", b'const kit = require("./coup_kit.js");\n', True),
        ("bot.py", b"# I don't import coup_kit\nprint('import coup_kit')\n", False),
        ("bot.py", b"import coup_kit_of_mine\n", False),
        ("bot.py", b"import json\n", False),
    ],
)
def test_a_bare_file_asks_for_a_kit_by_importing_it(name: str, text: bytes, asks: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text)
    ((bot,), _) = (
        bots.load_bots([f"mine={tmp_path / name}"]) if name != "bot" else bots.load_bots([str(tmp_path / name)])
    )
    assert (bot.kit is not None) == asks == bots.is_missing_kit(bot, True)


@pytest.mark.parametrize("text", [b"\n", b" ", b"import ", b"require(", b"from\t"])
def test_a_large_file_is_searched_for_its_kit_at_once(tmp_path: Path, text: bytes) -> None:
    """It is read outside of any sandbox: a MULTILINE pattern took hours for a megabyte of newlines."""
    bot = tmp_path / "bot.py"
    bot.write_bytes(text * ((1 << 20) // len(text)))
    began = time.process_time()
    bots.load_bots([str(bot)])
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "make", [Path.mkdir, lambda path: path.symlink_to("no/where"), lambda path: path.symlink_to(path)]
)
def test_a_folder_with_the_name_of_the_kit_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.toml").write_text('run = "python3 bot.py"\nkit = "python"\n')
    make(tmp_path / "bot" / "coup_kit.py")
    ((bot,), _) = bots.load_bots([str(tmp_path / "bot")])
    with pytest.raises(bots.BotError, match="isn't a file"):
        bots.copy_with_kit(bot, True, tmp_path / "copy")


def test_an_unknown_kit_is_refused(tmp_path: Path) -> None:
    (write_folder(tmp_path / "mine") / "bot.toml").write_text(TOML.replace('python"', 'pyton"', 1))
    with pytest.raises(bots.BotError, match=r'unknown kit "pyton"; did you mean python\?\nSet kit to one of python, '):
        bots.load_bots([str(tmp_path / "mine")])


def test_a_bare_file_next_to_the_arenas_environment_is_played_by_its_python(tmp_path: Path) -> None:
    """As in a clone, whose folder .venv is below that of mybot.py."""
    write_file(tmp_path / "mine")
    ([bot], _) = bots.load_bots([str(tmp_path / "mine" / "bot.py")])
    moved = bots.relocate_bot(bot, Path("/"), tmp_path / "copy")
    assert (moved.argv[0], moved.path) == (bot.argv[0], tmp_path / "copy" / bot.path.relative_to("/"))


def test_a_bare_file_of_the_kit_is_checked_played_and_resumed(place: Place) -> None:
    write_file(place.folder / "mine")
    checked = place.call("check", "mine/bot.py", "--quick", "--rules", "coup", "--sandbox", "process")
    assert checked.code == 0, checked.out
    words = ("--games", 4, "--match-games", 2, "--sandbox", "process", "--out", "out")
    ran = place.run("run", "mine/bot.py", "sample:random_bot", *words)
    assert ran.code == 0, ran.err
    assert [path.name for path in (place.folder / "mine").iterdir()] == ["bot.py"]
    (place.folder / "mine" / "bot.py").write_text("changed")
    assert place.run("run", "--resume", "out").code == 0, "what plays is the run's own copy"


def test_check_reports_a_kit_that_is_older_than_the_arenas(place: Place) -> None:
    folder = write_folder(place.folder / "mine")
    text = KITS[0].file.read_text()
    (folder / "coup_kit.py").write_text(text)
    assert not bots.is_older(bots.load_bots([str(folder)])[0][0])
    (folder / "coup_kit.py").write_text(text.replace("kit version", "kit of version"))
    checked = place.call("check", "mine", "--quick", "--rules", "coup", "--sandbox", "process")
    assert checked.code == 0
    first = checked.out.split(" 2  ")[0]
    assert " 1  note  file" in first
    assert "its kit is older than the arena's" in " ".join(first.split())


def test_a_kit_that_was_changed_has_another_version() -> None:
    """Write a changed kit's digest here, and raise its version if its behaviour changed."""
    output = {}
    for kit in KITS:
        data = kit.file.read_bytes()
        found = re.search(rb"\bkit version (\d+)", data[:4096])
        assert found is not None
        output[kit.name] = (int(found[1]), hashlib.sha256(data).hexdigest()[:12])
    assert output == VERSIONS
