"""Run a ladder: check submissions, play matches, disable bots that forfeit repeatedly, rate, and serve metrics.

All state is in the database, so the process can be killed at any moment: its leases return to the queue, and its
finished matches are stored. Several runners can serve one ladder."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from sqlalchemy import Connection

from arena.checks import CheckStep, Severity
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.referee import PlayedMatch, SlotUsage
from arena.run import MatchOutput
from arena.workers import Idle, JobCompleted, JobFailed, WorkerExecutor, WorkerMessages, drive_jobs
from ladder import activation, runner_events, store, tasks
from ladder.bot_pages import serialize_step
from ladder.clock import DAY_S
from ladder.grading import extend_finals
from ladder.health import HealthMonitor, LadderMetrics
from ladder.ladder import Ladder, prune_expired
from ladder.settings import LadderError
from ladder.standings import StandingsUpdater
from ladder.worker import ReviewJob, Task, TaskResult, VersionCheckResult, run_task

STANDINGS_UPDATE_S = 10.0  # between two updates of the standings
FIRST_STANDINGS_UPDATE_S = 1.0  # to the first update, so that a runner that dies often also updates the standings
_MIN_UPDATE_PERIODS = 20  # durations of an update between two updates: updates take at most a twentieth of the time
SETTINGS_POLL_S = 2.0


class LadderRunner:
    """A runner of a ladder with a pool of workers.

    The constructor registers the runner in the database, under a new `id`. Iterate over `events`: after `stop`, it ends
    when the running tasks have ended.

    matches: the maximum number of matches, None for no limit. until: None, "idle" (until no check, challenge or final
    is pending) or "decided" (until the leader is close enough to the best). silent_s: the seconds without a heartbeat
    after which another runner counts as dead, and its tasks return to the queue.
    """

    def __init__(
        self,
        ladder: Ladder,
        pool: WorkerExecutor,
        matches: int | None = None,
        until: str | None = None,
        silent_s: float = store.HEARTBEAT_TIMEOUT_S,
    ) -> None:
        self.ladder = ladder
        self.id = ladder.database.write(
            lambda connection: store.register_runner(connection, pool.width(), ladder.clock())
        )
        self.queue = tasks.TaskSource(ladder, self.id, pool.width, matches)
        self.updater = StandingsUpdater(ladder)
        self._pool = pool
        self._settings_error = ""
        self._excluded: dict[str, str] = {}
        self._liveness = store.LivenessCheck(time.monotonic, silent_s)
        self._beat_s = silent_s / 12
        self._next_beat = 0.0
        self._latest_time = ladder.database.read_with_retry(store.latest_timestamp)
        self._clock_is_behind = False
        self._next_update = time.monotonic() + FIRST_STANDINGS_UPDATE_S
        self._next_prune = 0.0
        self._next_settings = 0.0
        self._rated_games = 0
        self._until = until
        self.queue.rated = until != "idle"

    def summary(self) -> str:
        """Return one line about the waiting and running tasks, or the reason why the pool has no workers."""
        pool_error = self._pool.last_error()
        if pool_error is not None:
            return pool_error
        tasks_now = self.queue.running
        matches, checks = sum(task.is_match for task in tasks_now), sum(task.is_check for task in tasks_now)
        submissions = self.ladder.database.read_with_retry(store.count_pending_checks)[0]
        text = f"now matches: {matches}, checks: {checks}; pending submissions: {submissions}"
        idle_reason = None if matches else self.queue.no_match_reason()
        return text if idle_reason is None else f"{text}; no matches: {idle_reason}"

    def _max_submitted(self) -> int:
        """Return how many tasks to submit: one more than can run, so that no worker waits; 0 without workers."""
        return self.width and self.width + 1

    def other_runners(self) -> list[str]:
        """Return the ids of the ladder's other live runners, shortened as in logs."""
        runners = self.ladder.database.read_with_retry(store.list_live_runners)
        return [runner.id[:8] for runner in runners if runner.id != self.id and not store.has_process_ended(runner)]

    @property
    def width(self) -> int:
        """The number of tasks that can run at a time."""
        return self._pool.width()

    def stop(self) -> None:
        """Start no more tasks. This returns at once; the running tasks end."""
        self.queue.stopping = True

    def events(self) -> Generator[runner_events.RunnerUpdate, None, None]:
        """Run tasks and yield events, until `stop` or the end that `until` names.

        Raises DatabaseError if the database can't be used for too long, LadderError if ladder.toml isn't valid at the
        start.
        """
        try:
            yield from self._send_heartbeat()
            for event in drive_jobs(self.queue, run_task, self._pool, self._max_submitted, (Exception,)):
                yield from self._handle_event(event)
                yield from self._send_heartbeat()
                yield from self._check_settings()
                yield from self._update_standings()
                yield from self._prune_expired()
                self._stop_at_end()
            yield from self._update_standings(is_last=True)
        finally:
            with suppress(store.DatabaseError):  # then other runners find that this one has ended
                self.ladder.database.write(lambda connection: store.end_runner(connection, self.id))

    def _handle_event(
        self, event: "JobCompleted[Task, TaskResult] | JobFailed[Task] | WorkerMessages[Task] | Idle"
    ) -> Iterator[runner_events.RunnerUpdate]:
        """Save what a worker has finished before the task counts as done; yield the events to show."""
        match event:
            case JobCompleted(task, MatchOutput() as played):
                yield from self._save_match_output(played)
                self.queue.mark_saved(task)
            case JobCompleted(task, VersionCheckResult() as checked):
                yield from self._save_check(task.id, checked)
                self.queue.mark_saved(task)
            case JobCompleted(Task(id=match, work=ReviewJob(version=version)) as task, list() as decisions):
                rows, now = [asdict(decision) for decision in decisions], self.ladder.clock()
                self.ladder.database.write(lambda connection: store.save_review(connection, version, match, rows, now))
                self.queue.mark_saved(task)
            case JobFailed():
                yield from self.queue.news()
            case WorkerMessages(task, messages):
                self._save_steps(task.id, [step for step in messages if isinstance(step, CheckStep)])
            case Idle():
                yield event

    def _stop_at_end(self) -> None:
        """Stop if all `matches` have been started, or the end that `until` names is reached.

        A runner that is idle first extends finals, which may queue matches.
        """
        if self.queue.exhausted or (self._until == "decided" and self.updater.decided):
            self.stop()
        elif self._until == "idle" and self.queue.empty and not self.queue.running:
            extend_finals(self.ladder)
            has_tasks = self.ladder.database.read_with_retry(
                lambda connection: store.count_pending_checks(connection)[0] or store.has_requested_match(connection)
            )
            if not has_tasks:
                self.stop()

    # --- matches

    def _save_match_output(self, played: MatchOutput) -> Iterator[runner_events.RunnerUpdate]:
        """Store a match, and disable bots that forfeit repeatedly; yield whether it is new, and who was disabled."""
        match, now, start = _add_usage(played), self.ladder.clock(), time.monotonic()
        is_new, disabled_versions = self.ladder.database.write(
            lambda connection: self._store_match(connection, match, now)
        )
        yield runner_events.MatchFinished(match.match, is_new, time.monotonic() - start)
        yield from disabled_versions

    def _store_match(
        self, connection: Connection, match: PlayedMatch, now: float
    ) -> tuple[bool, list[runner_events.VersionAutoDisabled]]:
        """Store a match, and disable versions that forfeit repeatedly; return whether it is new, and their events."""
        if not store.save_match(connection, match, now):
            return False, []
        streak = self.ladder.last_settings.auto_disable.after_matches
        reason = f"it forfeited games in its last {format_count(streak, 'match', 'es')}"
        disabled_versions = []
        for id in store.versions_in_match(connection, match.match):
            version = store.get_version_by_id(connection, id)
            has_forfeited = store.has_recent_forfeits(connection, id, streak)
            if has_forfeited and activation.auto_disable_version(connection, version, reason, now):
                disabled_versions.append(runner_events.VersionAutoDisabled(version.version_ref, reason))
        return True, disabled_versions

    # --- checks

    def _save_steps(self, version: int, steps: Sequence[CheckStep]) -> None:
        """Store the steps of a running check, so that pages show them."""
        now, rows = self.ladder.clock(), [(step.number, *serialize_step(step)) for step in steps]
        self.ladder.database.write(lambda connection: store.save_check_steps(connection, version, self.id, rows, now))

    def _save_check(self, version: int, check: VersionCheckResult) -> Iterator[runner_events.RunnerUpdate]:
        """Store a check's result; an accepted version becomes active unless its bot has a newer decision.

        Yields nothing if the result came a second time.
        """
        finished = self.ladder.database.write(lambda connection: self._store_check(connection, version, check))
        if finished is not None:
            yield finished

    def _store_check(
        self, connection: Connection, version: int, check: VersionCheckResult
    ) -> runner_events.CheckFinished | None:
        """Store a check's result in a transaction; return the event, None if the result came a second time."""
        now = self.ladder.clock()
        reason = None if check.passed else rejection_reason(check.steps)
        if not _store_steps_and_build(connection, version, check, reason, now):
            return None
        if check.played is not None:
            has_full_table = len(store.versions_in_match(connection, check.played.match)) == self.ladder.play.seats
            if has_full_table:  # else a bot played several times at it, and its results can't be stored
                store.save_match(connection, check.played, now)
        store.cancel_queued_matches(connection, "the check had ended before", now, version, (store.QUALIFYING,))
        row = store.get_version_by_id(connection, version)
        is_activated = reason is None and activation.should_be_activated(connection, row)
        if is_activated:
            activation.begin_playing(connection, row, store.LADDER_ACTOR, "accepted", now)
        return runner_events.CheckFinished(row.version_ref, reason, is_activated)

    # --- every few seconds

    def _send_heartbeat(self) -> Iterator[runner_events.RunnerUpdate]:
        """Record this runner's heartbeat, free the tasks of dead runners; yield changes of the clock and the pool."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + self._beat_s
        self.ladder.database.write(self._record_heartbeat)
        yield from self._check_clock()
        yield from self._check_pool()

    def _record_heartbeat(self, connection: Connection) -> None:
        """Record the heartbeat, as that of a new runner if others ended this one, and end the dead runners."""
        if not store.record_heartbeat(connection, self.id, self._pool.width()):
            store.register_runner(connection, self._pool.width(), self.ladder.clock(), self.id)
        for dead_runner in self._liveness.find_dead(store.list_live_runners(connection), self.id):
            store.end_runner(connection, dead_runner, self.ladder.clock())
        store.release_ended(connection)

    def _check_clock(self) -> Iterator[runner_events.RunnerUpdate]:
        """Yield an event when the clock has fallen behind its latest time, or the database's when the runner began."""
        lag_s = self._latest_time - self.ladder.clock()
        if lag_s > tasks.MAX_CLOCK_SKEW_S and not self._clock_is_behind:
            yield runner_events.ClockBehind(lag_s)
        self._clock_is_behind = lag_s > tasks.MAX_CLOCK_SKEW_S
        self._latest_time = max(self._latest_time, self.ladder.clock())

    def _check_pool(self) -> Iterator[runner_events.RunnerUpdate]:
        """Yield an event for each part of a cluster that was lost or restored, and each worker newly excluded."""
        for message, is_restored in self._pool.changes():
            yield runner_events.DependencyRestored(message) if is_restored else runner_events.DependencyLost(message)
        excluded = self._pool.refused()
        for worker, reason in excluded.items():
            if self._excluded.get(worker) != reason:
                yield runner_events.WorkerExcluded(worker, reason)
        self._excluded = excluded

    def _update_standings(self, is_last: bool = False) -> Iterator[runner_events.RunnerUpdate]:
        """Extend finals and compute the standings, if it is time or `is_last`; yield an event if the games changed."""
        start = time.monotonic()
        if not is_last and start < self._next_update:
            return
        extend_finals(self.ladder)
        games = self.updater.update()
        duration_s = time.monotonic() - start
        self._next_update = time.monotonic() + max(STANDINGS_UPDATE_S, _MIN_UPDATE_PERIODS * duration_s)
        if games != self._rated_games:
            self._rated_games = games
            yield runner_events.StandingsUpdated(games, duration_s)

    def _check_settings(self) -> Iterator[runner_events.RunnerUpdate]:
        """Yield a warning when ladder.toml has a new problem; the runner continues with the previous content."""
        now = time.monotonic()
        if now < self._next_settings:
            return
        self._next_settings = now + SETTINGS_POLL_S
        try:
            _ = self.ladder.settings  # which reads them
            self._settings_error = ""
        except LadderError as error:
            if str(error) != self._settings_error:
                self._settings_error = str(error)
                yield runner_events.SettingsUnreadable(self._settings_error)

    def _prune_expired(self) -> Iterator[runner_events.RunnerUpdate]:
        """Remove expired data, once a day."""
        now = time.monotonic()
        if now < self._next_prune:
            return
        self._next_prune = now + DAY_S
        pruned = prune_expired(self.ladder)
        if pruned.records or pruned.logs:
            yield pruned


