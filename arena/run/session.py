"""Play one session of a run: give its jobs to workers, store the results, and compute the progress.

Jobs are played in processes of this machine or on a Dask cluster, through the same interface. The progress of the run
is computed from the store and never stored itself, so the two can't disagree. This module also defines the plan of a
ladder's final, which final.json of an exported final contains, so that the final can be verified or repeated."""

import hashlib
import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Self

from arena import __version__, sandbox
from arena.bots import BotCache, make_portable, require_unchanged
from arena.coup import derive_key
from arena.referee import ArenaError, FailedMatch, LatencyHistogram, MatchSettings, MatchSpec
from arena.run.config import INVALID_DATA_ERRORS, RunConfig
from arena.run.run_folder import FolderError, Store
from arena.run.standings import RunStandings, StandingsCounter
from arena.run.worker import Job, MatchOutput, OutOfSpaceError, play_job, require_suitable_machine, start_worker
from arena.schedule import MatchPlan, PlannedMatch, draw_seat_orders, keyed_shuffle, plan_matches
from arena.workers import (
    Idle,
    JobCompleted,
    JobFailed,
    LocalExecutor,
    RetryingJobs,
    WorkerExecutor,
    WorkerMessages,
    drive_jobs,
)

if TYPE_CHECKING:
    from arena.workers.cluster import Tls


NOTICED_S = 2.0  # of waiting for timeouts; less isn't reported


class Progress:
    """The progress of a run. `requests`, `startup_s`, `seconds`, `times`, `peaks`, `held_up`: of this session alone."""

    def __init__(self, plan: MatchPlan, bots: Sequence[str], store: Store, clock: Callable[[], float]) -> None:
        self.plan = plan
        self.resumed = len(store.list_matches())
        self.requests = 0
        self.startup_s = 0.0
        self.times = {bot: LatencyHistogram() for bot in bots}
        self.peaks: dict[str, int] = {}  # bot -> bytes, where known
        self._timeout_waits: dict[str, tuple[int, float]] = {}  # by bot: timeouts, and seconds of waiting for them
        self._store = store
        self._clock = clock
        self._start = clock()
        self._end: float | None = None
        self._bots = bots
        self._standings = StandingsCounter(bots)
        self._counting = self._counted = 0  # matches in the order of the store; they differ while one is being counted
        self._count_new_matches()

    @property
    def done(self) -> int:
        """Return the number of matches in the store."""
        return len(self._store.list_matches())

    @property
    def failed_attempts(self) -> int:
        """Return the number of failed attempts at matches."""
        return len(self._store.list_failed_attempts())

    @property
    def abandoned(self) -> list[FailedMatch]:
        """Return the last failed attempt of each match that was abandoned."""
        return [attempt for attempt in self._store.list_failed_attempts() if attempt.is_last]

    @property
    def fresh_games(self) -> int:
        """Return the number of games that this session played."""
        return (self.done - self.resumed) * self.plan.match_games

    @property
    def seconds(self) -> float:
        """Return the duration of this session so far, or until its end."""
        return (self._clock() if self._end is None else self._end) - self._start

    def count(self, played: MatchOutput) -> None:
        """Count a match that was just stored: its results, response times, memory and waits."""
        self._count_new_matches()
        self.requests += played.requests
        self.startup_s += played.startup_s
        for bot, times in played.times:
            self.times[bot].add(times)
        for bot, peak in played.peaks:
            self.peaks[bot] = max(peak, self.peaks.get(bot, 0))
        for bot, timeouts, seconds in played.timeout_waits:
            total_timeouts, total_seconds = self._timeout_waits.get(bot, (0, 0.0))
            self._timeout_waits[bot] = (total_timeouts + timeouts, total_seconds + seconds)

    def held_up(self) -> list[tuple[str, int, float]]:
        """Return (bot, timeouts, total seconds) of each bot whose timeouts the run waited for, the worst first."""
        rows = [
            (bot, timeouts, seconds) for bot, (timeouts, seconds) in self._timeout_waits.items() if seconds >= NOTICED_S
        ]
        return sorted(rows, key=lambda row: (-row[2], row[0]))

    def end(self) -> None:
        """Stop the session's clock."""
        self._end = self._clock()

    def win_rates(self) -> list[tuple[str, int, float]]:
        """Return (bot, games, win rate) of every bot, best first; cheaper than `standings`."""
        return self._standings.win_rates()

    def standings(self) -> RunStandings:
        """Return the standings of all matches in the store."""
        self._count_new_matches()
        return self._standings.standings()

    def _count_new_matches(self) -> None:
        """Count the newly stored matches; count all of them again if Ctrl-C interrupted the counting of one.

        Raises FolderError for a match of other bots, as of a record that was copied from another run.
        """
        stored_matches = self._store.list_matches()
        if self._counting != self._counted:
            self._standings, self._counting, self._counted = StandingsCounter(self._bots), 0, 0
        while self._counted < len(stored_matches):
            self._counting = self._counted + 1
            match = stored_matches[self._counted]
            try:
                self._standings.add(self._store.results(match))
            except KeyError as bot:
                raise FolderError(
                    f"match {match} has the bot {bot}, but the run hasn't: remove its record, and --resume plays it"
                ) from None
            self._counted += 1


