"""Implement the command `arena check`: check bots, and print each step with advice.

Findings of a bot, a host or a ladder are printed as lines, or returned as objects for programs. For Gradescope the
steps become results.json of an autograder. Source: gradescope-autograders.readthedocs.io, Autograder Specifications,
Output format."""

import json
import math
import os
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import click

from arena import checks
from arena.bots import Bot, BotError, load_bots
from arena.cli import console, options
from arena.cli.options import complete_bot, complete_rules
from arena.cli.run_models import import_models, refuse_budget
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.referee import TIME_LIMITS, MatchSettings
from arena.run import RulesetError, load_ruleset
from arena.sandbox import DISK_FULL_ERRNOS, SandboxError, make_sandbox, scratch_folder
from protocol import decode, escape_bytes

_COLOURS = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red", "now": "blue"}  # by severity
_MAX_MESSAGE_CHARS, _MAX_REQUEST_CHARS = 400, 500  # of a reply, and of a request
_MAX_COLUMNS = 80  # of a step, also on wider terminals and in pipes
_IDLE_S = 2.0  # in a box, where a bot has nothing to wait for; a plain process may wait for the network
_ENOUGH_S = 10.0  # after which a slow bot's process is asked no further game before the first verdict
_MAX_STDERR_CHARS = 160  # of a line of standard error


def finding_lines(
    finding: checks.Finding,
    subject_columns: int = 16,
    prefix: str = "",
    details: Iterable[str] = (),
    columns: int = console.UNLIMITED_COLUMNS,
) -> Iterator[str]:
    """Yield a finding's lines: severity, check and message; below, the complete fix command and the advice.

    prefix: of the first line. subject_columns: the least width of the check's name. details: lines to add at the end.
    columns: the maximum width, if the terminal isn't narrower. On a narrow one the message begins on its own line.
    """
    is_narrow = _is_narrow_terminal()
    head = f"{prefix}{finding.severity:4}  {finding.check:{subject_columns}}  "
    indent = " " * (4 if is_narrow else len(prefix) + 8)
    message_indent = indent if is_narrow else " " * len(head)
    message_lines = _wrap_text(escape_control(finding.message), len(message_indent), columns)
    coloured_head = head.replace(finding.severity, click.style(finding.severity, fg=_COLOURS[finding.severity]), 1)
    if message_lines and not is_narrow:
        yield f"{coloured_head}{message_lines.pop(0)}"
    else:
        yield coloured_head.rstrip()
    yield from (f"{message_indent}{line}" for line in message_lines)
    if finding.fix_command:
        yield f"{indent}$ {escape_control(finding.fix_command)}"
    for paragraph in filter(str.strip, map(escape_control, finding.advice.split("\n"))):
        yield from _hang_lines(f"{indent}-> ", _wrap_text(paragraph, len(indent) + 3, columns))
    yield from details


def step_lines(step: checks.CheckStepView) -> Iterator[str]:
    """Yield the lines of a check's step: its finding, the exchanged messages, and the table of its timings."""
    yield from finding_lines(step, prefix=f"{step.number:2}  ", details=_exchange_lines(step), columns=_MAX_COLUMNS)
    if step.timings:
        widths = (16, 8, 10)
        if _is_narrow_terminal():
            widths = (1 + max(len(kind) for kind, _, _ in step.timings), 6, 9)
        for kind, asked_cell, answered_cell in step.timings:
            yield f"{_detail_indent()}{kind:{widths[0]}}{asked_cell:>{widths[1]}}{answered_cell:>{widths[2]}}"


def _is_narrow_terminal() -> bool:
    return console.terminal_columns() < console.MIN_TABLE_COLUMNS


def _detail_indent() -> str:
    """Return the blanks before each line of a step's details."""
    return " " * (4 if _is_narrow_terminal() else 12)


def _exchange_lines(step: checks.CheckStepView) -> Iterator[str]:
    """Yield the request, the reply and the standard error of a step; other lines to the bot show nothing."""
    indent = _detail_indent()
    messages = []
    if (request := _describe_sent_request(step)) is not None:
        messages.append(("request", request))
    if step.received is not None:
        messages.append(("received", _shorten(step.received, _MAX_MESSAGE_CHARS)))
    for name, text in messages:
        yield from _hang_lines(f"{indent}{name:8} ", _wrap_text(text, len(indent) + 9) or ["(an empty line)"])
    if step.severity == "fail" and step.sent is not None and step.received is None:
        yield f"{indent}received nothing"
    stderr_lines = [_shorten(line, _MAX_STDERR_CHARS) for line in step.stderr]
    if _is_narrow_terminal():  # only then: compilers mark columns
        stderr_lines = [part for line in stderr_lines for part in _wrap_text(line, len(indent) + 3)]
    yield from (f"{indent}|  {line}" for line in stderr_lines)


