"""Check one bot, step by step, and report each step with its finding and the lines that crossed the pipe.

Steps have a fixed order; the first failure ends the check where later steps would be meaningless. Each process gets a
box of its own, which is closed in the thread that started it. Times are wall time. A bot has as long to start and to
think as in a match."""

import json
import math
import os
import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from arena.bots import (
    MAX_UNPACKED_BYTES,
    Bot,
    BotError,
    BuildError,
    BuildLogExcerpt,
    BytecodeCache,
    build_all,
    build_in_box,
    build_log_path,
    escape_control,
    excerpt_warnings,
    files_of,
    foreign_imports,
    is_changed,
    is_older,
    load_bots,
    size_of,
    with_kit,
)
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.diagnosis import FaultContext, diagnose_fault
from arena.checks.host import Finding, Severity
from arena.checks.scripted_table import ScriptedTable, Timeouts, request_kinds
from arena.coup import PRESETS, Ruleset
from arena.referee import MatchSettings, MatchSpec, Timing
from arena.sandbox import ProgramError, Sandbox, SandboxChoice, programs_of
from protocol import Malformed, decode, encode, escape_bytes

_LINE, _STDERR_LINE = 65_536, 1000  # characters of a line that a view has


@dataclass(frozen=True, slots=True)
class CheckStep(Finding):
    """One step, which FAIL or OK ends, or NOTE: worth knowing, but nothing to fix; NOW hasn't ended.

    sent: the last line that the bot was sent; received: its faulty line, both as they crossed the pipe, None without
    one. stderr: the last lines of its standard error; of a build the most informative ones. timings: a table, its head
    first. log: the whole output of a build. partial: there is more in it than in `stderr`.
    """

    number: int = 0
    sent: bytes | None = None
    received: bytes | None = None
    stderr: tuple[bytes, ...] = ()
    timings: tuple[tuple[str, ...], ...] = ()
    log: bytes = b""
    partial: bool = False

    def view(self) -> "CheckStepView":
        """Return the form for programs and pages."""
        return CheckStepView(
            check=_printable(self.check),
            severity=self.severity,
            message=_printable(self.message),
            fix_command=_printable(self.fix_command),
            advice=_printable(self.advice),
            number=self.number,
            sent=None if self.sent is None else escape_bytes(self.sent, _LINE),
            received=None if self.received is None else escape_bytes(self.received, _LINE),
            stderr=tuple(escape_bytes(line, _STDERR_LINE) for line in self.stderr),
            timings=self.timings,
        )


@dataclass(frozen=True, slots=True)
class CheckStepView(Finding):
    """A step with printable texts: other characters are escaped."""

    number: int = 0
    sent: str | None = None
    received: str | None = None
    stderr: tuple[str, ...] = ()
    timings: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check of a bot. passed: no step failed."""

    bot: str
    passed: bool
    steps: tuple[CheckStepView, ...]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of `arena check --json`."""

    version: int
    bots: tuple[CheckResult, ...]


def _printable(text: str) -> str:
    return "\n".join(escape_bytes(line.encode(errors="surrogateescape"), _LINE) for line in text.split("\n"))


