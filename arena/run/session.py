"""One run of `arena run`: what was asked for, the jobs it makes, and its way through the runner to its folder.

A run is a function of its config: plan, seats and cards all come from its key, so `--resume` needs nothing else. The
config is what run.json holds.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from arena.bots import check_unchanged
from arena.referee import ArenaError
from arena.run.config import RunConfig, program
from arena.run.job import Job, NoRoomError, Played, play
from arena.run.progress import Progress
from arena.sandbox import Choice, remove_dead_scratch, scratch_folder, sweep, sweep_all
from ladder.executors import Workers
from ladder.runner import Completed, Idle, Voided, run
from ladder.store import Store, VoidMatch

PAUSES_S = (2.0, 10.0)  # after a match's first and second void: a Docker daemon restarts in some seconds
GIVE_UP = 3  # matches given up in a row, none played between them: then it's this machine, and the run stops
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played


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


class Run:
    """A run over its store. Iterate `play` to its end, or stop: `progress` is true at any moment."""

    def __init__(self, config: RunConfig, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.store = store
        self._clock = clock
        self.progress = Progress(config.plan(), [bot.name for bot in config.bots], store, clock)

    def play(self, jobs: int) -> Iterator[Completed[Job, Played] | Voided[Job] | Idle]:
        """Play what isn't complete, and yield what happens.

        Raises BotError if a bot's files change, HostError if this machine fails again and again, or has no room for
        temporary files. An OSError is one of the results.
        """
        with ExitStack() as stack:
            try:
                scratch = stack.enter_context(scratch_folder())
            except OSError as problem:
                raise HostError(problem.strerror or str(problem)) from problem
            try:
                yield from self._play(jobs, scratch)
            except NoRoomError as problem:
                raise HostError(str(problem)) from problem

    def _play(self, jobs: int, scratch: Path) -> Iterator[Completed[Job, Played] | Voided[Job] | Idle]:
        progress = self.progress
        todo = set(self.store.todo(table.match for table in progress.plan.tables))
        choice = self.config.sandbox
        starts = [program(bot) for bot in self.config.bots]
        jobs_to_play = (
            Job(self.config.spec(table.match, table.bots), tuple(starts[bot] for bot in table.bots), scratch, choice)
            for table in progress.plan.tables
            if table.match in todo
        )
        jobs = max(1, min(jobs, progress.plan.matches))
        workers = Workers(jobs)
        lost = 0
        checked = self._clock()
        try:
            for event in run(jobs_to_play, play, workers, 2 * jobs, (ArenaError,), Job.clean, PAUSES_S):
                if self._clock() - checked > _CHECK_S:
                    check_unchanged(self.config.bots)
                    checked = self._clock()
                match event:
                    case Completed(_, played):
                        self.store.keep(played.match)
                        progress.requests += played.requests
                        progress.startup_s += played.startup_s
                        lost = 0
                    case Voided(job, reason, given_up):
                        self.store.void(VoidMatch(job.spec.match, reason, given_up))
                        lost += given_up
                yield event
                if lost >= GIVE_UP:
                    raise HostError(f"{GIVE_UP} matches in a row were void too often: {progress.given_up[-1].reason}")
            check_unchanged(self.config.bots)
        finally:
            workers.shutdown(cancel_futures=True)
            sweep(choice.name)  # what a worker that had to be killed left
            self.store.finish()
            progress.end()
