"""Play matches in a worker process: receive work items, cache their bots on the machine, and return the results.

A process becomes a worker by `start_worker`; then `play_job` takes jobs. A work item first contains the job alone. A
worker whose machine lacks bots raises an error that names them, and receives the job again with their archives. The
machine's bounded cache keeps them for all its workers and later runs. A job contains no path of any machine.

A worker refuses a job that its machine may not play, and the attempt doesn't count. Reasons are another version of
the arena, no such sandbox, no control groups for untrusted bots, or no disk space. Bots are untrusted unless the
sandbox is the plain process.

All files of a box are in the worker's scratch folder, which is locked while the worker lives; a later worker removes
the folder of a dead one. A full disk ends the run instead of failing one match after the other. Response times are
counted in a histogram of constant size."""

import atexit
import io
import math
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from arena import __version__
from arena.bots import ArchiveError, BotCache, BytecodeCache, MissingProgramError, PortableBot
from arena.referee import FAULTS, ArenaError, MatchSpec, Record, play_match, write_record
from arena.run.record_files import game_results
from arena.sandbox import (
    DISK_FULL_ERRNOS,
    Box,
    Program,
    Sandbox,
    SandboxChoice,
    SandboxError,
    cleanup_all_stale,
    is_disk_full,
    make_sandbox,
    no_space_message,
    programs_of,
    remove_dead_scratch,
    remove_tree,
    scratch_folder,
    untrusted_problem,
)
from ladder.pool import WorkerRejectedError
from ladder.store import PlayedMatch, StoredFaultSample


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know. `bots` are in the order of the spec's."""

    spec: MatchSpec
    bots: tuple[PortableBot, ...]
    choice: SandboxChoice = field(default_factory=SandboxChoice)


@dataclass(frozen=True, slots=True)
class MatchOutput:
    """A match that was played, and what it took: the requests that were asked, the seconds that starting bots took.

    `timeout_waits`: (bot, timeouts, seconds) of each bot whose timeouts others waited for. `times`: (bot,
    microseconds of each request). `peaks`: (bot, the most memory that a process of it has had, in bytes), where it
    is known.
    """

    match: PlayedMatch
    requests: int
    startup_s: float
    timeout_waits: tuple[tuple[str, int, float], ...] = ()
    times: tuple[tuple[str, tuple[int, ...]], ...] = ()
    peaks: tuple[tuple[str, int], ...] = ()


class OutOfSpaceError(Exception):
    """The disk of temporary files is full; the message says in one line what helps."""


class Worker:
    """Plays jobs with the bots of a cache."""

    def __init__(self, cache: BotCache) -> None:
        self.cache = cache
        self._bytecode = BytecodeCache()
        self._ends = ExitStack()
        self._scratch: Path | None = None

    def play(self, job: Job) -> MatchOutput:
        """Play the match. Raises ArenaError where this machine failed, OutOfSpaceError if its disk was full."""
        if self._scratch is None:
            self._scratch = self._make_scratch()
        try:
            bots = [bot.resolve_on(self.cache.place(bot), programs_of(job.choice.name)) for bot in job.bots]
            with _folder(self._scratch, job.spec.match) as folder, _sandbox(job.choice, folder) as sandbox:
                programs = [self._bytecode.program(bot, job.choice, sandbox) for bot in bots]
                return _played(job, programs, sandbox)
        except (ArenaError, MissingProgramError, SandboxError, OSError) as problem:
            if is_disk_full(problem, self._scratch):
                raise OutOfSpaceError(no_space_message(self._scratch.parent)) from problem
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
            if problem.errno in DISK_FULL_ERRNOS:
                raise OutOfSpaceError(problem.strerror) from problem
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
def _sandbox(choice: SandboxChoice, folder: Path) -> Iterator[Sandbox]:
    """Give a sandbox, and close it. What can't be closed is swept later, and doesn't fail a match that was played."""
    sandbox = make_sandbox(choice, folder)
    try:
        yield sandbox
    finally:
        with suppress(OSError, SandboxError):
            sandbox.close()


