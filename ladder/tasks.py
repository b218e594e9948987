"""Choose a runner's next task: a match, a check or a review.

The task source leases, releases and counts attempts in the database, so each match ends exactly once, whatever
happens to this process. While matches wait, checks use at most half of the capacity, so sixty submissions don't block
matches. One slot at least is free for checks, so matches don't block a submission.

Between two rounds, while no match and no check waits, a runner reviews one lost game, which takes about a second. It
starts one review in REVIEW_INTERVAL_S, and a version gets MAX_REVIEWS_PER_DAY.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from arena.bots import PortableBot
from arena.escaping import escape_control, hide_folders
from arena.referee import ArenaError
from arena.run import Job, MissingBotsError, WorkItem
from arena.workers import CallTimeoutError, ExecutorLostError, WorkerDiedError, WorkerRejectedError
from ladder import store
from ladder.clock import DAY_S
from ladder.ladder import Ladder
from ladder.round_queue import RoundQueue
from ladder.runner_events import AttemptFailed, RunnerEvent, WorkerRefused
from ladder.worker import MAX_REVIEW_S, ReviewJob, Task, VersionCheckJob

MAX_REVIEWS_PER_DAY = 5  # of a version; a day ends at midnight UTC
REVIEW_INTERVAL_S = MAX_REVIEW_S  # of a runner, which so has one review at a time
MAX_CLOCK_SKEW_S = 60.0  # clocks of several machines differ by less
_PAUSE_S = 2.0  # before the next task after a failure of the host, which may need time to recover
_POLL_S = 0.5  # between queries of an empty queue


def _classify_failure(task: Task, problem: BaseException) -> tuple[store.AttemptCost, str]:
    """Return how much of a task's attempts a failure costs, and its reason in one line."""
    if isinstance(task.work, VersionCheckJob) and isinstance(problem, CallTimeoutError):
        return store.AttemptCost.ALL, f"the check took more than {task.work.limit_s:.0f} s"
    if isinstance(problem, WorkerRejectedError):
        return store.AttemptCost.NOTHING, describe_failure(problem)
    if isinstance(problem, ExecutorLostError):
        return store.AttemptCost.LOSS, describe_failure(problem)
    return store.AttemptCost.ATTEMPT, describe_failure(problem)