PAUSES_S = (2.0, 10.0)  # after a match's first and second failed attempt: a Docker daemon restarts in some seconds
MAX_ABANDONED = 3  # in a row, with no match played between them: then the machine is at fault, and the run stops
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played

PoolEvent = JobCompleted[Job, MatchOutput] | JobFailed[Job] | WorkerMessages[Job] | Idle


class PausedError(Exception):
    """The run can't continue for now, and `match` ended as a failed attempt; the message is one line."""

    def __init__(self, match: int, reason: str) -> None:
        super().__init__(reason)
        self.match = match


class HostError(Exception):
    """This machine can't play matches; the message is one line."""


def remove_leftovers(choice: sandbox.SandboxChoice) -> None:
    """Remove the folders, control groups and containers that killed arenas left on this machine.

    Leftovers of other sandboxes than the chosen one are searched only if there is the scratch folder of a killed run,
    because a request to the Docker engine takes 0.2 s.
    """
    if sandbox.remove_dead_scratch():
        sandbox.cleanup_all_stale()
    else:
        sandbox.cleanup_stale(choice.name)


@contextmanager
def local_workers(config: RunConfig, jobs: int) -> Iterator[LocalExecutor]:
    """Open `jobs` worker processes on this machine, which use the run's bots in their present folders.

    At the end the workers are stopped, and leftovers of killed ones are removed. Raises OSError if the folder of their
    bots can't be made.
    """
    with sandbox.scratch_folder() as scratch:
        folder = scratch / "bots"
        folder.mkdir()
        cache = BotCache(folder)
        for bot in config.bots:
            cache.link(bot)
        workers = LocalExecutor(jobs, start_worker, (folder,))
        try:
            yield workers
        finally:
            workers.shutdown(cancel_futures=True)
            remove_leftovers(config.sandbox)


