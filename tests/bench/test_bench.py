"""The benchmarks run; what they measure is nobody's test."""

import shutil
from pathlib import Path

import pytest

from tests.bench import engine, pipes
from tests.bench.flat import memory_mb

needs_cc = pytest.mark.needs("cc", None if shutil.which("cc") else "there is no C compiler: apt install gcc libc6-dev")


def test_the_engine_benchmark_plays() -> None:
    """Makefile: bench."""
    assert engine.decisions_per_second(3, 0.05) > 0


@needs_cc
def test_the_bare_loop_has_the_same_conversation_as_the_referee(tmp_path: Path) -> None:
    """The ratio means something only if both send and receive as much."""
    bots = [pipes.c_bot(tmp_path)] * 3
    cost, result, match = pipes.referee(bots, 6)
    floor = pipes.bare_loop(bots, match, result)
    assert floor.requests == cost.requests == result.requests > 0


def test_the_benchmarks_python_bots_play_without_a_fault() -> None:
    """They are the sample bots."""
    cost, result, _ = pipes.referee(pipes.python_bots(2), 2)
    assert cost.requests == result.requests > 0


@needs_cc
@pytest.mark.needs("linux", None if Path("/proc/self/status").exists() else "resident memory is read from /proc")
def test_the_memory_benchmark_plays() -> None:
    """Makefile: bench."""
    early, late, games = memory_mb(100)
    assert early > 0
    assert late > 0
    assert games == 100