def _describe_sent_request(step: checks.CheckStepView) -> str | None:
    """Return the request that was sent, with its fields in an order for people, or cut; None for another line."""
    if step.sent is None:
        return None
    request = decode(console.reorder_request(step.sent.encode()))
    if not isinstance(request, dict) or "legal" not in request:
        return None
    is_reordered = step.check != "unknown things"  # there, what the check has altered must show
    text = json.dumps(request) if is_reordered else step.sent  # with blanks, at which it is wrapped
    if len(text) <= _MAX_REQUEST_CHARS:
        return text
    if is_reordered:
        start = text[:_MAX_REQUEST_CHARS].rpartition(" ")[0]
        return f"{start} ... ({len(step.sent)} bytes, its fields reordered here)"
    return f"{text[:_MAX_REQUEST_CHARS]} ... ({len(step.sent)} bytes)"


def _shorten(line: str, max_chars: int) -> str:
    """Return a line with its middle cut out if it has over `max_chars` characters: causes are often at the end."""
    text, end = escape_bytes(line.encode(), len(line)), max_chars // 3
    return text if len(text) <= max_chars else f"{text[: max_chars - end]} … {text[-end:]} ({len(line.encode())} bytes)"


def _wrap_text(text: str, indent_columns: int, columns: int = _MAX_COLUMNS) -> list[str]:
    """Return a text wrapped to lines of `columns`, or of the terminal if it is narrower, without their indentation."""
    width = max(20, min(console.terminal_columns(), columns) - indent_columns)
    return textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=True)


def _hang_lines(head: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, the first after `head`, the others after as many blanks."""
    for number, line in enumerate(lines):
        yield f"{' ' * len(head) if number else head}{line}"


def has_longer_log(step: checks.CheckStep) -> bool:
    """Return whether a build printed more than `step_lines` shows."""
    return step.partial or any(
        len(escape_bytes(line, len(step.log))) > _MAX_STDERR_CHARS for line in step.stderr if step.log
    )


def verdict_line(bot: str, findings: Iterable[checks.Finding]) -> str:
    """Return one line on a bot's check: that the bot can play, or how many steps failed."""
    count = sum(finding.severity == "fail" for finding in findings)
    return click.style(
        f"{format_count(count, 'step')} failed" if count else f"{escape_control(bot)} can play",
        fg="red" if count else "green",
    )


def has_failure(findings: Iterable[checks.Finding]) -> bool:
    """Return whether a finding is a failure."""
    return any(finding.severity == "fail" for finding in findings)


def gradescope_results(bot: str, steps: Sequence[checks.CheckStep]) -> str:
    """Return results.json of Gradescope: 1 point if the bot can play, else 0, and each step as a test."""
    return json.dumps(
        {
            "score": 0.0 if has_failure(steps) else 1.0,
            "output": click.unstyle(verdict_line(bot, steps)),
            "visibility": "visible",
            "tests": [
                {
                    "number": str(step.number),
                    "name": step.check,
                    "status": "failed" if has_failure([step]) else "passed",
                    "output": click.unstyle("\n".join(step_lines(step.view()))),
                }
                for step in steps
            ],
        },
        indent=1,
    )


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="BOT...", shell_complete=complete_bot)
@console.option(
    "--rules",
    metavar="NAME|FILE",
    shell_complete=complete_rules,
    help="Check only the requests of this ruleset, with the limits of its file.  [all presets]",
)
@console.option(
    "--start-ms",
    type=click.IntRange(1),
    metavar="N",
    help=f"Time to start and say hello, in ms.  [{checks.HELLO_S * 1000:.0f}]",
)
@console.option("--limit-ms", type=click.IntRange(1), metavar="N", help="Time per move, in ms.  [500]")
@console.option("--bank-ms", type=click.IntRange(0), metavar="N", help="Time bank per game, in ms.  [10000]")
@console.option(
    "--gradescope",
    "results",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write results.json for Gradescope; needs one bot.",
)
@console.option("--quick", is_flag=True, help="Don't play on for as long as a match.")
@options.BUDGET_OPTION
@options.sandbox_options
@console.json_option(checks.CheckReport)
def check(
    *,
    bots: tuple[str, ...],
    rules: str | None,
    start_ms: int | None,
    limit_ms: int | None,
    bank_ms: int | None,
    results: Path | None,
    quick: bool,
    budget: Path | None,
    sandbox: str | None,
    docker_runtime: str | None,
    docker_image: str | None,
    as_json: bool,
) -> None:
    """Check that bots start and answer every kind of request.

    BOT is as for arena run. A failed step shows the request and the reply, the bot's last lines on standard error,
    and a fix. A check takes some seconds a bot, some minutes if it is slow, and uses the time limits of arena run. In
    a box, a bot also fails if it owes a reply and uses no CPU time for 2 s.

    After its first verdict, a bot plays on in one process for 700 requests, as many as a long match has, but for at
    most 60 s, of which it is left alone for 2.5 s. It fails if it breaks down meanwhile, or uses more with each request
    and would break down in a match.

    Of a language model, a check makes one real call, or two if the first answer is useless, and says what they cost.

    Exit codes: 0 if all bots can play; 1 if a step failed, a bot doesn't exist, or this machine can't start bots
    (then no FILE is written); 2 for wrong usage.
    """
    if not bots:
        console.usage_error("name a bot: arena check mybot.py")
    if results is not None and len(bots) > 1:
        console.usage_error(f"--gradescope needs one bot, not {len(bots)}")
    choice, reasons = options.choose_sandbox(sandbox, docker_runtime, docker_image)
    with _exit_on_check_errors(), scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
        options.announce_sandbox(choice, reasons, box, " (auto)" if sandbox in (None, "auto") else "")
        flags = {"start_ms": start_ms, "limit_ms": limit_ms, "bank_ms": bank_ms}
        longest: dict[str, float | None] = {
            name: ms and min(ms, TIME_LIMITS[name].maximum) for name, ms in flags.items()
        }
        timing, limits = options.combine_limits(longest, rules or "coup")
        settings = checks.CheckSettings(
            box,
            choice,
            scratch,
            idle_s=_IDLE_S if choice.isolates else math.inf,
            enough_s=_ENOUGH_S,
            on_build=_note_build,
            match_settings=MatchSettings(timing=timing, limits=limits),
            hello_s=timing.start_ms / 1000,
            timeouts=checks.Timeouts(timing.limit_ms / 1000, timing.bank_ms / 1000),
        )
        if not quick:
            settings = replace(settings, endurance_s=checks.ENDURANCE_S, pause_s=checks.PAUSE_S)
        if rules is not None:
            settings = replace(settings, rules=(load_ruleset(rules),))
        steps_by_bot = _check_bots(bots, settings, budget, rules, as_json)
    if results is not None:
        try:
            results.write_text(gradescope_results(bots[0], steps_by_bot[0]), encoding="utf-8")
        except OSError as problem:
            console.exit_on_os_error(problem)
    if as_json:
        console.print_json(checks.CheckReport(1, tuple(map(_make_result, bots, steps_by_bot))))
    sys.exit(1 if any(map(has_failure, steps_by_bot)) else 0)


