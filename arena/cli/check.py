"""The command `arena check`: examines bots, and prints each step with what to do.

As in arena/cli/run.py, packages are imported inside the functions.
"""

import json
import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli import options
from arena.cli.out import NARROW, asked_first, counted, fail, note, reason, refuse, width, write

if TYPE_CHECKING:
    from arena.bots import Bot
    from arena.examine import Exam, Step

_COLOURS = {"ok": "green", "FAILED": "red", "told": "yellow"}
_SHOWN = 400  # characters of what was sent, and of what came
_LINE = 160  # characters of a line of standard error
_COLUMNS = 80  # a wider terminal, or a pipe, gets no longer lines


@click.command()
@click.argument("bots", nargs=-1, metavar="BOT...")
@click.option("--rules", metavar="NAME|FILE", help="Ask the requests of this game alone.  [all presets]")
@click.option("--start-ms", type=click.IntRange(1), metavar="N", help="Time to start and say hello, in ms.  [3000]")
@click.option("--limit-ms", type=click.IntRange(1), metavar="N", help="Free time for each request, in ms.  [500]")
@options.sandbox_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def check(
    bots: tuple[str, ...],
    rules: str | None,
    start_ms: int | None,
    limit_ms: int | None,
    sandbox: str | None,
    docker_runtime: str | None,
    docker_image: str | None,
    as_json: bool,
) -> None:
    """Examine bots: do they start, answer every kind of request, and keep to the protocol?

    BOT is what arena run takes. Each step is ok, or FAILED with what was sent and what came, the bot's last lines on
    standard error, and what to do. Takes some seconds a bot; it waits less long than a match does.

    Exit code 1 if a step failed.
    """
    from arena.examine import Exam, Patience
    from arena.run import RulesetError, load
    from arena.sandbox import FULL, SandboxError, make, scratch_folder

    if not bots:
        refuse("no bot is given: arena check mybot.py")
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
            found = _examined(bots, exam, as_json)
    except RulesetError as problem:
        refuse(str(problem))
    except SandboxError as problem:
        fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        fail(f"bots can't be examined: {reason(problem)}")
    if as_json:
        told = [_json(bot, steps) for bot, steps in zip(bots, found, strict=True)]
        write(json.dumps({"check": 1, "bots": told}))
    sys.exit(1 if any(step.outcome == "failed" for steps in found for step in steps) else 0)


def _examined(bots: tuple[str, ...], exam: "Exam", quiet: bool) -> "list[list[Step]]":
    """Examine the bots, and print the steps of each as they come, bot after bot."""
    from arena.bots import shown
    from arena.examine import examine_all

    steps: list[list[Step]] = []
    with closing(examine_all(bots, exam)) as found:
        for place, each in groupby(found, lambda pair: pair[0]):
            steps.append([])
            if not quiet:
                write(("\n" if place else "") + click.style(shown(bots[place]), bold=True))
            for _, step in each:
                step = _with_log_kept(step, bots[place])
                steps[place].append(step)
                if not quiet:
                    write("\n".join(step_lines(step)))
            failed = [step for step in steps[place] if step.outcome == "failed"]
            if not quiet:
                words = f"{counted(len(failed), 'step')} failed" if failed else f"{shown(bots[place])} can play"
                write(click.style(words, fg="red" if failed else "green"))
    return steps


def _say_that_it_builds(bot: "Bot") -> None:
    from arena.examine import BUILD_S

    note(f"building {bot.name}, for at most {BUILD_S} s")


def log_has_more(step: "Step") -> bool:
    """Tell whether a build printed more than `step_lines` shows."""
    from protocol import show

    return step.partial or any(show(line, _LINE) != show(line, len(step.log)) for line in step.stderr if step.log)


def _with_log_kept(step: "Step", bot: str) -> "Step":
    """Write what a failed build printed into a file where not all of it is shown, and say where.

    It takes the place of the one that the bot's last failed build left.
    """
    if step.outcome != "failed" or not log_has_more(step):
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
    return replace(step, help="\n".join(filter(None, [step.help, f"The whole log: {place}"])))


def step_lines(step: "Step") -> Iterator[str]:
    """Yield a step as lines: its outcome, then what belongs to a failure, each indented below it."""
    from arena.bots import shown
    from protocol import show

    word = "FAILED" if step.outcome == "failed" else step.outcome.value
    narrow = width() < NARROW
    head = f"{step.number:2}  {word:6}  {step.name:16}  "
    indent = " " * (4 if narrow else 12)
    taken = len(indent if narrow else head)
    rest = _folded(shown(step.detail), taken)
    coloured = head.replace(word, click.style(word, fg=_COLOURS[word]), 1)
    yield coloured.rstrip() if narrow else coloured + (rest[0] if rest else "")
    yield from (f"{' ' * taken}{line}" for line in rest[0 if narrow else 1 :])
    asked = None if step.sent is None else asked_first(step.sent)
    for name, line in (("sent" if asked == step.sent else "request", asked), ("got", step.got)):
        if line is not None:
            told = _folded(show(line, _SHOWN), len(indent) + 9)
            yield f"{indent}{name:7}  {told[0] if told else '(an empty line)'}"
            yield from (f"{indent}         {more}" for more in told[1:])
    if step.outcome == "failed" and step.sent is not None and step.got is None:
        yield f"{indent}got      nothing"
    for line in step.stderr:
        text = show(line, _LINE)  # whole where there is room: compilers point below what they mean
        yield from (f"{indent}|  {part}" for part in (_folded(text, len(indent) + 3) if narrow else [text]))
    for paragraph in map(shown, (step.help or "").split("\n")):
        yield from (
            f"{indent}-> {line}" if not at else f"{indent}   {line}" for at, line in _numbered(paragraph, indent)
        )
    if step.rows:
        least = 1 + max(len(kind) for kind, _, _ in step.rows) if narrow else 16
        yield from (
            f"{indent}{kind:{least}}{asked:>{6 if narrow else 8}}{answered:>{9 if narrow else 10}}"
            for kind, asked, answered in step.rows
        )


def _numbered(paragraph: str, indent: str) -> Iterator[tuple[int, str]]:
    return enumerate(_folded(paragraph, len(indent) + 3)) if paragraph.strip() else iter(())


def _folded(text: str, taken: int) -> list[str]:
    """Return a text as lines that fit beside what is taken of each."""
    columns = max(20, min(width(), _COLUMNS) - taken)
    return textwrap.wrap(text, columns, break_on_hyphens=False, break_long_words=True)


def _json(bot: str, steps: "list[Step]") -> dict[str, Any]:
    """Return a bot's steps as an object."""
    from arena.bots import shown

    return {
        "bot": shown(bot),
        "ok": all(step.outcome != "failed" for step in steps),
        "steps": [step_json(step) for step in steps],
    }


def step_json(step: "Step") -> dict[str, Any]:
    """Return a step as an object, with what a bot wrote escaped."""
    from arena.bots import shown
    from protocol import show

    return {
        "number": step.number,
        "name": step.name,
        "outcome": step.outcome.value,
        "detail": shown(step.detail),
        "sent": None if step.sent is None else show(step.sent, 65_536),
        "got": None if step.got is None else show(step.got, 65_536),
        "stderr": [show(line, 1000) for line in step.stderr],
        "help": step.help,
        "rows": [list(row) for row in step.rows],
    }
