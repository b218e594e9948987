"""Tests of matches with own time, with real processes in real control groups.

Programs burn by their own CPU clock, so a busy machine changes nothing. Source: docs/reference/protocol/clock.md.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

from arena import referee
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import Box, ProcessSandbox, Program
from arena.sandbox.linux import cgroup
from tests.timing import within

BOT = """
import json, os, sys, time
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def child(seconds):
    pid = os.fork()
    if pid == 0:
        burn(seconds)
        os._exit(0)
    return pid
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        {start}
        print('{{"type":"hello"}}', flush=True)
    elif message["type"] == "request":
        {think}
        print(json.dumps({{"id": message["id"], "choice": 0}}), flush=True)
"""


def bot(start: str = "pass", think: str = "pass") -> Program:
    """Return a bot that plays the first move, and runs code at its start and before each answer."""
    return Program((sys.executable, "-c", BOT.format(start=start, think=think)), Path("/"))


pytestmark = pytest.mark.clock


@pytest.fixture
def play(tmp_path: Path, needs: Callable[[str, str | None], None]) -> Callable[..., referee.Record]:
    """Play one game of two bots in groups that account and freeze."""
    needs("cgroup", cgroup.cgroup_problem())
    sandbox = ProcessSandbox(tmp_path / "scratch")
    needs("cgroup", None if sandbox.reports_wait_time and sandbox.can_freeze else "no freezing here")

    def run(*programs: Program, limit_ms: int, bank_ms: int = 0, games: int = 1) -> referee.Record:
        spec = referee.MatchSpec(
            match=0,
            key=b"p" * 32,
            bots=("a", "b"),
            seatings=((0, 1),) * games,
            settings=referee.MatchSettings(timing=referee.Timing(limit_ms, bank_ms, own=True)),
        )

        def launch(number: int) -> Box:
            return sandbox.start(programs[number], Limits())

        record = play_match(spec, launch).record
        referee.verify_record(record)
        return record

    return run


def codes(record: referee.Record) -> list[tuple[int, str]]:
    return [(fault.bot, fault.code) for fault in record.games[0].faults]


def times_of(record: referee.Record, seat: int) -> list[int]:
    """Return the own time of each request of a seat, in us."""
    game = record.games[0]
    asked = [seat for step in referee.replay_game(record.header, game) for seat in step.before.board.phase.asked]
    return [time for of, time in zip(asked, game.times, strict=True) if of == seat]


BURNER = "while True: pass"


@pytest.fixture
def crowded() -> Iterator[None]:
    burning = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(4 * len(os.sched_getaffinity(0)))]
    yield
    for process in burning:
        process.kill()
        process.wait()


def test_a_crowded_host_costs_a_bot_nothing(play: Callable[..., referee.Record], crowded: None) -> None:
    """It thinks for 20 ms of 60 that are free, with a fifth of a core, and its bank is empty.

    Other work on the machine may cost one match a fault, not two.
    """
    faulty = []

    def charged() -> float:
        record = play(bot(think="burn(0.02)"), bot(), limit_ms=60, games=2)
        charged = median(times_of(record, 0)) / 1e6
        # The referee's wait is taken off, too, while the bot may have computed on another core.
        assert charged >= 0.01
        faulty.extend(codes(record)[:1])
        assert len(faulty) <= 1
        return charged

    within(0.04, charged)


def test_the_time_of_a_child_is_its_bots_time(play: Callable[..., referee.Record]) -> None:
    """A child takes 60 ms for each answer, of 40 that are free; 1 ms less on a busy machine, and some answers 5."""
    record = play(bot(think="os.waitpid(child(0.06), 0)"), bot(), limit_ms=40, bank_ms=60_000)
    assert codes(record) == []
    # A wait after the answer before may be taken off, up to the first reading: clock.py.
    assert median(times_of(record, seat=0)) > 59_000


@pytest.mark.parametrize("seconds", [0.01, 0.05])
def test_sleep_is_charged(play: Callable[..., referee.Record], seconds: float) -> None:
    """It is charged within 2 ms, of which Python needs one, and 1 ms less on a busy machine."""

    def charged() -> float:
        record = play(bot(think=f"time.sleep({seconds})"), bot(), limit_ms=1000)
        assert codes(record) == []
        charged = median(times_of(record, seat=0)) / 1e6
        assert charged > seconds - 0.001  # as above
        return charged

    within(seconds + 0.002, charged)
