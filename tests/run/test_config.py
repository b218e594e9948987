"""Tests of a run's key, from a seed or random, and of run.json. Source: docs/explanation/security-model.md."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from arena.bots import load_bots
from arena.limits import Limits
from arena.run import RunConfig, seed_key

PEAK = """
from arena.run import seed_key


def peak_kb():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM:")).split()[1])


before = peak_kb()
print(seed_key(7).hex(), peak_kb() - before)
"""


@pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc")
def test_stretching_a_seed_takes_more_memory_than_a_bot_has() -> None:
    """It runs in another process, since a memory peak never falls. The key is reproducible."""
    done = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, timeout=60, check=True)
    key, more_kb = done.stdout.split()
    assert int(more_kb) > Limits().memory_mb * 1024
    assert bytes.fromhex(key) == seed_key(7) != seed_key(8)


def test_without_a_seed_each_key_is_different() -> None:
    keys = {seed_key(None) for _ in range(3)}
    assert len(keys) == 3
    assert {len(key) for key in keys} == {32}


def test_a_resumed_run_reads_its_key_from_run_json(tmp_path: Path) -> None:
    """--resume stretches nothing, and works also where a later arena would stretch differently."""
    for name in ("a.py", "b.py"):
        (tmp_path / name).touch()
    bots, _ = load_bots([str(tmp_path / "a.py"), str(tmp_path / "b.py")])
    begun = RunConfig(tuple(bots), seats=2, games=2, match_games=2, key=bytes(range(32)), seed=7)
    assert RunConfig.from_json(json.loads(json.dumps(begun.to_json()))) == begun