def _store_steps_and_build(
    connection: Connection, version: int, check: VersionCheckResult, reason: str | None, now: float
) -> bool:
    """Store a check's steps and the archive of the built files; return False if another result came before.

    reason: why the version is rejected, None if it is accepted.
    """
    built_digest = None
    if check.built is not None and check.bot is not None:
        built_digest = check.bot.digest
        store.insert_archive(connection, built_digest, check.bot.file, check.built)
    return store.finish_check(
        connection,
        version,
        [serialize_step(step) for step in check.steps],
        reason=reason,
        command=None if check.bot is None else check.bot.argv,
        built_digest=built_digest,
        timestamp=now,
        language=check.language,
    )


def rejection_reason(steps: Sequence[CheckStep]) -> str:
    """Return the first failed step of a failed check, in one line."""
    step = next(step for step in steps if step.severity is Severity.FAIL)
    return escape_control(f"{step.check}: {step.message}")


def _add_usage(played: MatchOutput) -> PlayedMatch:
    """Return the match with the time and memory that each of its bots used."""
    peaks = dict(played.peaks)
    usage = tuple(
        (bot, SlotUsage(len(times), sum(times), max(times, default=0), peaks.get(bot))) for bot, times in played.times
    )
    return replace(played.match, spent=usage)


_COUNTED_EVENTS = (
    runner_events.AttemptFailed,
    runner_events.WorkerRefused,
    runner_events.VersionAutoDisabled,
    runner_events.WorkerExcluded,
    runner_events.DependencyLost,
    runner_events.DependencyRestored,
    runner_events.ClockBehind,
)


