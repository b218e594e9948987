"""Run a runner for `arena ladder run`: log, print and count its events, and stop it if this machine fails."""

from collections.abc import Callable
from contextlib import closing

from rich.text import Text

from arena.cli.console import print_json, show_progress
from arena.formatting import format_count
from arena.workers import Idle
from ladder import runner_events
from ladder.cli.common import Journal
from ladder.ladder import PruneResult
from ladder.runner import LadderRunner, RunnerMetrics

STATUS_S = 60.0  # between two lines of progress if there is no terminal
MAX_FAILED_ATTEMPTS = 20  # in a row: then this machine is the cause, and the runner stops


def run_to_end(
    progress: "RunnerProgress", metrics: RunnerMetrics, verbose: bool, as_json: bool, has_signal: Callable[[], bool]
) -> None:
    """Run a runner to its end; log, print and count its events. has_signal: returns whether a signal has stopped it."""
    runner, log = progress.runner, progress.log
    has_announced_stop = False
    with (
        show_progress(lambda: Text(progress.describe()), progress.describe, say=log.info, say_s=STATUS_S) as redraw,
        closing(runner.events()) as events,
    ):
        for event in events:
            metrics.count(event)
            if has_signal() and not has_announced_stop:
                has_announced_stop = True
                log.info("stopping after the matches in progress; a second Ctrl-C or SIGTERM stops it immediately")
            _log_event(event, log, verbose)
            if as_json and not isinstance(event, Idle):
                kind = runner_events.event_kind(type(event))
                print_json(runner_events.RunnerEventEntry(kind, runner.ladder.clock(), event))
            progress.count(event)
            redraw()
            progress.stop_if_failed()


class RunnerProgress:
    """What a runner has done so far. has_failed: whether it was stopped because this machine can't play.

    is_alone: no other machine plays, so the first refusal of a worker stops the runner.
    """

    def __init__(self, runner: LadderRunner, log: Journal, is_alone: bool) -> None:
        self.runner = runner
        self.log = log
        self.has_failed = False
        self._is_alone = is_alone
        self._matches = self._failures_in_row = 0
        self._was_refused = False  # by a worker of this machine
        self._idle_reason: str | None = None  # why no match can be played

    def describe(self) -> str:
        """Return one line with the matches and games so far, and the runner's summary."""
        games = format_count(self._matches * self.runner.ladder.play.match_games, "game")
        return f"{format_count(self._matches, 'match', 'es')}, {games}; {self.runner.summary()}"

    def count(self, event: runner_events.RunnerUpdate) -> None:
        """Count an event; log why an idle runner plays no match, when the reason changes."""
        match event:
            case runner_events.MatchFinished(new=is_new):
                self._matches += is_new
                self._failures_in_row = 0
            case runner_events.CheckFinished():
                self._failures_in_row = 0
            case runner_events.WorkerRefused() if self._is_alone:
                self._was_refused = True
            case runner_events.AttemptFailed() | runner_events.WorkerRefused():
                self._failures_in_row += 1
            case Idle() if not self.runner.queue.running and self.runner.queue.empty:
                old_reason, self._idle_reason = self._idle_reason, self.runner.queue.no_match_reason()
                if self._idle_reason not in (None, old_reason):
                    self.log.warn(f"no matches can be played: {self._idle_reason}")

    def stop_if_failed(self) -> None:
        """Stop the runner after MAX_FAILED_ATTEMPTS in a row, or after a refusal if `is_alone`."""
        has_failed_too_often = self._failures_in_row >= MAX_FAILED_ATTEMPTS
        if self.has_failed or not (has_failed_too_often or self._was_refused):
            return
        self.has_failed = True
        if has_failed_too_often:
            self.log.error(f"stopping: {MAX_FAILED_ATTEMPTS} attempts failed in a row; run arena doctor")
        self.runner.stop()


def _log_event(event: runner_events.RunnerUpdate, log: Journal, verbose: bool) -> None:
    """Log a runner's event, if it is one of these kinds. verbose: whether finished matches are logged."""
    match event:
        case runner_events.MatchFinished(id, new) if verbose:
            log.info("finished" if new else "was finished before", match=id)
        case runner_events.CheckFinished(version_ref, reason, plays):
            state = "and active" if plays else "but not active: the bot is disabled, or another version was chosen"
            result = f"accepted, {state}" if reason is None else f"rejected: {reason}"
            log.info(result, version=version_ref)
        case runner_events.VersionAutoDisabled(version_ref, reason):
            log.warn(f"auto-disabled: {reason}", version=version_ref)
        case runner_events.AttemptFailed(id, is_check, reason, abandoned):
            text = f"attempt failed{', abandoned' if abandoned else ''}: {reason}"
            log.warn(text, **{"check" if is_check else "match": id})
        case runner_events.WorkerRefused(reason):
            log.warn(f"a worker refused to start: {reason}")
        case runner_events.WorkerExcluded(worker, reason):
            log.warn(f"excluded from matches: {reason}", worker=worker)
        case runner_events.DependencyLost(text):
            log.warn(text)
        case runner_events.DependencyRestored(text):
            log.info(text)
        case runner_events.ClockBehind(seconds):
            log.warn(
                f"this machine's clock is {seconds:.0f} s behind the database's newest entry; run arena ladder doctor"
            )
        case runner_events.SettingsUnreadable(reason):
            log.warn(f"ladder.toml is invalid; the previous settings stay in use: {reason}")
        case PruneResult(records, logs):
            log.info(f"removed expired records of {format_count(records, 'match', 'es')} and logs of {logs}")
