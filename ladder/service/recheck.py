"""Versions that play are examined again: after an update of the arena, say. What the first examination said stays.

Nothing changes by it but an act that says what was found: whether a version that fails now goes on playing is for a
person to decide.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from dataclasses import dataclass

from sqlalchemy import Connection

from arena.examine import Step, StepView
from arena.referee import ArenaError
from ladder.pool import ExecutorLostError, Pool, RefusedError, WorkerDiedError
from ladder.service.known import playing_version
from ladder.service.ladder import Ladder
from ladder.service.service import why_unfit
from ladder.service.tasks import exam_job, references_for
from ladder.store.database import Act, Version, active_versions, note_act
from ladder.views import steps_of
from ladder.work import Examined, examine_version

NO_MATCH = 0  # the qualifying match of an examination that the ladder keeps no match of


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What two examinations of a version said, the one that let it play and that of now.

    version: its label. reason: why it would be unfit now, None if it is fit. trouble: why this machine couldn't examine
    it; then `after` is empty, and nothing was noted. changed: (step, level before, level now) of the steps whose level
    isn't the same.
    """

    version: str
    reason: str | None
    trouble: str | None
    changed: tuple[tuple[str, str, str], ...]
    before: tuple[StepView, ...]
    after: tuple[StepView, ...]


@dataclass(frozen=True, slots=True)
class Rechecks:
    """All that were examined again."""

    rows: tuple[Rechecked, ...]


def recheck(ladder: Ladder, pool: Pool, bots: Sequence[str], who: str, why: str) -> Iterator[Rechecked]:
    """Examine these bots' versions again, all that play where none is named; yield each as it ends.

    Raises LadderError for a bot that isn't there.
    """
    with ladder.database.read() as connection:
        versions = [playing_version(connection, bot) for bot in bots] or active_versions(connection)
        jobs = [
            exam_job(ladder, connection, version, references_for(connection, version, ladder.play.seats), NO_MATCH)
            for version in versions
        ]
        before = {version.id: steps_of(connection, version.id) for version in versions}
    running: dict[Future[Examined], Version] = {
        pool.submit(examine_version, job): version for job, version in zip(jobs, versions, strict=True)
    }
    for future in as_completed(running):
        version = running[future]
        try:
            examined = future.result()
        except (ArenaError, ExecutorLostError, RefusedError, WorkerDiedError) as problem:
            yield Rechecked(version.label, None, str(problem), (), before[version.id], ())
            continue
        reason = None if examined.passed else why_unfit(examined.steps)
        _note(ladder, version, who, f"{why}: {'it is fit' if reason is None else reason}")
        yield _compare(version, reason, before[version.id], examined.steps)


def _compare(version: Version, reason: str | None, before: tuple[StepView, ...], after: Sequence[Step]) -> Rechecked:
    was, now = ({step.what: step.level.value for step in steps} for steps in (before, after))
    names = dict.fromkeys([*was, *now])
    return Rechecked(
        version=version.label,
        reason=reason,
        trouble=None,
        changed=tuple(
            (name, was.get(name, "-"), now.get(name, "-")) for name in names if was.get(name) != now.get(name)
        ),
        before=before,
        after=tuple(step.view() for step in after),
    )


def _note(ladder: Ladder, version: Version, who: str, why: str) -> None:
    def act(connection: Connection) -> None:
        note_act(connection, Act(who, "recheck", why, ladder.clock(), bot=version.bot, version=version.id))

    ladder.database.write(act)
