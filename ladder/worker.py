"""Run a runner's task in a worker process: play a match, check a submitted version, or review a lost game.

The check decides whether a version may play in a ladder, and returns steps for its owner: the steps of `arena check`
under the ladder's settings, and one qualifying match in the same sandbox. A failed step rejects the version; notices
don't. Jobs and results can be pickled and contain no path of a machine, so any worker can run a job.

Time limits are wall time and at least those of a match, so that no bot fails because the machine also runs other checks
and matches. A slow bot gets fewer requests.

Each step is reported with its number when it ends, and a long one also when it begins. A report replaces all earlier
ones with the same or a higher number; only the returned steps count. A failure of the machine raises, and the version
is checked again. All files are in a locked scratch folder, which the next check removes if this one is killed."""

import errno
import io
import tempfile
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from pathlib import Path

from arena import __version__, bots, checks, referee
from arena.formatting import format_count
from arena.referee.process import BoundedLog
from arena.review import CostlyDecision, UnknownRulesError, lost_games, review_game
from arena.run import Job, MatchOutput, OutOfSpaceError, Worker, WorkItem, play_work_item, require_suitable_machine
from arena.sandbox import (
    Sandbox,
    SandboxChoice,
    SandboxError,
    cleanup_all_stale,
    is_disk_full,
    make_sandbox,
    no_space_message,
    programs_of,
    remove_dead_scratch,
    scratch_folder,
)
from arena.schedule import draw_seat_orders
from arena.stats import count_play_styles
from arena.workers import WorkerRejectedError, limit_time, report_progress

MAX_CHECK_S = 900.0  # without the build; the slowest bot that passes takes about 300 s on a busy machine
MAX_BUILD_S = 120.0  # a large C++ or Rust bot takes about 30 s on a busy machine
_MIN_MOVE_S = 2.0  # the least time limit for a request, since other matches run at the same time
_LEAVE_S = 3.0  # for exiting at the end of input
_ENOUGH_S = 10.0  # total time of one process's answers, after which no further game begins
_MAX_LOG_BYTES = 128 << 10  # kept of a build's log, at each end
_BOT_FILE_ERRNOS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR, errno.ENOTDIR)  # not of the host
_MAX_LAST_LINES = 8  # shown of standard error


@dataclass(frozen=True, slots=True)
class VersionCheckJob:
    """The input of a version's check.

    name: the version ref, such as "honest@3"; a bot without a name in its manifest gets the part before "@". archive,
    digest, file: the submission archive, its digest, and the name of a single-file bot. seats, match_games, match, key:
    of the qualifying match. references: its opponents, with their archives; they repeat if they are too few for a
    table, and without any the version plays against itself. build_s: the build's time limit. endurance_s: how long the
    version plays on, see `CheckSettings`. arena: the version of the arena that sends the job.
    """

    name: str
    archive: bytes
    digest: str
    file: str | None
    settings: referee.MatchSettings
    choice: SandboxChoice
    seats: int
    match_games: int
    references: tuple[tuple[bots.PortableBot, bytes], ...]
    key: bytes
    match: int = 0
    build_s: float = MAX_BUILD_S
    endurance_s: float = checks.ENDURANCE_S
    arena: str = __version__

    @property
    def limit_s(self) -> float:
        """The time limit of the whole check, in seconds of wall time."""
        return MAX_CHECK_S + self.build_s


@dataclass(frozen=True, slots=True)
class VersionCheckResult:
    """The result of a check.

    passed: no step failed. bot: the loaded and built bot, None if a step before failed. built: the archive of the built
    files, None if they are the submitted ones. played: the qualifying match, None if it wasn't played. language: the
    bot's, None if unknown. seconds: that the check took.
    """

    steps: tuple[checks.CheckStep, ...]
    passed: bool
    bot: bots.PortableBot | None
    built: bytes | None
    played: referee.PlayedMatch | None
    seconds: float = 0.0
    language: str | None = None


def check_version(job: VersionCheckJob) -> VersionCheckResult:
    """Check a version in this process.

    Raises WorkerRejectedError if this machine isn't suitable or its disk is full, ArenaError if the check failed on it.
    """
    require_suitable_machine(job.arena, job.choice)
    if remove_dead_scratch():
        cleanup_all_stale()
    start = time.monotonic()
    try:
        with scratch_folder() as scratch:
            check = _VersionCheck(job, scratch.resolve()).run()
    except (bots.MissingProgramError, SandboxError, bots.ArchiveError, OSError) as error:
        temporary_folder = Path(tempfile.tempdir or ".")  # None: no folder can be used, which is the error
        if is_disk_full(error, temporary_folder):
            raise WorkerRejectedError(no_space_message(temporary_folder)) from error
        raise referee.ArenaError(str(error)) from error
    except OutOfSpaceError as error:
        raise WorkerRejectedError(str(error)) from error
    return replace(check, seconds=time.monotonic() - start)


