"""Implement the command `arena run`: start or resume a run, play it to its end, and report.

A new run converts the options to a config, builds and test-starts its bots, and creates its folder. A session resumes
a run and plays it; if it is interrupted, it prints the cause and the command that resumes it."""

import os
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from arena.bots import Bot, BotError, is_missing_kit, load_bots, require_unchanged, require_unchanged_commands
from arena.cli import console, options, run_models, run_report
from arena.cli.options import complete_bot
from arena.coup import Ruleset
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.rating import min_matches_for_intervals
from arena.referee import MatchSettings
from arena.run import (
    FolderError,
    HostError,
    PausedError,
    PoolEvent,
    RejectedBot,
    RulesetError,
    Run,
    RunBuilds,
    RunConfig,
    RunFolder,
    load_ruleset,
    new_run_folder_name,
    preflight_all,
    record_results,
    remove_leftovers,
    seed_key,
)
from arena.sandbox import (
    DISK_FULL_ERRNOS,
    EXCLUDED_NAMES,
    HostProblem,
    Sandbox,
    SandboxChoice,
    SandboxError,
    is_disk_full,
    make_sandbox,
    no_space_message,
    programs_of,
    scratch_folder,
)
from arena.workers import JobFailed
from protocol import escape_bytes

if TYPE_CHECKING:
    from arena.run.report import ModelCalls, RunReport

Config = TypeVar("Config", bound=RunConfig)

DEFAULT_SEATS = 4
_DEFAULT_GAMES = 480  # or more, if intervals need more
_DEFAULT_MATCH_GAMES = 12  # of 4 to 48, measured to give the smallest error for the same CPU time
_MATCH_GAMES_OF_SANDBOX = {"docker": 24}  # a start costs as much as 40 games, elsewhere 12 or 17


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a new run, None for those that weren't given. limits: limits and times, by field."""

    bots: tuple[str, ...]
    seats: int | None
    rules: str | None
    seed: int | None
    sandbox: str | None
    docker_runtime: str | None
    docker_image: str | None
    pass_env: tuple[str, ...]
    out: Path | None
    clock: str | None
    limits: dict[str, float | None]
    # Not every command has these.
    games: int | None = None
    match_games: int | None = None
    ponder: bool = False
    strict: bool = False
    show_names: bool = False
    skip_failing: bool | None = None  # None: the command has no such option
    budget: Path | None = None  # of language models
    models: bool = False  # whether language models may play

    def choose_sandbox(self) -> tuple[SandboxChoice, dict[str, HostProblem]]:
        """Return the sandbox, and the problems of stronger ones; see `options.choose_sandbox`."""
        return options.choose_sandbox(self.sandbox, self.docker_runtime, self.docker_image, self.pass_env)

    @classmethod
    def from_options(cls, bots: tuple[str, ...], values: Mapping[str, Any]) -> "RunOptions":
        """Return the options by the `values` of a command line; those without a field of this class are limits."""
        named = {name: value for name, value in values.items() if name in cls.__dataclass_fields__}
        limits = {name: value for name, value in values.items() if name not in named}
        return cls(bots=bots, limits=limits, **named)


@contextmanager
def exit_on_refusal() -> Iterator[None]:
    """Turn errors into a message and an exit code: 2 for errors of the input, 1 for failures of this machine."""
    try:
        yield
    except (BotError, FolderError, RulesetError) as problem:
        console.usage_error(str(problem))
    except SandboxError as problem:
        console.fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        console.exit_on_os_error(problem)


MakeConfig = Callable[[RunOptions, tuple[Bot, ...], MatchSettings, SandboxChoice], Config]
"""Makes the config for these bots, and prints the plan. Exits with 2 if it can't be planned."""


