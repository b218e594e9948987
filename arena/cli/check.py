"""Implement the command `arena check`: check bots, and print each step with advice.

Findings of a bot, a host or a ladder are printed as lines, or returned as objects for programs. For Gradescope the
steps become results.json of an autograder. Source: gradescope-autograders.readthedocs.io, Autograder Specifications,
Output format."""

import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import click

from arena.bots import Bot, escape_control
from arena.checks import (
    BUILD_S,
    HELLO_S,
    CheckReport,
    CheckResult,
    CheckSettings,
    CheckStep,
    CheckStepView,
    Finding,
    Timeouts,
    check_all,
)
from arena.cli import options
from arena.cli.completion import complete_bot, complete_rules
from arena.cli.console import (
    MIN_TABLE_COLUMNS,
    UNLIMITED_COLUMNS,
    exit_on_os_error,
    fail,
    format_count,
    option,
    os_error_reason,
    print_note,
    print_text,
    reorder_request,
    terminal_columns,
    usage_error,
)
from arena.cli.json_output import json_option, print_json
from arena.run import RulesetError, load_ruleset
from arena.sandbox import DISK_FULL_ERRNOS, SandboxError, make_sandbox, scratch_folder
from protocol import escape_bytes

_COLOURS = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red", "now": "blue"}
_SHOWN = 400  # characters of what was sent, and of what came
_COLUMNS = 80  # of a step; a wider terminal, or a pipe, gets no longer lines
_LINE = 160  # characters of a line of standard error


def finding_lines(
    finding: Finding, widest: int = 16, before: str = "", between: Iterable[str] = (), columns: int = UNLIMITED_COLUMNS
) -> Iterator[str]:
    """Yield a finding: level, subject and text; below it the command that fixes it, whole, and what else to do.

    widest: columns of the subject. before: stands before all. between: lines that stand before what to do. columns: of
    the longest line, where the terminal isn't narrower.
    """
    narrow = terminal_columns() < MIN_TABLE_COLUMNS
    head = f"{before}{finding.severity:4}  {finding.check:{widest}}  "
    indent = " " * (4 if narrow else len(before) + 8)
    taken = len(indent if narrow else head)
    first, *rest = _wrap_text(escape_control(finding.message), taken, columns) or [""]
    coloured = head.replace(finding.severity, click.style(finding.severity, fg=_COLOURS[finding.severity]), 1)
    yield (coloured if narrow else coloured + first).rstrip()
    yield from (f"{' ' * taken}{line}" for line in ([first] if narrow else []) + rest if line)
    yield from between
    if finding.fix_command:
        yield f"{indent}$ {escape_control(finding.fix_command)}"
    for paragraph in filter(str.strip, map(escape_control, finding.advice.split("\n"))):
        first, *rest = _wrap_text(paragraph, len(indent) + 3, columns)
        yield f"{indent}-> {first}"
        yield from (f"{indent}   {line}" for line in rest)


def step_lines(step: CheckStepView) -> Iterator[str]:
    """Yield a step of an examination: its finding, with what crossed the pipe."""
    yield from finding_lines(step, before=f"{step.number:2}  ", between=_exchange(step), columns=_COLUMNS)
    if step.timings:
        narrow = terminal_columns() < MIN_TABLE_COLUMNS
        indent = " " * (4 if narrow else 12)
        least = 1 + max(len(kind) for kind, _, _ in step.timings) if narrow else 16
        yield from (
            f"{indent}{kind:{least}}{asked:>{6 if narrow else 8}}{answered:>{9 if narrow else 10}}"
            for kind, asked, answered in step.timings
        )


def _exchange(step: CheckStepView) -> Iterator[str]:
    """Yield what was sent and what came, and what the bot wrote to standard error, each below its step."""
    narrow = terminal_columns() < MIN_TABLE_COLUMNS
    indent = " " * (4 if narrow else 12)
    asked = None if step.sent is None else reorder_request(step.sent.encode()).decode()
    for name, line in (("sent" if asked == step.sent else "request", asked), ("received", step.received)):
        if line is not None:
            first, *rest = _wrap_text(_shorten(line, _SHOWN), len(indent) + 9) or ["(an empty line)"]
            yield f"{indent}{name:8} {first}"
            yield from (f"{indent}         {more}" for more in rest)
    if step.severity == "fail" and step.sent is not None and step.received is None:
        yield f"{indent}received nothing"
    for line in step.stderr:
        text = _shorten(line, _LINE)  # whole where there is space: compilers point below what they mean
        yield from (f"{indent}|  {part}" for part in (_wrap_text(text, len(indent) + 3) if narrow else [text]))


def _shorten(line: str, most: int) -> str:
    """Return a line without its middle where it is long: a cause often stands at the end."""
    text, end = escape_bytes(line.encode(), len(line)), most // 3
    return text if len(text) <= most else f"{text[: most - end]} … {text[-end:]} ({len(line.encode())} bytes)"


def _wrap_text(text: str, taken: int, columns: int = _COLUMNS) -> list[str]:
    """Return a text as lines that fit next to what is taken of each."""
    return textwrap.wrap(
        text, max(20, min(terminal_columns(), columns) - taken), break_on_hyphens=False, break_long_words=True
    )


def log_has_more(step: CheckStep) -> bool:
    """Return whether a build printed more than `step_lines` shows."""
    return step.partial or any(len(escape_bytes(line, len(step.log))) > _LINE for line in step.stderr if step.log)


