"""Test that every sample bot plays every ruleset without a fault; with ARENA_SOAK each in all seats."""

import hmac
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from arena.bots import copy_with_kit, load_bots
from arena.coup import PRESETS
from arena.limits import Limits
from arena.referee import MatchSettings, MatchSpec, Timing, verify_record
from arena.referee.process import play_match
from arena.sandbox import Box, ProcessSandbox, Program
from arena.schedule import seat_orders
from tests.kits.built import built
from tests.kits.table import KITS
from tests.tables.test_page import SHOWN

SAMPLES = Path(__file__).parent.parent.parent / "sample_bots"
HURRY = Timing(limit_ms=4, bank_ms=600_000)  # a bot that thinks for half its free time thinks for 2 ms here
COMPILED = SAMPLES / "strategist_cpp"
GAMES = None if "ARENA_SOAK" in os.environ else 1  # of a table, None: as many as it has seats
BOTS = [COMPILED, *sorted(path for path in SAMPLES.iterdir() if path.suffix in (".py", ".js", ".sh"))]
(CPP,) = (kit for kit in KITS if kit.language == "cpp")


def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
    return tuple(sorted(items, key=lambda item: hmac.digest(b"presets", f"{label}|{item}".encode(), "sha256")))


@pytest.mark.needs("node", None if shutil.which("node") else "it isn't installed")
@pytest.mark.needs("a C++ compiler", None if all(map(shutil.which, CPP.needs)) else "it isn't installed")
@pytest.mark.parametrize("preset", SHOWN)
def test_every_sample_bot_plays_every_preset_without_a_fault(
    preset: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Tables are as large as the rules allow, until each bot has sat at one."""
    rules = PRESETS[preset]
    seats = min(rules.max_seats, len(BOTS))
    (tmp_path / "boxes").mkdir()
    sandbox = ProcessSandbox(tmp_path / "boxes")
    loaded, _ = load_bots([str(built(tmp_path_factory, CPP, COMPILED)), *map(str, BOTS[1:])])
    bots = {path: copy_with_kit(bot, False, tmp_path / path.name) for path, bot in zip(BOTS, loaded, strict=True)}
    for first in range(0, len(BOTS), seats):
        table = [BOTS[(first + place) % len(BOTS)] for place in range(seats)]

        def launch(bot: int, table: list[Path] = table) -> Box:
            return sandbox.start(Program(bots[table[bot]].argv, bots[table[bot]].cwd), Limits())

        names = tuple(path.name for path in table)
        key = hmac.digest(b"presets", preset.encode(), "sha256")  # other hands for each
        played = seat_orders(seats, seats, shuffle)[:GAMES]
        result = play_match(MatchSpec(0, key, names, played, MatchSettings(rules=rules, timing=HURRY)), launch)
        record = result.record
        verify_record(record)
        assert [fault for game in record.games for fault in game.faults] == []
