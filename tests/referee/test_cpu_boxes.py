"""Matches by CPU time with real processes in real control groups: who is charged, and who is stopped.

Programs burn by their own CPU clock, so a busy machine changes nothing. Source: protocol/SPEC.md, "The clock".
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from arena.referee import MatchSpec, Record, Terms, Timing, play_match, request_line, verify
from arena.sandbox import Box, Limits, ProcessSandbox, Program
from arena.sandbox.linux import cgroup

SAMPLES = Path(__file__).parents[2] / "sample_bots"

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
    """Give a bot that plays the first move, and does something at its start and before each answer."""
    return Program((sys.executable, "-c", BOT.format(start=start, think=think)), Path("/"))


pytestmark = pytest.mark.clock


@pytest.fixture
def play(tmp_path: Path, needs: Callable[[str, str | None], None]) -> Callable[..., Record]:
    """Play one game of two bots in groups that account and freeze."""
    needs("cgroup", cgroup.why_not())
    sandbox = ProcessSandbox(tmp_path / "scratch")
    needs("cgroup", None if sandbox.accounts_cpu and sandbox.freezes else "no freezing here")

    def run(
        *programs: Program,
        limit_ms: int,
        bank_ms: int = 0,
        ponder: bool = False,
        wrap: Callable[[Box], Any] | None = None,
    ) -> Record:
        spec = MatchSpec(
            match=0,
            key=b"p" * 32,
            bots=("a", "b"),
            seatings=((0, 1),),
            terms=Terms(timing=Timing(limit_ms, bank_ms, cpu=True, ponder=ponder)),
        )

        def launch(number: int) -> Box:
            box = sandbox.start(programs[number], Limits())
            return wrap(box) if wrap else box

        record = play_match(spec, launch).record
        verify(record)
        return record

    return run


def codes(record: Record) -> list[tuple[int, str]]:
    return [(fault.bot, fault.code) for fault in record.games[0].faults]


def used_by(record: Record, seat: int) -> list[int]:
    """Return what a seat used for each of its requests, in us of CPU time."""
    game = record.games[0]
    asked = [json.loads(request_line(record.header, game, move))["you"]["seat"] for move in range(len(game.words))]
    return [cpu for of, cpu in zip(asked, game.cpu, strict=True) if of == seat]


def test_sample_bots_play_by_cpu_time_and_are_charged_some(play: Callable[..., Record]) -> None:
    """Source: SPEC.md, "The clock". CPU time is never beyond wall time by more than the clocks' grain: one core."""
    programs = [Program((sys.executable, str(SAMPLES / name)), SAMPLES) for name in ("honest.py", "bluffer.py")]
    record = play(*programs, limit_ms=500)
    assert codes(record) == []
    game = record.games[0]
    assert len(game.cpu) == len(game.times) > 5
    assert all(used > 0 for used in game.cpu)
    assert sum(game.cpu) < 500_000 * len(game.cpu)


def test_what_a_child_burns_is_charged_to_its_bot(play: Callable[..., Record]) -> None:
    """Groups see living children. 60 ms in a child for each answer, of 40 that are free.

    Few of them, so that the game ends before the bank does.
    """
    record = play(bot(think="os.waitpid(child(0.06), 0)"), bot(), limit_ms=40, bank_ms=60_000)
    assert codes(record) == []
    assert min(used_by(record, seat=0)) >= 60_000


def test_cpu_time_that_a_child_uses_up_is_a_timeout(play: Callable[..., Record]) -> None:
    """Source: SPEC.md, "The clock", by CPU time. It burns for ever; 100 ms are free, and 500 by the wall."""
    record = play(bot(think="os.waitpid(child(60), 0)"), bot(), limit_ms=100)
    faults = [fault for fault in record.games[0].faults if fault.bot == 0]
    assert [fault.code for fault in faults] == ["timeout"] * 3 + ["out_of_lives"]
    # On a busy machine the wall's budget may be the first to end now and then.
    assert "the CPU time ran out" in {fault.detail for fault in faults}


def test_a_sleeper_is_charged_by_the_wall(play: Callable[..., Record]) -> None:
    """Sleeping isn't free. 20 ms of CPU, so 100 ms of wall time; it sleeps for ever."""
    record = play(bot(think="time.sleep(100)"), bot(), limit_ms=20)
    assert codes(record)[-1] == (0, "out_of_lives")
    assert "the wall time, 5 times the CPU time, ran out" in {fault.detail for fault in record.games[0].faults}


class Unstoppable:
    """A box that can't freeze."""

    def __init__(self, box: Box) -> None:
        self._box = box

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    def freeze(self) -> None:
        pass


@pytest.mark.parametrize(
    ("ponder", "wrap", "charged"),
    [(False, None, False), (True, None, False), (False, Unstoppable, True)],
    ids=["frozen", "pondering is free", "can't be frozen"],
)
def test_what_a_child_burns_on_others_turns_is_prevented_or_free_or_charged(
    play: Callable[..., Record], ponder: bool, wrap: Callable[[Box], Any] | None, charged: bool
) -> None:
    """A frozen burner gets no time. The other takes 150 ms of CPU for each answer.

    On its own turns the child burns beside its bot, for some milliseconds; during the other's, for half a core or more.
    """
    record = play(
        bot(start="child(60)"), bot(think="burn(0.15)"), limit_ms=50, bank_ms=60_000, ponder=ponder, wrap=wrap
    )
    assert codes(record) == []
    assert (median(used_by(record, seat=0)) > 70_000) is charged