BUILD_S = 600  # how long a build may take
HELLO_S = Timing().start_ms / 1000  # as a match allows by default
_START_S = 1.0  # a bot that takes longer to start is asked in as few games as have all kinds of requests
SLOW_S = 3.0  # a hello that comes later is reported as a note
TIMEOUTS = Timeouts(Timing().limit_ms / 1000, Timing().bank_ms / 1000)  # as a match allows by default
LEAVE_S = 0.5  # as SPEC promises
UNRESPONSIVE_S = 2.0  # a bot that is silent for longer after its hello is reported
_REQUESTS = 60  # of the first process at least: a mistake may come at the fiftieth
_MAX_GAMES = 12  # of one process
_SUSPICIOUS_CHOICES = 20  # choices of the first legal move alone, of one process, that look like a mistake
_QUICK = 8  # requests of the quick look
CHECK_KEY = bytes(range(32))  # every bot plays with the same cards against the same opponents
_REFUSED = (b"Read-only file system", b"EROFS")  # what a program says that was kept from writing


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """How bots are checked. `scratch` is a folder for builds; `rules` are the games whose requests are asked.

    `hello_s` and `timeouts` are how long the checker waits. `seats` are those of a table, None for few. `clock`
    returns seconds; if it raises, the check ends. Boxes are started and closed under the `lock`.
    `silence_fails`: a match would wait no longer for a request's answer than the quick look does. `build_s`: how
    long a build may take. `leave_s`: how long a process may run on after its input ended. `enough_s`: of one
    process's answers, after which no further game begins. `on_build` is called before a bot is built. `bytecode` is
    what was compiled of the bots. `root`: where relative paths of bots count from; if it is absolute, no step names
    it.
    """

    sandbox: Sandbox
    choice: SandboxChoice
    scratch: Path
    terms: MatchSettings = field(default_factory=MatchSettings)
    rules: tuple[Ruleset, ...] = tuple(PRESETS.values())
    hello_s: float = HELLO_S
    timeouts: Timeouts = TIMEOUTS
    seats: int | None = None
    silence_fails: bool = True
    build_s: float = BUILD_S
    leave_s: float = LEAVE_S
    enough_s: float = math.inf
    root: Path = Path()
    clock: Callable[[], float] = time.monotonic
    lock: AbstractContextManager[object] = field(default_factory=nullcontext)
    on_build: Callable[[Bot], None] = lambda bot: None
    bytecode: BytecodeCache = field(default_factory=BytecodeCache)

    def quoted(self, printed: bytes) -> bytes:
        """Return what a program printed, paths below the root without it."""
        return printed.replace(os.fsencode(self.root) + b"/", b"") if self.root.is_absolute() else printed


def check_bot(argument: str, exam: CheckSettings) -> Generator[CheckStep, None, None]:
    """Check what a user calls a bot, and yield the steps.

    Raises SandboxError or OSError if this machine fails. The check's processes are ended when the iterator is.
    """
    examination = BotCheck(exam)
    for number, step in enumerate(chain(examination.steps_before_run(argument), examination.steps_of_run()), 1):
        yield replace(step, number=number)


def smoke_test(bot: Bot, exam: CheckSettings, mute: Callable[[], None]) -> CheckStep:
    """Start a bot, exchange hellos, and play the beginning of one game by the first of the rules.

    `mute` is called if the bot says nothing for two seconds after its hello. Raises SandboxError if this machine fails.
    """
    examination = BotCheck(exam)
    examination.bot = bot
    try:
        with examination.process(exam.rules[0]) as table:
            table.greet(exam.hello_s)
            table.notify = (UNRESPONSIVE_S, mute)
            table.play(enough=_QUICK)
    except _FailedError as failed:
        if exam.silence_fails or failed.code != "timeout" or failed.step.received is not None:
            return failed.step
    return CheckStep("plays", Severity.OK, "")


class _FailedError(Exception):
    """Carry the step that failed out of a process."""

    def __init__(self, step: CheckStep, code: str | None = None) -> None:
        super().__init__(step.message)
        self.step = step
        self.code = code  # the fault's, of a conversation that broke


