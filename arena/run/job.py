"""A match to play, as a worker process gets it: the spec, how to start its bots, in which sandbox, and where the
sandbox may leave files.

A sandbox lives as long as its match.

Whatever a box needs on the disk lies below `scratch`. If that is full, no match can be played, and none is at fault:
that is NoRoomError, which ends the run instead of voiding one match after the other.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from arena.referee import ArenaError, MatchSpec, play_match, write
from arena.run.results import game_results
from arena.sandbox import Box, Choice, Program, Sandbox, SandboxError, full, make, no_room, remove_tree
from ladder.store import PlayedMatch


class NoRoomError(Exception):
    """Say in one line that no match can be played for want of room for temporary files, and what helps."""


@dataclass(frozen=True, slots=True)
class Played:
    """A match that was played, and what it took: the requests that were asked, the seconds that starting bots took."""

    match: PlayedMatch
    requests: int
    startup_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs: `programs` in the order of the spec's bots; `scratch` is the run's, shared by its jobs."""

    spec: MatchSpec
    programs: tuple[Program, ...]
    scratch: Path
    choice: Choice = field(default_factory=Choice)

    @property
    def _prefix(self) -> str:
        return f"match-{self.spec.match}-"

    def clean(self) -> None:
        """Remove what a worker that died during a match left behind."""
        for folder in self.scratch.glob(self._prefix + "*"):
            remove_tree(folder)


def play(job: Job) -> Played:
    """Play the match. Raises ArenaError where this machine failed, NoRoomError if for want of room below `scratch`."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=job._prefix, dir=job.scratch))
        try:
            sandbox = make(job.choice, folder)
            try:
                return _played(job, sandbox)
            finally:
                sandbox.close()
        finally:
            remove_tree(folder)
    except (ArenaError, SandboxError, OSError) as problem:
        if full(problem, job.scratch):
            raise NoRoomError(no_room(job.scratch.parent)) from problem
        if isinstance(problem, ArenaError):
            raise
        raise ArenaError(str(problem)) from problem


def _played(job: Job, sandbox: Sandbox) -> Played:
    def launch(bot: int) -> Box:
        return sandbox.start(job.programs[bot], job.spec.terms.limits)

    ended = play_match(job.spec, launch)
    logs = tuple((job.spec.bots[bot], number, data) for bot, number, data in ended.logs)
    match = PlayedMatch(job.spec.match, write(ended.record), game_results(ended.record), logs)
    return Played(match, ended.requests, ended.startup_s)