def _played(job: Job, programs: list[Program], sandbox: Sandbox) -> MatchOutput:
    def launch(bot: int) -> Box:
        return sandbox.start(programs[bot], job.spec.terms.limits)

    ended = play_match(job.spec, launch)
    logs = tuple((job.spec.bots[bot], number, data) for bot, number, data in ended.logs)
    exchanges = tuple(
        StoredFaultSample(
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
        if not FAULTS[each.code].is_consequence
    )
    match = PlayedMatch(job.spec.match, write_record(ended.record), game_results(ended.record), logs, exchanges)
    times = tuple(zip(job.spec.bots, ended.times, strict=True))
    peaks = tuple((bot, peak) for bot, peak in zip(job.spec.bots, ended.peaks, strict=True) if peak is not None)
    return MatchOutput(match, ended.requests, ended.startup_s, _waits(ended.record), times, peaks)


def _waits(record: Record) -> tuple[tuple[str, int, float], ...]:
    """Return the bots that let their time run out: how often, and how many seconds that took in all."""
    seconds = defaultdict[str, list[float]](list)
    for game in record.games:
        for fault in game.faults:
            if fault.code == "timeout" and fault.step is not None:
                seconds[record.header.bots[fault.bot]].append(game.times[fault.step] / 1e6)
    return tuple((bot, len(each), sum(each)) for bot, each in seconds.items())


_worker: Worker | None = None  # this process's own


def start_worker(cache: Path) -> None:
    """Make this process a worker, with the bots in that folder; remove what dead workers left."""
    global _worker
    if remove_dead_scratch():
        cleanup_all_stale()
    _worker = Worker(BotCache(cache))
    atexit.register(_worker.close)  # SIGTERM raises SystemExit in a worker


def find_worker() -> Worker | None:
    """Return this process's worker, None if it isn't one yet."""
    return _worker


def play_job(job: Job) -> MatchOutput:
    """Play a job in this process, which is a worker; see `Worker.play`."""
    assert _worker is not None, "begin comes first"
    return _worker.play(job)


_MAX_CACHE_BYTES = 4 << 30  # of a machine's cache: some thousand bots; removed ones are sent again


_fit: set[SandboxChoice] = set()  # what a trial box has worked for in this process; it takes a third of a second


class MissingBotsError(Exception):
    """A worker's machine lacks bots. `digests` names them: send them along and try again."""

    def __init__(self, digests: tuple[str, ...]) -> None:
        super().__init__(digests)
        self.digests = digests

    def __str__(self) -> str:
        """Return it in one line."""
        return f"the cache of this machine lacks {', '.join(self.digests)}"


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A job, the version of the arena that sends it, and archives (made by `pack`) of bots that were missing."""

    job: Job
    arena: str = __version__
    archives: tuple[tuple[PortableBot, bytes], ...] = ()


def cache_folder() -> Path:
    """Return where this machine's bots are kept: $ARENA_CACHE, else `coup-arena/bots` in the user's cache folder."""
    named = os.environ.get("ARENA_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "coup-arena" / "bots"


def require_suitable_machine(arena: str, choice: SandboxChoice) -> None:
    """Raise WorkerRejectedError if this process may not play for an arena of that version in that sandbox."""
    if arena != __version__:
        raise WorkerRejectedError(f"it has version {__version__} of the arena, not {arena}")
    if choice.isolates and choice not in _fit:
        why = untrusted_problem(choice)
        if why is not None:
            raise WorkerRejectedError(f"untrusted bots can't play there in {choice.name}: {why}")
        _fit.add(choice)


def play_work_item(item: WorkItem) -> MatchOutput:
    """Play the match of a work item in this process, which becomes a worker if it isn't one yet.

    Raises WorkerRejectedError, MissingBotsError, or ArenaError where this machine failed.
    """
    require_suitable_machine(item.arena, item.job.choice)
    worker = _require_worker()
    try:
        for bot, archive in item.archives:
            worker.cache.put(bot, io.BytesIO(archive))
        if item.archives:
            worker.cache.trim(_MAX_CACHE_BYTES)
        with ExitStack() as stack:
            _hold(worker.cache, item.job.bots, stack)
            return worker.play(item.job)
    except OutOfSpaceError as problem:
        raise WorkerRejectedError(str(problem)) from problem
    except (ArchiveError, MissingProgramError) as problem:
        raise ArenaError(str(problem)) from problem
    except OSError as problem:
        if problem.errno in DISK_FULL_ERRNOS:
            raise WorkerRejectedError(
                f"no space for bots in {cache_folder()}: free some, or set ARENA_CACHE"
            ) from problem
        raise ArenaError(str(problem)) from problem


def _require_worker() -> Worker:
    worker = find_worker()
    if worker is None:
        try:
            folder = cache_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, RuntimeError) as problem:  # there may be no user of this number, as in some containers
            raise WorkerRejectedError(f"no folder for bots ({problem}): set ARENA_CACHE") from problem
        start_worker(folder)
        worker = find_worker()
        assert worker is not None
    return worker


def _hold(cache: BotCache, bots: tuple[PortableBot, ...], stack: ExitStack) -> None:
    """Keep the bots in the cache as long as the stack lasts. Raises MissingBotsError."""
    missing = []
    for bot in bots:
        try:
            stack.enter_context(cache.held(bot))
        except MissingProgramError:
            missing.append(bot.digest)
    if missing:
        raise MissingBotsError(tuple(dict.fromkeys(missing)))


_STEPS = 50  # for each factor e: a quantile is right to 1 %, which is less than it varies


@lru_cache(1 << 14)
def _step(time_us: int) -> int:
    """Return where a time is counted. Most are a fast bot's, and there are few of those."""
    return round(math.log(max(1, time_us)) * _STEPS)


class LatencyHistogram:
    """Times of requests, in microseconds."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, times_us: Iterable[int]) -> None:
        """Count some more."""
        self._counts.update(map(_step, times_us))

    @property
    def count(self) -> int:
        """Return the number of requests."""
        return self._counts.total()

    def quantile_ms(self, share: float) -> float | None:
        """Return the time that this share of the requests took at most, in ms; None without requests."""
        left = share * self._counts.total()
        for step in sorted(self._counts):
            left -= self._counts[step]
            if left <= 0:
                return math.exp(step / _STEPS) / 1000
        return None
