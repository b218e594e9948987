"""The command `arena run`: what was asked for, made into a run, played, and reported."""

import errno
import itertools
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli import options
from arena.cli.out import counted, error, fail, note, progress, reason, refuse, show, write

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.run import Run, RunConfig
    from arena.sandbox import Choice, Sandbox
    from ladder.store import RunFolder


_BUILD_S = 600  # how long a bot's build command may take
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # no fault of the input
_NO_MODULE = (b"ModuleNotFoundError", b"Cannot find module")  # as Python and node say it


@click.command(cls=options.RunCommand)
@click.argument("bots", nargs=-1, metavar="BOT...")
@click.option("--games", type=click.IntRange(1), help="Play at least so many games; rounded up to whole rounds.  [480]")
@click.option("--seats", type=click.IntRange(2, 10), help="Bots at a table.  [4, or fewer if there are fewer bots]")
@click.option(
    "--match-games", type=click.IntRange(1), help="Games a match, a multiple of the seats.  [24, or the next multiple]"
)
@click.option("--rules", metavar="NAME|FILE", help="Preset, or a ruleset in TOML; see arena rules.  [coup]")
@click.option("--seed", type=int, help="Make the run repeatable. A bot can guess it: for bots you trust.")
@click.option("--jobs", type=click.IntRange(1), help="Matches to play side by side.  [number of cores]")
@options.sandbox_options
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder.  [arena-runs/<time>]")
@click.option("--limit-ms", type=click.IntRange(1), help="Free time of each request.  [500]")
@click.option("--bank-ms", type=click.IntRange(0), help="Time a game beyond the free time.  [10000]")
@click.option("--start-ms", type=click.IntRange(1), help="Time to start and say hello.  [10000]")
@click.option(
    "--clock",
    type=click.Choice(["auto", "cpu", "wall"]),
    help="The time that is charged; auto: CPU time where the sandbox accounts it.  [auto]",
)
@click.option("--ponder", is_flag=True, help="Let bots compute while it isn't their turn.")
@click.option("--strict", is_flag=True, help="The first fault forfeits the game.")
@click.option("--open-names", is_flag=True, help="Tell bots the others' names instead of letters.")
@click.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Go on with the run in DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def run(
    bots: tuple[str, ...],
    games: int | None,
    seats: int | None,
    match_games: int | None,
    rules: str | None,
    seed: int | None,
    jobs: int | None,
    sandbox: str | None,
    docker_runtime: str | None,
    docker_image: str | None,
    out: Path | None,
    limit_ms: int | None,
    bank_ms: int | None,
    start_ms: int | None,
    clock: str | None,
    ponder: bool,
    strict: bool,
    open_names: bool,
    resume: Path | None,
    as_json: bool,
    **limits: float | None,
) -> None:
    """Play bots against each other and print who is best.

    BOT is a program that speaks the protocol: a file (run by its #! line, or by its ending: .py, .js, .sh, or an
    executable), or a folder with a bot.toml (name, run, build). name=BOT names it.

    --sandbox process keeps nothing from them: it is for bots that you trust.
    """
    from arena.bots import BotError
    from arena.cli import report
    from arena.run import RulesetError, Run, RunConfig, clean_up, record_results
    from arena.sandbox import make, scratch_folder
    from ladder.store import FolderError, RunFolder

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a polite kill ends like Ctrl-C
    with _one_line_errors(BotError, FolderError, RulesetError):
        if resume is not None:
            context = click.get_current_context()
            given = [
                "--" + name.replace("_", "-")
                for name in context.params
                if name not in ("bots", "resume", "jobs", "as_json")
                and context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
            ]
            if bots or given:
                what = ", ".join(given) if given else "a BOT"
                refuse(f"--resume goes on with the run as it was begun: it takes no {what} (only --jobs and --json)")
            folder = RunFolder(resume, record_results)
            config = RunConfig.from_json(folder.config())
            _check_before_resume(config)
            folder.lock()
            folder.load()
            clean_up(config.sandbox)
        else:
            folder = RunFolder(out or _new_folder(), record_results)
            folder.refuse_existing()  # now, not after minutes of building
            choice, reasons = options.chosen(sandbox, docker_runtime, docker_image)
            config = _new_config(bots, games, seats, match_games, rules, seed, choice)
            config = replace(
                config, limits=options.limits_of(limits, rules or "coup"), strict=strict, open_names=open_names
            )
            clean_up(choice)
            with scratch_folder() as scratch:
                box = make(choice, scratch)
                try:
                    options.announce(choice, reasons, box, " (auto)" if sandbox in (None, "auto") else "")
                    timing = options.timing_of(limit_ms, bank_ms, start_ms, clock, ponder, box)
                    options.demand_clock(timing, box)
                    options.announce_clock(timing, box)
                    options.demand_limits(limits, box)
                    config = replace(config, timing=timing)
                    building = folder.path.absolute().with_name(f"{folder.path.name}.building")
                    config = _built(config, box, building)
                    _greet(config, box)
                    config = _create(folder, config, building)
                finally:
                    box.close()
            folder.lock()
        this = Run(config, folder)
    status = _play(this, folder, jobs or _cores())
    if as_json:
        write(json.dumps(report.to_json(this, folder, this.progress.board())), folder.path)
    else:
        _print_report(this, folder)
    if status == 130:
        note(f"interrupted; go on with: arena run --resume {shlex.quote(str(folder.path))}")
    sys.exit(status)