def prepare_run(run_options: RunOptions, make_config: MakeConfig[Config], parent: str) -> tuple[Config, RunFolder]:
    """Prepare a run: plan it, build and test-start its bots, and create and lock its folder. Prints each step.

    parent: in which the folder is created without --out. Exits with 2 if the run can't be played as requested. Raises
    the errors that `exit_on_refusal` turns into exit codes.
    """
    folder = RunFolder(run_options.out or new_run_folder_name(parent), record_results)
    folder.refuse_existing()  # before minutes of building
    if run_options.seed is not None:
        _warn_of_seed(run_options.seed)
    choice, reasons = run_options.choose_sandbox()
    config = _plan_config(run_options, choice, make_config)
    require_outside_of_bots(folder.path, config.bots)
    remove_leftovers(choice)
    builds = RunBuilds(folder.path)
    builds.remove_dead()
    with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
        config = build_for_sandbox(run_options, config, reasons, box, builds)
        try:
            config = preflight_bots(run_options, config, box, scratch, make_config)
            config = builds.settle(config, folder)
        except BaseException:
            builds.discard()
            raise
    folder.lock()
    return config, folder


def _warn_of_seed(seed: int) -> None:
    console.print_note(f"seed {seed}: a bot that guesses the seed can compute all cards (288 MB and 1 s a guess)")
    console.print_note(
        "  with untrusted bots, use 20 random digits or no seed, because likely seeds can be precomputed"
    )


def require_outside_of_bots(folder: Path, bots: tuple[Bot, ...]) -> None:
    """Exit with 2 if `folder` is inside a bot's folder, where writing results would change the bot.

    A folder below one that isn't part of the bot's files, such as .git, is allowed.
    """
    path = Path(os.path.realpath(folder))  # Path.resolve raises RuntimeError for links in a circle
    for bot in bots:
        bot_folder = bot.path.resolve()
        if not bot_folder.is_dir() or not path.is_relative_to(bot_folder):
            continue
        if not EXCLUDED_NAMES.intersection(path.relative_to(bot_folder).parts):
            console.usage_error(
                f"{escape_control(folder)} is in the folder of {escape_control(bot.name)}; name an --out outside of it"
            )


def _plan_config(run_options: RunOptions, choice: SandboxChoice, make_config: MakeConfig[Config]) -> Config:
    """Load the rules and the bots, print the plan, and return the config, with clocks yet to be set for the sandbox.

    Exits with 2 for fewer than two bots. Raises BotError or RulesetError if one can't be loaded.
    """
    ruleset = load_ruleset(run_options.rules or "coup")
    bots = load_named_bots(run_options.bots, choice.name, models=run_options.models)
    if len(bots) < 2:
        console.usage_error(f"a game needs at least 2 bots, not {len(bots)}: arena run mybot.py sample:honest")
    return make_config(run_options, bots, make_settings(run_options, ruleset), choice)


def load_named_bots(arguments: Sequence[str], sandbox: str, *, models: bool = False) -> tuple[Bot, ...]:
    """Return the bots of command-line arguments, and print remarks on them.

    models: whether language models may be among them. Raises BotError if an argument names no bot that can be loaded.
    """
    bots, remarks = load_bots(arguments, programs_of(sandbox), models=models)
    for remark in remarks:
        console.print_note(remark)
    return tuple(bots)


def plan_run(
    run_options: RunOptions, bots: tuple[Bot, ...], settings: MatchSettings, choice: SandboxChoice
) -> RunConfig:
    """Return the config of a run of these bots, and print its plan. Exits with 2 if there is no such plan.

    Raises BotError if the settings of a language model or the budget aren't valid.
    """
    seats = choose_seats(run_options, len(bots), settings.rules)
    match_games = run_options.match_games or default_match_games(choice.name, seats)
    config = RunConfig(
        bots=bots,
        seats=seats,
        games=run_options.games or max(_DEFAULT_GAMES, min_matches_for_intervals(len(bots), seats) * match_games),
        match_games=match_games,
        key=seed_key(run_options.seed),
        seed=run_options.seed,
        settings=settings,
        sandbox=choice,
    )
    _announce_plan(config)
    run_models.announce_models(config, run_options.budget)
    return config