class BotCheck:
    """The check of one bot. `step` names the step that is being done, so that whatever fails is its failure."""

    bot: Bot

    def __init__(self, exam: CheckSettings) -> None:
        self.exam = exam
        self.step = ""
        self.game = ""  # which game the requests belong to, where that isn't plain
        self.times: list[float] = []
        self.hello_s = 0.0
        self.fit = True  # until a step before it runs has failed
        self.siblings: frozenset[str] = frozenset()  # what was in the bot's folder before it ran
        self.shares = False  # other bots run in the same folder meanwhile
        self.peak_bytes = 0  # of any process; 0 if it isn't known
        self.uncalled: dict[bytes, None] = {}  # lines in which the bot's kit names a method that it never calls
        self.others: set[str] = set()  # the kinds of request at which it ever chose another than the first legal move
        self.refused: tuple[bytes, ...] = ()  # lines of standard error about a write that was refused

    def steps_before_run(self, argument: str) -> Iterator[CheckStep]:
        """Yield the steps before the bot runs, up to one that fails."""
        try:
            yield self.find(argument)
            if not self.exam.choice.isolates and (names := foreign_imports(self.bot)):
                yield self.imports(names)
            if self.bot.build is not None:
                yield self.build()
        except _FailedError as failed:
            self.fit = False
            yield failed.step

    def steps_of_run(self) -> Iterator[CheckStep]:
        """Yield the steps of a bot that can run, up to one that makes the rest meaningless."""
        if not self.fit:
            return
        try:
            yield from self.first_process()
            yield from self.every_kind()
            yield self.writes(self.siblings)
            yield self.report_times()
        except _FailedError as failed:
            yield failed.step

    # -- before it runs

    def find(self, argument: str) -> CheckStep:
        """Find the bot's file and what runs it."""
        self.step = "file"
        try:
            bots, remarks = load_bots([argument], programs_of(self.exam.choice.name), self.exam.root)
            bot = bots[0]
            self.bot = with_kit(bot, self.exam.choice.isolates, self.exam.scratch / "kit")
        except BotError as problem:
            raise _FailedError(_of_error(self.step, problem)) from None
        self.siblings = _siblings(self.bot)
        command = "; ".join([bot.command, *remarks])
        if is_older(bot):
            help = "take the newer one: arena new makes a folder with it; without the file the bot plays with it, too"
            return self.make_step(Severity.NOTE, f"{command}; its kit is older than the arena's", help)
        if odd := self.odd_file():
            return self.make_step(Severity.WARN, f"{command}; {odd[0]}", odd[1])
        size = size_of(bot.path) if bot.path.is_dir() else 0
        if size > MAX_UNPACKED_BYTES:
            text = f"{command}; its folder has {size / 2**20:.0f} MB, and a ladder takes {MAX_UNPACKED_BYTES >> 20} MB"
            return self.make_step(
                Severity.NOTE, text, "leave out what the bot doesn't need to play; see docs/ladder.md"
            )
        return self.ok(command)

    def odd_file(self) -> tuple[str, str] | None:
        """Report the first file that a box or a ladder wouldn't have as its author does, and what to do."""
        folder = self.bot.path
        for name in files_of(folder) if folder.is_dir() else ():
            file = folder / name
            if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(os.path.realpath(folder)):
                return (
                    f"the link {escape_control(name)} leads out of the folder",
                    "copy what it leads to into the folder",
                )
            if file.is_file() and file.stat().st_size < _POINTER and file.read_bytes().startswith(_LFS):
                return (
                    f"{escape_control(name)} is a pointer of Git LFS, not the file",
                    "run git lfs pull before you submit it",
                )
        return None

    def imports(self, names: tuple[str, ...]) -> CheckStep:
        """Report packages that a plain process may have, but a box doesn't."""
        self.step = "imports"
        text = (
            f"{', '.join(names[:5])}{', ...' * (len(names) > 5)}: a box has the standard library and the bot's folder"
        )
        return self.make_step(
            Severity.NOTE, text, "put it into the bot's folder, or ask the organiser; see docs/box.md"
        )

    def build(self) -> CheckStep:
        """Build the bot as a run would."""
        self.step = "build"
        exam, began = self.exam, time.monotonic()
        logs = exam.scratch / "logs"
        log = build_log_path(0, self.bot, logs)
        exam.on_build(self.bot)
        try:
            if exam.choice.isolates:
                programs, folder = programs_of(exam.choice.name), exam.scratch / "bots"
                self.bot = build_in_box([self.bot], exam.sandbox, programs, folder, logs, exam.build_s)[0]
            else:
                self.bot = build_all([self.bot], logs, exam.build_s)[0]
        except BuildError as problem:
            failed = self.make_step(Severity.FAIL, problem.what, problem.help)
            raise _FailedError(self.build_step(failed, problem.excerpt, log)) from None
        except BotError as problem:
            raise _FailedError(_of_error(self.step, problem)) from None
        self.siblings = _siblings(self.bot)
        warned = excerpt_warnings(log)
        build, seconds = " ".join(self.bot.build or ()), time.monotonic() - began
        text = f"{build} took {seconds:.1f} s{', with warnings' * bool(warned.lines)}"
        return self.build_step(self.ok(text), warned, log)

    # -- processes

    @contextmanager
    def process(self, rules: Ruleset) -> Iterator[ScriptedTable]:
        """Give a table with a new process. Raises _FailedError for whatever breaks, with all that is known of it."""
        exam, bot = self.exam, self.bot
        try:
            with exam.lock:
                box = exam.sandbox.start(exam.bytecode.program(bot, exam.choice, exam.sandbox), exam.terms.limits)
        except ProgramError as problem:
            raise _FailedError(CheckStep(self.step, Severity.FAIL, str(problem))) from None
        try:
            talk = BotConnection(box, exam.terms.limits, exam.clock, exam.quoted)
            try:
                table = ScriptedTable(talk, _spec(rules, exam.terms, exam.seats), exam.timeouts)
                yield table
                self.others |= table.tally.others
            except ConnectionBrokenError as broken:
                raise _FailedError(self.fault_step(broken, talk), broken.code) from None
            finally:
                self.times += talk.times
                self.peak_bytes = max(self.peak_bytes, box.peak_bytes() or 0)
                self.uncalled |= dict.fromkeys(line for line in talk.stderr(_ALL) if line.startswith(_UNCALLED))
                lines = [line for line in talk.stderr(200) if any(words in line for words in _REFUSED)]
                self.refused = (*self.refused, *lines)[-4:]
        finally:
            with exam.lock:
                box.close()

    def first_process(self) -> Iterator[CheckStep]:
        """Play with one process until it leaves."""
        self.step = "hello"
        with self.process(self.exam.rules[0]) as table:
            self.hello_s = table.greet(self.exam.hello_s)
            yield self.greeted()
            self.step = "first game"
            table.play()
            table.require_valid_statements()
            first = list(table.tally.choices)
            yield self.ok(f"{_requests(len(first))} answered with legal moves")
            self.step = "more games"
            while self.wants_more(table):
                table.play()
            yield self.ok(f"{table.tally.games} games in one process, {_requests(len(table.tally.choices))}")
            self.step = "unknown things"
            yield from self.unknown(table)
            self.step = "end of input"
            yield self.leaving(table.talk)
        if self.uncalled:
            yield self.methods()
        if not any(table.tally.choices) and len(table.tally.choices) >= _SUSPICIOUS_CHOICES:
            self.step = "choices"
            text = f"it always plays legal[0], {len(table.tally.choices)} times"
            yield self.make_step(Severity.NOTE, text, "if that isn't meant: does each method return its move?")
        self.step = "standard output"
        yield self.strays(table.talk)
        self.step = "same seeds"
        yield self.retry(first)

    def greeted(self) -> CheckStep:
        """Report how long the bot took to start, as a note where it was slow."""
        if self.hello_s <= SLOW_S:
            return self.ok(f"after {self.hello_s * 1000:.0f} ms")
        text = f"it took {self.hello_s:.1f} s of {self.exam.hello_s:g} s to start"
        return self.make_step(Severity.NOTE, text, "load less before the hello: a busier machine takes longer")

    def wants_more(self, table: ScriptedTable) -> bool:
        """Return whether a process is to play another game: up to a number of requests, and two games at least."""
        tally = table.tally
        few = len(tally.choices) < _REQUESTS and tally.games < _MAX_GAMES and not self.slow(table)
        return few or tally.games < 2

    def slow(self, table: ScriptedTable) -> bool:
        """Return whether a process has taken too long for another game."""
        return sum(table.talk.times) > self.exam.enough_s

    def unknown(self, table: ScriptedTable) -> Iterator[CheckStep]:
        """Send what a later version of the protocol may have, and an error."""
        table.talk.send(encode({"type": "weather", "sky": ["blue", None], "wind": {"from": "west", "knots": 7}}))
        table.change = _with_more
        table.play(enough=3)
        table.change = _turned
        table.play(enough=3)
        table.change = lambda line: line
        yield self.ok("it ignores a line, a field and an order of fields that it doesn't know")
        self.step = "error line"
        table.warn()
        table.play(enough=3)
        yield self.ok("it continues after an error line")

    def leaving(self, talk: BotConnection) -> CheckStep:
        """End the input, and see whether the process ends."""
        talk.send(encode({"type": "match_over"}))
        ended = talk.leaves(self.exam.leave_s)
        if ended is None:
            help = "leave when standard input ends: a loop over its lines ends by itself; end threads and children, too"
            return self.make_step(
                Severity.FAIL, f"it still runs {self.exam.leave_s * 1000:.0f} ms after its input ended", help, talk
            )
        return self.ok("it leaves")

    def methods(self) -> CheckStep:
        """Report methods whose names nearly are a request's, from lines of the bot's kit."""
        self.step = "methods"
        help = "spell them as the kit does, else the first legal move is played for them"
        return replace(
            self.make_step(Severity.WARN, "the kit never calls a method", help), stderr=tuple(self.uncalled)[:_SHOWN]
        )

    def strays(self, talk: BotConnection) -> CheckStep:
        """Return whether anything but answers came."""
        if not talk.stray_count:
            return self.ok("nothing but answers")
        help = "print nothing but replies to standard output, one for each request"
        text = f"{talk.stray_count} lines that answer nothing"
        return replace(self.make_step(Severity.FAIL, text, help, talk), received=talk.strays[0])

    def retry(self, first: list[int]) -> CheckStep:
        """Play the first game once more in another process."""
        with self.process(self.exam.rules[0]) as table:
            table.greet(self.exam.hello_s)
            table.play()
        if table.tally.choices == first:
            return self.ok("another process plays the same game")
        text = "another process with the same seeds plays otherwise: its games can't be repeated"
        return self.make_step(Severity.NOTE, text, "seed your generator with each game's game_seed, if you want that")

    def every_kind(self) -> Iterator[CheckStep]:
        """Ask every kind of request of every game, each game in a process of its own."""
        self.step = "all requests"
        rows: dict[str, list[int]] = {}
        names = []
        for rules in self.exam.rules if self.hello_s < _START_S else _few(self.exam.rules):
            self.game = f"{rules.name}: "
            with self.process(rules) as table:
                table.greet(self.exam.hello_s)
                tally = table.tally
                while (
                    (left := request_kinds(rules) - tally.asked.keys())
                    and tally.games < _MAX_GAMES
                    and not self.slow(table)
                ):
                    table.play(left, override=True)
                table.require_valid_statements()
            names.append(rules.name)
            for kind, count in tally.asked.items():
                row = rows.setdefault(kind, [0, 0])
                row[0] += count
                row[1] += tally.answered.get(kind, 0)
        self.game = ""
        never = sorted(_all_kinds(self.exam.rules) - rows.keys())
        text = f"{len(rows)} kinds of request in {len(names)} {'game' if len(names) == 1 else 'games'}" + (
            f"; never asked: {', '.join(never)}" if never else ""
        )
        table_rows = [("kind", "asked", "answered"), *((kind, str(a), str(b)) for kind, (a, b) in sorted(rows.items()))]
        yield replace(self.ok(text), timings=tuple(table_rows))
        turns = rows["turn"][1]
        if self.others and "turn" not in self.others and turns >= _SUSPICIOUS_CHOICES:
            self.step = "choices"
            text = f"at its turns it always plays legal[0], {turns} times"
            yield self.make_step(Severity.NOTE, text, "if that isn't meant: does turn() return its move?")

    # -- what is left to report

    def writes(self, siblings: frozenset[str]) -> CheckStep:
        """Return whether the bot wrote, or tried to write, where it may not."""
        self.step = "files"
        help = "write below the folder that the environment variable TMPDIR names, never next to the program"
        files = sorted(_siblings(self.bot) - siblings)
        if self.exam.choice.isolates and self.refused:
            return replace(self.make_step(Severity.NOTE, "a write was refused", help), stderr=self.refused)
        if not self.exam.choice.isolates and (files or (self.bot.build is None and is_changed(self.bot))):
            what = ", ".join(files[:3]) or "a file of its own"
            if self.shares and files:
                text = f"it wrote next to itself, or another bot of its folder did: {what}"
                return self.make_step(Severity.NOTE, text, f"{help}; to see which it was, examine them one by one")
            return self.make_step(Severity.FAIL, f"it wrote next to itself: {what}", help)
        return self.ok("it writes nothing next to itself")

    def report_times(self) -> CheckStep:
        """Report times and memory with their limits."""
        self.step = "times"
        times = sorted(self.times)
        timing = self.exam.terms.timing
        median, high = statistics.median(times) * 1000, times[int(0.99 * (len(times) - 1))] * 1000
        text = f"median {median:.1f} ms, 99 of 100 within {high:.1f} ms of {timing.limit_ms} ms"
        text += f"; hello after {self.hello_s * 1000:.0f} ms of {timing.start_ms} ms"
        if self.peak_bytes:
            text += f"; memory {math.ceil(self.peak_bytes / 2**20)} MB of {self.exam.terms.limits.memory_mb} MB"
        level = Severity.OK if high <= timing.limit_ms else Severity.NOTE
        return self.make_step(level, text)

    # -- making steps

    def ok(self, detail: str) -> CheckStep:
        """Return the present step, done well."""
        return CheckStep(self.step, Severity.OK, detail)

    def make_step(self, level: Severity, detail: str, help: str = "", talk: BotConnection | None = None) -> CheckStep:
        """Return the present step with what was found."""
        stderr = () if talk is None else _excerpt(talk.stderr())
        return CheckStep(self.step, level, detail, advice=help, stderr=stderr)

    def fault_step(self, broken: ConnectionBrokenError, talk: BotConnection) -> CheckStep:
        """Return the present step, in which a conversation broke."""
        stderr, bot = talk.stderr(), self.bot
        seen = FaultContext(
            broken.code,
            broken.detail,
            broken.sent,
            broken.got,
            b"\n".join(stderr),
            self.exam.choice.name,
            bot.argv,
            bot.path.is_file(),
            broken.facts,
            _source(bot),
            self.siblings,
        )
        hint = diagnose_fault(seen)
        text, sent = self.game + hint.message, broken.sent or None
        return CheckStep(
            self.step, Severity.FAIL, text, advice=hint.advice, sent=sent, received=broken.got, stderr=_excerpt(stderr)
        )

    def build_step(self, step: CheckStep, part: BuildLogExcerpt, log: Path) -> CheckStep:
        """Return the step with what its build printed."""
        quoted = self.exam.quoted
        return replace(step, stderr=tuple(map(quoted, part.lines)), log=quoted(log.read_bytes()), partial=part.partial)


