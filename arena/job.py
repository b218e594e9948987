"""A match to play, as a worker process gets it: the spec, how to start its bots, in which sandbox, and where the
sandbox may leave files.

A sandbox that keeps boxes started for the next match (Docker's) lives as long as its worker, any other as long as its
match.
"""

import atexit
import os
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from arena.referee import ArenaError, MatchResult, MatchSpec, play_match
from arena.sandbox import Box, Program, Sandbox, SandboxError, remove_tree
from arena.sandbox.choice import Choice, make


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
        """Remove what a worker that died in mid match left behind."""
        for folder in self.scratch.glob(self._prefix + "*"):
            remove_tree(folder)


def play(job: Job) -> MatchResult:
    """Play the match. Raises ArenaError where this machine failed."""
    try:
        if job.choice.name == "docker":
            return _played(job, _kept(job.choice, job.scratch, len(job.programs)))
        folder = Path(tempfile.mkdtemp(prefix=job._prefix, dir=job.scratch))
        try:
            sandbox = make(job.choice, folder)
            try:
                return _played(job, sandbox)
            finally:
                sandbox.close()
        finally:
            remove_tree(folder)
    except SandboxError as problem:
        raise ArenaError(str(problem)) from problem


def _played(job: Job, sandbox: Sandbox) -> MatchResult:
    def launch(bot: int) -> Box:
        return sandbox.start(job.programs[bot], job.spec.limits)

    return play_match(job.spec, launch)


@cache
def _kept(choice: Choice, scratch: Path, seats: int) -> Sandbox:
    """Return this worker's sandbox, which is closed when the worker ends; also by SIGTERM, which raises SystemExit."""
    folder = scratch / f"worker-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    sandbox = make(choice, folder, ahead=seats)
    atexit.register(sandbox.close)
    return sandbox