def default_match_games(sandbox: str, seats: int) -> int:
    """Return the default number of games in a match, a multiple of the seats."""
    match_games = _MATCH_GAMES_OF_SANDBOX.get(sandbox, _DEFAULT_MATCH_GAMES)
    return -(-match_games // seats) * seats


def make_settings(run_options: RunOptions, ruleset: Ruleset) -> MatchSettings:
    """Return the match settings, with the clock yet to be set. --strict means one life: the first fault forfeits."""
    timing, limits = options.combine_limits(run_options.limits, run_options.rules or "coup")
    settings = MatchSettings(rules=ruleset, timing=timing, limits=limits, open_names=run_options.show_names)
    return replace(settings, lives=1) if run_options.strict else settings


def choose_seats(run_options: RunOptions, bots: int, ruleset: Ruleset) -> int:
    """Return the number of seats at a table. Exits with 2 if the rules don't allow it."""
    seats = run_options.seats or min(DEFAULT_SEATS, bots, ruleset.max_seats)
    problem = ruleset.problem(seats)
    if problem:
        console.usage_error(problem)
    return seats


def _announce_plan(config: RunConfig) -> None:
    """Print the numbers of games, rounds, matches and seats. Exits with 2 if there is no such plan."""
    try:
        plan = config.plan()
    except ValueError as problem:
        console.usage_error(str(problem))
    rounds = f"{format_count(plan.rounds, 'round')} of {format_count(plan.matches_per_round, 'match', 'es')}"
    games = f"{format_count(plan.games, 'game')} of {config.settings.rules.name}"
    if plan.games > config.games:
        games += f" (at least {config.games} in whole rounds)"
    console.print_note(f"{games}: {rounds}, {plan.match_games} games each, at {config.seats} seats")


def build_for_sandbox(
    run_options: RunOptions, config: Config, reasons: dict[str, HostProblem], box: Sandbox, builds: RunBuilds
) -> Config:
    """Print the sandbox and the clock, build the bots, and return the config with its clock and the built bots.

    reasons: as for `options.announce_sandbox`. Exits with 2 if the sandbox can't do what the options request. Raises
    the errors of `_build_bots`.
    """
    options.announce_sandbox(config.sandbox, reasons, box, " (auto)" if run_options.sandbox in (None, "auto") else "")
    options.require_enforced_limits(run_options.limits, box)
    is_auto = run_options.clock in (None, "auto")
    is_own = box.reports_wait_time if is_auto else run_options.clock == "own"
    timing = replace(config.settings.timing, own=is_own, ponder=run_options.ponder)
    options.require_own_clock(timing, box)
    options.announce_clock(timing, box)
    return _build_bots(replace(config, settings=replace(config.settings, timing=timing)), box, builds)


def _build_bots(config: Config, box: Sandbox, builds: RunBuilds) -> Config:
    """Build the bots that need it, and return the config of the built bots.

    Exits with 1 if a disk is full. Raises BotError if a build fails, SandboxError or OSError if it can't start.
    """
    names = [bot.name for bot in config.bots if bot.build is not None]
    if not names and not any(is_missing_kit(bot, config.sandbox.isolates) for bot in config.bots):
        return config
    if names and config.sandbox.isolates:
        console.print_note(f"building {', '.join(names)} in the sandbox")
    elif names:
        console.print_note(
            "bots are built in their own folders with your permissions: --sandbox process isolates nothing"
        )
    try:
        return builds.build(config, box)
    except OSError as problem:
        if problem.errno not in DISK_FULL_ERRNOS:
            raise
        console.fail(f"bots can't be built: {console.os_error_reason(problem)}")


def preflight_bots(
    run_options: RunOptions, config: Config, box: Sandbox, scratch: Path, make_config: MakeConfig[Config]
) -> Config:
    """Test-start the bots, and return the config; with --skip-failing it has only the bots that can play.

    Exits with 2 if there are fewer than two of these, or, without --skip-failing, if any bot can't play. Raises the
    errors of `_find_rejections`.
    """
    if not run_options.skip_failing:
        hint = "" if run_options.skip_failing is None else "; --skip-failing plays without them"
        require_startable_bots(config, box, scratch, hint)
        return config
    rejections = _find_rejections(config, box, scratch)
    if not rejections:
        return config
    reasons = _describe_rejections(rejections)
    rejected_bots = [rejection.bot for rejection in rejections]
    bots = tuple(bot for bot in config.bots if bot not in rejected_bots)
    if len(bots) < 2:
        console.usage_error(f"{reasons}\nA game needs at least 2 bots, and {len(bots)} can play: no match was played.")
    skipped = tuple((rejection.bot.name, _rejection_reason(rejection)) for rejection in rejections)
    console.print_note(f"{reasons}\nskipped: {', '.join(name for name, _ in skipped)}")
    return replace(make_config(run_options, bots, config.settings, config.sandbox), skipped=skipped)


def require_startable_bots(config: RunConfig, box: Sandbox, scratch: Path, hint: str = "") -> None:
    """Test-start the bots, and exit with 2 if any of them can't play. hint: the end of the error's advice.

    Raises the errors of `_find_rejections`.
    """
    if rejections := _find_rejections(config, box, scratch):
        advice = f"No match was played. arena check BOT shows details{hint}."
        console.usage_error(f"{_describe_rejections(rejections)}\n{advice}")


def _find_rejections(config: RunConfig, box: Sandbox, scratch: Path) -> list[RejectedBot]:
    """Test-start the bots; return those that can't play. Exits with 1 for a full disk. Raises like `preflight_all`."""
    try:
        return preflight_all(config, box, scratch, _note_mute_bot)
    except SandboxError as problem:
        if is_disk_full(problem, scratch):
            console.fail(f"{no_space_message(scratch.parent)}\nNo match was played.")
        raise


def _note_mute_bot(bot: Bot) -> None:
    console.print_note(f"{bot.name} sent no reply within 2 s of its hello; still waiting")


def _rejection_reason(rejection: RejectedBot) -> str:
    return escape_control(rejection.step.message)


def _describe_rejections(rejections: Sequence[RejectedBot]) -> str:
    """Return lines on each bot: why it can't play, its faulty line, the end of its standard error, and advice."""
    lines = []
    for rejection in rejections:
        step = rejection.step
        lines.append(f"{rejection.bot.name} can't play: {_rejection_reason(rejection)}")
        if step.received is not None:
            lines.append(f"  got: {escape_bytes(step.received, 200)}")
        lines += (f"  | {escape_bytes(line, 200)}" for line in step.stderr)
        lines += (f"  {escape_control(line)}" for line in step.advice.split("\n") if line)
    return "\n".join(lines)


def resume_run(config_type: type[Config], path: Path) -> tuple[Config, RunFolder]:
    """Return the config of the run in a folder, and the locked folder; print its bots' commands.

    Results that were cut off are restored or removed. Exits with 2 if the folder doesn't exist, or an option or this
    machine would change the run. Raises the errors that `exit_on_refusal` turns into exit codes.
    """
    _refuse_options()
    if not path.exists():
        console.usage_error(f"{path} doesn't exist.\nName a run's folder.")
    folder = RunFolder(path, record_results)
    config = config_type.from_json(folder.config())
    _require_unchanged_run(config)
    _announce_run(config)
    folder.lock()
    folder.restore()
    remove_leftovers(config.sandbox)
    return config, folder


def _refuse_options() -> None:
    """Exit with 2 if --resume is combined with an option that would change the run."""
    context, typed = click.get_current_context(), click.core.ParameterSource.COMMANDLINE
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params} | _ARGUMENTS
    allowed = [name for name in ("jobs", "seconds", "budget", "as_json", "as_csv") if name in context.params]
    given = [name for name in context.params if context.get_parameter_source(name) == typed]
    refused = [flags[name] for name in given if name not in (*allowed, "resume")]
    if refused:
        *others, last = [flags[name] for name in allowed]
        console.usage_error(
            f"--resume keeps the settings of the run: omit {', '.join(refused)} "
            f"(allowed: {', '.join(others)} and {last})"
        )


