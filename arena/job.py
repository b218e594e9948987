"""A match to play, as a worker process gets it: the spec, how to start its bots, and where they may leave files."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from arena.referee import MatchResult, MatchSpec, play_match
from arena.sandbox import Box, Limits, ProcessSandbox, Program, remove_tree


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs: `programs` in the order of the spec's bots; `scratch` is the run's, shared by its jobs."""

    spec: MatchSpec
    programs: tuple[Program, ...]
    scratch: Path
    limits: Limits = field(default_factory=Limits)

    @property
    def _prefix(self) -> str:
        return f"match-{self.spec.match}-"

    def clean(self) -> None:
        """Remove what a worker that died in mid match left behind."""
        for folder in self.scratch.glob(self._prefix + "*"):
            remove_tree(folder)


def play(job: Job) -> MatchResult:
    """Play the match. Raises ArenaError where this machine failed."""
    folder = Path(tempfile.mkdtemp(prefix=job._prefix, dir=job.scratch))
    try:
        sandbox = ProcessSandbox(folder)

        def launch(bot: int) -> Box:
            return sandbox.start(job.programs[bot], job.limits)

        return play_match(job.spec, launch)
    finally:
        remove_tree(folder)