@contextmanager
def _exit_on_check_errors() -> Iterator[None]:
    """Turn errors into a message and an exit code: 2 for errors of the input, 1 for failures of this machine."""
    try:
        yield
    except (BotError, RulesetError) as problem:
        console.usage_error(str(problem))
    except SandboxError as problem:
        console.fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        if problem.errno not in DISK_FULL_ERRNOS:
            raise
        console.fail(f"bots can't be checked: {console.os_error_reason(problem)}")


def _check_bots(
    bots: tuple[str, ...], settings: checks.CheckSettings, budget: Path | None, rules: str | None, quiet: bool
) -> list[list[checks.CheckStep]]:
    """Check the programs, then the language models; return the steps of each bot, in the order of `bots`.

    Prints each step as it ends, unless `quiet`. Raises BotError if the budget is invalid, RulesetError if a model's
    rules are, SandboxError or OSError if this machine can't start a bot.
    """
    models = _find_models(bots, budget)
    programs = [index for index in range(len(bots)) if index not in models]
    steps_of_programs = _check_programs(tuple(bots[index] for index in programs), settings, quiet)
    steps_by_bot = dict(zip(programs, steps_of_programs, strict=True))
    steps_by_bot |= {index: _check_model(bots[index], model, budget, rules, quiet) for index, model in models.items()}
    return [steps_by_bot[index] for index in range(len(bots))]


