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
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import click

from arena import checks
from arena.bots import Bot, BotError, load_bots
from arena.cli import console, options
from arena.cli.options import complete_bot, complete_rules
from arena.cli.run import import_models, refuse_budget
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.run import RulesetError, load_ruleset
from arena.sandbox import DISK_FULL_ERRNOS, SandboxError, make_sandbox, scratch_folder
from protocol import decode, escape_bytes

_COLOURS = {"ok": "green", "note": "cyan", "warn": "yellow", "fail": "red", "now": "blue"}
_MAX_MESSAGE_CHARS, _MAX_REQUEST_CHARS = 400, 500  # of a reply, and of a request
_MAX_COLUMNS = 80  # of a step, also on wider terminals and in pipes
_IDLE_S = 2.0  # in a box, where a bot has nothing to wait for; a plain process may wait for the network
_ENOUGH_S = 10.0  # after which a slow bot's process is asked no further game before the first verdict
_MAX_STDERR_CHARS = 160  # of a line of standard error


def finding_lines(
    finding: checks.Finding,
    widest: int = 16,
    before: str = "",
    between: Iterable[str] = (),
    columns: int = console.UNLIMITED_COLUMNS,
) -> Iterator[str]:
    """Yield a finding's lines: level, subject and text; below, the complete fix command and the advice.

    widest: columns of the subject. before: a prefix of the first line. between: lines to add at the end.
    columns: the maximum width, if the terminal isn't narrower.
    """
    narrow = console.terminal_columns() < console.MIN_TABLE_COLUMNS
    head = f"{before}{finding.severity:4}  {finding.check:{widest}}  "
    indent = " " * (4 if narrow else len(before) + 8)
    taken = len(indent if narrow else head)
    first, *more_lines = _wrap_text(escape_control(finding.message), taken, columns) or [""]
    coloured = head.replace(finding.severity, click.style(finding.severity, fg=_COLOURS[finding.severity]), 1)
    yield (coloured if narrow else coloured + first).rstrip()
    yield from (f"{' ' * taken}{line}" for line in ([first] if narrow else []) + more_lines if line)
    if finding.fix_command:
        yield f"{indent}$ {escape_control(finding.fix_command)}"
    for paragraph in filter(str.strip, map(escape_control, finding.advice.split("\n"))):
        first, *more_lines = _wrap_text(paragraph, len(indent) + 3, columns)
        yield f"{indent}-> {first}"
        yield from (f"{indent}   {line}" for line in more_lines)
    yield from between


def step_lines(step: checks.CheckStepView) -> Iterator[str]:
    """Yield the lines of a check's step: its finding and the exchanged messages."""
    yield from finding_lines(step, before=f"{step.number:2}  ", between=_exchange_lines(step), columns=_MAX_COLUMNS)
    if step.timings:
        narrow = console.terminal_columns() < console.MIN_TABLE_COLUMNS
        indent = " " * (4 if narrow else 12)
        least = 1 + max(len(kind) for kind, _, _ in step.timings) if narrow else 16
        yield from (
            f"{indent}{kind:{least}}{asked:>{6 if narrow else 8}}{answered:>{9 if narrow else 10}}"
            for kind, asked, answered in step.timings
        )


def _exchange_lines(step: checks.CheckStepView) -> Iterator[str]:
    """Yield the request, the reply and the standard error of a step; other lines to the bot show nothing."""
    narrow = console.terminal_columns() < console.MIN_TABLE_COLUMNS
    indent = " " * (4 if narrow else 12)
    texts = []
    if (request := _describe_sent_request(step)) is not None:
        texts.append(("request", request))
    if step.received is not None:
        texts.append(("received", _shorten(step.received, _MAX_MESSAGE_CHARS)))
    for name, text in texts:
        first, *more_lines = _wrap_text(text, len(indent) + 9) or ["(an empty line)"]
        yield f"{indent}{name:8} {first}"
        yield from (f"{indent}         {line}" for line in more_lines)
    if step.severity == "fail" and step.sent is not None and step.received is None:
        yield f"{indent}received nothing"
    for line in step.stderr:
        text = _shorten(line, _MAX_STDERR_CHARS)  # wrapped only if narrow: compilers mark columns
        yield from (f"{indent}|  {part}" for part in (_wrap_text(text, len(indent) + 3) if narrow else [text]))


