"""One run of `arena run`: what was asked for, the jobs it makes, and its way through the runner to its folder.

A run is a function of its config: plan, seats and cards all come from its key, so `--resume` needs nothing else. The
config is what run.json holds.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arena.bots import check_unchanged
from arena.referee import ArenaError, MatchResult, RecordError, read, results
from arena.run.config import RunConfig, program
from arena.run.job import Job, NoRoomError, play
from arena.sandbox import Choice, remove_dead_scratch, scratch_folder, sweep, sweep_all
from ladder.board import Tally
from ladder.executors import Workers
from ladder.runner import Completed, Idle, Voided, run
from ladder.schedule import Plan
from ladder.store import FolderError, RunFolder

PAUSES_S = (2.0, 10.0)  # after a match's first and second void: a Docker daemon restarts in some seconds
GIVE_UP = 3  # matches given up in a row, none played between them: then it's this machine, and the run stops
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played


class HostError(Exception):
    """Say in one line why no match can be played on this machine."""


def clean_up(choice: Choice) -> None:
    """Remove what arenas that were killed left on this machine: folders, groups, containers, whatever they chose."""
    remove_dead_scratch()
    sweep_all(choice.name)


@dataclass(slots=True)
class Progress:
    """How far a run is. `given_up` lists (match, reason); `requests` and `startup_s` are of this session alone."""

    plan: Plan
    tally: Tally
    began: float
    done: int = 0
    resumed: int = 0
    voided: int = 0
    given_up: list[tuple[int, str]] = field(default_factory=list)
    requests: int = 0
    startup_s: float = 0.0
    seconds: float = 0.0

    @property
    def fresh_games(self) -> int:
        """Return the number of games that this session played."""
        return (self.done - self.resumed) * self.plan.match_games


class Run:
    """A run over its folder. Iterate `play` to its end, or stop: `progress` is true at any moment."""

    def __init__(self, config: RunConfig, folder: RunFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.folder = folder
        self._clock = clock
        self.progress = Progress(config.plan(), Tally([bot.name for bot in config.bots]), clock())

    def load(self) -> None:
        """Count what is complete already."""
        for lines in self.folder.load():
            self.progress.done += 1
            for line in lines:
                self.progress.tally.add(line)
        self.progress.resumed = self.progress.done

    def play(self, jobs: int) -> Iterator[Completed[Job, MatchResult] | Voided[Job] | Idle]:
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

    def _play(self, jobs: int, scratch: Path) -> Iterator[Completed[Job, MatchResult] | Voided[Job] | Idle]:
        progress = self.progress
        have = set(self.folder.complete())
        choice = self.config.sandbox
        starts = [program(bot) for bot in self.config.bots]
        todo = (
            Job(self.config.spec(table.match, table.bots), tuple(starts[bot] for bot in table.bots), scratch, choice)
            for table in progress.plan.tables
            if table.match not in have
        )
        jobs = max(1, min(jobs, progress.plan.matches))
        workers = Workers(jobs)
        lost = 0
        checked = self._clock()
        try:
            for event in run(todo, play, workers, 2 * jobs, (ArenaError,), Job.clean, PAUSES_S):
                if self._clock() - checked > _CHECK_S:
                    check_unchanged(self.config.bots)
                    checked = self._clock()
                match event:
                    case Completed(job, result):
                        logs = [(job.spec.bots[bot], number, data) for bot, number, data in result.logs]
                        for line in self.folder.save(result.match, result.record, logs):
                            progress.tally.add(line)
                        progress.done += 1
                        lost = 0
                        progress.requests += result.requests
                        progress.startup_s += result.startup_s
                    case Voided(job, reason, given_up):
                        progress.voided += 1
                        if given_up:
                            progress.given_up.append((job.spec.match, reason))
                            lost += 1
                progress.seconds = self._clock() - progress.began
                yield event
                if lost >= GIVE_UP:
                    raise HostError(f"{GIVE_UP} matches in a row were void too often: {progress.given_up[-1][1]}")
            check_unchanged(self.config.bots)
        finally:
            workers.shutdown(cancel_futures=True)
            sweep(choice.name)  # what a worker that had to be killed left
            progress.done = 0
            for lines in self.folder.finish():  # Ctrl-C may have come between keeping a match and counting it
                progress.done += 1
                for line in lines:
                    progress.tally.add(line)
            progress.seconds = self._clock() - progress.began


def record_results(text: str) -> list[dict[str, Any]]:
    """Return the lines of results.jsonl of a record's text. Raises FolderError if it can't be read."""
    try:
        return results(read(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None
