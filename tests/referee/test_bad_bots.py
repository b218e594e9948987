"""Tests of every program in tests/bad_bots in a real match: its faults, and that its opponent is unharmed.

Each plays two games against an honest sample bot as a plain process; programs whose fault depends on a box play in
every box. tests/protocol/test_framing.py tests single malformed lines.
Sources: the programs' own docstrings; docs/reference/protocol/faults.md.
"""

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from arena import referee
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import (
    ISOLATING_SANDBOXES,
    Box,
    ProcessSandbox,
    Program,
    Sandbox,
    SandboxChoice,
    make_sandbox,
    unavailable_reason,
)
from tests.sandbox.talk import exists, until

ROOT = Path(__file__).parents[2]
BAD_BOTS = ROOT / "tests" / "bad_bots"
HONEST = ROOT / "tests" / "plain" / "honest.py"

STARTS = {"process": 1, "bubblewrap": 1, "docker": 6}  # of two boxes; then all connections to the engine are open
CONNECTIONS = 4  # to the engine, that may be open or not between two matches; one for each container would be more
BOUND_S = 60  # for a match that takes 0.2 to 2 s on an idle machine
UNHURRIED = referee.Timing()
HURRIED = referee.Timing(
    limit_ms=50, bank_ms=200
)  # for the programs that let it run out; by own time where it is known
BY_WALL = referee.Timing(limit_ms=100, bank_ms=100)  # for the one that sleeps as long, and 1 ms more
TRIES = 8  # an answer that is 1 ms late counts if the referee, on a busy machine, was later
UNFROZEN = referee.Timing(ponder=True)  # one that is frozen while it floods can't
SHORT_START = referee.Timing(start_ms=300)  # for the one that never greets


@dataclass(frozen=True, slots=True)
class Case:
    """The faults of a program: `codes` of both games; `perhaps`, which chance may add."""

    codes: frozenset[str]
    forfeits: bool
    timing: referee.Timing
    perhaps: frozenset[str]


def case(*codes: str, timing: referee.Timing = UNHURRIED, perhaps: tuple[str, ...] = ()) -> Case:
    forfeits = any(referee.FAULTS[code].consequence is referee.Consequence.FORFEIT for code in codes)
    return Case(frozenset(codes), forfeits, timing, frozenset(perhaps))


CASES = {
    # That its input is closed shows when something is written: if the next request came before, when that timed out.
    "closes_stdin": case("closed", timing=HURRIED, perhaps=("timeout",)),
    "closes_stdout": case("closed"),
    "dies_after_answer": case("exited"),
    "exit_at_start": case("start_failed"),
    "flood_lines": case("too_many_strays", "out_of_lives", timing=UNFROZEN, perhaps=("stray_line", "flood")),
    "flood_no_newline": case("line_too_long"),
    "forking": case(),
    "half_line_exit": case("exited"),
    "ignores_eof": case(),
    "illegal_move": case("illegal_move", "out_of_lives"),
    "killed_by_signal": case("exited"),
    "late_answer": case("timeout", timing=BY_WALL),
    "nul_byte": case("bad_json", "out_of_lives"),
    "never_reads": case("timeout", "out_of_lives", timing=HURRIED),
    "print_debug": case("bad_json", "out_of_lives", "stray_line"),
    "silent": case("timeout", "out_of_lives", timing=HURRIED),
    "silent_at_start": case("start_failed", timing=SHORT_START),
    "stderr_endless": case("timeout", "out_of_lives", timing=HURRIED),
    "stderr_flood": case(),
    "syntax_error": case("start_failed"),
}