class _PrintedCheck:
    """The steps of one bot's check: each is printed as it ends, with the progress of the next one, unless `quiet`.

    steps: those that have ended. drawing: the display of progress; close it before the verdict.
    """

    def __init__(self, bot: str, quiet: bool) -> None:
        self.steps: list[checks.CheckStep] = []
        self.drawing = ExitStack()
        self._bot, self._quiet = bot, quiet
        self._progress = ""
        self._redraw: Callable[[], None] | None = None
        self._plays_on = False
        self._print(click.style(escape_control(bot), bold=True))

    def _print(self, text: str) -> None:
        if not self._quiet:
            console.print_text(text)

    def print_step(self, step: checks.CheckStep) -> None:
        """Add and print a step that has ended, or show the progress of the running one (severity "now")."""
        if step.severity != "now":
            self._add(_save_build_log(step, self._bot))
        elif not self._quiet:
            self._show_progress(step)

    def _add(self, step: checks.CheckStep) -> None:
        """Add a step that has ended and print it; the lines of a step that can be repeated by hand are saved."""
        self.drawing.close()
        self._redraw = None
        self.steps.append(step)
        self._print("\n".join(step_lines(step.view())))
        if not self._quiet and step.by_hand and (file := _save(step.lines, self._bot, "lines", "jsonl")):
            self._print(f"{' ' * 12}by hand: ({escape_control(step.by_hand)}) < {file}")

    def _show_progress(self, step: checks.CheckStep) -> None:
        if step.check == "endurance" and not self._plays_on:
            self._plays_on = True
            self._print(f"{verdict_line(self._bot, self.steps)} so far; it now plays on")
        self._progress = step.message if self._plays_on else f"{step.check}: {step.message}"
        if self._redraw is None:
            self._redraw = self.drawing.enter_context(console.show_progress(self._get_progress, self._get_progress))
        self._redraw()

    def _get_progress(self) -> str:
        return self._progress

    def print_verdict(self) -> None:
        """Print whether the bot can play, by all steps."""
        self._print(verdict_line(self._bot, self.steps))


def _check_programs(bots: tuple[str, ...], settings: checks.CheckSettings, quiet: bool) -> list[list[checks.CheckStep]]:
    """Check the bots, print each step as it ends unless `quiet`, and return the steps by bot."""
    steps_by_bot: list[list[checks.CheckStep]] = []
    with closing(checks.check_all(bots, settings)) as results:
        for index, steps in groupby(results, lambda pair: pair[0]):
            if steps_by_bot and not quiet:
                console.print_text("")
            printed = _PrintedCheck(bots[index], quiet)
            with printed.drawing:
                for _, step in steps:
                    printed.print_step(step)
            printed.print_verdict()
            steps_by_bot.append(printed.steps)
    return steps_by_bot


def _find_models(bots: tuple[str, ...], budget: Path | None) -> dict[int, Bot]:
    """Return the language models among the bots, by their index. Exits with 2 if a budget is for none."""
    loaded = {}
    for index, argument in enumerate(bots):
        with suppress(BotError):  # a check reports it
            loaded[index] = load_bots([argument], models=True)[0][0]
    if len(loaded) == len(bots):
        refuse_budget(loaded.values(), budget)
    return {index: bot for index, bot in loaded.items() if bot.is_model}


def _check_model(
    argument: str, bot: Bot, budget_file: Path | None, rules: str | None, quiet: bool
) -> list[checks.CheckStep]:
    """Check a language model, print each step as it ends unless `quiet`, and return the steps.

    Raises BotError for an invalid budget, RulesetError for unknown rules.
    """
    models = import_models()
    from arena.model_matches import check_model  # needs the extra that was just imported

    budget = models.Budget() if budget_file is None else models.read_budget(budget_file)
    printed = _PrintedCheck(argument, quiet)
    for step in check_model(bot, budget, load_ruleset(rules or "coup")):
        printed.print_step(step)
    printed.print_verdict()
    return printed.steps


def _note_build(bot: Bot) -> None:
    console.print_note(f"building {bot.name} (at most {checks.BUILD_S} s)")


def _save_build_log(step: checks.CheckStep, bot: str) -> checks.CheckStep:
    """Save a failed build's log to a file if only a part of it is printed, and name the file in the step's advice."""
    if step.severity != "fail" or not has_longer_log(step) or not (file := _save(step.log, bot, "build", "log")):
        return step
    return replace(step, advice="\n".join(filter(None, [step.advice, f"Full log: {file}"])))


def _save(data: bytes, bot: str, kind: str, suffix: str) -> Path | None:
    """Write data about a bot to a temporary file, in place of its previous one; return the file, None if that fails."""
    bot_hash = sha256(os.fsencode(os.path.abspath(bot))).hexdigest()[:12]
    path = Path(tempfile.gettempdir(), f"arena-{kind}-{os.getuid()}-{bot_hash}.{suffix}")
    try:
        # Renamed, because another user may have created a link or a pipe at that path.
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f"{path.stem}-", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.replace(file.name, path)
            except OSError:
                os.unlink(file.name)
                raise
    except OSError:
        return None
    return path


def _make_result(bot: str, steps: list[checks.CheckStep]) -> checks.CheckResult:
    return checks.CheckResult(escape_control(bot), not has_failure(steps), tuple(step.view() for step in steps))