class RunnerMetrics:
    """The Prometheus metrics of one runner and its ladder. Call `count` with each of the runner's events."""

    def __init__(self, runner: LadderRunner) -> None:
        from prometheus_client import CollectorRegistry, Counter, Gauge, Summary, disable_created_metrics

        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no type here
        self._last = time.monotonic()
        self.registry = registry = CollectorRegistry(auto_describe=False)
        registry.register(LadderMetrics(HealthMonitor(runner.ladder)))
        self._commits = Summary("coup_commit_seconds", "Time to store a match.", registry=registry)
        self._ratings = Summary("coup_rating_seconds", "Time to compute the standings.", registry=registry)
        self._checks = Counter("coup_runner_checks", "Checks by this runner.", ["outcome"], registry=registry)
        self._events = Counter("coup_runner_events", "Other events of this runner.", ["event"], registry=registry)
        for outcome in ("accepted", "rejected"):
            self._checks.labels(outcome)
        for kind in _COUNTED_EVENTS:
            self._events.labels(runner_events.event_kind(kind))
        self._rated_games = Gauge("coup_rated_games", "Games in the standings.", registry=registry)
        self._add_state(runner)

    def _add_state(self, runner: LadderRunner) -> None:
        """Add the metrics that are read from the runner when they are collected."""
        from prometheus_client import Gauge

        registry = self.registry
        task_count = Gauge("coup_runner_current_task", "Tasks in progress on this runner.", ["task"], registry=registry)
        task_count.labels("check").set_function(lambda: sum(task.is_check for task in runner.queue.running))
        task_count.labels("match").set_function(lambda: sum(task.is_match for task in runner.queue.running))
        capacity = Gauge("coup_runner_capacity", "Tasks that this runner does at the same time.", registry=registry)
        capacity.set_function(lambda: runner.width)
        start_time = Gauge(
            "coup_runner_start_time_seconds", "Start of this runner, in seconds since 1970.", registry=registry
        )
        start_time.set_to_current_time()
        silence = Gauge("coup_runner_silent_seconds", "Seconds since the last event of this runner.", registry=registry)
        silence.set_function(lambda: time.monotonic() - self._last)

    def count(self, event: runner_events.RunnerUpdate) -> None:
        """Update the metrics of this runner after an event."""
        self._last = time.monotonic()
        match event:
            case runner_events.MatchFinished(seconds=seconds):
                self._commits.observe(seconds)
            case runner_events.StandingsUpdated(games, seconds):
                self._rated_games.set(games)
                self._ratings.observe(seconds)
            case runner_events.CheckFinished(reason=reason):
                self._checks.labels("accepted" if reason is None else "rejected").inc()
            case _ if isinstance(event, _COUNTED_EVENTS):
                self._events.labels(runner_events.event_kind(type(event))).inc()
