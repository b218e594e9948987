"""One session of a run: its jobs' way through the workers to the store."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager

from arena.bots import BotCache, check_unchanged, portable
from arena.referee import ArenaError
from arena.run.config import RunConfig
from arena.run.job import Job, Played
from arena.run.progress import Progress
from arena.run.worker import NoRoomError, begin, play
from arena.sandbox import Choice, programs_of, remove_dead_scratch, scratch_folder, sweep, sweep_all
from ladder.pool import Completed, Idle, Jobs, Said, Voided, Workers, run
from ladder.store import Store, VoidMatch

PAUSES_S = (2.0, 10.0)  # after a match's first and second void: a Docker daemon restarts in some seconds
GIVE_UP = 3  # matches given up in a row, none played between them: then it's this machine, and the run stops
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played

Event = Completed[Job, Played] | Voided[Job] | Said[Job] | Idle


class HostError(Exception):
    """Say in one line why no match can be played on this machine."""


def clean_up(choice: Choice) -> None:
    """Remove what arenas that were killed left on this machine: folders, groups, containers.

    What other sandboxes than the chosen one left is looked for only after a run that was killed, which is known by its
    scratch folder: to ask a Docker engine takes 0.2 s.
    """
    if remove_dead_scratch():
        sweep_all()
    else:
        sweep(choice.name)


@contextmanager
def local_workers(config: RunConfig, jobs: int) -> Iterator[Workers]:
    """Give `jobs` worker processes of this machine that play the run's bots from where they stand.

    At the end they are asked to leave, and what one that had to be killed left is removed. Raises OSError.
    """
    with scratch_folder() as scratch:
        folder = scratch / "bots"
        folder.mkdir()
        cache = BotCache(folder)
        for bot in config.bots:
            cache.link(bot)
        workers = Workers(jobs, begin, (folder,))
        try:
            yield workers
        finally:
            workers.shutdown(cancel_futures=True)
            clean_up(config.sandbox)


class Run:
    """A run over its store. Iterate `play` to its end, or stop: `progress` is true at any moment."""

    def __init__(self, config: RunConfig, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.store = store
        self.progress = Progress(config.plan(), [bot.name for bot in config.bots], store, clock)
        self._clock = clock

    def play(self, jobs: int) -> Generator[Event, None, None]:
        """Play what isn't kept yet in `jobs` processes of this machine, and yield what happens.

        Raises BotError if a bot's files change, HostError if this machine fails again and again, or has no room for
        temporary files. An OSError is one of the results.
        """
        jobs = max(1, min(jobs, self.progress.plan.matches))
        with ExitStack() as stack:
            try:
                workers = stack.enter_context(local_workers(self.config, jobs))
            except OSError as problem:
                raise HostError(problem.strerror or str(problem)) from problem
            yield from self.play_with(workers, 2 * jobs)

    def play_with(
        self, executor: Executor, width: int, pauses_s: Sequence[float] = PAUSES_S
    ) -> Generator[Event, None, None]:
        """Play what isn't kept yet with an executor whose workers have begun, `width` matches at a time; see `play`."""
        lost = 0
        checked = self._clock()
        try:
            for event in run(Jobs(self._jobs(), pauses_s), play, executor, lambda: width, (ArenaError,)):
                if self._clock() - checked > _CHECK_S:
                    check_unchanged(self.config.bots)
                    checked = self._clock()
                lost = self._note(event, lost)
                yield event
                if lost >= GIVE_UP:
                    reason = self.progress.given_up[-1].reason
                    raise HostError(f"{GIVE_UP} matches in a row were void too often: {reason}")
            check_unchanged(self.config.bots)
        except NoRoomError as problem:
            raise HostError(str(problem)) from problem
        finally:
            self.progress.end()
            self.store.finish()

    def _jobs(self) -> Iterator[Job]:
        config = self.config
        bots = [portable(bot, programs_of(config.sandbox.name)) for bot in config.bots]
        tables = self.progress.plan.tables
        todo = set(self.store.todo(table.match for table in tables))
        for table in tables:
            if table.match in todo:
                spec = config.spec(table.match, table.bots)
                yield Job(spec, tuple(bots[bot] for bot in table.bots), config.sandbox)

    def _note(self, event: Event, lost: int) -> int:
        """Store what happened; return how many matches have been given up in a row."""
        match event:
            case Completed(_, played):
                self.store.keep(played.match)
                self.progress.count(played)
                return 0
            case Voided(job, problem, given_up):
                self.store.void(VoidMatch(job.spec.match, str(problem), given_up))
                return lost + given_up
        return lost