class _VersionCheck:
    """The check of one version, with all its files in a scratch folder."""

    def __init__(self, job: VersionCheckJob, scratch: Path) -> None:
        self.job = job
        self.scratch = scratch
        self.programs = programs_of(job.choice.name)
        self.steps: list[checks.CheckStep] = []

    def run(self) -> VersionCheckResult:
        """Check the version, and let it play its qualifying match if it has passed so far."""
        path = self.unpack_archive()
        loaded = self.check(path)
        language = None if loaded is None else bots.language_of(loaded)
        bot, built, played = None, None, None
        if loaded is not None and self.passed:
            bot = bots.make_portable(replace(loaded, name=self.job.name), self.programs)
            is_as_submitted = loaded.build is None and loaded.path == path
            built = None if is_as_submitted else self.pack_build(loaded)
            if self.passed:
                played = self.play_qualifying_match(bot, self.job.archive if built is None else built, loaded)
        return VersionCheckResult(
            steps=tuple(self.steps), passed=self.passed, bot=bot, built=built, played=played, language=language
        )

    @property
    def passed(self) -> bool:
        return all(step.severity is not checks.Severity.FAIL for step in self.steps)

    def add_step(self, step: checks.CheckStep) -> None:
        """Add the next step and report it, without a build's log, which is only in the result."""
        step = replace(
            step,
            number=len(self.steps) + 1,
            message=step.message.replace(f"{self.scratch}/", ""),
            advice=step.advice.replace(f"{self.scratch}/", ""),
            log=_shorten(step.log),
        )
        self.steps.append(step)
        report_progress(replace(step, log=b""))

    def report_begin(self, check: str, text: str) -> None:
        """Report the beginning of the next step, which takes long."""
        report_progress(checks.CheckStep(check, checks.Severity.NOW, text, number=len(self.steps) + 1))

    def unpack_archive(self) -> Path:
        """Write the version's files, and return the path of its file or folder.

        Raises ArchiveError if the archive isn't valid or doesn't match its digest.
        """
        job = self.job
        folder = self.scratch / job.name.partition("@")[0]
        folder.mkdir()
        bots.unpack(io.BytesIO(job.archive), folder, bots.MAX_BYTES, bots.MAX_FILES)
        path = folder if job.file is None else folder / job.file
        if bots.is_changed(bots.Bot(job.name, path, (), folder, None, job.digest), frozenset()):
            raise bots.ArchiveError(f'the archive of "{job.name}" doesn\'t match its digest {job.digest}')
        return path

    def check(self, path: Path) -> bots.Bot | None:
        """Run the steps of `arena check`; return the bot, built if no step failed, None if it couldn't be loaded.

        Raises OSError and SandboxError for a failure of the machine; one that the bot's files cause is a failed step.
        """
        work_folder, box_folder = self.scratch / "@check", self.scratch / "@boxes"  # bot names have no "@"
        work_folder.mkdir()
        box_folder.mkdir()
        with closing(make_sandbox(self.job.choice, box_folder)) as sandbox:
            check = checks.BotCheck(self.make_check_settings(sandbox, work_folder))
            try:
                for step in chain(check.steps_before_run(f"./{path.relative_to(self.scratch)}"), check.steps_of_run()):
                    if step.severity is checks.Severity.NOW:
                        self.report_begin(step.check, step.message)
                    else:
                        self.add_step(step)
            except (ValueError, RecursionError, OSError) as error:  # unusual files and names that earlier steps accept
                if isinstance(error, OSError) and error.errno not in _BOT_FILE_ERRNOS:
                    raise
                text = f"the bot's files can't be read: {getattr(error, 'strerror', None) or repr(error)}"
                advice = "give the files short names with ordinary characters"
                self.add_step(checks.CheckStep(check.step, checks.Severity.FAIL, text, advice=advice))
        return getattr(check, "bot", None)  # which the step that loads it sets

    def make_check_settings(self, sandbox: Sandbox, work_folder: Path) -> checks.CheckSettings:
        """Return the settings of `arena check`, with the ladder's times, but no less than other matches need.

        work_folder: an empty one for the check's files.
        """
        job, timing = self.job, self.job.settings.timing
        return checks.CheckSettings(
            sandbox=sandbox,
            choice=job.choice,
            scratch=work_folder,
            match_settings=job.settings,
            rules=(job.settings.rules,),
            hello_s=max(_MIN_MOVE_S, timing.start_ms / 1000),
            timeouts=checks.Timeouts(max(_MIN_MOVE_S, timing.limit_ms / 1000), timing.bank_ms / 1000),
            seats=job.seats,
            build_s=job.build_s,
            leave_s=_LEAVE_S,
            enough_s=_ENOUGH_S,
            endurance_s=job.endurance_s,
            pause_s=checks.PAUSE_S,
            root=self.scratch,
            on_build=lambda bot: self.report_begin("build", " ".join(bot.build or ())),
        )

    def pack_build(self, bot: bots.Bot) -> bytes | None:
        """Return the archive of the built files; None, after adding a failed step, if they can't be stored.

        Raises OSError if the files can't be read.
        """
        archive = io.BytesIO()
        try:
            size = sum(path.lstat().st_size for path in bot.path.rglob("*"))
            if size <= bots.MAX_UNPACKED_BYTES:
                bots.pack(bot.path, archive)
                return archive.getvalue()
            problem = f"the build created {size >> 20} MB, more than the allowed {bots.MAX_UNPACKED_BYTES >> 20} MB"
        except bots.BotError as error:
            problem = str(error).partition("\n")[0]
        advice = "make the build remove files that the bot doesn't need, such as object files and caches"
        self.add_step(checks.CheckStep("build kept", checks.Severity.FAIL, problem, advice=advice))
        return None

    # -- the qualifying match

    def play_qualifying_match(self, bot: bots.PortableBot, archive: bytes, loaded: bots.Bot) -> referee.PlayedMatch:
        """Play one match against the reference bots, of a ladder without any against the bot itself; add its step.

        If there are fewer than the other seats, they play in several. archive: of the files that play. loaded: the bot
        on this machine. Raises ArenaError if the match isn't played.
        """
        job = self.job
        opponents = list(islice(cycle(job.references or ((bot, archive),)), job.seats - 1))
        folder = self.scratch / "@cache"
        folder.mkdir()
        cache = bots.BotCache(folder)
        for cached_bot, files in ((bot, archive), *opponents):
            cache.add(cached_bot, io.BytesIO(files))
        table = _name_differently([bot, *(opponent for opponent, _ in opponents)])
        names = tuple(player.name for player in table)
        seatings = draw_seat_orders(job.key, job.seats, job.match_games)
        spec = referee.MatchSpec(job.match, job.key, names, seatings, job.settings)
        self.report_begin("qualifying match", f"{format_count(len(seatings), 'game')} against {', '.join(names[1:])}")
        with closing(Worker(cache)) as worker:
            played = worker.play(Job(spec, table, job.choice)).match
        self.add_step(self.describe_match(played, names, loaded))
        return played

    def describe_match(self, played: referee.PlayedMatch, names: tuple[str, ...], loaded: bots.Bot) -> checks.CheckStep:
        """Return the step of the match: its result, and the version's first fault with its sample.

        names: of the bots at the table, the version's first.
        """
        record = referee.read_record(played.record)
        wins = sum(result.winner == result.seats.index(names[0]) for result in played.results)
        text = f"{format_count(len(record.games), 'game')} against {', '.join(names[1:])}: won {wins}"
        faults_by_game = _faults_by_game(record)
        if not faults_by_game:
            return checks.CheckStep("qualifying match", checks.Severity.OK, f"{text}, without a fault")
        fault = next(iter(faults_by_game.values()))[0]
        samples = (sample for sample in played.fault_samples if (sample.bot, sample.code) == (names[0], fault.code))
        sample = next(samples, None)
        logs = (data.replace(f"{self.scratch}/".encode(), b"") for bot, _, data in played.logs if bot == names[0])
        stderr = _last_lines(logs)
        diagnosis = self.diagnose(fault, sample, stderr, loaded)
        severity, fault_text = _summarize_faults(faults_by_game, len(record.games), text)
        return checks.CheckStep(
            "qualifying match",
            severity,
            f"{fault_text}; {diagnosis.message}",
            advice=diagnosis.advice,
            sent=None if sample is None else sample.sent,
            received=None if sample is None else sample.got,
            stderr=stderr,
        )

    def diagnose(
        self,
        fault: referee.Fault,
        sample: referee.StoredFaultSample | None,
        stderr: tuple[bytes, ...],
        loaded: bots.Bot,
    ) -> checks.Diagnosis:
        """Return the help for a fault of the match. sample: None if none is stored. stderr: the bot's last lines."""
        context = checks.FaultContext(
            fault.code,
            fault.detail,
            stderr=b"\n".join(stderr),
            sandbox=self.job.choice.name,
            argv=loaded.argv,
            is_single_file=loaded.path.is_file(),
        )
        if sample is not None:
            facts = referee.Facts(**dict(sample.facts))
            context = replace(context, sent=sample.sent, received=sample.got, facts=facts)
        return checks.diagnose_fault(context)


