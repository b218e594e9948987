"""The command `arena check`: examines bots, and prints each step with what to do."""

import os
import sys
import tempfile
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import click

from arena.bots import Bot, shown
from arena.cli import gradescope, options
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_bot, complete_rules
from arena.cli.findings import has_failure, log_has_more, step_lines, verdict_line
from arena.cli.out import fail, note, reason, refuse, stop, write
from arena.examine import BUILD_S, HELLO_S, Exam, Examinations, Examined, Patience, Step, examine_all
from arena.run import RulesetError, load
from arena.sandbox import FULL, SandboxError, make, scratch_folder


@click.command()
@click.argument("bots", nargs=-1, metavar="BOT...", shell_complete=complete_bot)
@click.option(
    "--rules",
    metavar="NAME|FILE",
    shell_complete=complete_rules,
    help="Ask the requests of this game alone.  [all presets]",
)
@click.option(
    "--start-ms",
    type=click.IntRange(1),
    metavar="N",
    help=f"Time to start and say hello, in ms.  [{HELLO_S * 1000:.0f}]",
)
@click.option("--limit-ms", type=click.IntRange(1), metavar="N", help="Free time for each request, in ms.  [500]")
@click.option("--bank-ms", type=click.IntRange(0), metavar="N", help="Time beyond that, for a game.  [10000]")
@click.option(
    "--gradescope",
    "results",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write results.json for Gradescope, too: of one bot.",
)
@options.sandbox_options
@answers(Examinations)
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
    """Examine bots: do they start, answer every kind of request, and keep to the protocol?

    BOT is what arena run takes. Each step is ok, or fail with what was sent and what came, the bot's last lines on
    standard error, and what to do. Takes some seconds a bot. It waits as long as arena run does.

    Exit codes: 0 if all bots can play; 1 if a step failed, also where there is no bot, or if this machine can't start
    bots, which writes no FILE; 2 for wrong use.
    """
    if not bots:
        refuse("no bot is given: arena check mybot.py")
    if results is not None and len(bots) > 1:
        refuse(f"--gradescope is for one bot, and {len(bots)} are given")
    choice, reasons = options.chosen(sandbox, docker_runtime, docker_image)
    try:
        with scratch_folder() as scratch, closing(make(choice, scratch)) as box:
            options.announce(choice, reasons, box, " (auto)" if sandbox in (None, "auto") else "")
            exam = Exam(box, choice, scratch, builds=_say_that_it_builds)
            if rules is not None:
                exam = replace(exam, rules=(load(rules),))
            if start_ms is not None:
                exam = replace(exam, hello_s=start_ms / 1000)
            if limit_ms is not None:
                exam = replace(exam, patience=Patience(limit_ms / 1000, exam.patience.bank_s))
            if bank_ms is not None:
                exam = replace(exam, patience=Patience(exam.patience.free_s, bank_ms / 1000))
            by_bot = _examine(bots, exam, as_json)
    except RulesetError as problem:
        refuse(str(problem))
    except SandboxError as problem:
        fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        fail(f"bots can't be examined: {reason(problem)}")
    if results is not None:
        try:
            results.write_text(gradescope.results(bots[0], by_bot[0]), encoding="utf-8")
        except OSError as problem:
            stop(problem)
    if as_json:
        print_json(Examinations(2, tuple(map(_examination, bots, by_bot))))
    sys.exit(1 if any(has_failure(steps) for steps in by_bot) else 0)


def _examine(bots: tuple[str, ...], exam: Exam, quiet: bool) -> list[list[Step]]:
    """Examine the bots, and print the steps of each as they come, bot after bot."""
    steps: list[list[Step]] = []
    with closing(examine_all(bots, exam)) as results:
        for place, each in groupby(results, lambda pair: pair[0]):
            steps.append([])
            if not quiet:
                write(("\n" if place else "") + click.style(shown(bots[place]), bold=True))
            for _, step in each:
                step = _keep_log(step, bots[place])
                steps[place].append(step)
                if not quiet:
                    write("\n".join(step_lines(step.view())))
            if not quiet:
                write(verdict_line(bots[place], steps[place]))
    return steps


def _say_that_it_builds(bot: Bot) -> None:
    note(f"building {bot.name}, for at most {BUILD_S} s")


def _keep_log(step: Step, bot: str) -> Step:
    """Write what a failed build printed into a file where not all of it is shown, and say where.

    It takes the place of the one that the bot's last failed build left.
    """
    if step.level != "fail" or not log_has_more(step):
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
    return replace(step, do="\n".join(filter(None, [step.do, f"The whole log: {place}"])))


def _examination(bot: str, steps: list[Step]) -> Examined:
    return Examined(shown(bot), not has_failure(steps), tuple(step.view() for step in steps))
