"""A run's session on the command line: taken up again, played to its end; what stopped it, and how it goes on."""

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from arena.bots import BotError, check_commands, check_unchanged, shown
from arena.cli import options
from arena.cli.answers import print_json
from arena.cli.out import CommandEnd, error, note, reason, refuse
from arena.run import HostError, Run, RunConfig, clean_up, record_results
from arena.sandbox import make, programs_of, scratch_folder
from ladder.store import FolderError, RunFolder

Config = TypeVar("Config", bound=RunConfig)


def resume_run(of: type[Config], resume: Path) -> tuple[Config, RunFolder]:
    """Return the config of the run that was begun in a folder, and the folder, locked."""
    _refuse_options()
    folder = RunFolder(resume, record_results)
    config = of.from_json(folder.config())
    _check_before_resume(config)
    folder.lock()
    folder.load()
    clean_up(config.sandbox)
    return config, folder


def _refuse_options() -> None:
    """Exit with 2 if an option beside --resume would change the run."""
    context = click.get_current_context()
    options_of = {each.name: each for each in context.command.params}
    named = {name: "BOT" if name == "bots" else options_of[name].opts[0] for name in context.params}
    free = [named[name] for name in ("jobs", "as_json", "as_csv") if name in named]
    names = [
        named[name]
        for name in context.params
        if name != "resume"
        and named[name] not in free
        and context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
    ]
    if names:
        only = f"{', '.join(free[:-1])} and {free[-1]}"
        refuse(f"--resume goes on with the run as it was begun: it takes no {', '.join(names)} (only {only})")


def _check_before_resume(config: RunConfig) -> None:
    """Refuse to go on with other files or commands, in another sandbox or by another clock than the run began with."""
    check_unchanged(config.bots)
    check_commands(config.bots, programs_of(config.sandbox.name))
    for bot in config.bots:
        note(f"{bot.name}: {shown(shlex.join(bot.argv))}")
    options.demand(config.sandbox)
    options.demand_set(config.sandbox.pass_env)
    with scratch_folder() as scratch, closing(make(config.sandbox, scratch)) as box:
        options.demand_clock(config.terms.timing, box)
        options.announce(config.sandbox, {}, box, "")
        options.announce_clock(config.terms.timing, box)


def play(this: Run, folder: RunFolder, show: Callable[[], None]) -> tuple[int, str | None]:
    """Let `show` play; return the exit code, and what stopped the run before its end, which is said on stderr."""
    state = this.progress
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy comes: its threads cost more than to rate
    try:
        if state.resumed:
            note(f"{state.resumed} of {state.plan.matches} matches are complete already")
        show()
        folder.end()
    except KeyboardInterrupt:
        return 130, None
    except (BotError, FolderError) as problem:
        text = str(problem)
    except HostError as problem:
        text = f"{problem}\nMend it (see arena doctor), and go on with: {again(this.config, folder)}"
    except OSError as problem:
        go_on = again(this.config, folder)
        text = f"the results can't be written: {reason(problem)}\nWhat is complete is kept; go on with: {go_on}"
    else:
        return (1 if state.given_up else 0), None
    error(text)
    return 1, text


def again(config: RunConfig, folder: RunFolder) -> str:
    """Return the command that goes on with a run."""
    return f"arena {config.COMMAND} --resume {shlex.quote(str(folder.path))}"


@contextmanager
def refusal_in_json(refused: Callable[..., Any]) -> Iterator[None]:
    """Print why a run doesn't begin as --json promises, besides: `refused(error=...)` makes the answer."""
    try:
        yield
    except CommandEnd as ended:
        print_json(refused(error=ended.text))
        raise


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