def _name_differently(table: list[bots.PortableBot]) -> tuple[bots.PortableBot, ...]:
    """Return the bots of a table in which a bot whose name an earlier one has gets its slot behind its name."""
    named_bots: list[bots.PortableBot] = []
    for slot, bot in enumerate(table):
        is_taken = any(bot.name == named_bot.name for named_bot in named_bots)
        named_bots.append(replace(bot, name=f"{bot.name} ({slot})") if is_taken else bot)
    return tuple(named_bots)


def _summarize_faults(
    faults_by_game: dict[int, list[referee.Fault]], games: int, text: str
) -> tuple[checks.Severity, str]:
    """Return how severe a version's faults are, and what its step says: `text` with their number, or its forfeits."""
    forfeits = sum(any(map(_is_forfeit, faults)) for faults in faults_by_game.values())
    if forfeits:
        return checks.Severity.FAIL, f"the bot forfeited {forfeits} of {format_count(games, 'game')}"
    causes = (fault for fault in chain(*faults_by_game.values()) if not referee.FAULTS[fault.code].is_consequence)
    return checks.Severity.NOTE, f"{text}, with faults: {sum(fault.count for fault in causes)}"


def _is_forfeit(fault: referee.Fault) -> bool:
    return referee.FAULTS[fault.code].consequence is referee.Consequence.FORFEIT