_ARGUMENTS = {"bots": "BOT", "file": "FILE"}  # how the help calls them


def _require_unchanged_run(config: RunConfig) -> None:
    """Exit with 2 unless this machine has the run's sandbox and the variables that it passes.

    Raises BotError if a bot's files or command aren't those of the start of the run.
    """
    require_unchanged(config.bots)
    require_unchanged_commands(config.bots, programs_of(config.sandbox.name))
    options.require_sandbox(config.sandbox)
    options.require_set_variables(config.sandbox.pass_env)


def _announce_run(config: RunConfig) -> None:
    """Print the bots' commands, the sandbox and the clock. Exits with 2 if the sandbox can't measure own time."""
    for bot in config.bots:
        console.print_note(f"{bot.name}: {escape_control(shlex.join(bot.argv) or bot.command)}")
    with scratch_folder() as scratch, closing(make_sandbox(config.sandbox, scratch)) as box:
        options.require_own_clock(config.settings.timing, box)
        options.announce_sandbox(config.sandbox, {}, box, "")
        options.announce_clock(config.settings.timing, box)


def play_session(run: Run, folder: RunFolder, play: Callable[[], None]) -> tuple[int, str | None]:
    """Play the run by `play()`; return the exit code and the error that stopped it, which is also printed, or None.

    The code is 0, 1 after an error or with abandoned matches, or 130 after an interrupt.
    """
    progress, resume = run.progress, resume_command(run.config, folder)
    try:
        if progress.resumed:
            console.print_note(f"{progress.resumed} of {progress.plan.matches} matches are already complete")
        play()
        folder.end()
    except KeyboardInterrupt:
        return 130, None
    except (BotError, FolderError) as problem:
        error = str(problem)
    except PausedError as problem:
        budget = " --budget FILE" if "--budget FILE" in str(problem) else ""
        error = f"the run is paused: {problem}\nResume it with: {resume}{budget}"
    except HostError as problem:
        error = f"{problem}\nFix it (see arena doctor), and resume with: {resume}"
    except OSError as problem:
        reason = console.os_error_reason(problem)
        error = f"the results can't be written: {reason}\nComplete matches are kept; resume with: {resume}"
    else:
        return (1 if progress.abandoned else 0), None
    console.print_error(error)
    return 1, error