class TaskSource:
    """The source of a runner's tasks, which `arena.workers.drive_jobs` takes.

    runner: its id. width: returns how many tasks run at a time. matches: the maximum to start, without failed attempts;
    None for no limit.
    """

    def __init__(self, ladder: Ladder, runner: str, width: Callable[[], int], matches: int | None = None) -> None:
        self._ladder = ladder
        self._runner = runner
        self._width = width
        self._matches_left = matches
        self._rounds = RoundQueue(ladder)
        self._running: dict[Task, None] = {}
        self._unsaved: Task | None = None  # has ended, but its result isn't in the database yet
        self._retries: list[Task] = []  # with the archives that the worker lacked
        self._news: list[RunnerEvent] = []
        self._not_before = self._next_review = 0.0
        self._next = "check"  # at width 1: the kind of task to prefer, "check" or "match"
        self._empty = False
        self.stopping = False
        self.rated = True  # whether to play rated matches, or only challenges and finals

    @property
    def more(self) -> bool:
        """Return whether new tasks may still start."""
        return not self.stopping

    @property
    def exhausted(self) -> bool:
        """Return whether the maximum number of matches has been started."""
        return self._matches_left == 0

    @property
    def empty(self) -> bool:
        """Return whether no task was available at the last query."""
        return self._empty and not self._retries

    @property
    def running(self) -> tuple[Task, ...]:
        """The tasks that run now."""
        return tuple(self._running)

    def take(self) -> Task | None:
        """Return the next task, leased to this runner; None if no task is available now.

        Raises DatabaseError if the database can't be reached.
        """
        if self._retries:
            return self._start(self._retries.pop(0))
        if self.stopping or time.monotonic() < self._not_before:
            return None
        if self._prefers_check():
            task = self._claim_check() or self._claim_match_or_review()
        else:
            task = self._claim_match_or_review() or self._claim_check()
        self._empty = task is None
        if task is None:
            self._not_before = time.monotonic() + _POLL_S
            return None
        self._next = "match" if task.is_check else "check"
        return self._start(task)

    def _prefers_check(self) -> bool:
        """Return whether a check comes before a match: while checks use less than half, and by turns at width 1."""
        width = self._width()
        checks = sum(task.is_check for task in self._running if task is not self._unsaved)
        return checks < max(1, width // 2) and (width > 1 or self._next == "check")

    def failed(self, task: Task, problem: BaseException) -> bool:
        """Release a failed task; return whether it is abandoned, as a review is at once.

        A match whose worker lacked archives is the next task, with these. `news` yields an event for an attempt that
        counts, and for a worker's rejection. Raises DatabaseError if the database can't be reached.
        """
        self._running.pop(task, None)
        self._empty = False
        if isinstance(task.work, ReviewJob):
            return True
        if isinstance(problem, MissingBotsError) and isinstance(task.work, WorkItem):
            archives = self._get_archives(task.work, problem.digests)
            self._retries.append(replace(task, work=replace(task.work, archives=archives)))
            return False
        return self._record_failure(task, problem)

    def _record_failure(self, task: Task, problem: BaseException) -> bool:
        """Release a match or check whose attempt failed, and note the event; return whether it is abandoned."""
        self._not_before = time.monotonic() + _PAUSE_S
        if task.is_match and self._matches_left is not None:
            self._matches_left += 1
        cost, reason = _classify_failure(task, problem)
        worker_died = isinstance(problem, WorkerDiedError)
        is_abandoned = self._ladder.database.write(
            lambda connection: self._release(connection, task, cost, reason, worker_died)
        )
        if cost in (store.AttemptCost.ATTEMPT, store.AttemptCost.ALL) and is_abandoned is not None:
            self._news.append(AttemptFailed(task.id, task.is_check, reason, is_abandoned))
        elif cost is store.AttemptCost.NOTHING:
            self._news.append(WorkerRefused(reason))
        return bool(is_abandoned)

    def _release(
        self, connection: Connection, task: Task, cost: store.AttemptCost, reason: str, worker_died: bool
    ) -> bool | None:
        """Release a failed task; return whether it is abandoned, None if it isn't leased to this runner any more."""
        public_reason, now = hide_folders(reason), self._ladder.clock()  # authors read the reason
        if not task.is_check:
            return store.record_failed_attempt(
                connection, task.id, self._runner, public_reason, timestamp=now, cost=cost, worker_died=worker_died
            )
        is_abandoned = store.release_check(connection, task.id, self._runner, public_reason, now, cost)
        if is_abandoned:
            store.cancel_queued_matches(connection, "its check was abandoned", now, task.id, (store.QUALIFYING,))
        return is_abandoned

    def news(self) -> Iterator[RunnerEvent]:
        """Yield and remove the events of failed tasks."""
        while self._news:
            yield self._news.pop(0)

    def no_match_reason(self) -> str | None:
        """Return in one line the reason why no rated match can be played, or None."""
        if self._ladder.database.read_with_retry(store.is_frozen):
            return "the ladder is frozen"
        return self._rounds.idle_reason()

    def completed(self, task: Task) -> None:
        """Note that a task has ended. This runner holds the lease until `mark_saved` is called."""
        self._unsaved = task

    def mark_saved(self, task: Task) -> None:
        """Forget a task, after its result was stored in the database."""
        self._empty = False  # the result may enable new tasks
        self._running.pop(task, None)

    def _start(self, task: Task) -> Task:
        self._running[task] = None
        return task

    # --- matches

    def _claim_match_or_review(self) -> Task | None:
        """Lease the next match in the queue, else a review, else a match of a new round; None without any."""
        task = None if self.exhausted else self._ladder.database.write(self._lease_match_or_review)
        if task is not None and task.is_match and self._matches_left is not None:
            self._matches_left -= 1
        return task

    def _lease_match_or_review(self, connection: Connection) -> Task | None:
        """Lease a match, or note that a lost game is reviewed, in a transaction; return the task, None without one."""
        plays_rated = self.rated and not store.is_frozen(connection)
        task = self._lease_match(connection, plays_rated)
        if task is None and self.rated and time.monotonic() >= self._next_review:
            task = self._claim_review(connection)
        if task is None and plays_rated and self._rounds.queue_next(connection):
            task = self._lease_match(connection, plays_rated)
        return task

    def _lease_match(self, connection: Connection, plays_rated: bool) -> Task | None:
        """Lease the next match that may start; None without one. plays_rated: whether rated matches may start."""
        held_matches = [task.id for task in (*self._running, *self._retries) if not task.is_check]
        kinds = (store.CHALLENGE, store.FINAL, store.RATED) if plays_rated else (store.CHALLENGE, store.FINAL)
        match = store.claim_match(connection, self._runner, held_matches, self._ladder.clock(), kinds)
        return None if match is None else self._make_match_task(connection, match)

    def _make_match_task(self, connection: Connection, match: store.QueuedMatch) -> Task:
        key = None if match.final is None else store.get_final_key(connection, match.final)
        bots = tuple(make_portable_bot(store.get_version_by_id(connection, version)) for version in match.versions)
        spec = self._ladder.spec(match.id, [bot.name for bot in bots], key, match.plan_index)
        return Task(match.id, WorkItem(Job(spec, bots, self._ladder.play.sandbox)))

    def _claim_review(self, connection: Connection) -> Task | None:
        """Note that a lost game is reviewed; return the task, None if a check waits or no game is to review."""
        now = self._ladder.clock()
        if store.count_pending_checks(connection)[0]:
            return None
        claimed_game = store.claim_review(connection, now, now - now % DAY_S, MAX_REVIEWS_PER_DAY)
        if claimed_game is None:
            return None
        self._next_review = time.monotonic() + REVIEW_INTERVAL_S
        version, match = claimed_game
        record = store.find_record(connection, match)
        assert record is not None, "only matches with a record are reviewed"
        return Task(match, ReviewJob(version.id, version.version_ref, record))

    def _get_archives(self, item: WorkItem, digests: tuple[str, ...]) -> tuple[tuple[PortableBot, bytes], ...]:
        """Return the bots of a match that have one of these digests, with their archives."""
        bots = [bot for bot in item.job.bots if bot.digest in digests]
        return self._ladder.database.read_with_retry(
            lambda connection: tuple((bot, store.get_archive(connection, bot.digest, bot.file)) for bot in bots)
        )

    # --- checks

    def _claim_check(self) -> Task | None:
        """Lease the next version to check, with its qualifying match; None without one."""
        return self._ladder.database.write(self._lease_check)

    def _lease_check(self, connection: Connection) -> Task | None:
        """Lease the next version to check, with a match against the present reference bots; None without a version."""
        ladder, now = self._ladder, self._ladder.clock()
        held_versions = [task.id for task in self._running if task.is_check]
        version = store.claim_check(connection, self._runner, held_versions, now)
        if version is None:
            return None
        references = choose_references(connection, version, ladder.play.seats)
        table = [version.id, *(reference.id for reference in references)]
        match = store.find_qualifying_match(connection, table)
        if match is None:
            reason = "the reference bots changed"
            store.cancel_queued_matches(connection, reason, now, version.id, (store.QUALIFYING,))
            [match] = store.queue_matches(connection, store.QUALIFYING, [table], now)
        return Task(version.id, make_check_job(ladder, connection, version, references, match))


def describe_failure(problem: BaseException) -> str:
    """Return in one line the reason why a task failed; exceptions of unexpected types are reported as defects."""
    expected_types = (ArenaError, ExecutorLostError, WorkerRejectedError, MissingBotsError, WorkerDiedError)
    return escape_control(str(problem) if isinstance(problem, expected_types) else f"defect: {problem!r}")


def make_portable_bot(version: store.Version) -> PortableBot:
    """Return the portable bot of an accepted version."""
    assert version.status == store.ACCEPTED
    assert version.command is not None
    if version.built_digest is not None:  # always a folder, even for a single-file bot
        return PortableBot(version.version_ref, version.built_digest, version.command, None)
    return PortableBot(version.version_ref, version.digest, version.command, version.single_file_name)


def choose_references(connection: Connection, version: store.Version, seats: int) -> list[store.Version]:
    """Return the opponents of a version's qualifying match: active reference bots, at most seats - 1."""
    references = [
        reference
        for reference in store.active_versions(connection)
        if reference.is_reference and reference.bot != version.bot
    ]
    return references[: seats - 1]


def make_check_job(
    ladder: Ladder, connection: Connection, version: store.Version, references: Sequence[store.Version], match: int
) -> VersionCheckJob:
    """Return the job of a version's check; `match` is the id of its qualifying match."""
    play = ladder.play
    return VersionCheckJob(
        name=version.version_ref,
        archive=store.get_archive(connection, version.digest, version.single_file_name),
        digest=version.digest,
        file=version.single_file_name,
        settings=play.settings,
        choice=play.sandbox,
        seats=play.seats,
        match_games=play.seats,
        references=tuple(
            (bot, store.get_archive(connection, bot.digest, bot.file)) for bot in map(make_portable_bot, references)
        ),
        key=ladder.match_key(match),
        match=match,
        build_s=ladder.last_settings.checks.build_timeout_seconds,
        endurance_s=ladder.last_settings.checks.endurance_seconds,
    )