def verdict_line(bot: str, findings: Iterable[Finding]) -> str:
    """Return what the steps of an examination come to."""
    count = sum(finding.severity == "fail" for finding in findings)
    return click.style(
        f"{format_count(count, 'step')} failed" if count else f"{escape_control(bot)} can play",
        fg="red" if count else "green",
    )


def has_failure(findings: Iterable[Finding]) -> bool:
    """Return whether one of them needs a hand."""
    return any(finding.severity == "fail" for finding in findings)


def gradescope_results(bot: str, steps: Sequence[CheckStep]) -> str:
    """Return JSON: 1 point for a bot that can play, else none, and each step as a test that passed or failed."""
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


@click.command()
@click.argument("bots", nargs=-1, metavar="BOT...", shell_complete=complete_bot)
@option(
    "--rules",
    metavar="NAME|FILE",
    shell_complete=complete_rules,
    help="Send only the requests of this game.  [all presets]",
)
@option(
    "--start-ms",
    type=click.IntRange(1),
    metavar="N",
    help=f"Time to start and say hello, in ms.  [{HELLO_S * 1000:.0f}]",
)
@option("--limit-ms", type=click.IntRange(1), metavar="N", help="Free time for each request, in ms.  [500]")
@option("--bank-ms", type=click.IntRange(0), metavar="N", help="Time beyond that, for a game.  [10000]")
@option(
    "--gradescope",
    "results",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write results.json for Gradescope, too: of one bot.",
)
@options.sandbox_options
@json_option(CheckReport)
def check(
    bots: tuple[str, ...],
    rules: str | None,
    start_ms: int | None,
    limit_ms: int | None,
    bank_ms: int | None,
    results: Path | None,
    sandbox: str | None,
    docker_runtime: str | None,
    docker_image: str | None,
    as_json: bool,
) -> None:
    """Check that bots start, answer every kind of request, and keep to the protocol.

    BOT is what arena run takes. Each step is ok, or fail with what was sent and what came, the bot's last lines on
    standard error, and what to do. Takes some seconds a bot. It waits as long as arena run does.

    Exit codes: 0 if all bots can play; 1 if a step failed, also where there is no bot, or if this machine can't start
    bots, which writes no FILE; 2 for wrong use.
    """
    if not bots:
        usage_error("no bot is given: arena check mybot.py")
    if results is not None and len(bots) > 1:
        usage_error(f"--gradescope is for one bot, and {len(bots)} are given")
    choice, reasons = options.choose_sandbox(sandbox, docker_runtime, docker_image)
    try:
        with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
            options.announce_sandbox(choice, reasons, box, " (auto)" if sandbox in (None, "auto") else "")
            exam = CheckSettings(box, choice, scratch, on_build=_say_that_it_builds)
            if rules is not None:
                exam = replace(exam, rules=(load_ruleset(rules),))
            if start_ms is not None:
                exam = replace(exam, hello_s=start_ms / 1000)
            if limit_ms is not None:
                exam = replace(exam, timeouts=Timeouts(limit_ms / 1000, exam.timeouts.bank_s))
            if bank_ms is not None:
                exam = replace(exam, timeouts=Timeouts(exam.timeouts.free_s, bank_ms / 1000))
            by_bot = _examine(bots, exam, as_json)
    except RulesetError as problem:
        usage_error(str(problem))
    except SandboxError as problem:
        fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        if problem.errno not in DISK_FULL_ERRNOS:
            raise
        fail(f"bots can't be examined: {os_error_reason(problem)}")
    if results is not None:
        try:
            results.write_text(gradescope_results(bots[0], by_bot[0]), encoding="utf-8")
        except OSError as problem:
            exit_on_os_error(problem)
    if as_json:
        print_json(CheckReport(3, tuple(map(_examination, bots, by_bot))))
    sys.exit(1 if any(has_failure(steps) for steps in by_bot) else 0)


def _examine(bots: tuple[str, ...], exam: CheckSettings, quiet: bool) -> list[list[CheckStep]]:
    """Examine the bots, and print the steps of each as they come, bot after bot."""
    steps: list[list[CheckStep]] = []
    with closing(check_all(bots, exam)) as results:
        for place, each in groupby(results, lambda pair: pair[0]):
            steps.append([])
            if not quiet:
                print_text(("\n" if place else "") + click.style(escape_control(bots[place]), bold=True))
            for _, step in each:
                step = _keep_log(step, bots[place])
                steps[place].append(step)
                if not quiet:
                    print_text("\n".join(step_lines(step.view())))
            if not quiet:
                print_text(verdict_line(bots[place], steps[place]))
    return steps


def _say_that_it_builds(bot: Bot) -> None:
    print_note(f"building {bot.name}, for at most {BUILD_S} s")


def _keep_log(step: CheckStep, bot: str) -> CheckStep:
    """Write what a failed build printed into a file where not all of it is shown, and say where.

    It takes the place of the one that the bot's last failed build left.
    """
    if step.severity != "fail" or not log_has_more(step):
        return step
    which = sha256(os.fsencode(os.path.abspath(bot))).hexdigest()[:12]
    place = Path(tempfile.gettempdir(), f"arena-build-{os.getuid()}-{which}.log")
    try:
        # Renamed, because another user may have put a link or a pipe in that place.
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f"{place.stem}-", delete=False) as file:
            try:
                file.write(step.log)
                file.flush()
                os.replace(file.name, place)
            except OSError:
                os.unlink(file.name)
                return step
    except OSError:
        return step
    return replace(step, advice="\n".join(filter(None, [step.advice, f"The whole log: {place}"])))


def _examination(bot: str, steps: list[CheckStep]) -> CheckResult:
    return CheckResult(escape_control(bot), not has_failure(steps), tuple(step.view() for step in steps))
