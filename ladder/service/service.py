"""A ladder's runner: examines what is submitted, plays matches, benches what forfeits again and again, and rates.

All state is in the database, so the process may be killed at any moment: what it had leased goes back to the queue, and
what it had played is there. Several runners may serve one ladder.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from sqlalchemy import Connection

from arena.bots import shown
from arena.examine import Level, Step
from arena.run import Played
from ladder.pool import Completed, Idle, Pool, Said, Voided, run
from ladder.service.fold import Fold
from ladder.service.ladder import Ladder
from ladder.service.news import Behind, Benched, Event, Exam, Excluded, Lost, Match, Misread, Rated, Returned
from ladder.service.retention import prune_now
from ladder.service.settings import LadderError
from ladder.service.tasks import Queue
from ladder.store import PlayedMatch, Spent
from ladder.store.database import (
    LADDER,
    QUALIFYING,
    RATED,
    SILENT_S,
    DatabaseError,
    Watch,
    activate,
    beat,
    cancel,
    count_queued,
    end_exam,
    find_version,
    forfeits_lately,
    is_awaited,
    is_newest,
    join,
    keep_match,
    leave,
    living,
    newest_time,
    note_steps,
    put_file,
    release_ended,
    rest,
    table_of,
)
from ladder.views import step_row
from ladder.work import Examined, Task, do

FOLD_S = 10.0  # between two folds, and never more than a twentieth of the time
FIRST_FOLD_S = 1.0  # to the first: one that dies again and again rates, too
CLOCK_S = 60.0  # clocks of several machines differ by less
_SHARE = 20
PRUNE_S = 86_400.0
SETTINGS_S = 2.0


class Service:
    """Serves a ladder with a pool of workers. Iterate over `events`; `stop` lets it end after what is being done.

    silent_s: so long other runners are without a beat before their matches are given to others.
    """

    def __init__(
        self,
        ladder: Ladder,
        pool: Pool,
        matches: int | None = None,
        until: str | None = None,
        silent_s: float = SILENT_S,
    ) -> None:
        self.ladder = ladder
        self.runner = ladder.database.write(lambda connection: join(connection, pool.width(), ladder.clock()))
        self.queue = Queue(ladder, self.runner, pool.width, matches)
        self.fold = Fold(ladder)
        self._pool = pool
        self._misread = ""
        self._excluded: dict[str, str] = {}
        self._watch = Watch(time.monotonic, silent_s)
        self._beat_s = silent_s / 12
        self._next_beat = 0.0
        self._newest = ladder.database.look(newest_time)
        self._clock_is_behind = False
        self._next_fold = time.monotonic() + FIRST_FOLD_S
        self._next_prune = 0.0
        self._next_settings = 0.0
        self._rated = 0
        self._until = until
        self.queue.rated = until != "examined"

    def told(self) -> str:
        """Return in one line what there is to do, and what is being done."""
        doing = self.queue.doing
        exams = sum(task.exam for task in doing)
        waiting = self.ladder.database.look(count_queued)
        trouble = self._pool.trouble()
        if trouble is not None:
            return trouble
        text = f"now matches: {len(doing) - exams}, examinations: {exams}; submissions that wait: {waiting}"
        idle = None if len(doing) > exams else self.queue.why_no_match()
        return text if idle is None else f"{text}; no match: {idle}"

    def _width(self) -> int:
        """Return how many tasks are on their way: one more than the workers do, so that none waits for the next."""
        return self.width and self.width + 1

    @property
    def width(self) -> int:
        """How many tasks it may do at a time."""
        return self._pool.width()

    def stop(self) -> None:
        """Begin nothing more."""
        self.queue.stopping = True

    def events(self) -> Generator[Event, None, None]:
        """Do what there is to do, and yield what happens, until `stop`. Raises DatabaseError, LadderError."""
        try:
            yield from self._beat()
            for event in run(self.queue, do, self._pool, self._width, (Exception,)):
                yield from self._note(event)
                yield from self._beat()
                yield from self._look_at_settings()
                yield from self._fold()
                yield from self._prune()
                if self.queue.exhausted or self._is_enough():
                    self.stop()
            yield from self._fold(at_once=True)
        finally:
            with suppress(DatabaseError):
                self.ladder.database.write(lambda connection: leave(connection, self.runner))

    def _note(self, event: "Completed[Task, Played | Examined] | Voided[Task] | Said[Task] | Idle") -> Iterator[Event]:
        match event:
            case Completed(task, Played() as played):
                yield from self._keep(played)
                self.queue.kept(task)
            case Completed(task, Examined() as examined):
                yield from self._examined(task.id, examined)
                self.queue.kept(task)
            case Voided():
                yield from self.queue.news()
            case Said(task, words):
                self._note_steps(task.id, [word for word in words if isinstance(word, Step)])
            case Idle():
                yield event

    def _is_enough(self) -> bool:
        if self._until == "examined":
            idle = not self.queue.doing and self.queue.empty
            return idle and not self.ladder.database.look(
                lambda connection: count_queued(connection) or is_awaited(connection)
            )
        return self._until == "decided" and self.fold.decided

    # --- matches

    def _keep(self, played: Played) -> Iterator[Event]:
        match = _with_costs(played)
        now = self.ladder.clock()
        bench = self.ladder.last_settings.benching.matches

        def act(connection: Connection) -> tuple[bool, list[Benched]]:
            new = keep_match(connection, match, now)
            benched = []
            for version in table_of(connection, match.match) if new else ():
                if forfeits_lately(connection, version, bench):
                    benched += put_on_bench(connection, version, f"it forfeited games in its last {bench} matches", now)
            return new, benched

        began = time.monotonic()
        new, benched = self.ladder.database.write(act)
        yield Match(match.match, new, time.monotonic() - began)
        yield from benched

    # --- examinations

    def _note_steps(self, version: int, steps: Sequence[Step]) -> None:
        """Let those who wait see the steps so far."""
        now, rows = self.ladder.clock(), [(step.number, *step_row(step)) for step in steps]
        self.ladder.database.write(lambda connection: note_steps(connection, version, self.runner, rows, now))

    def _examined(self, version: int, examination: Examined) -> Iterator[Event]:
        now = self.ladder.clock()
        reason = None if examination.passed else why_unfit(examination.steps)
        seats = self.ladder.play.seats

        def act(connection: Connection) -> Exam | None:
            steps = [step_row(step) for step in examination.steps]
            words = None if examination.bot is None else examination.bot.words
            built = None
            if examination.built is not None and examination.bot is not None:
                built = examination.bot.digest
                put_file(connection, built, examination.bot.file, examination.built)
            if not end_exam(connection, version, steps, reason, words, built, now, examination.language):
                return None
            this = find_version(connection, version)
            if examination.played is not None and len(set(table_of(connection, examination.played.match))) == seats:
                keep_match(connection, examination.played, now)
            cancel(connection, "its examination ended before", now, version, (QUALIFYING,))
            plays = reason is None and is_newest(connection, this)
            if plays:
                activate(connection, this, LADDER, "fit, so it plays", now)
            return Exam(this.label, reason, plays)

        exam = self.ladder.database.write(act)
        if exam is not None:
            yield exam

    # --- every few seconds

    def _beat(self) -> Iterator[Event]:
        """Say that this runner lives, and take what dead ones had back into the queue."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + self._beat_s

        def act(connection: Connection) -> None:
            if not beat(connection, self.runner, self._pool.width()):
                join(connection, self._pool.width(), self.ladder.clock(), self.runner)
            for dead in self._watch.dead(living(connection), self.runner):
                leave(connection, dead, self.ladder.clock())
            release_ended(connection)

        self.ladder.database.write(act)
        behind = self._newest - self.ladder.clock()
        if behind > CLOCK_S and not self._clock_is_behind:
            yield Behind(behind)
        self._clock_is_behind = behind > CLOCK_S
        self._newest = max(self._newest, self.ladder.clock())
        for what, back in self._pool.changes():
            yield Returned(what) if back else Lost(what)
        excluded = self._pool.refused()
        for worker, reason in excluded.items():
            if self._excluded.get(worker) != reason:
                yield Excluded(worker, reason)
        self._excluded = excluded

    def _fold(self, at_once: bool = False) -> Iterator[Event]:
        now = time.monotonic()
        if not at_once and now < self._next_fold:
            return
        games = self.fold.update()
        took = time.monotonic() - now
        self._next_fold = time.monotonic() + max(FOLD_S, _SHARE * took)
        if games != self._rated:
            self._rated = games
            yield Rated(games, took)

    def _look_at_settings(self) -> Iterator[Event]:
        """Say it once if ladder.toml can't be read any more; a slip of the pen doesn't end the runner."""
        now = time.monotonic()
        if now < self._next_settings:
            return
        self._next_settings = now + SETTINGS_S
        try:
            _, self._misread = self.ladder.settings, ""
        except LadderError as problem:
            if str(problem) != self._misread:
                self._misread = str(problem)
                yield Misread(self._misread)

    def _prune(self) -> Iterator[Event]:
        """Remove what is kept for a while only, once a day."""
        now = time.monotonic()
        if now < self._next_prune:
            return
        self._next_prune = now + PRUNE_S
        pruned = prune_now(self.ladder)
        if pruned.records or pruned.logs:
            yield pruned


def put_on_bench(connection: Connection, version: int, why: str, now: float) -> list[Benched]:
    """Let a version play no more, unless it is a reference, or doesn't play; return what was done."""
    row = find_version(connection, version)
    if row.reference or not row.active:
        return []
    rest(connection, row.bot, "bench", LADDER, why, now)
    cancel(connection, f"{row.label} is benched", now, version, (RATED,))
    return [Benched(row.label, why)]


def why_unfit(steps: Sequence[Step]) -> str:
    """Return in one line why an examination failed: its first step that did."""
    step = next(step for step in steps if step.level is Level.FAIL)
    return shown(f"{step.what}: {step.text}")


def _with_costs(played: Played) -> PlayedMatch:
    """Return the match with what each bot took."""
    peaks = dict(played.peaks)
    spent = tuple(
        (bot, Spent(len(times), sum(times), max(times, default=0), peaks.get(bot))) for bot, times in played.times
    )
    return replace(played.match, spent=spent)