# Programs that play in every box, and what is the box's there. The others differ in what the referee reads alone.
BOXED = {
    "closes_stdin": "the pipe is the box's, and its end must reach the referee",
    "closes_stdout": "the same for output",
    "dies_after_answer": "an answer that was written before the end is read",
    "exit_at_start": "the exit code and the last words",
    "flood_lines": "what is written without end is not kept",
    "flood_no_newline": "the same without a line's end",
    "forking": "children end with the box",
    "half_line_exit": "the last bytes before the end",
    "ignores_eof": "a program that continues is killed",
    "killed_by_signal": "the number of the signal",
    "late_answer": "the clocks, and freezing",
    "never_reads": "the input is full",
    "nul_byte": "every byte is carried as it is",
    "silent_at_start": "the time to start",
    "stderr_endless": "standard error is read while nothing else comes",
    "stderr_flood": "standard error is kept at both ends only",
}
PLAYED = [
    *(("process", name) for name in sorted(CASES)),
    *((box, name) for box in ISOLATING_SANDBOXES for name in BOXED),
]

# What else the record contains, and a pattern of the standard error, where there is something to say.
DETAILS = {
    "exit_at_start": ("exited with code 3", b"FileNotFoundError: weights.bin"),
    "syntax_error": ("exited with code 1", b"SyntaxError"),
    "dies_after_answer": ("exited with code 0", b""),
    "killed_by_signal": ("killed by signal 11 (SIGSEGV)", b""),
    "stderr_flood": ("", rb"(?s)--- game 0 ---.*thinking hard\n.*bytes left out.*thinking hard\n$"),
}


def programs() -> set[str]:
    return {str(path.relative_to(BAD_BOTS).with_suffix("")) for path in BAD_BOTS.rglob("*.py")}


