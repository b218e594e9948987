"""What a runner hands to a worker: a match to play, or a version to examine."""

from dataclasses import dataclass, replace

from arena.count import styles
from arena.referee import read
from arena.run import Parcel, Played, play_parcel
from ladder.pool import within
from ladder.work.exam import Examined, ExamJob, examine_version


@dataclass(eq=False, slots=True)
class Task:
    """A match to play, or a version to examine; its id is the match's or the version's."""

    id: int
    work: Parcel | ExamJob

    @property
    def exam(self) -> bool:
        """Whether it is an examination."""
        return isinstance(self.work, ExamJob)


def do(task: Task) -> Played | Examined:
    """Do a task, in a worker."""
    if isinstance(task.work, ExamJob):
        with within(task.work.limit_s):
            return examine_version(task.work)
    played = play_parcel(task.work)
    return replace(played, match=replace(played.match, styles=styles(read(played.match.record))))
