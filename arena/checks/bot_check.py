"""Check one bot, step by step, and report each step with its finding and the lines that crossed the pipe.

Steps have a fixed order; a failure ends the check if later steps would be meaningless. Each process gets its own box,
which is closed in the thread that started it. Times are wall time. The time limits are those of a match."""

import json
import math
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from arena import bots
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.bot_files import find_odd_file, list_files, list_siblings, read_source
from arena.checks.check_settings import CheckSettings
from arena.checks.check_step import CheckStep, StepFailedError, excerpt
from arena.checks.endurance import MATCH_REQUESTS, Endurance, Growth
from arena.checks.fault_context import FaultContext, parse_object
from arena.checks.fault_replay import FaultReplay
from arena.checks.fault_signs import growth, growth_advice, helper_process
from arena.checks.host_check import Severity
from arena.checks.mistakes import diagnose_fault
from arena.checks.process_findings import ProcessFindings
from arena.checks.request_features import list_features
from arena.checks.request_kinds import all_kinds, covering_rulesets, is_beyond, request_kinds
from arena.checks.scripted_table import RARE_FORMS, Change, ReplyCounts, ScriptedTable, make_spec
from arena.coup import Ruleset
from arena.formatting import format_count
from arena.referee import FAULTS
from arena.sandbox import ProgramError, programs_of
from protocol import encode

_START_S = 1.0  # a bot that takes longer to start plays only the games needed for all kinds of requests
SLOW_S = 3.0  # a later hello is reported as a note
_LATE_EXIT = 9  # times LEAVE_S: a process that ends this late is only noted
_MIN_REQUESTS = 60  # to the first process: a mistake may happen only at the fiftieth
_MAX_GAMES = 12  # for one process
_SUSPICIOUS_CHOICES = 20  # if a process always chooses the first legal move this often, it looks like a mistake


def smoke_test(bot: bots.Bot, settings: CheckSettings, mute: Callable[[], None]) -> CheckStep:
    """Start a bot, exchange hellos, and play the beginning of one game with the first ruleset; return the result.

    `mute` is called once a request has had no answer for two seconds. The step is OK, or the failed one; it is also OK
    after a timeout without a line, unless `silence_fails`. Raises SandboxError if this machine fails.
    """
    check = BotCheck(settings)
    check.bot = bot
    try:
        with check.open_table(settings.rules[0]) as table:
            table.greet(settings.hello_s)
            table.notify = (2.0, mute)
            table.play(requests=8)
    except StepFailedError as failed:
        is_silent = failed.code == "timeout" and failed.step.received is None
        if settings.silence_fails or not is_silent:
            return failed.step
    return CheckStep("plays", Severity.OK, "")