def _shorten(log: bytes) -> bytes:
    """Return a build's log, without its middle if it is long."""
    capture = BoundedLog(_MAX_LOG_BYTES)
    capture.feed(log)
    return capture.render()


def _faults_by_game(record: referee.Record) -> dict[int, list[referee.Fault]]:
    """Return the faults of the match's first bot, by game; only games with faults."""
    by_game = {game.game: [fault for fault in game.faults if fault.bot == 0] for game in record.games}
    return {game: faults for game, faults in by_game.items() if faults}


def _last_lines(logs: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the last lines that the bot itself wrote to standard error, from the last process that wrote any."""
    for data in reversed(list(logs)):
        lines = referee.list_own_lines(data)
        if lines:
            return tuple(lines[-_MAX_LAST_LINES:])
    return ()


MAX_REVIEW_S = 30.0  # a game takes 0.4 to 0.9 s
_MAX_DECISIONS = 3  # of a review


@dataclass(frozen=True, slots=True)
class ReviewJob:
    """The input of a review: a version with its id and version ref, and the record of one of its matches."""

    version: int
    version_ref: str
    record: str


ReviewResult = list[CostlyDecision]


def _review_last_loss(job: ReviewJob) -> ReviewResult:
    """Return the most costly decisions of a version's last lost game in a match; none if it can't be reviewed."""
    try:
        record = referee.read_record(job.record)
        games = lost_games(record, job.version_ref)
        return review_game(record, job.version_ref, games[-1])[:_MAX_DECISIONS] if games else []
    except (referee.RecordError, UnknownRulesError):
        return []


@dataclass(eq=False, slots=True)
class Task:
    """A match to play, a version to check or a game to review, with the id of the match or version."""

    id: int
    work: WorkItem | VersionCheckJob | ReviewJob

    @property
    def is_match(self) -> bool:
        """Return whether the task is a match."""
        return isinstance(self.work, WorkItem)

    @property
    def is_check(self) -> bool:
        """Return whether the task is a check."""
        return isinstance(self.work, VersionCheckJob)


TaskResult = MatchOutput | VersionCheckResult | ReviewResult


def run_task(task: Task) -> TaskResult:
    """Run a task in a worker process; a match gets the play styles of its bots.

    Raises the errors of `check_version` and `play_work_item`. A check or review beyond its time limit kills the worker.
    """
    if isinstance(task.work, ReviewJob):
        with limit_time(MAX_REVIEW_S):
            return _review_last_loss(task.work)
    if isinstance(task.work, VersionCheckJob):
        with limit_time(task.work.limit_s):
            return check_version(task.work)
    output = play_work_item(task.work)
    styles = count_play_styles(referee.read_record(output.match.record))
    return replace(output, match=replace(output.match, styles=styles))
