"""Play matches in a worker process: receive work items, cache their bots on the machine, and return the results.

`start_worker` makes a process a worker, in which `play_job` plays jobs. A work item first contains the job alone. A
worker whose machine lacks bots raises MissingBotsError, and receives the job again with their archives. The machine's
bounded cache keeps them for all its workers and later runs. A job contains no path of any machine.

A worker rejects a job that its machine can't play, and the attempt doesn't count. Reasons are another version of the
arena, a missing sandbox, no control groups for untrusted bots, or no disk space. Bots are untrusted unless the sandbox
is the plain process.

All files of a box are in the worker's scratch folder, which is locked while the worker lives; a later worker removes
the folder of a dead one. A full disk ends the run instead of failing each match."""

import atexit
import io
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from arena import __version__, referee
from arena.bots import ArchiveError, BotCache, BytecodeCache, MissingProgramError, PortableBot
from arena.referee.process import play_match
from arena.sandbox import (
    DISK_FULL_ERRNOS,
    Box,
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
from arena.workers import WorkerRejectedError


@dataclass(frozen=True, slots=True)
class Job:
    """A match for a worker to play. `bots` are in the order of `spec.bots`."""

    spec: referee.MatchSpec
    bots: tuple[PortableBot, ...]
    choice: SandboxChoice = field(default_factory=SandboxChoice)


@dataclass(frozen=True, slots=True)
class MatchOutput:
    """A played match with its number of requests and the time in which its bots started, in s.

    `timeout_waits`: (bot, timeouts, total seconds) of each bot that timed out. `times`: (bot, response time of each
    request in µs). `peaks`: (bot, peak memory of any of its processes in bytes), where known.
    """

    match: referee.PlayedMatch
    requests: int
    startup_s: float
    timeout_waits: tuple[tuple[str, int, float], ...] = ()
    times: tuple[tuple[str, tuple[int, ...]], ...] = ()
    peaks: tuple[tuple[str, int], ...] = ()


class OutOfSpaceError(Exception):
    """The disk of temporary files is full; the message is one line with the fix."""


class Worker:
    """Play jobs with bots from a cache. start_model: starts a language model, the bot with this index in a spec."""

    def __init__(self, cache: BotCache, start_model: Callable[[referee.MatchSpec, int], Box] | None = None) -> None:
        self.cache = cache
        self._start_model = start_model
        self._bytecode = BytecodeCache()
        self._lock = Lock()
        self._exit_stack = ExitStack()
        self._scratch: Path | None = None

    def play(self, job: Job) -> MatchOutput:
        """Play the match. Raises ArenaError if this machine fails, OutOfSpaceError if its disk is full."""
        with self._lock:
            if self._scratch is None:
                self._scratch = self._make_scratch()
        try:
            with _match_folder(self._scratch, job.spec.match) as folder, _open_sandbox(job.choice, folder) as sandbox:
                return _play_match(job, self._make_launcher(job, sandbox))
        except (referee.ArenaError, MissingProgramError, SandboxError, OSError) as problem:
            if is_disk_full(problem, self._scratch):
                raise OutOfSpaceError(no_space_message(self._scratch.parent)) from problem
            if isinstance(problem, referee.ArenaError):
                raise
            raise referee.ArenaError(str(problem)) from problem

    def _make_launcher(self, job: Job, sandbox: Sandbox) -> Callable[[int], Box]:
        """Return the function that starts a bot of the job by its index.

        Raises MissingProgramError if the cache lacks a bot or this machine its interpreter, OSError if the cache can't
        be read.
        """
        bots = [bot.resolve_on(self.cache.locate(bot), programs_of(job.choice.name)) for bot in job.bots]
        with self._lock:  # language models play in threads
            programs = [None if bot.is_model else self._bytecode.program(bot, job.choice, sandbox) for bot in bots]

        def launch(bot: int) -> Box:
            program = programs[bot]
            if program is not None:
                return sandbox.start(program, job.spec.settings.limits)
            assert self._start_model is not None
            return self._start_model(job.spec, bot)

        return launch

    def close(self) -> None:
        """Remove the scratch folder."""
        self._exit_stack.close()
        self._scratch = None

    def _make_scratch(self) -> Path:
        try:
            return self._exit_stack.enter_context(scratch_folder())
        except OSError as problem:
            if problem.errno in DISK_FULL_ERRNOS:
                raise OutOfSpaceError(problem.strerror) from problem
            raise referee.ArenaError(str(problem)) from problem


@contextmanager
def _match_folder(scratch: Path, match: int) -> Iterator[Path]:
    """Create a folder for a match, and remove it with all its content at the end."""
    folder = Path(tempfile.mkdtemp(prefix=f"match-{match}-", dir=scratch))
    try:
        yield folder
    finally:
        remove_tree(folder)


@contextmanager
def _open_sandbox(choice: SandboxChoice, folder: Path) -> Iterator[Sandbox]:
    """Open a sandbox, and close it at the end. An error while closing doesn't fail the match."""
    sandbox = make_sandbox(choice, folder)
    try:
        yield sandbox
    finally:
        with suppress(OSError, SandboxError):
            sandbox.close()


def _play_match(job: Job, launch: Callable[[int], Box]) -> MatchOutput:
    """Play a job's match, and return what is stored of it, with bots by name. launch: starts a bot by its index.

    Raises ArenaError or SandboxError if this machine fails.
    """
    output = play_match(job.spec, launch)
    logs = tuple((job.spec.bots[bot], number, data) for bot, number, data in output.logs)
    fault_samples = tuple(
        referee.StoredFaultSample(
            match=job.spec.match,
            bot=job.spec.bots[sample.bot],
            code=sample.code,
            game=sample.game,
            step=sample.step,
            sent=sample.sent,
            got=sample.got,
            facts=sample.facts.known(),
        )
        for sample in output.fault_samples
        if not referee.FAULTS[sample.code].is_consequence
    )
    match = referee.PlayedMatch(
        job.spec.match, referee.write_record(output.record), referee.game_results(output.record), logs, fault_samples
    )
    times = tuple(zip(job.spec.bots, output.times, strict=True))
    peaks = tuple((bot, peak) for bot, peak in zip(job.spec.bots, output.peaks, strict=True) if peak is not None)
    return MatchOutput(match, output.requests, output.startup_s, _sum_timeout_waits(output.record), times, peaks)


def _sum_timeout_waits(record: referee.Record) -> tuple[tuple[str, int, float], ...]:
    """Return (bot, timeouts, total seconds) of each bot that timed out."""
    waits_by_bot = defaultdict[str, list[float]](list)  # in s
    for game in record.games:
        for fault in game.faults:
            if fault.code == "timeout" and fault.step is not None:
                waits_by_bot[record.header.bots[fault.bot]].append(game.times[fault.step] / 1e6)
    return tuple((bot, len(waits), sum(waits)) for bot, waits in waits_by_bot.items())


_workers: list[Worker] = []  # of this process: none until it is a worker, then one


def start_worker(cache: Path) -> None:
    """Make this process a worker that uses the bots in this folder; remove the leftovers of dead workers."""
    if remove_dead_scratch():
        cleanup_all_stale()
    _workers[:] = [Worker(BotCache(cache))]
    atexit.register(_workers[0].close)  # SIGTERM raises SystemExit in a worker


def play_job(job: Job) -> MatchOutput:
    """Play a job in this process, which must be a worker; see `Worker.play`."""
    assert _workers, "start_worker comes first"
    return _workers[0].play(job)


_MAX_CACHE_BYTES = 4 << 30  # about a thousand bots; removed ones are sent again when needed
_tested_choices: set[SandboxChoice] = set()  # for which the self-test, which takes a third of a second, passed here


class MissingBotsError(Exception):
    """A worker's machine lacks bots. `digests` identifies them: send the work item again with their archives."""

    def __init__(self, digests: tuple[str, ...]) -> None:
        super().__init__(digests)
        self.digests = digests

    def __str__(self) -> str:
        return f"this machine's cache lacks {', '.join(self.digests)}"


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A job, the sender's version of the arena, and archives (made by `pack`) of bots that the worker lacked."""

    job: Job
    arena: str = __version__
    archives: tuple[tuple[PortableBot, bytes], ...] = ()


def cache_folder() -> Path:
    """Return the folder of this machine's bot cache: $ARENA_CACHE, else `coup-arena/bots` in the user's caches."""
    folder = os.environ.get("ARENA_CACHE")
    if folder:
        return Path(folder)
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "coup-arena" / "bots"


def require_suitable_machine(arena: str, choice: SandboxChoice) -> None:
    """Raise WorkerRejectedError if this machine can't play in this sandbox, or has another version of the arena."""
    if arena != __version__:
        raise WorkerRejectedError(f"the worker has arena {__version__}, not {arena}")
    if choice.isolates and choice not in _tested_choices:
        reason = untrusted_problem(choice)
        if reason is not None:
            raise WorkerRejectedError(f"the worker can't run untrusted bots in {choice.name}: {reason}")
        _tested_choices.add(choice)


def play_work_item(item: WorkItem) -> MatchOutput:
    """Play the match of a work item in this process, which becomes a worker first if it isn't one.

    Raises WorkerRejectedError if the machine isn't suitable or its disk is full, MissingBotsError if it lacks bots,
    ArenaError if it fails.
    """
    require_suitable_machine(item.arena, item.job.choice)
    worker = _get_or_start_worker()
    try:
        for bot, archive in item.archives:
            worker.cache.add(bot, io.BytesIO(archive))
        if item.archives:
            worker.cache.trim(_MAX_CACHE_BYTES)
        with ExitStack() as stack:
            _hold_bots(worker.cache, item.job.bots, stack)
            return worker.play(item.job)
    except OutOfSpaceError as problem:
        raise WorkerRejectedError(str(problem)) from problem
    except (ArchiveError, MissingProgramError) as problem:
        raise referee.ArenaError(str(problem)) from problem
    except OSError as problem:
        if problem.errno in DISK_FULL_ERRNOS:
            raise WorkerRejectedError(
                f"no space for bots in {cache_folder()}: free some space, or set ARENA_CACHE"
            ) from problem
        raise referee.ArenaError(str(problem)) from problem


def _get_or_start_worker() -> Worker:
    """Return this process's worker, started at the first call on a machine of a cluster.

    Raises WorkerRejectedError if the folder of its bots can't be used.
    """
    if not _workers:
        try:
            folder = cache_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, RuntimeError) as problem:  # RuntimeError: the user has no home folder, as in some containers
            raise WorkerRejectedError(f"the folder for bots can't be used ({problem}): set ARENA_CACHE") from problem
        start_worker(folder)
    return _workers[0]


def _hold_bots(cache: BotCache, bots: tuple[PortableBot, ...], stack: ExitStack) -> None:
    """Hold the bots in the cache until the stack is closed. Raises MissingBotsError if the cache lacks one."""
    missing = []
    for bot in bots:
        try:
            stack.enter_context(cache.hold(bot))
        except MissingProgramError:
            missing.append(bot.digest)
    if missing:
        raise MissingBotsError(tuple(dict.fromkeys(missing)))