class BotCheck:
    """The check of one bot. `step`: the name of the current step, to which failures belong.

    Methods that run the bot raise StepFailedError at its first fault, and SandboxError if this machine fails.
    """

    bot: bots.Bot
    usage: Endurance  # of the latest process

    def __init__(self, settings: CheckSettings) -> None:
        self.settings = settings
        self.step = ""
        self.findings = ProcessFindings()
        self.ruleset_prefix = ""  # "NAME: ", of the ruleset of the current game in `check_every_kind`
        self.hello_s = 0.0
        self.reported_s = 0.0  # when progress was last reported, on the settings' clock
        self.can_run = True  # whether no step before the run has failed
        self.siblings: frozenset[str] = frozenset()  # names in the bot's folder before it ran
        self.shares_folder = False  # whether other bots run in the same folder at the same time
        self.varied_kinds: set[str] = set()  # kinds of request at which it didn't always choose the first legal move
        self.by_hand = ""  # see CheckStep
        self.is_stderr_reported = False

    def steps_before_run(self, argument: str) -> Iterator[CheckStep]:
        """Yield the steps before the bot runs, until one fails."""
        try:
            yield self.load_bot(argument)
            if not self.settings.choice.isolates and (names := bots.foreign_imports(self.bot)):
                yield self.report_imports(names)
            if self.bot.build is not None:
                yield self.build()
        except StepFailedError as failed:
            self.can_run = False
            yield failed.step

    def steps_of_run(self) -> Iterator[CheckStep]:
        """Yield the steps that run the bot, until a failure makes the rest meaningless.

        Steps with the severity NOW report the progress of the step that follows them.
        """
        if not self.can_run:
            return
        self.reported_s = self.settings.clock()
        try:
            yield from self.check_first_process()
            yield from self.check_every_kind()
            yield self.check_writes()
            yield from self.report_stderr()
            yield self.findings.report_times(self.hello_s, self.settings.match_settings)
            if self.settings.endurance_s:
                yield from self.check_endurance()
                yield from self.report_stderr()
        except StepFailedError as failed:
            yield failed.step

    # -- before it runs

    def load_bot(self, argument: str) -> CheckStep:
        """Load the bot; return the step with its command, and with the first finding about its files.

        Sets `bot`, with its kit, and `siblings`; also `by_hand`, if the bot needs no kit and `root` is relative. Raises
        StepFailedError if the bot can't be loaded.
        """
        self.step = "file"
        try:
            (bot,), remarks = bots.load_bots([argument], programs_of(self.settings.choice.name), self.settings.root)
            self.bot = bots.copy_with_kit(bot, self.settings.choice.isolates, self.settings.scratch / "kit")
        except bots.BotError as problem:
            message, _, help = str(problem).partition("\n")
            raise StepFailedError(self.make_step(Severity.FAIL, message, help)) from None
        self.siblings = list_siblings(self.bot)
        if self.bot is bot and not self.settings.root.is_absolute():
            self.by_hand = _shell_command(bot)
        return self._report_files(bot, "; ".join([bot.command, *remarks]))

    def _report_files(self, bot: bots.Bot, command: str) -> CheckStep:
        """Return the step with the command and a finding, if any, about the bot's files as the user has them."""
        if bots.is_older(bot):
            help = "copy the kit from a folder made by arena new, or delete the file to use the arena's kit"
            return self.make_step(Severity.NOTE, f"{command}; its kit is older than the arena's", help)
        if odd_file := find_odd_file(bot):
            problem, fix = odd_file
            return self.make_step(Severity.WARN, f"{command}; {problem}", fix)
        size = bots.size_of(bot.path) if bot.path.is_dir() else 0
        if size > bots.MAX_UNPACKED_BYTES:
            limit = f"a ladder accepts {bots.MAX_UNPACKED_BYTES >> 20} MB"
            help = "remove files that the bot doesn't need to play; see docs/reference/web-pages.md"
            return self.make_step(Severity.NOTE, f"{command}; its folder has {size / 2**20:.0f} MB; {limit}", help)
        return self.ok(command)

    def report_imports(self, names: tuple[str, ...]) -> CheckStep:
        """Report imported packages that may be missing in a box."""
        self.step = "imports"
        shown_names = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        help = "copy it into the bot's folder, or ask the organiser; see docs/reference/sandbox.md"
        return self.make_step(
            Severity.NOTE, f"{shown_names}: a box has the standard library and the bot's folder", help
        )

    def build(self) -> CheckStep:
        """Build the bot as a run would, in a box if the sandbox isolates; the step has the log's warnings.

        Sets `bot` to the built bot, and `siblings`. Raises StepFailedError: with an excerpt of the log if the build
        failed, without one if it couldn't be started.
        """
        self.step = "build"
        settings, start_s = self.settings, time.monotonic()
        logs = settings.scratch / "logs"
        log = bots.build_log_path(0, self.bot, logs)
        settings.on_build(self.bot)
        try:
            if settings.choice.isolates:
                programs, folder = programs_of(settings.choice.name), settings.scratch / "bots"
                self.bot = bots.build_in_box([self.bot], settings.sandbox, programs, folder, logs, settings.build_s)[0]
            else:
                self.bot = bots.build_all([self.bot], logs, settings.build_s)[0]
        except bots.BuildError as error:
            step = self.make_step(Severity.FAIL, error.problem, self.advise_on_build(error.help, log))
            raise StepFailedError(self.add_build_log(step, error.excerpt, log)) from None
        except bots.BotError as problem:
            raise StepFailedError(self.make_start_error_step(problem, self.bot.build)) from None
        self.siblings = list_siblings(self.bot)
        warnings = bots.excerpt_warnings(log)
        command, duration_s = " ".join(self.bot.build or ()), time.monotonic() - start_s
        clause = ", with warnings" if warnings.lines else ""
        return self.add_build_log(self.ok(f"{command} took {duration_s:.1f} s{clause}"), warnings, log)

    def advise_on_build(self, help: str, log: Path) -> str:
        """Return the advice of the first mistake that the build's log shows, or else a general one, and `help`."""
        fault = replace(self.make_context("exited", None, self.bot.build or ()), stderr=log.read_bytes())
        advice = diagnose_fault(fault).advice
        if advice == diagnose_fault(FaultContext("exited")).advice:
            advice = "" if help.startswith("Correct") else "Correct the first error that the build printed."
        elif help in (bots.IN_BOXES, advice):
            return advice
        return "\n".join(filter(None, (advice, help)))

    # -- processes

    @contextmanager
    def open_table(self, rules: Ruleset, seats: int | None = None) -> Iterator[ScriptedTable]:
        """Open a table with a new process. Raises StepFailedError, with the diagnosis, for any fault in the context."""
        with self.open_undiagnosed_table(rules, seats) as table:
            try:
                yield table
            except ConnectionBrokenError as broken:
                raise StepFailedError(self.make_fault_step(broken, table), broken.code) from None

    @contextmanager
    def open_undiagnosed_table(self, rules: Ruleset, seats: int | None) -> Iterator[ScriptedTable]:
        """Open a table with a new process, and collect what the process shows. seats: None for those of the settings.

        Sets `usage`. Raises StepFailedError if the process can't be started. A fault in the context stays a
        ConnectionBrokenError.
        """
        settings = self.settings
        limits = settings.match_settings.limits
        spec = make_spec(rules, settings.match_settings, seats or settings.seats)
        try:
            with settings.lock:
                program = settings.bytecode.program(self.bot, settings.choice, settings.sandbox)
                box = settings.sandbox.start(program, limits)
        except ProgramError as problem:
            raise StepFailedError(self.make_start_error_step(problem)) from None
        try:
            connection = BotConnection(box, limits, settings.clock, settings.quote, settings.idle_s)
            table = ScriptedTable(connection, spec, settings.timeouts)
            self.usage = Endurance(connection, settings.match_settings)
            table.on_phase = self.usage.measure
            try:
                yield table
                self.varied_kinds |= table.counts.varied_kinds
            finally:
                self.findings.add(connection, table.counts.kinds)
        finally:
            with settings.lock:
                box.close()

    def check_first_process(self) -> Iterator[CheckStep]:
        """Play with one process and end its input; then check its output, and whether another one plays the same."""
        self.step = "hello"
        with self.open_table(self.settings.rules[0]) as table:
            self.hello_s = table.greet(self.settings.hello_s)
            yield self.report_start_time()
            self.step = "first game"
            table.play()
            table.require_valid_statements()
            first_choices = list(table.counts.choices)
            yield self.ok(f"{format_count(len(first_choices), 'request')} answered with legal moves")
            self.step = "more games"
            while self.needs_more_games(table):
                yield from self.report_progress(format_count(len(first_choices), "request"))
                table.play()
            requests = format_count(len(table.counts.choices), "request")
            yield self.ok(f"{table.counts.games} games in one process, {requests}")
            self.step = "unknown things"
            yield from self.check_unknown_input(table)
            self.step = "end of input"
            yield self.check_exit(table.connection)
        if self.findings.uncalled:
            yield self.findings.report_uncalled_methods()
        self.step = "standard output"
        yield self.check_output(table.connection)
        self.step = "same seeds"
        yield self.check_same_seeds(first_choices)

    def report_start_time(self) -> CheckStep:
        """Return the step with the start time: OK, or a note if the start was slow."""
        if self.hello_s <= SLOW_S:
            return self.ok(f"after {self.hello_s * 1000:.0f} ms")
        text = f"it took {self.hello_s:.1f} s of {self.settings.hello_s:g} s to start"
        return self.make_step(Severity.NOTE, text, "do less before the hello: a busy machine takes longer")

    def needs_more_games(self, table: ScriptedTable) -> bool:
        """Return whether a process has to play another game, to reach the minimum of requests and of two games."""
        counts = table.counts
        has_few_requests = len(counts.choices) < _MIN_REQUESTS and counts.games < _MAX_GAMES and not self.is_slow(table)
        return has_few_requests or counts.games < 2

    def is_slow(self, table: ScriptedTable) -> bool:
        """Return whether a process has used `enough_s`."""
        return sum(table.connection.waits) > self.settings.enough_s

    def check_unknown_input(self, table: ScriptedTable) -> Iterator[CheckStep]:
        """Send unknown lines and fields, as a later version of the protocol may have, and an error line."""
        table.connection.send(encode({"type": "weather", "sky": ["blue", None], "wind": {"from": "west", "knots": 7}}))
        for table.altered, table.change in _ALTERED.items():
            table.play(requests=3)
        table.altered, table.change = "", lambda line: line
        yield self.ok("ignores unknown lines, unknown fields and the order of fields")
        self.step = "error line"
        table.send_warning()
        table.play(requests=3)
        yield self.ok("continues after an error line")

    def check_exit(self, connection: BotConnection) -> CheckStep:
        """End the match, and check that the process ends after the end of its input; wait for it up to ten times."""
        connection.send(encode({"type": "match_over"}))
        if connection.await_exit(self.settings.leave_s) is not None:
            return self.ok("exits")
        limit = f"{self.settings.leave_s * 1000:.0f} ms after its input ended"
        if connection.await_exit(_LATE_EXIT * self.settings.leave_s) is not None:
            help = "this costs nothing in a match; a program that holds much memory may need the time to free it"
            return self.make_step(Severity.NOTE, f"exits later than {limit}", help)
        help = "exit when standard input ends (a loop over its lines does); end threads and child processes, too"
        return self.make_step(Severity.FAIL, f"still runs {limit}", help, connection)

    def check_output(self, connection: BotConnection) -> CheckStep:
        """Check that the bot printed only answers."""
        if not connection.stray_count:
            return self.ok("only replies")
        help = "print nothing but replies to standard output, one for each request"
        count = connection.stray_count
        text = f"{count} lines don't answer a request" if count > 1 else "a line doesn't answer a request"
        return replace(self.make_step(Severity.FAIL, text, help, connection), received=connection.strays[0])

    def check_same_seeds(self, first_choices: list[int]) -> CheckStep:
        """Check whether another process makes the same choices in the first game."""
        with self.open_table(self.settings.rules[0]) as table:
            table.greet(self.settings.hello_s)
            table.play()
        if table.counts.choices == first_choices:
            return self.ok("a second process plays the same game")
        text = "a second process with the same seeds plays differently: the bot's games can't be repeated"
        return self.make_step(Severity.NOTE, text, "for repeatable games, seed your generator with game_seed")

    def check_every_kind(self) -> Iterator[CheckStep]:
        """Ask for all kinds of requests with a new process for each ruleset, then play drawn games with another one.

        A slow bot plays only a few rulesets that together have all kinds. Yields progress, the step with the counts,
        and a note if the bot always chose the first move of its turns.
        """
        self.step = "all requests"
        requests: Counter[str] = Counter()  # by kind
        answers: Counter[str] = Counter()
        waits_s = sum(map(sum, self.findings.waits.values()))
        is_fast = self.hello_s < _START_S and waits_s < self.settings.enough_s
        rulesets = self.settings.rules if is_fast else covering_rulesets(self.settings.rules)
        for rules in rulesets:
            self.ruleset_prefix = f"{rules.name}: "
            counts = yield from self._play_every_kind(rules)
            requests += counts.requests
            answers += Counter(counts.kinds)
        self.ruleset_prefix = ""
        self._play_drawn_games()
        yield self._make_kinds_step(requests, answers, len(rulesets))
        if "turn" not in self.varied_kinds and answers["turn"] >= _SUSPICIOUS_CHOICES:
            yield self._note_constant_choices(answers["turn"])

    def _note_constant_choices(self, turns: int) -> CheckStep:
        """Return a note about a bot that chose the first legal move in all of its turns."""
        self.step = "choices"
        scope = "in its turns " if self.varied_kinds else ""
        help = "if this isn't intended, check that turn(), and each other method, returns its move"
        return self.make_step(Severity.NOTE, f"{scope}the bot always plays legal[0], {turns} times", help)

    def _play_every_kind(self, rules: Ruleset) -> Generator[CheckStep, None, ReplyCounts]:
        """Play games of a ruleset until all its kinds of requests were made, or the bot is slow; return the counts."""
        kinds = request_kinds(rules) | (RARE_FORMS if rules is self.settings.rules[0] else frozenset())
        with self.open_table(rules) as table:
            table.greet(self.settings.hello_s)
            counts = table.counts
            while (missing_kinds := kinds - counts.forms) and counts.games < _MAX_GAMES and not self.is_slow(table):
                yield from self.report_progress(f"{rules.name}, {format_count(len(counts.choices), 'request')}")
                table.play(missing_kinds, override=True)
            table.require_valid_statements()
        return counts

    def _play_drawn_games(self) -> None:
        """Play games that end in a draw, which has no winner."""
        rules = self.settings.rules[0]
        seats = self.settings.seats or max(count for count in range(2, 11) if rules.problem(count) is None)
        with self.open_table(replace(rules, turn_limit=_DRAWN_AFTER), seats) as table:
            table.greet(self.settings.hello_s)
            for requests in (8, MATCH_REQUESTS, 3):
                table.play(requests=requests, calm=requests == MATCH_REQUESTS)

    def _make_kinds_step(self, requests: Counter[str], answers: Counter[str], games: int) -> CheckStep:
        """Return the step with a row (kind, asked, answered) for each kind of request, sorted."""
        missing_kinds = sorted(all_kinds(self.settings.rules) - requests.keys())
        text = f"{len(requests)} kinds of request in {format_count(games, 'game')}"
        if missing_kinds:
            text += f"; never asked: {', '.join(missing_kinds)}"
        rows = [(kind, str(count), str(answers[kind])) for kind, count in sorted(requests.items())]
        return replace(self.ok(text), timings=(("kind", "asked", "answered"), *rows))

    def check_writes(self) -> CheckStep:
        """Check that the bot has changed no file of its folder; in a box, that it reported no rejected write.

        After a build, only new names in its folder count.
        """
        self.step = "files"
        success = self.ok("writes no files next to its program")
        help = "write below the folder in the environment variable TMPDIR, never next to the program"
        if self.settings.choice.isolates:
            refused = self.findings.refused
            note = self.make_step(Severity.NOTE, "the box rejected a write", help)
            return replace(note, stderr=refused) if refused else success
        new_files = sorted(list_siblings(self.bot) - self.siblings)
        has_changed_file = self.bot.build is None and bots.is_changed(self.bot)
        if not new_files and not has_changed_file:
            return success
        shown_files = ", ".join(new_files[:3]) or "a file of its own"
        if self.shares_folder and new_files:
            text = f"this bot, or another bot in its folder, wrote next to its program: {shown_files}"
            return self.make_step(Severity.NOTE, text, f"{help}; to see which, check them one by one")
        return self.make_step(Severity.FAIL, f"the bot wrote next to its program: {shown_files}", help)

    def report_stderr(self) -> Iterator[CheckStep]:
        """Yield notes about a traceback and much output on standard error; nothing if an earlier call yielded one."""
        self.step = "standard error"
        if self.is_stderr_reported:
            return
        if traceback := self.findings.traceback:
            self.is_stderr_reported = True
            yield self._report_traceback(traceback)
        if self.findings.stderr_bytes > _MUCH_STDERR:
            self.is_stderr_reported = True
            volume = f"{self.findings.stderr_bytes / 1000:,.0f} KB"
            text = f"{volume} for each request, and writing that takes the bot's time"
            help = "print less; the output of the bot's helper processes counts, too"
            yield self.make_step(Severity.NOTE, text, help)

    def _report_traceback(self, traceback: tuple[bytes, ...]) -> CheckStep:
        """Return the note about a traceback of a process that still answers, with its diagnosis."""
        diagnosis = diagnose_fault(replace(self.make_context("exited"), stderr=b"\n".join(traceback)))
        helper = helper_process(traceback)
        source = f"a traceback of {helper}" if helper else "a traceback"
        text = f"{source}, although each request had its reply: {diagnosis.message}"
        return replace(self.make_step(Severity.NOTE, text, diagnosis.advice), stderr=excerpt(traceback))

    def check_endurance(self) -> Iterator[CheckStep]:
        """Play with a new process up to the requests of a match, or for `endurance_s`; extrapolate what grows.

        At four seats, unless the settings have a number of seats, or the rules don't allow four.
        """
        self.step = "endurance"
        settings, rules = self.settings, self.settings.rules[0]
        default_seats = 4 if rules.problem(4) is None else None
        with self.open_table(rules, settings.seats or default_seats) as table:
            times, deadline_s = table.connection.times, settings.clock() + settings.endurance_s
            table.is_over = lambda: len(times) >= MATCH_REQUESTS or settings.clock() > deadline_s
            table.pause_s = settings.pause_s
            table.greet(settings.hello_s)
            self.reported_s = -math.inf
            while not table.is_over():
                yield from self.report_progress(f"{len(times)} of {MATCH_REQUESTS} requests")
                table.play(requests=MATCH_REQUESTS, calm=table.counts.games % 2 == 0)
            step = self._make_endurance_step(len(times), table.counts.games, self.usage.limits_ahead())
        yield step

    def _make_endurance_step(self, requests: int, games: int, growths: Sequence[Growth]) -> CheckStep:
        """Return the step about a process that answered `requests` in `games`; `growths`: the first limit first.

        Failed if a limit comes within a match, a warning if it comes later, a note if the bot was too slow for a match.
        """
        text = f"checked for {format_count(requests, 'request')}"
        if growths:
            first_growth = growths[0]
            level = Severity.WARN if first_growth.limit_at > MATCH_REQUESTS else Severity.FAIL
            text += f"; {first_growth.text}: the limit comes at request {first_growth.limit_at:.0f}"
            return self.make_step(level, text, growth_advice(first_growth.resource.name))
        if requests < MATCH_REQUESTS:
            text += f" in {self.settings.endurance_s:g} s; a match may have {MATCH_REQUESTS}"
            return self.make_step(Severity.NOTE, text, "a faster bot is checked for a whole match")
        return self.ok(f"{text} and {games} games in one process")

    def report_progress(self, text: str) -> Iterator[CheckStep]:
        """Yield the progress of the current step, unless one was yielded recently."""
        now_s = self.settings.clock()
        if now_s - self.reported_s > self.settings.progress_s:
            self.reported_s = now_s
            yield CheckStep(self.step, Severity.NOW, text)

    # -- making steps

    def ok(self, detail: str) -> CheckStep:
        """Return the current step with severity OK."""
        return CheckStep(self.step, Severity.OK, detail)

    def make_step(
        self, level: Severity, detail: str, help: str = "", connection: BotConnection | None = None
    ) -> CheckStep:
        """Return the current step with a finding, and with the standard error of `connection`, if any."""
        stderr = () if connection is None else excerpt(connection.stderr())
        return CheckStep(self.step, level, detail, advice=help, stderr=stderr)

    def make_context(self, code: str, detail: str | None = None, argv: tuple[str, ...] | None = None) -> FaultContext:
        """Return what the bot's files show about a fault of its program, or of the command `argv`.

        `code`: of FAULTS. `detail`: what the referee would say, None for nothing.
        """
        bot = self.bot if argv is None else replace(self.bot, argv=argv)
        return FaultContext(
            code,
            detail,
            sandbox=self.settings.choice.name,
            argv=bot.argv,
            is_single_file=bot.path.is_file(),
            source=read_source(bot),
            files=list_files(bot),
        )

    def make_start_error_step(self, problem: Exception, argv: tuple[str, ...] | None = None) -> CheckStep:
        """Return the current step, failed because the bot's program, or the command `argv`, can't be started."""
        message, _, help = str(problem).partition("\n")
        diagnosis = diagnose_fault(self.make_context("start_failed", message, argv))
        if diagnosis.advice != FAULTS["start_failed"].help:
            message, help = diagnosis
        return self.make_step(Severity.FAIL, message, help)

    def make_fault_step(self, broken: ConnectionBrokenError, table: ScriptedTable) -> CheckStep:
        """Return the current step, failed by a fault, with its diagnosis. This may start other processes of the bot."""
        connection = table.connection
        stderr = connection.stderr()
        fault = self._make_fault_context(broken, table, stderr)
        replay = FaultReplay(self.settings, self.open_undiagnosed_table)
        if table.altered and replay.play_unaltered(table.counts):
            fault = replace(fault, altered=table.altered)
        is_long = self.step == "endurance" or growth(fault)
        place = f"at request {len(connection.times) + 1}: " if is_long else self.ruleset_prefix
        diagnosis = diagnose_fault(fault)
        return CheckStep(
            self.step,
            Severity.FAIL,
            place + diagnosis.message,
            advice=diagnosis.advice + self._advise_on_fault(fault, table, replay),
            sent=broken.sent or None,
            received=broken.received,
            stderr=excerpt(stderr),
            lines=b"".join(connection.sent_lines) if self.by_hand else b"",
            by_hand=self.by_hand,
        )

    def _make_fault_context(
        self, broken: ConnectionBrokenError, table: ScriptedTable, stderr: Sequence[bytes]
    ) -> FaultContext:
        """Return what is known of a fault: the request, the reply, and the process and its table until then."""
        connection = table.connection
        return replace(
            self.make_context(broken.code, broken.detail),
            sent=broken.sent,
            received=broken.received,
            stderr=b"\n".join(stderr),
            facts=broken.facts,
            earlier_request=connection.earlier_request,
            longest_request=connection.longest_request,
            kinds=frozenset(table.counts.kinds),
            stderr_bytes=connection.stderr_bytes,
            paused_s=connection.paused_s,
            growth=tuple((grown.resource.name, grown.text, grown.is_full) for grown in self.usage.growths()),
        )

    def _advise_on_fault(self, fault: FaultContext, table: ScriptedTable, replay: FaultReplay) -> str:
        """Return lines of advice on a fault, each after a newline. This may start other processes of the bot."""
        advice, rules = "", self.settings.rules[0]
        may_be_rules = self.ruleset_prefix and fault.code in ("exited", "illegal_move", "timeout")
        if may_be_rules and is_beyond(fault.request, rules):
            advice = f"\nif the bot plays only the rules {rules.name}, check it with --rules {rules.name}"
        if fault.altered or fault.paused_s:
            return advice
        if fault.code in _REQUEST_FAULTS and not growth(fault):
            advice += replay.replay_last_games(table, fault)
        return advice or _describe_new_features(fault, table.counts.features)

    def add_build_log(self, step: CheckStep, excerpt: bots.BuildLogExcerpt, log: Path) -> CheckStep:
        """Return the step with an excerpt of the output of a build, and the whole output, from the file `log`."""
        quote = self.settings.quote
        lines = tuple(map(quote, excerpt.lines))
        return replace(step, stderr=lines, log=quote(log.read_bytes()), partial=excerpt.partial)


