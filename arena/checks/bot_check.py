"""Check one bot, step by step, and report each step with its finding and the lines that crossed the pipe.

Steps have a fixed order; a failure ends the check if later steps would be meaningless. Each process gets its own box,
which is closed in the thread that started it. Times are wall time. The time limits are those of a match."""

import json
import math
import os
import shlex
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from arena import bots
from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.bot_files import find_odd_file, list_files, list_siblings, read_source
from arena.checks.check_settings import CheckSettings
from arena.checks.check_step import CheckStep, excerpt
from arena.checks.endurance import MATCH_REQUESTS, Endurance
from arena.checks.fault_context import FaultContext, parse_object
from arena.checks.fault_signs import IDLE, cpu_share, growth, growth_advice, helper_process
from arena.checks.host_check import Severity
from arena.checks.mistakes import diagnose_fault
from arena.checks.process_findings import ProcessFindings
from arena.checks.request_features import list_features
from arena.checks.request_kinds import all_kinds, covering_rulesets, is_beyond, request_kinds
from arena.checks.scripted_table import RARE_FORMS, Change, ReplyCounts, ScriptedTable, make_spec
from arena.coup import Ruleset
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

    `mute` is called if the bot is silent for two seconds after its hello. Raises SandboxError if this machine fails.
    """
    check = BotCheck(settings)
    check.bot = bot
    try:
        with check.open_table(settings.rules[0]) as table:
            table.greet(settings.hello_s)
            table.notify = (2.0, mute)  # a bot that is silent for longer after its hello is reported
            table.play(enough=8)
    except _FailedError as failed:
        if settings.silence_fails or failed.code != "timeout" or failed.step.received is not None:
            return failed.step
    return CheckStep("plays", Severity.OK, "")


class _FailedError(Exception):
    """A step failed. `code`: of the fault that broke the connection, if any."""

    def __init__(self, step: CheckStep, code: str | None = None) -> None:
        super().__init__(step.message)
        self.step = step
        self.code = code


class BotCheck:
    """The check of one bot. `step`: the name of the current step, to which failures belong."""

    bot: bots.Bot

    def __init__(self, settings: CheckSettings) -> None:
        self.settings = settings
        self.step = ""
        self.findings = ProcessFindings()
        self.game = ""  # "NAME: " of the current ruleset while several are tested
        self.hello_s = 0.0
        self.shown_s = 0.0  # when progress was last reported, on the settings' clock
        self.fit = True  # whether no step before the run has failed
        self.siblings: frozenset[str] = frozenset()  # names in the bot's folder before it ran
        self.shares = False  # whether other bots run in the same folder at the same time
        self.others: set[str] = set()  # kinds of request at which it didn't always choose the first legal move
        self.by_hand = ""  # see CheckStep
        self.usage: Endurance | None = None  # of the latest process
        self.is_stderr_reported = False
        self.is_replaying = False

    def steps_before_run(self, argument: str) -> Iterator[CheckStep]:
        """Yield the steps before the bot runs, until one fails."""
        try:
            yield self.find(argument)
            if not self.settings.choice.isolates and (names := bots.foreign_imports(self.bot)):
                yield self.report_imports(names)
            if self.bot.build is not None:
                yield self.build()
        except _FailedError as failed:
            self.fit = False
            yield failed.step

    def steps_of_run(self) -> Iterator[CheckStep]:
        """Yield the steps that run the bot, until a failure makes the rest meaningless.

        Steps with the severity NOW report the progress of the step that follows them.
        """
        if not self.fit:
            return
        self.shown_s = self.settings.clock()
        try:
            yield from self.check_first_process()
            yield from self.check_every_kind()
            yield self.check_writes(self.siblings)
            yield from self.report_stderr()
            yield self.findings.report_times(self.hello_s, self.settings.match_settings)
            if self.settings.endurance_s:
                yield from self.check_endurance()
                yield from self.report_stderr()
        except _FailedError as failed:
            yield failed.step

    # -- before it runs

    def find(self, argument: str) -> CheckStep:
        """Resolve the bot: its files and its command; note an old kit, odd names of files, and too large a folder.

        Raises _FailedError if it can't be resolved.
        """
        self.step = "file"
        try:
            loaded, remarks = bots.load_bots([argument], programs_of(self.settings.choice.name), self.settings.root)
            bot = loaded[0]
            self.bot = bots.with_kit(bot, self.settings.choice.isolates, self.settings.scratch / "kit")
        except bots.BotError as problem:
            raise _FailedError(_error_step(self.step, problem)) from None
        self.siblings = list_siblings(self.bot)
        if self.bot is bot and not self.settings.root.is_absolute():
            own = (f"./{os.path.relpath(w, bot.cwd)}" if Path(w).is_relative_to(bot.cwd) else w for w in bot.argv)
            build = f"{shlex.join(bot.build)} </dev/null && " if bot.build else ""
            self.by_hand = f"cd {shlex.quote(os.path.relpath(bot.cwd))} && {build}{shlex.join(own)}"
        command = "; ".join([bot.command, *remarks])
        if bots.is_older(bot):
            help = "copy the kit from a folder made by arena new, or delete the file to use the arena's kit"
            return self.make_step(Severity.NOTE, f"{command}; its kit is older than the arena's", help)
        if odd := find_odd_file(bot):
            return self.make_step(Severity.WARN, f"{command}; {odd[0]}", odd[1])
        size = bots.size_of(bot.path) if bot.path.is_dir() else 0
        if size > bots.MAX_UNPACKED_BYTES:
            text = (
                f"{command}; its folder has {size / 2**20:.0f} MB; a ladder accepts {bots.MAX_UNPACKED_BYTES >> 20} MB"
            )
            return self.make_step(
                Severity.NOTE, text, "remove files that the bot doesn't need to play; see docs/reference/web-pages.md"
            )
        return self.ok(command)

    def report_imports(self, names: tuple[str, ...]) -> CheckStep:
        """Report imported packages that may be missing in a box."""
        self.step = "imports"
        text = (
            f"{', '.join(names[:5])}{', ...' * (len(names) > 5)}: a box has the standard library and the bot's folder"
        )
        return self.make_step(
            Severity.NOTE, text, "copy it into the bot's folder, or ask the organiser; see docs/reference/sandbox.md"
        )

    def build(self) -> CheckStep:
        """Build the bot as a run would, in a box if the sandbox isolates; the step has the log's warnings.

        Raises _FailedError with an excerpt of the log.
        """
        self.step = "build"
        settings, began = self.settings, time.monotonic()
        logs = settings.scratch / "logs"
        log = bots.build_log_path(0, self.bot, logs)
        settings.on_build(self.bot)
        try:
            if settings.choice.isolates:
                programs, folder = programs_of(settings.choice.name), settings.scratch / "bots"
                self.bot = bots.build_in_box([self.bot], settings.sandbox, programs, folder, logs, settings.build_s)[0]
            else:
                self.bot = bots.build_all([self.bot], logs, settings.build_s)[0]
        except bots.BuildError as problem:
            failed = self.make_step(Severity.FAIL, problem.what, self.build_advice(problem.help, log))
            raise _FailedError(self.build_step(failed, problem.excerpt, log)) from None
        except bots.BotError as problem:
            raise _FailedError(self.start_error_step(problem, self.bot.build)) from None
        self.siblings = list_siblings(self.bot)
        warned = bots.excerpt_warnings(log)
        build, seconds = " ".join(self.bot.build or ()), time.monotonic() - began
        text = f"{build} took {seconds:.1f} s{', with warnings' * bool(warned.lines)}"
        return self.build_step(self.ok(text), warned, log)

    def build_advice(self, help: str, log: Path) -> str:
        """Return the advice of the first rule that matches the build's log, or else a general one, and `help`."""
        seen = self.make_context("exited", None, self.bot.build or ())
        advice = diagnose_fault(replace(seen, stderr=log.read_bytes())).advice
        usual = advice == diagnose_fault(FaultContext("exited")).advice
        general = {"" if help.startswith("Correct") else "Correct the first error that the build printed.": 0, help: 0}
        return "\n".join(
            filter(None, general) if usual else {advice: 0, help: 0} if help != bots.IN_BOXES else [advice]
        )

    # -- processes

    @contextmanager
    def open_table(self, rules: Ruleset, seats: int | None = None) -> Iterator[ScriptedTable]:
        """Open a table with a new process. Raises _FailedError, with the diagnosis, for any fault."""
        settings, bot = self.settings, self.bot
        limits = settings.match_settings.limits
        try:
            with settings.lock:
                box = settings.sandbox.start(settings.bytecode.program(bot, settings.choice, settings.sandbox), limits)
        except ProgramError as problem:
            raise _FailedError(self.start_error_step(problem)) from None
        try:
            connection = BotConnection(box, limits, settings.clock, settings.quoted, settings.idle_s)
            try:
                spec = make_spec(rules, settings.match_settings, seats or settings.seats)
                table = ScriptedTable(connection, spec, settings.timeouts)
                self.usage = Endurance(connection, settings.match_settings)
                table.is_over = self.usage.measure
                yield table
                self.others |= table.counts.others
            except ConnectionBrokenError as broken:
                raise _FailedError(self.fault_step(broken, table), broken.code) from None
            finally:
                self.findings.add(connection, table.counts.kinds)
        finally:
            with settings.lock:
                box.close()

    def check_first_process(self) -> Iterator[CheckStep]:
        """Play with one process until it leaves."""
        self.step = "hello"
        with self.open_table(self.settings.rules[0]) as table:
            self.hello_s = table.greet(self.settings.hello_s)
            yield self.report_start_time()
            self.step = "first game"
            table.play()
            table.require_valid_statements()
            first = list(table.counts.choices)
            yield self.ok(f"{_request_count(len(first))} answered with legal moves")
            self.step = "more games"
            while self.needs_more_games(table):
                yield from self.report_progress(_request_count(len(first)))
                table.play()
            yield self.ok(f"{table.counts.games} games in one process, {_request_count(len(table.counts.choices))}")
            self.step = "unknown things"
            yield from self.check_unknown_input(table)
            self.step = "end of input"
            yield self.check_exit(table.connection)
        if self.findings.uncalled:
            yield self.findings.report_uncalled_methods()
        self.step = "standard output"
        yield self.check_output(table.connection)
        self.step = "same seeds"
        yield self.check_same_seeds(first)

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
            table.play(enough=3)
        table.altered, table.change = "", lambda line: line
        yield self.ok("ignores unknown lines, unknown fields and the order of fields")
        self.step = "error line"
        table.send_warning()
        table.play(enough=3)
        yield self.ok("continues after an error line")

    def can_play_unaltered(self, counts: ReplyCounts) -> bool:
        """Start another process, and return whether it plays as many games and requests, without altered lines."""
        try:
            with self.open_table(self.settings.rules[0]) as table:
                table.greet(self.settings.hello_s)
                while table.counts.games <= counts.games or len(table.counts.choices) <= len(counts.choices):
                    table.play()
        except _FailedError:
            return False
        return True

    def look_again(self, table: ScriptedTable, seen: FaultContext) -> str:
        """Return advice from another process, which is sent the last games alone: what it fails at, or that it plays.

        A program with random numbers may play differently, and a slow one be late again, so neither is started again.
        """
        lines, sent = table.connection.sent_lines, seen.sent + b"\n"
        end = len(lines) - lines[::-1].index(sent) if sent in lines else len(lines)
        kinds = [str(parse_object(line).get("type")) for line in lines[:end]]
        starts = [place for place, kind in enumerate(kinds) if kind == "game_start"]
        asked = [place for place, kind in enumerate(kinds[:-1]) if kind == "request"]
        is_slow = sum(table.connection.waits[-30:]) > self.settings.enough_s
        hangs = seen.facts.reads and cpu_share(seen) <= IDLE
        if not starts or is_slow or b"rand" in seen.source.lower() or (seen.code == "timeout" and not hangs):
            return ""
        if seen.ended and asked and (between := end - 2 - asked[-1]):
            first = max(place for place in starts if place < asked[-1])
            fatal = self.find_fatal_line(table, lines[first:end], between)
            if fatal is not None and kinds[first + fatal] != "request":
                kind, line = kinds[first + fatal], lines[first + fatal]
                draw = ", whose winner is null, as after each draw" * (b'"winner":null' in line)
                return (
                    f"\nit ended at the line before the request, of the type {kind}, {len(line):,} bytes{draw}: "
                    "play on after such lines"
                )
        if len(starts) > 1 and self.find_fatal_line(table, lines[starts[-1] : end], 0) is None:
            return (
                "\nanother process, which is sent the lines of this game alone, answers the request: look for what "
                "the bot keeps from earlier games, in its memory or in files"
            )
        return ""

    def find_fatal_line(self, table: ScriptedTable, lines: Sequence[bytes], slowly: int) -> int | None:
        """Send lines to another process; return the index of the line at which it fails, None if it answers all.

        slowly: how many lines before the last one are sent one by one, with a pause for the process to end.
        """
        place, self.is_replaying = 0, True
        try:
            with self.open_table(table.spec.settings.rules, len(table.spec.handles)) as other:
                other.greet(self.settings.hello_s)
                for place, line in enumerate(lines):
                    if parse_object(line)["type"] == "request":
                        passed = self.is_answered_legally(other.connection, line)
                    else:
                        other.connection.send(line)
                        passed = place < len(lines) - 1 - slowly or _stays_alive(other.connection)
                    if not passed:
                        return place
        except _FailedError:
            return place
        finally:
            self.is_replaying = False
        return None

    def is_answered_legally(self, connection: BotConnection, request: bytes) -> bool:
        """Send a request; return whether the process answers it with a legal move."""
        message = parse_object(request)
        answer = connection.request(message["id"], request, self.settings.timeouts.free_s + 2)
        legal = message["legal"]
        return answer.choice in range(len(legal)) if answer.move is None else answer.move in legal

    def check_exit(self, connection: BotConnection) -> CheckStep:
        """Check that the process ends after the end of its input."""
        connection.send(encode({"type": "match_over"}))
        ended = connection.await_exit(self.settings.leave_s)
        late = f"{self.settings.leave_s * 1000:.0f} ms after its input ended"
        if ended is None and connection.await_exit(_LATE_EXIT * self.settings.leave_s) is not None:
            help = "this costs nothing in a match; a program that holds much memory may need the time to free it"
            return self.make_step(Severity.NOTE, f"exits later than {late}", help)
        if ended is None:
            help = "exit when standard input ends (a loop over its lines does); end threads and child processes, too"
            return self.make_step(Severity.FAIL, f"still runs {late}", help, connection)
        return self.ok("exits")

    def check_output(self, connection: BotConnection) -> CheckStep:
        """Check that the bot printed only answers."""
        if not connection.stray_count:
            return self.ok("only replies")
        help = "print nothing but replies to standard output, one for each request"
        count = connection.stray_count
        text = f"{count} lines don't answer a request" if count > 1 else "a line doesn't answer a request"
        return replace(self.make_step(Severity.FAIL, text, help, connection), received=connection.strays[0])

    def check_same_seeds(self, first: list[int]) -> CheckStep:
        """Check whether another process plays the first game in the same way."""
        with self.open_table(self.settings.rules[0]) as table:
            table.greet(self.settings.hello_s)
            table.play()
        if table.counts.choices == first:
            return self.ok("a second process plays the same game")
        text = "a second process with the same seeds plays differently: the bot's games can't be repeated"
        return self.make_step(Severity.NOTE, text, "for repeatable games, seed your generator with game_seed")

    def check_every_kind(self) -> Iterator[CheckStep]:
        """Test all kinds of requests of all rulesets, with a new process for each ruleset."""
        self.step = "all requests"
        answered: dict[str, list[int]] = {}  # by kind: requests, and those that the bot answered
        is_fast = self.hello_s < _START_S and sum(map(sum, self.findings.waits.values())) < self.settings.enough_s
        rulesets = self.settings.rules if is_fast else covering_rulesets(self.settings.rules)
        for rules in rulesets:
            self.game = f"{rules.name}: "
            counts = yield from self._play_every_kind(rules)
            for kind, count in counts.asked.items():
                row = answered.setdefault(kind, [0, 0])
                row[0] += count
                row[1] += counts.kinds.count(kind)
        self.game = ""
        self._play_drawn_games()
        yield self._make_kinds_step(answered, len(rulesets))
        turns = answered["turn"][1]
        if "turn" not in self.others and turns >= _SUSPICIOUS_CHOICES:
            self.step = "choices"
            text = f"{'in its turns ' * bool(self.others)}the bot always plays legal[0], {turns} times"
            help = "if this isn't intended, check that turn(), and each other method, returns its move"
            yield self.make_step(Severity.NOTE, text, help)

    def _play_every_kind(self, rules: Ruleset) -> Generator[CheckStep, None, ReplyCounts]:
        """Play games of a ruleset until all its kinds of requests were made, or the bot is slow; return the counts."""
        kinds = request_kinds(rules) | (RARE_FORMS if rules is self.settings.rules[0] else frozenset())
        with self.open_table(rules) as table:
            table.greet(self.settings.hello_s)
            counts = table.counts
            while (missing_kinds := kinds - counts.forms) and counts.games < _MAX_GAMES and not self.is_slow(table):
                yield from self.report_progress(f"{rules.name}, {_request_count(len(counts.choices))}")
                table.play(missing_kinds, override=True)
            table.require_valid_statements()
        return counts

    def _play_drawn_games(self) -> None:
        """Play games that end in a draw, which has no winner."""
        rules = self.settings.rules[0]
        seats = self.settings.seats or max(count for count in range(2, 11) if rules.problem(count) is None)
        with self.open_table(replace(rules, turn_limit=_DRAWN_AFTER), seats) as table:
            table.greet(self.settings.hello_s)
            for enough in (8, MATCH_REQUESTS, 3):
                table.play(enough=enough, calm=enough > 8)

    def _make_kinds_step(self, answered: dict[str, list[int]], games: int) -> CheckStep:
        """Return the step with a row (kind, asked, answered) for each kind of request, sorted."""
        never = sorted(all_kinds(self.settings.rules) - answered.keys())
        text = f"{len(answered)} kinds of request in {games} {'game' if games == 1 else 'games'}"
        if never:
            text += f"; never asked: {', '.join(never)}"
        rows = [(kind, str(asked), str(replies)) for kind, (asked, replies) in sorted(answered.items())]
        return replace(self.ok(text), timings=(("kind", "asked", "answered"), *rows))

    def check_writes(self, siblings: frozenset[str]) -> CheckStep:
        """Check that the bot didn't write, or try to write, outside of its folder for temporary files."""
        self.step = "files"
        help = "write below the folder in the environment variable TMPDIR, never next to the program"
        files = sorted(list_siblings(self.bot) - siblings)
        if self.settings.choice.isolates and self.findings.refused:
            return replace(
                self.make_step(Severity.NOTE, "the box rejected a write", help), stderr=self.findings.refused
            )
        if not self.settings.choice.isolates and (files or (self.bot.build is None and bots.is_changed(self.bot))):
            what = ", ".join(files[:3]) or "a file of its own"
            if self.shares and files:
                text = f"this bot, or another bot in its folder, wrote next to its program: {what}"
                return self.make_step(Severity.NOTE, text, f"{help}; to see which, check them one by one")
            return self.make_step(Severity.FAIL, f"the bot wrote next to its program: {what}", help)
        return self.ok("writes no files next to its program")

    def report_stderr(self) -> Iterator[CheckStep]:
        """Report a traceback, or much output, on standard error, once."""
        self.step = "standard error"
        if self.is_stderr_reported or not (self.findings.traceback or self.findings.stderr_bytes > _MUCH_STDERR):
            return
        self.is_stderr_reported = True
        if self.findings.traceback:
            helper = helper_process(self.findings.traceback)
            diagnosis = diagnose_fault(replace(self.make_context("exited"), stderr=b"\n".join(self.findings.traceback)))
            text = (
                f"a traceback{f' of {helper}' * bool(helper)}, although each request had its reply: {diagnosis.message}"
            )
            yield replace(
                self.make_step(Severity.NOTE, text, diagnosis.advice), stderr=excerpt(self.findings.traceback)
            )
        if self.findings.stderr_bytes > _MUCH_STDERR:
            text = (
                f"{self.findings.stderr_bytes / 1000:,.0f} KB for each request, and writing that takes the bot's time"
            )
            yield self.make_step(
                Severity.NOTE, text, "print less; the output of the bot's helper processes counts, too"
            )

    def check_endurance(self) -> Iterator[CheckStep]:
        """Play on with one process at four seats, up to the requests of a match, and extrapolate what grows."""
        self.step = "endurance"
        settings, rules = self.settings, self.settings.rules[0]
        with self.open_table(rules, settings.seats or (4 if rules.problem(4) is None else None)) as table:
            times, began = table.connection.times, settings.clock()
            usage = self.usage
            assert usage is not None

            def is_over() -> bool:
                usage.measure()
                return len(times) >= MATCH_REQUESTS or settings.clock() - began > settings.endurance_s

            table.is_over, table.pause_s = is_over, settings.pause_s
            table.greet(settings.hello_s)
            self.shown_s = -math.inf
            while not is_over():
                yield from self.report_progress(f"{len(times)} of {MATCH_REQUESTS} requests")
                table.play(enough=MATCH_REQUESTS, calm=table.counts.games % 2 == 0)
            ahead, asked = usage.limits_ahead(), len(times)
        text = f"checked for {_request_count(asked)}"
        if ahead:
            text += f"; {ahead[0].text}: the limit comes at request {ahead[0].limit_at:.0f}"
            level = Severity.WARN if ahead[0].limit_at > MATCH_REQUESTS else Severity.FAIL
            yield self.make_step(level, text, growth_advice(ahead[0].resource.name))
        elif asked < MATCH_REQUESTS:
            text += f" in {settings.endurance_s:g} s; a match may have {MATCH_REQUESTS}"
            yield self.make_step(Severity.NOTE, text, "a faster bot is checked for a whole match")
        else:
            yield self.ok(f"{text} and {table.counts.games} games in one process")

    def report_progress(self, text: str) -> Iterator[CheckStep]:
        """Yield the progress of the current step, unless one was yielded recently."""
        if (now := self.settings.clock()) - self.shown_s > self.settings.progress_s:
            self.shown_s = now
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
        """Return what the bot's files show about a fault of its program, or of the command `argv`."""
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

    def start_error_step(self, problem: Exception, argv: tuple[str, ...] | None = None) -> CheckStep:
        """Return the current step, failed because the bot's program, or the command `argv`, can't be started."""
        what, _, help = str(problem).partition("\n")
        hint = diagnose_fault(self.make_context("start_failed", what, argv))
        what, help = (what, help) if hint.advice == FAULTS["start_failed"].help else hint
        return CheckStep(self.step, Severity.FAIL, what, advice=help)

    def fault_step(self, broken: ConnectionBrokenError, table: ScriptedTable) -> CheckStep:
        """Return the current step, failed by a fault, with its diagnosis, for which another process may play."""
        connection = table.connection
        stderr = connection.stderr()
        fault = self._make_fault_context(broken, table, stderr)
        if table.altered and self.can_play_unaltered(table.counts):
            fault = replace(fault, altered=table.altered)
        number = len(connection.times) + 1
        place = f"at request {number}: " if self.step == "endurance" or growth(fault) else self.game
        diagnosis = diagnose_fault(fault)
        return CheckStep(
            self.step,
            Severity.FAIL,
            place + diagnosis.message,
            advice=diagnosis.advice + self._advise_on_fault(fault, table),
            sent=broken.sent or None,
            received=broken.got,
            stderr=excerpt(stderr),
            lines=b"".join(connection.sent_lines) if self.by_hand else b"",
            by_hand=self.by_hand,
        )

    def _make_fault_context(
        self, broken: ConnectionBrokenError, table: ScriptedTable, stderr: Sequence[bytes]
    ) -> FaultContext:
        """Return what is known of a fault: the request, the reply, and the process and its table until then."""
        connection = table.connection
        growths = () if self.usage is None else self.usage.growths()
        return replace(
            self.make_context(broken.code, broken.detail),
            sent=broken.sent,
            received=broken.got,
            stderr=b"\n".join(stderr),
            facts=broken.facts,
            before=connection.before,
            longest=connection.longest,
            kinds=frozenset(table.counts.kinds),
            stderr_bytes=connection.stderr_bytes,
            paused_s=connection.paused_s,
            growth=tuple((grown.resource.name, grown.text, grown.is_full) for grown in growths),
        )

    def _advise_on_fault(self, fault: FaultContext, table: ScriptedTable) -> str:
        """Return lines of advice, each after a newline, by what is special about the request; "" without any."""
        advice, rules = "", self.settings.rules[0]
        if self.game and fault.code in ("exited", "illegal_move", "timeout") and is_beyond(fault.asked, rules):
            advice = f"\nif the bot plays only the rules {rules.name}, check it with --rules {rules.name}"
        is_undisturbed = not fault.altered and not fault.paused_s
        if fault.code in _AT_REQUEST and is_undisturbed and not growth(fault) and not self.is_replaying:
            advice += self.look_again(table, fault)
        features_met = table.counts.features
        if not features_met or advice or not is_undisturbed:
            return advice
        unmet = [
            feature
            for feature in list_features(fault.asked)
            if feature not in features_met
            and (fault.code == "timeout" or (fault.stderr_lines and feature.startswith("the kind ")))
        ]
        return f"\nthe process's first request with: {', '.join(unmet[:_MAX_UNMET])}" if unmet else ""

    def build_step(self, step: CheckStep, part: bots.BuildLogExcerpt, log: Path) -> CheckStep:
        """Return the step with `part` of the output of a build, and the whole output, from the file `log`."""
        quoted = self.settings.quoted
        return replace(step, stderr=tuple(map(quoted, part.lines)), log=quoted(log.read_bytes()), partial=part.partial)


_MUCH_STDERR = 20_000  # bytes of standard error for each request
_AT_REQUEST = ("exited", "closed", "timeout", "illegal_move")  # faults that the content of a request may cause
_MAX_UNMET = 3
_DRAWN_AFTER = 12  # turns: too few to win
_END_S = 0.6  # for a process to end after it has read a line


def _stays_alive(connection: BotConnection) -> bool:
    """Give a process time to end, and return whether it hasn't."""
    connection.leave_alone(_END_S)
    return connection.box.exit() is None


def _error_step(name: str, problem: bots.BotError) -> CheckStep:
    """Return the failed step of an error; the first line of its message is the problem, the rest is the fix."""
    what, _, help = str(problem).partition("\n")
    return CheckStep(name, Severity.FAIL, what, advice=help)


def _request_count(count: int) -> str:
    return f"{count} request{'s' if count != 1 else ''}"


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
