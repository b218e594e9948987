"""Versions that play are examined again: after an update of the arena, say. What the first examination said stays.

Nothing changes by it but an act that says what was found: whether a version that fails now goes on playing is for a
person to decide.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.examine import Step
from arena.referee import ArenaError
from ladder.pool import ExecutorLostError, Pool, RefusedError, WorkerDiedError
from ladder.service.known import playing_version
from ladder.service.ladder import Ladder
from ladder.service.service import why_unfit
from ladder.service.tasks import exam_job, references_for
from ladder.store.database import Act, Version, active_versions, get_steps, note_act
from ladder.work import Examined, examine_version

NO_MATCH = 0  # the qualifying match of an examination that the ladder keeps no match of


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What two examinations of a version said, the one that let it play and that of now.

    reason: why it would be unfit now, None if it is fit. trouble: why this machine couldn't examine it; then `after` is
    empty, and nothing was noted.
    """

    label: str
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    reason: str | None
    trouble: str | None

    @property
    def changed(self) -> list[tuple[str, str, str]]:
        """Return (step, level before, level now) of the steps whose level isn't the same."""
        was = {step.what: step.level.value for step in self.before}
        now = {step.what: step.level.value for step in self.after}
        names = dict.fromkeys([*was, *now])
        return [(name, was.get(name, "-"), now.get(name, "-")) for name in names if was.get(name) != now.get(name)]


def recheck(ladder: Ladder, pool: Pool, bots: Sequence[str], who: str, why: str) -> Iterator[Rechecked]:
    """Examine these bots' versions again, all that play where none is named; yield each as it ends.

    Raises LadderError for a bot that isn't there.
    """
    with ladder.database.read() as connection:
        found = [playing_version(connection, bot) for bot in bots] or active_versions(connection)
        jobs = [
            exam_job(ladder, connection, version, references_for(connection, version, ladder.play.seats), NO_MATCH)
            for version in found
        ]
        before = {
            version.id: tuple(Step.from_text(step) for step in get_steps(connection, version.id)) for version in found
        }
    running: dict[Future[Examined], Version] = {
        pool.submit(examine_version, job): version for job, version in zip(jobs, found, strict=True)
    }
    for future in as_completed(running):
        version = running[future]
        try:
            examined = future.result()
        except (ArenaError, ExecutorLostError, RefusedError, WorkerDiedError) as problem:
            yield Rechecked(version.label, before[version.id], (), None, str(problem))
            continue
        reason = None if examined.passed else why_unfit(examined.steps)
        _note(ladder, version, who, f"{why}: {'it is fit' if reason is None else reason}")
        yield Rechecked(version.label, before[version.id], examined.steps, reason, None)


def _note(ladder: Ladder, version: Version, who: str, why: str) -> None:
    def act(connection: Connection) -> None:
        note_act(connection, Act(who, "recheck", why, ladder.clock(), bot=version.bot, version=version.id))

    ladder.database.write(act)
