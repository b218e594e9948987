"""Run a runner's task in a worker process: play a match, or check a submitted version.

The check decides whether a version may play in a ladder, and returns steps for its owner. They are the steps of
`arena check` under the ladder's settings, and one qualifying match in the same sandbox. A failed step rejects the
version; notices don't. Input and output can be pickled and contain no path of a machine, so any worker can run the
task.

Time limits are wall time. They are at least a match's, because the machine also runs other checks and matches: no bot
fails because of its neighbours. A slow bot gets fewer requests.

Each step, and the beginning of a long one, is reported with its number as it is found. A new report replaces those of
its number and above; only the returned steps count. A failure of the machine raises, and the version is checked
again. All files are in a locked scratch folder, which the next check removes if this one is killed."""

import errno
import io
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, cycle, islice
from pathlib import Path

from arena import __version__
from arena.bots import (
    MAX_BYTES,
    MAX_FILES,
    MAX_UNPACKED_BYTES,
    ArchiveError,
    Bot,
    BotCache,
    BotError,
    MissingProgramError,
    PortableBot,
    is_changed,
    language_of,
    make_portable,
    pack,
    unpack,
)
from arena.checks import BotCheck, CheckSettings, CheckStep, FaultContext, Severity, Timeouts, diagnose_fault
from arena.referee import (
    FAULTS,
    ArenaError,
    BoundedLog,
    Consequence,
    Facts,
    Fault,
    MatchSettings,
    MatchSpec,
    Record,
    list_own_lines,
    read_record,
)
from arena.run import (
    Job,
    MatchOutput,
    OutOfSpaceError,
    Worker,
    WorkItem,
    keyed_shuffle,
    play_work_item,
    require_suitable_machine,
)
from arena.sandbox import (
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
from arena.stats import count_play_styles
from ladder.pool import WorkerRejectedError, limit_time, report_progress
from ladder.schedule import seat_orders
from ladder.store import PlayedMatch

MAX_CHECK_S = 900.0  # for all but the build: the slowest bot that passes takes some 300 on a busy machine
MAX_BUILD_S = 120.0  # a large C++ or Rust bot takes some 30 on a busy machine
_MIN_MOVE_S = 2.0  # for a request's answer, whatever the terms: others compute at the same time
_LEAVE_S = 3.0  # likewise, for leaving at the end of input
_ENOUGH_S = 10.0  # of one process's answers: then no further game begins
_MAX_LOG_BYTES = 128 << 10  # of a build's log, at each end
_OF_FILES = (errno.ENAMETOOLONG, errno.ELOOP, errno.EISDIR, errno.ENOTDIR)  # no failing machine answers so
_MAX_LAST_LINES = 8  # of standard error


@dataclass(frozen=True, slots=True)
class VersionCheckJob:
    """All that a worker needs to check a version.

    name: the version's, such as "honest@3"; a folder without a name in its manifest gets its first part. archive,
    digest, file: as a Bundle has them. seats, match_games: of the qualifying match, whose number and key are `match`
    and `key`. references: its opponents, with their archives; where they are too few for a table they sit
    there more than once, and where there is none the version plays against itself. build_s: how long its build may
    take. arena: the version of the arena that sends it.
    """

    name: str
    archive: bytes
    digest: str
    file: str | None
    terms: MatchSettings
    choice: SandboxChoice
    seats: int
    match_games: int
    references: tuple[tuple[PortableBot, bytes], ...]
    key: bytes
    match: int = 0
    build_s: float = MAX_BUILD_S
    arena: str = __version__

    @property
    def limit_s(self) -> float:
        """How long the whole check may take, in wall time; what takes longer fails."""
        return MAX_CHECK_S + self.build_s


@dataclass(frozen=True, slots=True)
class VersionCheckResult:
    """The result of a check.

    passed: no step failed. bot: what plays, once it was loaded and built. built: the archive of its files as they play,
    None if they are those that were submitted. played: the qualifying match. language: what it is written in, if known.
    """

    steps: tuple[CheckStep, ...]
    passed: bool
    bot: PortableBot | None
    built: bytes | None
    played: PlayedMatch | None
    seconds: float
    language: str | None = None


def check_version(job: VersionCheckJob) -> VersionCheckResult:
    """Check a version in this process.

    Raises WorkerRejectedError where this machine may not or can't check now, ArenaError where it failed.
    """
    require_suitable_machine(job.arena, job.choice)
    if remove_dead_scratch():
        cleanup_all_stale()
    began = time.monotonic()
    scratch: Path | None = None
    try:
        with scratch_folder() as folder:
            scratch = folder
            check = _Version(job, folder.resolve()).checked()
    except (MissingProgramError, SandboxError, ArchiveError, OSError) as problem:
        if is_disk_full(problem, scratch or Path("/")):
            raise WorkerRejectedError(no_space_message((scratch or Path()).parent)) from problem
        raise ArenaError(str(problem)) from problem
    except OutOfSpaceError as problem:
        raise WorkerRejectedError(str(problem)) from problem
    return replace(check, seconds=time.monotonic() - began)


class _Version:
    """The check of one version below a scratch folder."""

    def __init__(self, job: VersionCheckJob, scratch: Path) -> None:
        self.job = job
        self.scratch = scratch
        self.programs = programs_of(job.choice.name)
        self.steps: list[CheckStep] = []

    def checked(self) -> VersionCheckResult:
        path = self.unpacked()
        bot, built, played = None, None, None
        checked = self.check(path)
        language = None if checked is None else language_of(checked)
        if checked is not None and self.passed:
            bot = make_portable(replace(checked, name=self.job.name), self.programs)
            archive = self.job.archive if checked.build is None and checked.path == path else self.packed(checked)
            if archive is not None:
                built = None if archive is self.job.archive else archive
                played = self.qualify(bot, archive, checked)
        return VersionCheckResult(tuple(self.steps), self.passed, bot, built, played, 0.0, language)

    @property
    def passed(self) -> bool:
        return all(step.severity is not Severity.FAIL for step in self.steps)

    def note(self, step: CheckStep) -> None:
        """Add the next step, and report it; the log of a build is long, and can wait."""
        step = replace(step, number=len(self.steps) + 1, log=_shorten(step.log))
        self.steps.append(step)
        report_progress(replace(step, log=b""))

    def begin(self, what: str, text: str) -> None:
        """Report that the next step has begun, which takes long."""
        report_progress(CheckStep(what, Severity.NOW, text, number=len(self.steps) + 1))

    def unpacked(self) -> Path:
        """Write the version's files, and return its file or folder."""
        job = self.job
        place = self.scratch / job.name.partition("@")[0]
        place.mkdir()
        unpack(io.BytesIO(job.archive), place, MAX_BYTES, MAX_FILES)
        path = place if job.file is None else place / job.file
        if is_changed(Bot(job.name, path, (), place, None, job.digest), frozenset()):
            raise ArchiveError(f'the archive of "{job.name}" isn\'t that of the digest {job.digest}')
        return path

    def check(self, path: Path) -> Bot | None:
        """Do what `arena check` does; return the bot as it was built, None if it failed."""
        terms, timing = self.job.terms, self.job.terms.timing
        work, boxes = self.scratch / "@exam", self.scratch / "@boxes"  # no bot is called so
        work.mkdir()
        boxes.mkdir()
        with closing(make_sandbox(self.job.choice, boxes)) as sandbox:
            exam = CheckSettings(
                sandbox=sandbox,
                choice=self.job.choice,
                scratch=work,
                terms=terms,
                rules=(terms.rules,),
                hello_s=max(_MIN_MOVE_S, timing.start_ms / 1000),
                timeouts=Timeouts(max(_MIN_MOVE_S, timing.limit_ms / 1000), timing.bank_ms / 1000),
                seats=self.job.seats,
                build_s=self.job.build_s,
                leave_s=_LEAVE_S,
                enough_s=_ENOUGH_S,
                root=self.scratch,
                on_build=lambda bot: self.begin("build", " ".join(bot.build or ())),
            )
            check = BotCheck(exam)
            self.quoted = exam.quoted
            try:
                for step in chain(check.steps_before_run(f"./{path.relative_to(self.scratch)}"), check.steps_of_run()):
                    self.note(step)
            except (ValueError, RecursionError, OSError) as problem:  # of names and files that nothing refused before
                if isinstance(problem, OSError) and problem.errno not in _OF_FILES:
                    raise
                text = f"its files can't be checked: {getattr(problem, 'strerror', None) or repr(problem)}"
                self.note(CheckStep(check.step, Severity.FAIL, text, advice="give its files short and ordinary names"))
        return getattr(check, "bot", None)

    def packed(self, bot: Bot) -> bytes | None:
        """Return the archive of what was built, None with a failed step if it is too large to be kept."""
        archive = io.BytesIO()
        try:
            size = sum(path.lstat().st_size for path in bot.path.rglob("*"))
            if size <= MAX_UNPACKED_BYTES:
                pack(bot.path, archive)
                return archive.getvalue()
            what = f"the build made {size >> 20} MB, and {MAX_UNPACKED_BYTES >> 20} MB are kept"
        except BotError as problem:
            what = str(problem).partition("\n")[0]
        help = "let the build remove what the bot doesn't need to play, such as objects and caches"
        self.note(CheckStep("build kept", Severity.FAIL, what, advice=help))
        return None

    # -- the qualifying match

    def qualify(self, bot: PortableBot, archive: bytes, checked: Bot) -> PlayedMatch:
        """Play one match against the reference bots."""
        job = self.job
        others = list(islice(cycle(job.references or ((bot, archive),)), job.seats - 1))
        table = [bot]
        for place, (other, _) in enumerate(others, 1):
            again = any(other.name == each.name for each in table)
            table.append(replace(other, name=f"{other.name} ({place})") if again else other)
        folder = self.scratch / "@cache"
        folder.mkdir()
        cache = BotCache(folder)
        for held, files in ((bot, archive), *others):
            cache.put(held, io.BytesIO(files))
        names = tuple(each.name for each in table)
        rows = seat_orders(job.seats, job.match_games, keyed_shuffle(job.key, "seats"))
        spec = MatchSpec(job.match, job.key, names, rows, job.terms)
        self.begin("qualifying match", f"{len(rows)} games against {', '.join(names[1:])}")
        with closing(Worker(cache)) as worker:
            played = worker.play(Job(spec, tuple(table), job.choice)).match
        self.note(self.describe(played, names, checked))
        return played

    def describe(self, played: PlayedMatch, names: tuple[str, ...], checked: Bot) -> CheckStep:
        """Return the step of the match: its result, and the first fault of the version with its exchange."""
        record = read_record(played.record)
        games, won = len(record.games), sum(result.winner == result.seats.index(names[0]) for result in played.results)
        text = f"{games} games against {', '.join(names[1:])}: won {won}"
        faults = _faults(record)
        if not faults:
            return CheckStep("qualifying match", Severity.OK, f"{text}, without a fault")
        lost = sum(any(FAULTS[fault.code].consequence is Consequence.FORFEIT for fault in of) for of in faults.values())
        first = next(fault for of in faults.values() for fault in of)
        exchange = next((each for each in played.exchanges if (each.bot, each.code) == (names[0], first.code)), None)
        stderr = _last_lines(self.quoted(data) for bot, _, data in played.logs if bot == names[0])
        help = diagnose_fault(
            FaultContext(
                first.code,
                first.detail,
                b"" if exchange is None else exchange.sent,
                None if exchange is None else exchange.got,
                b"\n".join(stderr),
                self.job.choice.name,
                checked.argv,
                checked.path.is_file(),
                Facts() if exchange is None else Facts(**dict(exchange.facts)),
            )
        )
        count = sum(fault.count for of in faults.values() for fault in of if not FAULTS[fault.code].is_consequence)
        what = f"it forfeited {lost} of {games} games" if lost else f"{text}, with faults: {count}"
        return CheckStep(
            "qualifying match",
            Severity.FAIL if lost else Severity.NOTE,
            f"{what}; {help.message}",
            advice=help.advice,
            sent=None if exchange is None else exchange.sent,
            received=None if exchange is None else exchange.got,
            stderr=stderr,
        )


def _shorten(log: bytes) -> bytes:
    """Return a build's log, its middle left out if it is long."""
    capture = BoundedLog(_MAX_LOG_BYTES)
    capture.feed(log)
    return capture.render()


def _faults(record: Record) -> dict[int, list[Fault]]:
    """Return the faults of the match's first bot by game."""
    by_game = {game.game: [fault for fault in game.faults if fault.bot == 0] for game in record.games}
    return {game: faults for game, faults in by_game.items() if faults}


def _last_lines(logs: Iterable[bytes]) -> tuple[bytes, ...]:
    """Return the last lines of standard error that the bot wrote itself, of the last process that wrote any."""
    for data in reversed(list(logs)):
        lines = list_own_lines(data)
        if lines:
            return tuple(lines[-_MAX_LAST_LINES:])
    return ()


@dataclass(eq=False, slots=True)
class Task:
    """A match to play, or a version to check; its id is the match's or the version's."""

    id: int
    work: WorkItem | VersionCheckJob

    @property
    def exam(self) -> bool:
        """Whether it is a check."""
        return isinstance(self.work, VersionCheckJob)


def run_task(task: Task) -> MatchOutput | VersionCheckResult:
    """Do a task, in a worker."""
    if isinstance(task.work, VersionCheckJob):
        with limit_time(task.work.limit_s):
            return check_version(task.work)
    played = play_work_item(task.work)
    return replace(played, match=replace(played.match, styles=count_play_styles(read_record(played.match.record))))