def resume_command(config: RunConfig, folder: RunFolder) -> str:
    """Return the command line that continues the run in a folder."""
    return f"arena {config.COMMAND} --resume {shlex.quote(str(folder.path))}"


@contextmanager
def exit_before_first_game(refused: Callable[..., Any] | None) -> Iterator[None]:
    """End the command at Ctrl-C or an error; with `refused`, print an error also as JSON, `refused(error=...)`."""
    try:
        with exit_on_refusal():
            yield
    except console.CommandEnd as end:
        if refused is not None:
            console.print_json(refused(error=end.text))
        raise
    except KeyboardInterrupt:
        console.print_note("interrupted before the first game")
        sys.exit(130)


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _report_types() -> tuple[type, ...]:
    from arena.run.report import RefusedRun, RunReport

    return RunReport, RefusedRun


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="BOT...", shell_complete=complete_bot)
@console.option(
    "--games",
    type=click.IntRange(1),
    metavar="N",
    help="Minimum number of games, rounded up to whole rounds.  [480, or as many as intervals need]",
)
@console.option(
    "--seats", type=click.IntRange(2, 10), metavar="N", help="Bots at a table.  [4, or fewer if there are fewer bots]"
)
@console.option(
    "--match-games",
    type=click.IntRange(1),
    metavar="N",
    help="Games per match, a multiple of the seats. Bots restart in each match: longer matches save time. In shorter "
    "matches bots meet more opponents, so fewer games are needed.  [12, in Docker 24, or the next multiple]",
)
@options.RULES_OPTION
@console.option(
    "--seed",
    type=int,
    metavar="N",
    help="Make the run repeatable. A bot that guesses N knows all cards: use 20 random digits, or no seed.",
)
@console.option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Matches to play in parallel.  [number of cores; with language models 32]",
)
@options.BUDGET_OPTION
@options.sandbox_options
@options.PASS_ENV_OPTION
@options.limit_options
@console.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the results.  [arena-runs/<time>]"
)
@console.option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="The time that is charged; auto: a bot's own time where the kernel reports it.  [auto]",
)
@console.option("--ponder", is_flag=True, help="Allow bots to compute during other players' turns.")
@console.option("--strict", is_flag=True, help="Forfeit the game at a bot's first fault.")
@console.option("--show-names", is_flag=True, help="Show bots the names of other bots instead of letters.")
@console.option("--skip-failing", is_flag=True, help="Play without bots that fail the check, and list them.")
@console.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Resume the run in DIR.")
@console.json_option(later=_report_types)
@console.option(
    "--csv", "as_csv", is_flag=True, help="Print the standings and the head-to-head results as CSV on stdout."
)
def run(
    bots: tuple[str, ...],
    resume: Path | None,
    jobs: int | None,
    budget: Path | None,
    as_json: bool,
    as_csv: bool,
    **values: Any,
) -> None:
    """Play bots against each other and print the standings.

    BOT is a program that speaks the protocol: a file (run by its #! line or extension .py, .js or .sh, or an
    executable), or a folder with a bot.toml. NAME=BOT names the bot. sample:NAME is a sample bot, such as
    sample:honest.

    With --sandbox process a bot has all your permissions. Use it only for bots that you trust.
    """
    if as_json and as_csv:
        console.usage_error("choose one of --json and --csv")
    console.treat_sigterm_as_sigint()
    with exit_before_first_game(_report_types()[1] if as_json else None):
        if resume is None:
            run_options = replace(RunOptions.from_options(bots, values), budget=budget, models=True)
            config, folder = prepare_run(run_options, plan_run, "arena-runs")
        else:
            config, folder = resume_run(RunConfig, resume)
        opened_run = Run(config, folder)
        events = open_pool(opened_run, folder, jobs, budget)
    status, problem = play_session(opened_run, folder, partial(play_with_progress, opened_run, events))
    if as_json:
        console.print_json(_make_report(opened_run, folder, problem), folder.path)
    elif as_csv:
        from arena.run.report import run_report_to_csv  # slow: pydantic

        console.print_text(run_report_to_csv(_make_report(opened_run, folder, problem)), folder.path)
    else:
        standings, models = opened_run.progress.standings(), _report_models(opened_run, folder)
        parts = [*run_report.report_parts(opened_run, folder, standings), *run_report.model_parts(models)]
        console.print_parts(*parts, results=folder.path)
    for name, reason in config.skipped:
        console.print_note(f"skipped: {name}: {reason}")
    if status == 130:
        console.print_note(f"interrupted; resume with: {resume_command(config, folder)}")
    sys.exit(status)


