"""Tests of the starters, one for each language and one in plain sh: built and checked in each sandbox, and playing.

Source: docs/reference/bot-toml.md and sandbox.md. One command checks all of a sandbox in parallel, since starting a
command takes longer than most bots do. Builds of plain processes are shared with the tests of the kits.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.bots import LANGUAGES
from arena.sandbox import SANDBOX_NAMES, unavailable_reason
from tests.cli_workspace import Place, Ran
from tests.kits.built import built
from tests.kits.table import KITS

Needs = Callable[[str, str | None], None]

SAMPLES = Path(__file__).parents[2] / "sample_bots"
LIMIT_S = 500  # rustc, the C++ compiler and javac take 3 s each of an idle core
PATIENT = ("--start-ms", 20_000, "--limit-ms", 5_000)  # compilers run at the same time
# Bot -> the programs that build and run it.
BOTS = {kit.language: kit.needs for kit in KITS} | {"shell.sh": ("sh",)}


def bots_here(place: Place, sandbox: str, needs: Needs) -> list[str]:
    """Make all bots in a user's folder, as `arena new` does; skip where their compilers are missing."""
    if sandbox != "process":
        needs(sandbox, unavailable_reason(sandbox))
    for program in sorted(sum(BOTS.values(), ())) if sandbox != "docker" else ():
        found = shutil.which(program, path="/usr/bin" if sandbox == "bubblewrap" else None)
        needs(program, None if found else f"it isn't where {sandbox} finds it")
    for bot in BOTS:
        if bot in LANGUAGES:
            missing = [program for program in LANGUAGES[bot].needs if shutil.which(program) is None]
            made = place.call("new", bot, "--lang", bot)
            assert (made.code, bool(made.err)) == (0, bool(missing))  # said on stderr
            assert (place.folder / bot / LANGUAGES[bot].starter).is_file()
        else:
            shutil.copy(SAMPLES / bot, place.folder)
    return list(BOTS)


def ran(place: Place, *arguments: object) -> Ran:
    process = place.start(*arguments)
    out, err = process.communicate(timeout=LIMIT_S)
    return Ran(process.returncode, out, err)


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("sandbox", SANDBOX_NAMES)
def test_every_starter_is_built_and_passes_its_check(
    sandbox: str, place: Place, needs: Needs, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """As a plain process it gets all requests of all rulesets, and plays.

    In a box, with the default limits of memory and processes, it gets those of one.
    """
    bots = bots_here(place, sandbox, needs)
    rules = ("--rules", "reformation-inquisitor")
    if sandbox == "process":
        take_built(place, tmp_path_factory)
        rules = ()
    output = ran(place, "check", *bots, "--quick", *rules, "--sandbox", sandbox, "--json", *PATIENT)
    failed = {bot["bot"]: bot["steps"][-1] for bot in output.json["bots"] if not bot["passed"]}
    assert (output.code, failed) == (0, {}), output.err
    if sandbox == "process":
        plays(place, bots)


def take_built(place: Place, factory: pytest.TempPathFactory) -> None:
    """Copy what the arena has built from the same files, in place of building it again."""
    for kit in KITS:
        made, folder = built(factory, kit, kit.starter), place.folder / kit.language
        for name in (kit.file.name, "bot.toml"):
            assert (made / name).read_bytes() == (folder / name).read_bytes()
        shutil.copytree(made, folder, dirs_exist_ok=True)
        lines = (folder / "bot.toml").read_text().splitlines(keepends=True)
        (folder / "bot.toml").write_text("".join(line for line in lines if not line.startswith("build")))


def plays(place: Place, bots: list[str]) -> None:
    """Play a match of all at one table, and assert that none makes a fault."""
    table = ("--seats", len(bots), "--games", len(bots), "--match-games", len(bots))
    output = ran(place, "run", *bots, *table, "--out", "out")
    assert output.code == 0, output.err
    games = [json.loads(line) for line in (place.folder / "out" / "results.jsonl").read_text().splitlines()]
    assert [(game["faults"], game["forfeits"]) for game in games] == [([], [])] * len(bots)
