"""What a ladder's runner has to do next, out of the database: a match to play, or a version to examine.

`Queue` is the runner's source of jobs. It leases, gives back and counts attempts in the database; so whatever happens
to this process, each match still ends once.

As long as there are matches to play, examinations take at most half of the places, so nobody's match waits for sixty
submissions; and one place at least is free for them, so no submission waits for matches.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from arena.bots import PortableBot, shown
from arena.referee import ArenaError
from arena.run import Job, MissingError, Parcel
from ladder.pool import ExecutorLostError, OverdueError, RefusedError, WorkerDiedError
from ladder.service.ladder import Ladder
from ladder.service.news import News, Refused, Void
from ladder.service.rounds import Rounds
from ladder.store.database import (
    CHALLENGE,
    FINAL,
    FIT,
    QUALIFYING,
    RATED,
    Cost,
    QueuedMatch,
    Version,
    active_versions,
    cancel,
    claim,
    claim_exam,
    fail,
    find_version,
    get_file,
    is_frozen,
    key_of_final,
    put_matches,
    qualifying_match,
    release_exam,
)
from ladder.work import ExamJob, Task

_PAUSE_S = 2.0  # after a failure of the host nothing new begins for so long: what failed may be coming back
_LOOK_S = 0.5  # between two looks at a queue that was empty


class Queue:
    """The source of a runner's tasks. `width`: how many it may do at a time; `matches`: how many to begin, at most."""

    def __init__(self, ladder: Ladder, runner: str, width: Callable[[], int], matches: int | None = None) -> None:
        self._ladder = ladder
        self._runner = runner
        self._width = width
        self._left = matches
        self._rounds = Rounds(ladder)
        self._doing: dict[Task, None] = {}
        self._unkept: Task | None = None  # was done, and its result is on its way to the database
        self._again: list[Task] = []  # with the bots that the worker's machine lacked
        self._news: list[News] = []
        self._not_before = 0.0
        self._next = "exam"  # what gets the only place of a narrow runner
        self._empty = False
        self.stopping = False
        self.rated = True  # whether to queue rated matches, or only to do what people wait for

    @property
    def more(self) -> bool:
        """Whether tasks may still come."""
        return not self.stopping

    @property
    def exhausted(self) -> bool:
        """Whether as many matches as it may begin have begun."""
        return self._left == 0

    @property
    def empty(self) -> bool:
        """Whether there was nothing to do at the last look."""
        return self._empty and not self._again

    @property
    def doing(self) -> tuple[Task, ...]:
        """Return what is being done."""
        return tuple(self._doing)

    def take(self) -> Task | None:
        """Return the next task, leased to this runner; None if there is none now. Raises DatabaseError."""
        if self._again:
            return self._begin(self._again.pop(0))
        if self.stopping or time.monotonic() < self._not_before:
            return None
        exams = sum(task.exam for task in self._doing if task is not self._unkept)
        may_exam = exams < max(1, self._width() // 2) and (self._width() > 1 or self._next == "exam")
        task = self._exam() if may_exam else None
        if task is None:
            task = self._match()
        if task is None and not may_exam:
            task = self._exam()
        self._empty = task is None
        if task is None:
            self._not_before = time.monotonic() + _LOOK_S
            return None
        self._next = "match" if task.exam else "exam"
        return self._begin(task)

    def failed(self, task: Task, problem: BaseException) -> bool:
        """Give a task back; return whether it is given up. What a machine refused, or lacked, was no attempt.

        What there is to say of it is in `news`: nothing where others have ended the task.
        """
        self._doing.pop(task, None)
        self._empty = False
        if isinstance(problem, MissingError) and isinstance(task.work, Parcel):
            self._again.append(Task(task.id, replace(task.work, archives=self._archives(task.work, problem.digests))))
            return False
        self._not_before = time.monotonic() + _PAUSE_S
        cost = Cost.ATTEMPT
        if isinstance(problem, (RefusedError, ExecutorLostError)):  # of a cluster that is away, the status line speaks
            cost = Cost.NOTHING if isinstance(problem, RefusedError) else Cost.LOSS
        reason, died, now = failure_text(problem), isinstance(problem, WorkerDiedError), self._ladder.clock()
        if isinstance(task.work, ExamJob) and isinstance(problem, OverdueError):
            cost, reason = Cost.ALL, f"to read and check it takes more than {task.work.limit_s:.0f} s"
        if not task.exam and self._left is not None:
            self._left += 1

        def act(connection: Connection) -> bool | None:
            if task.exam:
                given_up = release_exam(connection, task.id, self._runner, reason, now, cost)
                if given_up:
                    cancel(connection, "its examination was given up", now, task.id, (QUALIFYING,))
                return given_up
            return fail(connection, task.id, self._runner, reason, now, cost, died)

        given_up = self._ladder.database.write(act)
        if cost in (Cost.ATTEMPT, Cost.ALL) and given_up is not None:
            self._news.append(Void(task.id, task.exam, reason, given_up))
        elif cost is Cost.NOTHING:
            self._news.append(Refused(reason))
        return bool(given_up)

    def news(self) -> Iterator[News]:
        """Return what there is to say of tasks that failed, once."""
        while self._news:
            yield self._news.pop(0)

    def why_no_match(self) -> str | None:
        """Say in one line why no rated match is to be played, None where nothing keeps one."""
        if self._ladder.database.look(is_frozen):
            return "the ladder is frozen"
        return self._rounds.why_none()

    def completed(self, task: Task) -> None:
        """Hear that a task was done. Until `kept` it stays among those that this runner holds: its lease does."""
        self._unkept = task

    def kept(self, task: Task) -> None:
        """Forget a task whose result is in the database."""
        self._empty = False  # now there may be more to do: a version plays, a place is free
        self._doing.pop(task, None)

    def _begin(self, task: Task) -> Task:
        self._doing[task] = None
        return task

    # --- matches

    def _match(self) -> Task | None:
        if self._left == 0:
            return None
        holding = [task.id for task in (*self._doing, *self._again) if not task.exam]
        ladder = self._ladder

        def act(connection: Connection) -> tuple[QueuedMatch, list[Version], bytes | None] | None:
            frozen = not self.rated or is_frozen(connection)
            kinds = (CHALLENGE, FINAL) if frozen else (CHALLENGE, FINAL, RATED)
            task = claim(connection, self._runner, holding, ladder.clock(), kinds)
            if task is None and not frozen and self._rounds.queue(connection):
                task = claim(connection, self._runner, holding, ladder.clock(), kinds)
            if task is None:
                return None
            key = None if task.final is None else key_of_final(connection, task.final)
            return task, [find_version(connection, version) for version in task.versions], key

        claimed = ladder.database.write(act)
        if claimed is None:
            return None
        match, versions, key = claimed
        if self._left is not None:
            self._left -= 1
        table = [portable_of(version) for version in versions]
        spec = ladder.spec(match.id, [bot.name for bot in table], key, match.place)
        job = Job(spec, tuple(table), ladder.play.sandbox)
        return Task(match.id, Parcel(job))

    def _archives(self, parcel: Parcel, digests: tuple[str, ...]) -> tuple[tuple[PortableBot, bytes], ...]:
        lacking = [bot for bot in parcel.job.bots if bot.digest in digests]
        return self._ladder.database.look(
            lambda connection: tuple((bot, get_file(connection, bot.digest, bot.file)) for bot in lacking)
        )

    # --- examinations

    def _exam(self) -> Task | None:
        holding = [task.id for task in self._doing if task.exam]
        ladder = self._ladder

        def act(connection: Connection) -> Task | None:
            version = claim_exam(connection, self._runner, holding, ladder.clock())
            if version is None:
                return None
            references = references_for(connection, version, ladder.play.seats)
            table = [version.id, *(each.id for each in references)]
            match = qualifying_match(connection, table)
            if match is None:
                cancel(connection, "the reference bots changed", ladder.clock(), version.id, (QUALIFYING,))
                [match] = put_matches(connection, QUALIFYING, [table], ladder.clock())
            return Task(version.id, exam_job(ladder, connection, version, references, match))

        return ladder.database.write(act)


def failure_text(problem: BaseException) -> str:
    """Return in one line why a task failed; an exception that isn't ours is a defect, and is named with its type."""
    ours = isinstance(problem, (ArenaError, ExecutorLostError, RefusedError, MissingError, WorkerDiedError))
    return shown(str(problem) if ours else f"defect: {problem!r}")


def portable_of(version: Version) -> PortableBot:
    """Return a fit version as it travels to a worker."""
    assert version.state == FIT
    assert version.words is not None
    if version.built is not None:  # a folder, also where a bare file got its kit
        return PortableBot(version.label, version.built, version.words, None)
    return PortableBot(version.label, version.digest, version.words, version.file)


def references_for(connection: Connection, version: Version, seats: int) -> list[Version]:
    """Return whom a version plays its qualifying match against."""
    playing = [each for each in active_versions(connection) if each.reference and each.bot != version.bot]
    return playing[: seats - 1]


def exam_job(
    ladder: Ladder, connection: Connection, version: Version, references: Sequence[Version], match: int
) -> ExamJob:
    """Return a version's examination as it travels to a worker; `match` numbers its qualifying match."""
    play = ladder.play
    return ExamJob(
        name=version.label,
        archive=get_file(connection, version.digest, version.file),
        digest=version.digest,
        file=version.file,
        terms=play.terms,
        choice=play.sandbox,
        seats=play.seats,
        match_games=play.seats,
        references=tuple((bot, get_file(connection, bot.digest, bot.file)) for bot in map(portable_of, references)),
        key=ladder.match_key(match),
        match=match,
        build_s=ladder.last_settings.examinations.build_seconds,
    )
