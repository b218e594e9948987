"""A worker's side of a run: it takes bots from the cache of its machine, and plays one match after the other.

A process becomes a worker by `begin`; then `play` takes jobs. Whatever a box needs on the disk lies in a scratch folder
of the worker's own, which is locked as long as the worker lives: the worker that takes a dead one's place removes what
the dead one left. A sandbox and its folder last as long as their match.

If the disk below the scratch folder is full, no match can be played, and none is at fault: that is NoRoomError, which
ends the run instead of voiding one match after the other.
"""

import atexit
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from arena.bots import BotCache, Bytecode, NotHereError
from arena.referee import FAULTS, ArenaError, Record, play_match, write
from arena.run.job import Job, Played
from arena.run.results import game_results
from arena.sandbox import (
    FULL,
    Box,
    Choice,
    Program,
    Sandbox,
    SandboxError,
    full,
    make,
    no_room,
    programs_of,
    remove_dead_scratch,
    remove_tree,
    scratch_folder,
    sweep_all,
)
from ladder.store import KeptExchange, PlayedMatch


class NoRoomError(Exception):
    """Say in one line that no match can be played for want of room for temporary files, and what helps."""


class Worker:
    """Plays jobs with the bots of a cache."""

    def __init__(self, cache: BotCache) -> None:
        self.cache = cache
        self._bytecode = Bytecode()
        self._ends = ExitStack()
        self._scratch: Path | None = None

    def play(self, job: Job) -> Played:
        """Play the match. Raises ArenaError where this machine failed, NoRoomError if it did for want of room."""
        if self._scratch is None:
            self._scratch = self._make_scratch()
        try:
            bots = [bot.at(self.cache.place(bot), programs_of(job.choice.name)) for bot in job.bots]
            with _folder(self._scratch, job.spec.match) as folder, _sandbox(job.choice, folder) as sandbox:
                programs = [self._bytecode.program(bot, job.choice, sandbox) for bot in bots]
                return _played(job, programs, sandbox)
        except (ArenaError, NotHereError, SandboxError, OSError) as problem:
            if full(problem, self._scratch):
                raise NoRoomError(no_room(self._scratch.parent)) from problem
            if isinstance(problem, ArenaError):
                raise
            raise ArenaError(str(problem)) from problem

    def close(self) -> None:
        """Remove the scratch folder."""
        self._ends.close()
        self._scratch = None

    def _make_scratch(self) -> Path:
        try:
            return self._ends.enter_context(scratch_folder())
        except OSError as problem:
            if problem.errno in FULL:
                raise NoRoomError(problem.strerror) from problem
            raise ArenaError(str(problem)) from problem


@contextmanager
def _folder(scratch: Path, match: int) -> Iterator[Path]:
    """Give a match a folder, and remove it with whatever its boxes left."""
    folder = Path(tempfile.mkdtemp(prefix=f"match-{match}-", dir=scratch))
    try:
        yield folder
    finally:
        remove_tree(folder)


@contextmanager
def _sandbox(choice: Choice, folder: Path) -> Iterator[Sandbox]:
    """Give a sandbox, and close it. What can't be closed is swept later, and doesn't void a match that was played."""
    sandbox = make(choice, folder)
    try:
        yield sandbox
    finally:
        with suppress(OSError, SandboxError):
            sandbox.close()


def _played(job: Job, programs: list[Program], sandbox: Sandbox) -> Played:
    def launch(bot: int) -> Box:
        return sandbox.start(programs[bot], job.spec.terms.limits)

    ended = play_match(job.spec, launch)
    logs = tuple((job.spec.bots[bot], number, data) for bot, number, data in ended.logs)
    exchanges = tuple(
        KeptExchange(
            match=job.spec.match,
            bot=job.spec.bots[each.bot],
            code=each.code,
            game=each.game,
            step=each.step,
            sent=each.sent,
            got=each.got,
            facts=each.facts.known(),
        )
        for each in ended.exchanges
        if not FAULTS[each.code].follows
    )
    match = PlayedMatch(job.spec.match, write(ended.record), game_results(ended.record), logs, exchanges)
    times = tuple(zip(job.spec.bots, ended.times, strict=True))
    peaks = tuple((bot, peak) for bot, peak in zip(job.spec.bots, ended.peaks, strict=True) if peak is not None)
    return Played(match, ended.requests, ended.startup_s, _waits(ended.record), times, peaks)


def _waits(record: Record) -> tuple[tuple[str, int, float], ...]:
    """Return the bots that let their time run out: how often, and how many seconds that took in all."""
    seconds = defaultdict[str, list[float]](list)
    for game in record.games:
        for fault in game.faults:
            if fault.code == "timeout" and fault.step is not None:
                seconds[record.header.bots[fault.bot]].append(game.times[fault.step] / 1e6)
    return tuple((bot, len(each), sum(each)) for bot, each in seconds.items())


_worker: Worker | None = None  # this process's own


def begin(cache: Path) -> None:
    """Make this process a worker, with the bots in that folder; remove what dead workers left."""
    global _worker
    if remove_dead_scratch():
        sweep_all()
    _worker = Worker(BotCache(cache))
    atexit.register(_worker.close)  # SIGTERM raises SystemExit in a worker


def begun() -> Worker | None:
    """Return this process's worker, None if it isn't one yet."""
    return _worker


def play(job: Job) -> Played:
    """Play a job in this process, which is a worker; see `Worker.play`."""
    assert _worker is not None, "begin comes first"
    return _worker.play(job)