def open_pool(
    run: Run, folder: RunFolder, jobs: int | None, budget_file: Path | None
) -> Generator[PoolEvent, None, None]:
    """Return the pool of a run, which plays it as its events are taken.

    jobs: matches in parallel, None for the default. With models, the budget file is stored in the folder. Raises
    BotError if a model can't play. Exits with 2 if a budget is given without models.
    """
    run_models.refuse_budget(run.config.bots, budget_file)
    if not any(bot.is_model for bot in run.config.bots):
        return run.play(jobs or count_cores())
    models = run_models.import_models()
    from arena import model_matches  # needs the extra that was just imported

    budget = model_matches.keep_budget(folder.path, budget_file)
    models.load_players(run.config.bots, budget)
    return model_matches.play_with_models(
        run, folder, jobs or model_matches.DEFAULT_MATCHES, budget, console.print_note
    )


def play_with_progress(run: Run, pool: Generator[PoolEvent, None, None]) -> None:
    """Play to the end; show the progress, and print each failed attempt at a match."""
    live_standings = run_report.LiveStandings(run.progress)
    describe = partial(run_report.progress_line, run.progress)
    with console.show_progress(lambda: live_standings, describe) as redraw, closing(pool) as events:
        for event in events:
            redraw()
            if isinstance(event, JobFailed):
                console.print_note(f"match {event.job.spec.match} failed: {event.reason}")


def _make_report(run: Run, folder: RunFolder, problem: str | None) -> "RunReport":
    """Return the report of a run for --json and --csv. problem: why the run ended early, None if it didn't."""
    from arena.run.report import make_run_report  # slow: pydantic

    return make_run_report(run, folder, run.progress.standings(), problem, _report_models(run, folder))


def _report_models(run: Run, folder: RunFolder) -> "Sequence[ModelCalls]":
    """Return the calls of each language model of a run. Exits with 2 if their extra isn't installed."""
    if not any(bot.is_model for bot in run.config.bots):
        return ()
    calls: Sequence[ModelCalls] = run_models.import_models().report_calls(folder.path)
    return calls