class Run:
    """A run with its store. Iterate `play` to its end, or stop earlier: `progress` is always up to date."""

    def __init__(self, config: RunConfig, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.store = store
        self.progress = Progress(config.plan(), [bot.name for bot in config.bots], store, clock)
        self._clock = clock

    def play(self, jobs: int) -> Generator[PoolEvent, None, None]:
        """Play the remaining matches in `jobs` processes of this machine, and yield the events of the pool.

        Raises BotError if a bot's files change, HostError if this machine fails repeatedly or has no space for
        temporary files, and OSError if the store can't write a result.
        """
        processes = max(1, min(jobs, self.progress.plan.matches))
        with ExitStack() as stack:
            try:
                workers = stack.enter_context(local_workers(self.config, processes))
            except OSError as problem:
                raise HostError(problem.strerror or str(problem)) from problem
            yield from self.play_on(workers, 2 * processes)

    def play_on(
        self,
        executor: Executor,
        width: int,
        pauses_s: Sequence[float] = PAUSES_S,
        play: Callable[[Job], MatchOutput] = play_job,
    ) -> Generator[PoolEvent, None, None]:
        """Play the remaining matches with an executor whose workers have started, `width` at a time; see `play`.

        pauses_s: after a match's first, second, ... failed attempt; see `RetryingJobs`. play: plays a match in a
        worker, and may raise PausedError, which ends the session and is raised again.
        """
        abandoned_in_row = 0
        checked_at = self._clock()
        jobs = RetryingJobs(self._remaining_jobs(), pauses_s)
        try:
            for event in drive_jobs(jobs, play, executor, lambda: width, (ArenaError,)):
                if self._clock() - checked_at > _CHECK_S:
                    require_unchanged(self.config.bots)
                    checked_at = self._clock()
                abandoned_in_row = self._store_event(event, abandoned_in_row)
                yield event
                if abandoned_in_row >= MAX_ABANDONED:
                    reason = self.progress.abandoned[-1].reason
                    raise HostError(f"{MAX_ABANDONED} matches in a row failed repeatedly: {reason}")
            require_unchanged(self.config.bots)
        except OutOfSpaceError as problem:
            raise HostError(str(problem)) from problem
        except PausedError as problem:
            self.store.add_failed_attempt(FailedMatch(problem.match, str(problem), is_last=False))
            raise
        finally:
            self.progress.end()
            self.store.finish()

    def _remaining_jobs(self) -> Iterator[Job]:
        config = self.config
        bots = [make_portable(bot, sandbox.programs_of(config.sandbox.name)) for bot in config.bots]
        tables = self.progress.plan.tables
        missing = set(self.store.list_missing(table.match for table in tables))
        for table in tables:
            if table.match in missing:
                spec = config.spec(table.match, table.bots)
                yield Job(spec, tuple(bots[bot] for bot in table.bots), config.sandbox)

    def _store_event(self, event: PoolEvent, abandoned_in_row: int) -> int:
        """Store the result of an event, if it has one; return how many matches in a row are abandoned then."""
        match event:
            case JobCompleted(_, output):
                self.store.save(output.match)
                self.progress.count(output)
                return 0
            case JobFailed(job, reason, is_abandoned):
                self.store.add_failed_attempt(FailedMatch(job.spec.match, str(reason), is_abandoned))
                return abandoned_in_row + is_abandoned
        return abandoned_in_row


@contextmanager
def open_executor(
    choice: sandbox.SandboxChoice, jobs: int = 1, scheduler: str | None = None, tls: "Tls | None" = None
) -> Iterator[WorkerExecutor]:
    """Open `jobs` worker processes on this machine or, if `scheduler` is given, the workers of its Dask cluster.

    At the end, running matches are stopped, or on a cluster abandoned; on this machine, leftovers of killed workers are
    removed. tls: see DaskExecutor, which raises ExecutorLostError.
    """
    executor: WorkerExecutor
    if scheduler is None:
        executor = LocalExecutor(jobs)
    else:
        from arena.workers.cluster import DaskExecutor  # asyncio takes a tenth of the start of a run

        kind = f"coup-arena {__version__} {choice.name} {choice.runtime or ''} {choice.image or ''}".strip()
        admit = partial(require_suitable_machine, __version__, choice)
        executor = DaskExecutor(scheduler, kind, admit, tls)
    try:
        yield executor
    finally:
        executor.shutdown(cancel_futures=True)
        if scheduler is None:
            remove_leftovers(choice)


@dataclass(frozen=True, slots=True)
class FinalPlan:
    """The plan of a final: its key determines the tables, the seats and every card.

    versions: (version ref, digest, owner number); versions with the same owner number don't meet. games: the minimum
    for each version. matches: the ladder's number of each match of the plan; empty before they are queued.
    extra_rounds: those added at a tie, at most max_extra_rounds; of each, the indices in `versions` of those that play.
    """

    name: str
    key: bytes
    versions: tuple[tuple[str, str, int], ...]
    seats: int
    games: int
    match_games: int
    settings: MatchSettings
    matches: tuple[int, ...] = ()
    max_extra_rounds: int = 0
    extra_rounds: tuple[tuple[int, ...], ...] = ()

    def plan(self) -> MatchPlan:
        """Return the schedule of matches. Raises ValueError if these versions can't play a final."""
        owners = tuple(owner for _, _, owner in self.versions)
        first_plan = final_plan(self.key, owners, self.seats, self.games, self.match_games)
        tables = [table.bots for table in first_plan.tables]
        for number, versions in enumerate(self.extra_rounds, 1):
            key = derive_key(self.key, f"extra|{number}")
            round_owners = tuple(owners[version] for version in versions)
            extra_plan = final_plan(key, round_owners, self.seats, self.games, self.match_games)
            tables += [tuple(versions[index] for index in table.bots) for table in extra_plan.tables]
        return replace(first_plan, tables=tuple(PlannedMatch(match, bots) for match, bots in enumerate(tables)))

    def spec(self, match: int, bots: Sequence[int]) -> MatchSpec:
        """Return the spec of a queued match, by its index in the plan. `bots`: indices in `versions`."""
        key = derive_key(self.key, f"match|{match}")
        version_refs = tuple(self.versions[bot][0] for bot in bots)
        orders = draw_seat_orders(key, self.seats, self.match_games)
        return MatchSpec(self.matches[match], key, version_refs, orders, self.settings)

    def publication(self) -> str:
        """Return the commitment, published before a final, to its deals, tables, match settings and versions."""
        settings_json = json.dumps(self.settings.to_json(), sort_keys=True)
        lines = [
            f"final {self.name}",
            f"SHA-256 of the key: {hashlib.sha256(self.key).hexdigest()}",
            f"SHA-256 of the terms: {hashlib.sha256(settings_json.encode()).hexdigest()}",
            f"{self.settings.rules.name} at {self.seats} seats: "
            f"{replace(self, extra_rounds=()).plan().matches} matches of {self.match_games} games, "
            f"so that each version plays {self.games} or more",
            f"a tie at the top adds rounds among the tied versions, at most {self.max_extra_rounds}",
            "versions, the digests of their files, and numbers of which equal ones don't meet:",
            *(f"  {version_ref}  {digest}  {owner}" for version_ref, digest, owner in self.versions),
        ]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        values = {"terms" if name == "settings" else name: value for name, value in asdict(self).items()}
        return {**values, "key": self.key.hex(), "terms": self.settings.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the final from the content of final.json. Raises FolderError for invalid data."""
        try:
            arguments = {name: values[name] for name in cls.__dataclass_fields__ if name != "settings"}
            arguments |= {"key": bytes.fromhex(values["key"]), "settings": MatchSettings.from_json(values["terms"])}
            arguments |= {name: tuple(map(tuple, values[name])) for name in ("versions", "extra_rounds")}
            arguments["matches"] = tuple(values["matches"])
            final = cls(**arguments)
            if len(final.matches) != final.plan().matches:
                raise ValueError(f"{len(final.matches)} matches")
        except INVALID_DATA_ERRORS as problem:
            raise FolderError(f"final.json was changed: {problem!r}") from None
        return final


@lru_cache(maxsize=2)  # a long plan takes seconds, and is needed for its publication and for its matches
def final_plan(key: bytes, owners: tuple[int, ...], seats: int, games: int, match_games: int) -> MatchPlan:
    """Return the tables of a final, in which each version plays at least `games` games.

    owners: a number for each version; versions with the same number don't meet. Raises ValueError if no table can be
    filled without two bots of one owner.
    """
    total = -(-games * len(owners) // seats)
    return plan_matches(len(owners), seats, total, match_games, keyed_shuffle(key, "schedule"), owners)
