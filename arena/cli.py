"""The command `arena`. The composition root: imports everything, is imported by nobody, and alone prints and exits.

Exit codes: 0 ok, 1 failed while playing or verifying, 2 wrong use or input, 130 interrupted. Data goes to stdout,
progress and notes to stderr. The packages are imported inside the commands, so that `arena --help` answers at once.
"""

import errno
import itertools
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from arena import __version__, cli_rules

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from arena.run import Run, RunConfig

_LIVE_PER_S = 4  # how often the live table is drawn
_BUILD_S = 600  # how long a bot's build command may take
_PIPE_WIDTH = 10_000  # columns for a pipe or a file, which have no width to fit: so that no line is folded or cut


def main() -> None:
    """Run the command; the entry point of the distribution."""
    if sys.platform == "win32":
        click.echo("arena: Windows isn't supported; use WSL2 (wsl --install), where arena runs as on Linux", err=True)
        sys.exit(2)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(
            errors="backslashreplace"
        )  # a bot's name or a path may be more than the terminal can show
    cli(prog_name="arena")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="arena")
def cli() -> None:
    """Play bot programs against each other at the card game Coup."""


cli.add_command(cli_rules.rules)
cli.add_command(cli_rules.odds)


@cli.command()
@click.argument("bots", nargs=-1, metavar="BOT...")
@click.option("--games", type=click.IntRange(1), help="Play at least so many games; rounded up to whole rounds.  [480]")
@click.option("--seats", type=click.IntRange(2, 10), help="Bots at a table.  [4, or fewer if there are fewer bots]")
@click.option(
    "--match-games", type=click.IntRange(1), help="Games a match, a multiple of the seats.  [24, or the next multiple]"
)
@click.option("--rules", metavar="NAME|FILE", help="Preset, or a ruleset in TOML; see arena rules.  [coup]")
@click.option("--seed", type=int, help="Make the run repeatable. A bot can guess it: for bots you trust.")
@click.option("--jobs", type=click.IntRange(1), help="Matches to play side by side.  [number of cores]")
@click.option("--sandbox", type=click.Choice(["auto", "process"]), help="How bots are kept apart.  [auto]")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder.  [arena-runs/<time>]")
@click.option("--limit-ms", type=click.IntRange(1), help="Free time of each request.  [500]")
@click.option("--bank-ms", type=click.IntRange(0), help="Time a game beyond the free time.  [10000]")
@click.option("--start-ms", type=click.IntRange(1), help="Time to start and say hello.  [10000]")
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
    out: Path | None,
    limit_ms: int | None,
    bank_ms: int | None,
    start_ms: int | None,
    strict: bool,
    open_names: bool,
    resume: Path | None,
    as_json: bool,
) -> None:
    """Play bots against each other and print who is best.

    BOT is a program that speaks the protocol: a file (run by its #! line, or by its ending: .py, .js, .sh, or an
    executable), or a folder with a bot.toml (name, run, build). name=BOT names it.

    Only run bots that you trust: the process sandbox keeps nothing from them.
    """
    from arena import report
    from arena.bots import BotError
    from arena.rulesets import RulesetError
    from arena.run import Run, RunConfig, record_results
    from ladder.folder import FolderError, RunFolder

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
                _refuse(f"--resume goes on with the run as it was begun: it takes no {what} (only --jobs and --json)")
            folder = RunFolder(resume, record_results)
            config = RunConfig.from_json(folder.config())
            _check_before_resume(config)
            folder.lock()
        else:
            folder = RunFolder(out or _new_folder(), record_results)
            folder.refuse_existing()  # now, not after minutes of building
            config = _new_config(
                bots, games, seats, match_games, rules, seed, limit_ms, bank_ms, start_ms, strict, open_names
            )
            _greet(config)
            folder.create(config.to_json())
            folder.lock()
        this = Run(config, folder)
        this.load()
    status = _play(this, jobs or _cores())
    with _to_stdout(folder.path):
        if as_json:
            click.echo(json.dumps(report.to_json(this, this.progress.tally.board())))
        else:
            _print_report(this)
    if status == 130:
        _note(f"interrupted; go on with: arena run --resume {shlex.quote(str(folder.path))}")
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
    limit_ms: int | None,
    bank_ms: int | None,
    start_ms: int | None,
    strict: bool,
    open_names: bool,
) -> "RunConfig":
    from arena.bots import build_all, load
    from arena.referee import Timing
    from arena.rulesets import load as load_rules
    from arena.run import RunConfig, seed_key

    ruleset = load_rules(rules or "coup")
    loaded, remarks = load(bots)
    for remark in remarks:
        _note(remark)
    if len(loaded) < 2:
        _refuse(f"a game needs at least 2 bots, {len(loaded)} given: arena run mybot.py sample_bots/*.py")
    table = seats or min(4, len(loaded), ruleset.max_seats)
    problem = ruleset.problem(table)
    if problem:
        _refuse(problem)
    config = RunConfig(
        bots=tuple(loaded),
        seats=table,
        games=games or 480,
        match_games=match_games or -(-24 // table) * table,
        key=seed_key(seed),
        seed=seed,
        rules=ruleset,
        timing=Timing(
            limit_ms=500 if limit_ms is None else limit_ms,
            bank_ms=10_000 if bank_ms is None else bank_ms,
            start_ms=10_000 if start_ms is None else start_ms,
        ),
        strict=strict,
        open_names=open_names,
    )
    try:
        plan = config.plan()
    except ValueError as unplannable:
        _refuse(str(unplannable))
    config = replace(config, bots=tuple(build_all(loaded, _BUILD_S)))
    _note(
        f"{plan.games} games of {ruleset.name}: {plan.rounds} rounds of {plan.matches_per_round} matches, "
        f"{plan.match_games} games each, at {table} seats"
    )
    _note("sandbox: process (it keeps nothing from the bots: only for code you trust)")
    return config


def _check_before_resume(config: "RunConfig") -> None:
    from arena.bots import check_unchanged

    check_unchanged(config.bots)


def _greet(config: "RunConfig") -> None:
    """Start every bot once before anything is played; refuse the run if one can't say hello."""
    import tempfile

    from arena.referee import ArenaError, greet
    from arena.run import program
    from arena.sandbox import Limits, ProcessSandbox, remove_tree
    from protocol.framing import show

    failed = []
    scratch = Path(tempfile.mkdtemp(prefix="arena-"))
    try:
        sandbox = ProcessSandbox(scratch)
        for number, bot in enumerate(config.bots):
            others = [other for other in range(len(config.bots)) if other != number][: config.seats - 1]
            spec = config.spec(0, [number, *others])
            greeted = greet(spec, 0, lambda _, bot=bot: sandbox.start(program(bot), Limits()))  # type: ignore[misc]
            if greeted.problem is not None:
                failed.append(f"{bot.name} did not start: {greeted.problem}")
                failed += [f"  | {show(line, 200)}" for line in greeted.stderr.split(b"\n")[-12:] if line]
    except ArenaError as problem:
        _fail(f"this machine can't start the bots: {problem}")
    finally:
        remove_tree(scratch)
    if failed:
        _refuse("\n".join(failed))


def _play(this: "Run", jobs: int) -> int:
    """Play to the end; return the exit code."""
    from arena.bots import BotError
    from ladder.folder import FolderError
    from ladder.runner import Voided

    progress = this.progress
    if progress.resumed:
        _note(f"{progress.resumed} of {progress.plan.matches} matches are complete already")
    try:
        with _display(this) as draw:
            for event in this.play(jobs):
                draw()
                if isinstance(event, Voided):
                    _note(f"match {event.job.spec.match} is void: {event.reason}")
    except KeyboardInterrupt:
        return 130
    except (BotError, FolderError) as problem:
        _note(f"arena: {problem}")
        return 1
    except OSError as problem:
        again = f"arena run --resume {shlex.quote(str(this.folder.path))}"
        _note(f"arena: the results can't be written: {_told(problem)}\nWhat is complete is kept; go on with: {again}")
        return 1
    return 1 if progress.given_up else 0


@contextmanager
def _display(this: "Run") -> Iterator[Callable[[], None]]:
    """Give a function that shows the progress: a live table on a terminal, else a line every ten seconds."""
    from rich.console import Console

    from arena import report

    console = Console(stderr=True)
    if console.is_terminal:
        from rich.live import Live

        with Live(console=console, auto_refresh=False, transient=True) as live:
            last = 0.0

            def draw() -> None:
                nonlocal last
                if time.monotonic() - last >= 1 / _LIVE_PER_S:
                    last = time.monotonic()
                    live.update(report.live(this.progress), refresh=True)

            yield draw
    else:
        said = time.monotonic()

        def say() -> None:
            nonlocal said
            if time.monotonic() - said >= 10:
                said = time.monotonic()
                _note(report.progress_line(this.progress))

        yield say


def _print_report(this: "Run") -> None:
    from rich.console import Console

    from arena import report

    board = this.progress.tally.board()
    # No markup and no emoji codes: paths and names are printed as they are.
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(report.head(this, board))
    console.print()
    _print_whole(console, report.standings(board))
    for line in report.notes(board):
        console.print(line, style="dim")
    console.print()
    _print_whole(console, report.duels(board))
    for text in report.trouble(this, board):
        console.print()
        console.print(text)
    console.print()
    console.print(report.where(this), soft_wrap=True)


def _print_whole(console: "Console", table: "Table") -> None:
    """Print a table; a terminal too narrow for it breaks its lines, but no number is cut."""
    fitting = console.width
    console.width = max(fitting, sum((column.min_width or 0) + 2 for column in table.columns))
    console.print(table)
    console.width = fitting


@cli.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
def verify(path: Path) -> None:
    """Replay records through the engine and demand the same events and results."""
    from arena.referee import RecordError, read, results
    from arena.referee import verify as replay

    if path.is_dir():
        files = sorted((path / "records" if (path / "records").is_dir() else path).glob("*.jsonl"))
        if not files:
            _refuse(f"{path} holds no records; name a run's folder or a record file")
    elif path.is_file():
        files = [path]
    else:
        _refuse(f"{path} doesn't exist; name a run's folder or a record file")
    games = 0
    lines = []
    for file in files:
        try:
            record = read(file.read_text(encoding="utf-8"))
        except OSError as problem:
            _refuse(f"{_told(problem)}; name a run's folder or a record file")
        except (RecordError, RecursionError, UnicodeDecodeError) as problem:
            _refuse(f"{file}: {problem}; only a whole record of this version can be verified")
        try:
            replay(record)
        except RecordError as problem:
            _fail(f"{file}: {problem}")
        games += len(record.games)
        lines += [json.dumps(line, separators=(",", ":")) for line in results(record)]
    listed = path / "results.jsonl"
    if path.is_dir() and listed.is_file() and listed.read_bytes().decode(errors="replace").splitlines() != lines:
        _fail(f"{listed} is not what the records say; arena run --resume {shlex.quote(str(path))} writes it anew")
    with _to_stdout(path):
        click.echo(f"{games} games in {len(files)} records: every move legal, every event and result the same")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def _one_line_errors(*kinds: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kinds as problem:
        _refuse(str(problem))
    except OSError as problem:
        _refuse(_told(problem))
    except KeyboardInterrupt:
        _note("interrupted before the first game")
        sys.exit(130)


def _told(problem: OSError) -> str:
    what = problem.strerror or str(problem)
    return what if problem.filename is None else f"{problem.filename}: {what}"


@contextmanager
def _to_stdout(kept: Path) -> Iterator[None]:
    """Exit with 1 where standard output doesn't take what is printed: silently if its reader has gone."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if problem.errno == errno.EPIPE:
            sys.exit(1)
        _fail(f"standard output can't be written: {_told(problem)}; the results are in {kept}")


def _note(text: str) -> None:
    click.echo(text, err=True)


def _refuse(text: str) -> NoReturn:
    """Say what is wrong with the input, and exit with 2."""
    click.echo(f"arena: {text}", err=True)
    sys.exit(2)


def _fail(text: str) -> NoReturn:
    """Say what went wrong, and exit with 1."""
    click.echo(f"arena: {text}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