_MUCH_STDERR = 20_000  # bytes of standard error for each request
_REQUEST_FAULTS = ("exited", "closed", "timeout", "illegal_move")  # faults that the content of a request may cause
_MAX_FEATURES = 3
_DRAWN_AFTER = 12  # turns: too few to win


def _shell_command(bot: bots.Bot) -> str:
    """Return the command of a shell that builds a bot, and starts it without a box."""
    words = (f"./{os.path.relpath(word, bot.cwd)}" if Path(word).is_relative_to(bot.cwd) else word for word in bot.argv)
    build = f"{shlex.join(bot.build)} </dev/null && " if bot.build else ""
    return f"cd {shlex.quote(os.path.relpath(bot.cwd))} && {build}{shlex.join(words)}"


def _describe_new_features(fault: FaultContext, known_features: Set[str]) -> str:
    """Return a line, after a newline, about what the request has first in its process, if that may matter; else ""."""
    if not known_features or (fault.code != "timeout" and not fault.stderr_lines):
        return ""
    features = [feature for feature in list_features(fault.request) if feature not in known_features]
    if fault.code != "timeout":
        features = [feature for feature in features if feature.startswith("the kind ")]
    return f"\nthe process's first request with: {', '.join(features[:_MAX_FEATURES])}" if features else ""


_ALTERED: dict[str, Change] = {
    'another of an unknown type before them, {"type":"weather",...}': lambda line: line,
    "unknown fields at the start and the end": lambda line: encode(
        {"later": {"a": [1, None]}, **parse_object(line), "hint": None}
    ),
    "their fields in another order": lambda line: encode(dict(reversed(parse_object(line).items()))),
    "blanks after each comma and colon": lambda line: (
        json.dumps(dict(reversed(parse_object(line).items()))).encode() + b"\n"
    ),
}
"""What the step "unknown things" changes, in this order: as later versions of the protocol may."""