def _describe_sent_request(step: checks.CheckStepView) -> str | None:
    """Return the request that was sent, with its fields in an order for people, or cut; None for another line."""
    if step.sent is None:
        return None
    request = decode(console.reorder_request(step.sent.encode()))
    if not isinstance(request, dict) or "legal" not in request:
        return None
    if step.check == "unknown things":  # what the check has altered must show
        text, note = step.sent, ""
    else:
        text, note = json.dumps(request), ", its fields reordered here"  # with blanks, at which it is wrapped
    if len(text) <= _MAX_REQUEST_CHARS:
        return text
    start = text[:_MAX_REQUEST_CHARS].rpartition(" ")[0] if note else text[:_MAX_REQUEST_CHARS]
    return f"{start} ... ({len(step.sent)} bytes{note})"


def _shorten(line: str, max_chars: int) -> str:
    """Return a line with its middle cut out if it has over `max_chars` characters: causes are often at the end."""
    text, end = escape_bytes(line.encode(), len(line)), max_chars // 3
    return text if len(text) <= max_chars else f"{text[: max_chars - end]} … {text[-end:]} ({len(line.encode())} bytes)"


def _wrap_text(text: str, taken: int, columns: int = _MAX_COLUMNS) -> list[str]:
    """Return a text wrapped to lines of `columns` minus the `taken` ones."""
    return textwrap.wrap(
        text, max(20, min(console.terminal_columns(), columns) - taken), break_on_hyphens=False, break_long_words=True
    )


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
    help="Check only the requests of this ruleset.  [all presets]",
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
    try:
        with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
            options.announce_sandbox(choice, reasons, box, " (auto)" if sandbox in (None, "auto") else "")
            settings = checks.CheckSettings(
                box,
                choice,
                scratch,
                idle_s=_IDLE_S if choice.isolates else math.inf,
                enough_s=_ENOUGH_S,
                on_build=_note_build,
                hello_s=checks.HELLO_S if start_ms is None else start_ms / 1000,
                timeouts=_choose_timeouts(limit_ms, bank_ms),
            )
            if not quick:
                settings = replace(settings, endurance_s=checks.ENDURANCE_S, pause_s=checks.PAUSE_S)
            if rules is not None:
                settings = replace(settings, rules=(load_ruleset(rules),))
            models = _find_models(bots, budget)
            programs = tuple(bot for place, bot in enumerate(bots) if place not in models)
            steps_of_programs = iter(_check_all(programs, settings, as_json) if programs else [])
            by_place = {
                place: _check_model(bots[place], model, budget, rules, as_json) for place, model in models.items()
            }
            by_bot = [by_place[place] if place in by_place else next(steps_of_programs) for place in range(len(bots))]
    except (BotError, RulesetError) as problem:
        console.usage_error(str(problem))
    except SandboxError as problem:
        console.fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        if problem.errno not in DISK_FULL_ERRNOS:
            raise
        console.fail(f"bots can't be checked: {console.os_error_reason(problem)}")
    if results is not None:
        try:
            results.write_text(gradescope_results(bots[0], by_bot[0]), encoding="utf-8")
        except OSError as problem:
            console.exit_on_os_error(problem)
    if as_json:
        console.print_json(checks.CheckReport(1, tuple(map(_make_result, bots, by_bot))))
    sys.exit(1 if any(has_failure(steps) for steps in by_bot) else 0)