def _new_folder() -> Path:
    """Return where a run goes that was given no place: the time, with a number if two begin in one second."""
    named = Path("arena-runs", time.strftime("%Y-%m-%d-%H%M%S"))
    numbered = (named.with_name(f"{named.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([named], numbered) if not path.exists())


def _new_config(
    bots: tuple[str, ...],
    games: int | None,
    seats: int | None,
    match_games: int | None,
    rules: str | None,
    seed: int | None,
    choice: "Choice",
) -> "RunConfig":
    from arena.bots import load
    from arena.run import RunConfig, programs, seed_key
    from arena.run import load as load_rules

    ruleset = load_rules(rules or "coup")
    loaded, remarks = load(bots, programs(choice))
    for remark in remarks:
        note(remark)
    if len(loaded) < 2:
        refuse(f"a game needs at least 2 bots, {len(loaded)} given: arena run mybot.py sample_bots/*.py")
    table = seats or min(4, len(loaded), ruleset.max_seats)
    problem = ruleset.problem(table)
    if problem:
        refuse(problem)
    config = RunConfig(
        bots=tuple(loaded),
        seats=table,
        games=games or 480,
        match_games=match_games or -(-24 // table) * table,
        key=seed_key(seed),
        seed=seed,
        rules=ruleset,
        sandbox=choice,
    )
    try:
        plan = config.plan()
    except ValueError as unplannable:
        refuse(str(unplannable))
    note(
        f"{plan.games} games of {ruleset.name}: {counted(plan.rounds, 'round')} of "
        f"{counted(plan.matches_per_round, 'match', 'es')}, "
        f"{plan.match_games} games each, at {table} seats"
    )
    return config


def _check_before_resume(config: "RunConfig") -> None:
    """Refuse to go on with other files, in another sandbox or by another clock than the run began with."""
    from arena.bots import check_unchanged
    from arena.sandbox import make, scratch_folder

    check_unchanged(config.bots)
    options.demand(config.sandbox)
    with scratch_folder() as scratch:
        box = make(config.sandbox, scratch)
        try:
            options.demand_clock(config.timing, box)
            options.announce(config.sandbox, {}, box, "")
            options.announce_clock(config.timing, box)
        finally:
            box.close()


def _built(config: "RunConfig", box: "Sandbox", building: Path) -> "RunConfig":
    """Build what has to be built: in an isolating sandbox into the folder `building`, else where it stands."""
    from arena.bots import build_all, build_in_box
    from arena.run import programs

    if all(bot.build is None for bot in config.bots):
        return config
    if not config.sandbox.isolates:
        note("bots are built in their own folders, as you: the process sandbox keeps nothing from a build")
        return replace(config, bots=tuple(build_all(config.bots, _BUILD_S)))
    note(f"building {', '.join(bot.name for bot in config.bots if bot.build is not None)} in the sandbox")
    _clear(building)
    try:
        bots = build_in_box(config.bots, box, programs(config.sandbox), building / "bots", building / "logs", _BUILD_S)
    except BaseException:
        _clear(building / "bots")  # what was built; the logs stay for the author
        raise
    return replace(config, bots=tuple(bots))


def _create(folder: "RunFolder", config: "RunConfig", building: Path) -> "RunConfig":
    """Make the run's folder with what was built for it in it, and return the config as it then is."""
    from arena.bots import relocated

    inside = folder.path.absolute() / "bots"
    config = replace(config, bots=tuple(relocated(bot, building / "bots", inside) for bot in config.bots))
    folder.create(config.to_json())
    if building.exists():
        (building / "bots").rename(inside)
        for log in (building / "logs").iterdir():
            log.rename(folder.logs / log.name)
        _clear(building)
    return config


def _clear(building: Path) -> None:
    """Remove the folder of an earlier build, if it is one."""
    from arena.sandbox import remove_tree

    if building.is_dir() and not building.is_symlink():
        if building.name != "bots" and {path.name for path in building.iterdir()} - {"bots", "logs"}:
            refuse(f"{building} exists, where bots would be built; remove it, or name another --out")
        remove_tree(building)
    elif os.path.lexists(building):
        refuse(f"{building} exists, where bots would be built; remove it, or name another --out")


def _greet(config: "RunConfig", box: "Sandbox") -> None:
    """Start every bot once before anything is played; refuse the run if one can't say hello."""
    from arena.referee import ArenaError, greet
    from arena.run import program
    from protocol import show

    failed = []
    try:
        for number, bot in enumerate(config.bots):
            others = [other for other in range(len(config.bots)) if other != number][: config.seats - 1]
            spec = config.spec(0, [number, *others])
            launch = partial(box.start, program(bot), spec.limits)
            greeted = greet(spec, 0, lambda _, launch=launch: launch())  # type: ignore[misc]
            if greeted.problem is not None:
                failed.append(f"{bot.name} did not start: {greeted.problem}")
                failed += [f"  | {show(line, 200)}" for line in greeted.stderr.split(b"\n")[-12:] if line]
                if config.sandbox.isolates and bot.path.is_file() and any(map(greeted.stderr.__contains__, _NO_MODULE)):
                    failed.append("  a file is alone in its box: give its folder, with a bot.toml, if it needs others")
    except ArenaError as problem:
        fail(f"this machine can't start the bots: {problem}")
    if failed:
        refuse("\n".join(failed))


def _play(this: "Run", folder: "RunFolder", jobs: int) -> int:
    """Play to the end; return the exit code."""
    from arena.bots import BotError
    from arena.cli import report
    from arena.run import HostError
    from ladder.runner import Voided
    from ladder.store import FolderError

    state = this.progress
    if state.resumed:
        note(f"{state.resumed} of {state.plan.matches} matches are complete already")
    try:
        with progress(partial(report.live, state), partial(report.progress_line, state)) as tell:
            for event in this.play(jobs):
                tell()
                if isinstance(event, Voided):
                    note(f"match {event.job.spec.match} is void: {event.reason}")
    except KeyboardInterrupt:
        return 130
    except (BotError, FolderError) as problem:
        error(str(problem))
        return 1
    except HostError as problem:
        again = f"arena run --resume {shlex.quote(str(folder.path))}"
        error(f"{problem}\nMend it (see arena doctor), and go on with: {again}")
        return 1
    except OSError as problem:
        again = f"arena run --resume {shlex.quote(str(folder.path))}"
        error(f"the results can't be written: {reason(problem)}\nWhat is complete is kept; go on with: {again}")
        return 1
    return 1 if state.given_up else 0


def _print_report(this: "Run", folder: "RunFolder") -> None:
    from rich.text import Text

    from arena.cli import report

    board = this.progress.board()
    parts: list[RenderableType] = [report.head(this, board)]
    if board.games:  # a table of noughts says nothing
        parts += ["", report.standings(board)]
        parts += [Text(line, style="dim") for line in report.notes(board)]
        parts += ["", report.duels(board)]
    for text in report.trouble(this, folder, board):
        parts += ["", text]
    show(*parts, "", Text(report.where(folder), no_wrap=True, overflow="ignore"), kept=folder.path)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    from arena.sandbox import SandboxError

    try:
        yield
    except kinds as problem:
        refuse(str(problem))
    except SandboxError as problem:
        fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        (fail if problem.errno in _MACHINE else refuse)(reason(problem))
    except KeyboardInterrupt:
        note("interrupted before the first game")
        sys.exit(130)