def test_every_bad_bot_is_in_the_table() -> None:
    assert programs() == set(CASES)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What a match may leave behind: open descriptors, threads, and files in its scratch folder."""

    descriptors: int
    threads: int
    files: frozenset[str]


def leftovers(scratch: Path) -> Leftovers:
    # os.walk, since Docker's folders are removed in the background: rglob fails on what vanishes.
    files = frozenset(os.path.join(folder, name) for folder, inner, names in os.walk(scratch) for name in inner + names)
    return Leftovers(len(os.listdir("/dev/fd")), threading.active_count(), files)


def children_of_this_process() -> set[str]:
    """Return the process IDs of all children, running or dead, including those of other tests; empty outside Linux."""
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


@pytest.fixture(scope="module")
def sandbox_of(
    tmp_path_factory: pytest.TempPathFactory, needs: Callable[[str, str | None], None]
) -> Iterator[Callable[[str], tuple[Sandbox, Path]]]:
    """Give `sandbox_of(name)`: an open sandbox, and its scratch folder.

    Asserts at its end that nothing is left.
    """
    made: dict[str, tuple[Sandbox, Path]] = {}

    def get(name: str) -> tuple[Sandbox, Path]:
        if name not in made:
            needs(name, unavailable_reason(name))
            scratch = tmp_path_factory.mktemp(name)
            sandbox = make_sandbox(SandboxChoice(name), scratch)
            made[name] = (sandbox, scratch)
            for _ in range(STARTS[name]):
                for box in [sandbox.start(honest(HONEST.parent), Limits()) for _ in range(2)]:
                    box.close()
                until(lambda: list(scratch.iterdir()) == [])
        return made[name]

    yield get
    for sandbox, scratch in made.values():
        sandbox.close()
        until(lambda scratch=scratch: list(scratch.iterdir()) == [])  # type: ignore[misc]


@pytest.mark.parametrize(("kind", "name"), PLAYED)
def test_a_bad_bot_is_charged_and_its_opponent_is_unharmed(
    kind: str, name: str, sandbox_of: Callable[[str], tuple[Sandbox, Path]]
) -> None:
    """Source: its docstring. The match ends in bounded time, the opponent plays on, and nothing is left."""
    sandbox, scratch = sandbox_of(kind)
    expected = CASES[name]
    bad = BAD_BOTS / f"{name}.py"
    programs = (Program((sys.executable, str(bad)), bad.parent, files=bad), honest(HONEST.parent))
    until(lambda: list(scratch.iterdir()) == [])  # Docker's folders are removed in the background, also earlier ones
    children = children_of_this_process()
    before = leftovers(scratch)
    timing = replace(expected.timing, own=expected.timing is HURRIED and sandbox.reports_wait_time)
    spec = referee.MatchSpec(
        match=0,
        key=b"b" * 32,
        bots=("bad", "honest"),
        seatings=((0, 1), (1, 0)),
        settings=referee.MatchSettings(timing=timing),
        timings=(timing, replace(UNHURRIED, own=timing.own, ponder=timing.ponder)),
    )
    started: list[int] = []

    def launch(number: int) -> Box:
        box = sandbox.start(programs[number], Limits())
        started.extend([] if box.pid is None else [box.pid])
        return box

    began = time.monotonic()
    for _ in range(TRIES if expected.timing is BY_WALL else 1):
        result = play_match(spec, launch)
        if any(game.faults for game in result.record.games):
            break
    assert time.monotonic() - began < BOUND_S

    record = result.record
    referee.verify_record(record)
    assert len(record.games) == 2
    faults = [fault for game in record.games for fault in game.faults]
    assert {fault.bot for fault in faults} <= {0}, "the opponent was charged"
    codes = {fault.code for fault in faults}
    assert expected.codes <= codes <= expected.codes | expected.perhaps
    for found in referee.game_results(record):
        if expected.forfeits:
            assert found.winner is not None
            assert found.seats[found.winner] == "honest"
            assert [found.seats[seat] for seat in found.forfeits] == ["bad"]
        else:
            assert found.forfeits == ()
    assert all(fault.got is None or fault.got.isprintable() for fault in faults)
    detail, said = DETAILS.get(name, ("", b""))
    assert all(detail in (fault.detail or "") for fault in faults)
    assert re.search(said, next(text for bot, _, text in result.logs if bot == 0))

    def reaped() -> bool:
        ProcessSandbox(scratch).close()  # reaps what the kernel was slow to end
        return children_of_this_process() <= children

    until(reaped)  # no child is left, running or dead
    until(lambda: not any(map(exists, started)))  # a container's aren't ours
    if sandbox.name == "process":  # elsewhere the numbers that a bot knows are its namespace's own
        stderr = b"".join(text for bot, _, text in result.logs if bot == 0)
        assert not any(exists(int(pid)) for pid in re.findall(rb"^(?:child|daemon) (\d+)$", stderr, re.MULTILINE))
    until(lambda: list(scratch.iterdir()) == [])
    after = leftovers(scratch)
    assert after.threads <= before.threads  # one of an earlier test may have ended meanwhile
    after = replace(after, threads=before.threads)
    if sandbox.name == "docker":
        # Connections to the engine are kept for the next call, some more or less.
        assert abs(after.descriptors - before.descriptors) <= CONNECTIONS
        after = replace(after, descriptors=before.descriptors)
    assert after.descriptors <= before.descriptors  # a box of an earlier test may have come to its end meanwhile
    assert after.files == before.files


def test_a_flood_that_is_cut_by_freezing_ends_in_a_forfeit_too(tmp_path: Path) -> None:
    """Source: docs/reference/protocol/process.md, between requests. A line may be torn; Python loses the rest of it."""
    sandbox = ProcessSandbox(tmp_path / "scratch")
    programs = (Program((sys.executable, str(BAD_BOTS / "flood_lines.py")), tmp_path), honest(tmp_path))
    spec = referee.MatchSpec(match=0, key=b"b" * 32, bots=("bad", "honest"), seatings=((0, 1),))
    result = play_match(spec, lambda number: sandbox.start(programs[number], Limits()))
    faults = result.record.games[0].faults
    assert {fault.bot for fault in faults} == {0}
    assert {fault.code for fault in faults} & {"flood", "out_of_lives"}


def honest(folder: Path) -> Program:
    return Program((sys.executable, str(HONEST)), folder, files=HONEST)