def _choose_timeouts(limit_ms: int | None, bank_ms: int | None) -> checks.Timeouts:
    """Return the time limits of answers; None: the default of a match."""
    usual = checks.TIMEOUTS
    return checks.Timeouts(
        usual.free_s if limit_ms is None else limit_ms / 1000, usual.bank_s if bank_ms is None else bank_ms / 1000
    )


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

    def add(self, step: checks.CheckStep) -> None:
        """Add a step that has ended, or show the progress of the running one."""
        if step.severity == "now":
            if not self._quiet:
                self._show_progress(step)
            return
        self.drawing.close()
        self._redraw = None
        step = _save_build_log(step, self._bot)
        self.steps.append(step)
        self._print("\n".join(step_lines(step.view())))
        if not self._quiet and step.by_hand and (saved := _save(step.lines, self._bot, "lines", "jsonl")):
            self._print(f"{' ' * 12}by hand: ({escape_control(step.by_hand)}) < {saved}")

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


def _check_all(bots: tuple[str, ...], settings: checks.CheckSettings, quiet: bool) -> list[list[checks.CheckStep]]:
    """Check the bots, print each step as it ends unless `quiet`, and return the steps by bot."""
    checked: list[list[checks.CheckStep]] = []
    with closing(checks.check_all(bots, settings)) as results:
        for place, steps in groupby(results, lambda pair: pair[0]):
            if checked and not quiet:
                console.print_text("")
            printed = _PrintedCheck(bots[place], quiet)
            with printed.drawing:
                for _, step in steps:
                    printed.add(step)
            printed.print_verdict()
            checked.append(printed.steps)
    return checked


def _find_models(bots: tuple[str, ...], budget: Path | None) -> dict[int, Bot]:
    """Return the language models among the bots, by their place. Exits with 2 if a budget is for none."""
    bots_by_place = {}
    for place, argument in enumerate(bots):
        with suppress(BotError):  # a check reports it
            bots_by_place[place] = load_bots([argument], models=True)[0][0]
    if len(bots_by_place) == len(bots):
        refuse_budget(bots_by_place.values(), budget)
    return {place: bot for place, bot in bots_by_place.items() if bot.is_model}


def _check_model(
    shown: str, bot: Bot, budget_file: Path | None, rules: str | None, quiet: bool
) -> list[checks.CheckStep]:
    """Check a language model, and print each step as it ends unless `quiet`."""
    models = import_models()
    budget = models.Budget() if budget_file is None else models.read_budget(budget_file)
    printed = _PrintedCheck(shown, quiet)
    for step in models.check_model(bot, budget, load_ruleset(rules or "coup")):
        printed.add(step)
    printed.print_verdict()
    return printed.steps


def _note_build(bot: Bot) -> None:
    console.print_note(f"building {bot.name} (at most {checks.BUILD_S} s)")


def _save_build_log(step: checks.CheckStep, bot: str) -> checks.CheckStep:
    """Save a failed build's log to a file if only a part of it is printed, and name the file in the step's advice."""
    if step.severity != "fail" or not has_longer_log(step) or not (place := _save(step.log, bot, "build", "log")):
        return step
    return replace(step, advice="\n".join(filter(None, [step.advice, f"Full log: {place}"])))


def _save(data: bytes, bot: str, what: str, end: str) -> Path | None:
    """Save what a check of the bot found to a file, and return it; it replaces that of the bot's previous failure."""
    which = sha256(os.fsencode(os.path.abspath(bot))).hexdigest()[:12]
    place = Path(tempfile.gettempdir(), f"arena-{what}-{os.getuid()}-{which}.{end}")
    try:
        # Renamed, because another user may have created a link or a pipe at that path.
        with tempfile.NamedTemporaryFile(dir=place.parent, prefix=f"{place.stem}-", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.replace(file.name, place)
            except OSError:
                os.unlink(file.name)
                return None
    except OSError:
        return None
    return place


def _make_result(bot: str, steps: list[checks.CheckStep]) -> checks.CheckResult:
    return checks.CheckResult(escape_control(bot), not has_failure(steps), tuple(step.view() for step in steps))