def _excerpt(stderr: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the few lines that are shown: from the last line on in which a kit says what failed, else the last lines.

    Of Python's traceback the end has the author's own line.
    """
    places = [place for place, line in enumerate(stderr) if line.startswith(_KIT) and b" failed " in line]
    if not places:
        return tuple(stderr[-_SHOWN:])
    lines = stderr[places[-1] :]
    return (lines[0], *lines[1:][-_SHOWN + 1 :]) if _PYTHON in lines else tuple(lines[:_SHOWN])


_LFS, _POINTER = b"version https://git-lfs.github.com/", 512  # how a pointer begins, and its most bytes
_KIT = b"coup_kit: "
_UNCALLED = b"coup_kit: the kit never calls "
_PYTHON = b"Traceback (most recent call last):"
_SHOWN = 8  # lines of standard error with a step
_SOURCE = 1 << 20  # bytes of a program that is read for help
_ALL = 100_000  # lines: the first that a bot wrote are kept, too


def _spec(rules: Ruleset, terms: MatchSettings, seats: int | None) -> MatchSpec:
    """Return a match in which the checked bot is number 0, and sits in each seat in turn."""
    seats = seats or next(count for count in (3, 2, *range(4, 11)) if rules.problem(count) is None)
    names = ("bot", *(f"examiner-{number}" for number in range(1, seats)))
    seatings = tuple(tuple((place - game) % seats for place in range(seats)) for game in range(seats))
    return MatchSpec(0, CHECK_KEY, names, seatings, replace(terms, rules=rules))


def _all_kinds(games: Sequence[Ruleset]) -> frozenset[str]:
    return frozenset().union(*map(request_kinds, games))


def _few(games: Sequence[Ruleset]) -> list[Ruleset]:
    """Return some of the games in which all kinds of request come up: those first that have most of what is left."""
    few: list[Ruleset] = []
    while left := _all_kinds(games) - _all_kinds(few):
        few.append(max(games, key=lambda rules: len(request_kinds(rules) & left)))
    return few


def _of_error(name: str, problem: BotError) -> CheckStep:
    """Return the step of an error whose first line says what is wrong, and whose others say what to do."""
    what, _, help = str(problem).partition("\n")
    return CheckStep(name, Severity.FAIL, what, advice=help)


def _siblings(bot: Bot) -> frozenset[str]:
    """Return the names in the bot's working folder."""
    try:
        return frozenset(path.name for path in bot.cwd.iterdir() if path.name != "__pycache__")
    except OSError:
        return frozenset()


def _source(bot: Bot) -> bytes:
    """Return the text of the bot's program: the first word of its command that is a file of its own, else nothing."""
    for word in bot.argv:
        path = bot.cwd / word
        with suppress(OSError):
            if path.is_file() and path.is_relative_to(bot.cwd) and path.stat().st_size <= _SOURCE:
                text = path.read_bytes()
                return b"" if b"\0" in text else text
    return b""


def _requests(count: int) -> str:
    return f"{count} request{'s' if count != 1 else ''}"


def _with_more(line: bytes) -> bytes:
    """Return the line with fields that no bot knows."""
    message = decode(line)
    assert not isinstance(message, Malformed)
    return encode({"later": {"a": [1, None]}, **message, "hint": None})


def _turned(line: bytes) -> bytes:
    """Return the line with its fields in another order, and with blanks."""
    message = decode(line)
    assert not isinstance(message, Malformed)
    return json.dumps(dict(reversed(message.items()))).encode() + b"\n"
