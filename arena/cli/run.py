"""Implement the command `arena run`: start or resume a run, play it to its end, and report.

A new run converts the options to a config, builds and test-starts its bots, and creates its folder. A session resumes
a run and plays it; if it is interrupted, it prints the cause and the command that resumes it."""

import os
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import click

from arena import with_extra
from arena.bots import Bot, BotError, is_missing_kit, load_bots, require_unchanged, require_unchanged_commands
from arena.cli import console, options, run_report
from arena.cli.options import complete_bot
from arena.coup import Ruleset
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.rating import min_matches_for_intervals
from arena.referee import MatchSettings, Timing
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

Config = TypeVar("Config", bound=RunConfig)

DEFAULT_SEATS = 4
CALLS_A_GAME = 30  # of a model, which has 10 to 40 decisions with a choice
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


def prepare_run(asked: RunOptions, make_config: MakeConfig[Config], parent: str) -> tuple[Config, RunFolder]:
    """Prepare a run, and return its config and its locked folder. Exits with 2 if it can't be played as requested.

    parent: in which the folder is created without --out.
    """
    folder = RunFolder(asked.out or new_run_folder_name(parent), record_results)
    folder.refuse_existing()  # before minutes of building
    if asked.seed is not None:
        console.print_note(
            f"seed {asked.seed}: a bot that guesses the seed can compute all cards (288 MB and 1 s a guess)"
        )
        console.print_note(
            "  with untrusted bots, use 20 random digits or no seed, because likely seeds can be precomputed"
        )
    choice, reasons = options.choose_sandbox(asked.sandbox, asked.docker_runtime, asked.docker_image, asked.pass_env)
    config = _make_config(asked, choice, make_config)
    require_outside_of_bots(folder.path, config.bots)
    remove_leftovers(choice)
    building = RunBuilds(folder.path)
    building.remove_dead()
    with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
        options.announce_sandbox(choice, reasons, box, " (auto)" if asked.sandbox in (None, "auto") else "")
        config = replace(
            config, settings=replace(config.settings, timing=choose_timing(asked, config.settings.timing, box))
        )
        options.require_enforced_limits(asked.limits, box)
        config = build_bots(config, box, building)
        try:
            config = preflight_bots(asked, config, box, scratch, make_config)
            config = building.settle(config, folder)
        except BaseException:
            building.discard()
            raise
    folder.lock()
    return config, folder


def require_outside_of_bots(folder: Path, bots: tuple[Bot, ...]) -> None:
    """Exit with 2 if `folder` is inside a bot's folder, where writing results would change the bot."""
    place = folder.resolve()
    for bot in bots:
        own = bot.path.resolve()
        if own.is_dir() and place.is_relative_to(own) and not EXCLUDED_NAMES.intersection(place.relative_to(own).parts):
            console.usage_error(
                f"{escape_control(folder)} is in the folder of {escape_control(bot.name)}; name an --out outside of it"
            )


def _make_config(asked: RunOptions, choice: SandboxChoice, make_config: MakeConfig[Config]) -> Config:
    """Return the config, with clocks yet to be set for the sandbox, and print the plan."""
    ruleset = load_ruleset(asked.rules or "coup")
    bots = load_named_bots(asked.bots, choice.name, models=asked.models)
    if len(bots) < 2:
        console.usage_error(f"a game needs at least 2 bots, not {len(bots)}: arena run mybot.py sample_bots/*.py")
    return make_config(asked, bots, make_settings(asked, ruleset), choice)


def load_named_bots(arguments: Sequence[str], sandbox: str, *, models: bool = False) -> tuple[Bot, ...]:
    """Return the bots of command-line arguments, and print remarks on them.

    models: whether language models may be among them. Raises BotError if an argument names no bot that can be loaded.
    """
    bots, remarks = load_bots(arguments, programs_of(sandbox), models=models)
    for remark in remarks:
        console.print_note(remark)
    return tuple(bots)


def plan_run(asked: RunOptions, bots: tuple[Bot, ...], settings: MatchSettings, choice: SandboxChoice) -> RunConfig:
    """Return the config of a run of these bots, and print its plan. Exits with 2 if there is no such plan."""
    seats = choose_seats(asked, len(bots), settings.rules)
    match_games = asked.match_games or default_match_games(choice.name, seats)
    config = RunConfig(
        bots=bots,
        seats=seats,
        games=asked.games or max(_DEFAULT_GAMES, min_matches_for_intervals(len(bots), seats) * match_games),
        match_games=match_games,
        key=seed_key(asked.seed),
        seed=asked.seed,
        settings=settings,
        sandbox=choice,
    )
    _announce_plan(config)
    announce_models(config, asked.budget)
    return config


def announce_models(config: RunConfig, budget_file: Path | None) -> None:
    """Check the models of a run before anything is built, and print what they will use.

    Raises BotError like `check_models`.
    """
    if (budget := check_models(config, budget_file)) is not None:
        models = [bot for bot in config.bots if bot.is_model]
        games = config.plan().games * config.seats * len(models) // len(config.bots)
        console.print_note(
            f"models: about {games * CALLS_A_GAME} calls, {CALLS_A_GAME} for each game of a model; the budget allows "
            f"{budget.calls}{'' if budget_file else ', and --budget FILE changes it'}"
        )


def check_models(config: RunConfig, budget_file: Path | None) -> Any:
    """Return the budget of a run's models, None without models.

    Raises BotError if a model's settings or the budget aren't valid. Exits with 2 if a budget is given without models.
    """
    refuse_budget(config.bots, budget_file)
    if not any(bot.is_model for bot in config.bots):
        return None
    return load_models(config.bots, budget_file, config.sandbox)[0]


def refuse_budget(bots: Iterable[Bot], budget_file: Path | None) -> None:
    """Exit with 2 if there is a budget, but no language model among the bots."""
    if budget_file is not None and not any(bot.is_model for bot in bots):
        console.usage_error("--budget is for language models: omit it")


def load_models(bots: Sequence[Bot], budget_file: Path | None, choice: SandboxChoice) -> tuple[Any, list[Any]]:
    """Return the budget and the model players of a table.

    Raises BotError if a model's settings or the budget aren't valid. Exits with 2 if a bot would get a key.
    """
    models = import_models()
    budget = models.Budget() if budget_file is None else models.read_budget(budget_file)
    players = models.load_players(bots, budget)
    for player in players:
        if player.settings.key_env in choice.pass_env:
            console.usage_error(f"--pass-env {player.settings.key_env}: {player.name}'s key is for no bot; omit it")
    return budget, players


def import_models() -> ModuleType:
    """Return `arena.models`. Exits with 2 if its extra isn't installed."""
    try:
        from arena import models
    except ModuleNotFoundError as missing:
        console.usage_error(f"a language model needs {missing.name}: {with_extra('models')}")
    return models


def default_match_games(sandbox: str, seats: int) -> int:
    """Return the default number of games in a match, a multiple of the seats."""
    match_games = _MATCH_GAMES_OF_SANDBOX.get(sandbox, _DEFAULT_MATCH_GAMES)
    return -(-match_games // seats) * seats


def make_settings(asked: RunOptions, ruleset: Ruleset) -> MatchSettings:
    """Return the match settings, with the clock yet to be set. --strict means one life: the first fault forfeits."""
    timing, limits = options.combine_limits(asked.limits, asked.rules or "coup")
    settings = MatchSettings(rules=ruleset, timing=timing, limits=limits, open_names=asked.show_names)
    return replace(settings, lives=1) if asked.strict else settings


def choose_seats(asked: RunOptions, bots: int, ruleset: Ruleset) -> int:
    """Return the number of seats at a table. Exits with 2 if the rules don't allow it."""
    seats = asked.seats or min(DEFAULT_SEATS, bots, ruleset.max_seats)
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


def choose_timing(asked: RunOptions, times: Timing, box: Sandbox) -> Timing:
    """Return the timing, and print which time it charges. Exits with 2 if --clock own isn't possible here."""
    timing = replace(
        times, own=box.reports_wait_time if asked.clock in (None, "auto") else asked.clock == "own", ponder=asked.ponder
    )
    options.require_own_clock(timing, box)
    options.announce_clock(timing, box)
    return timing


def build_bots(config: Config, box: Sandbox, building: RunBuilds) -> Config:
    """Build the bots that need it, and return the config of the built bots. Exits with 1 if a disk is full."""
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
        return building.build(config, box)
    except OSError as problem:
        if problem.errno not in DISK_FULL_ERRNOS:
            raise
        console.fail(f"bots can't be built: {console.os_error_reason(problem)}")


def preflight_bots(
    asked: RunOptions, config: Config, box: Sandbox, scratch: Path, make_config: MakeConfig[Config]
) -> Config:
    """Check that each bot can play, and return the config of those that can.

    Exits with 2 if one can't, with --skip-failing if fewer than two can.
    """

    def mute(bot: Bot) -> None:
        console.print_note(f"{bot.name} sent no reply within 2 s of its hello; still waiting")

    try:
        rejected = preflight_all(config, box, scratch, mute)
    except SandboxError as problem:
        if is_disk_full(problem, scratch):
            console.fail(f"{no_space_message(scratch.parent)}\nNo match was played.")
        console.fail(f"this machine can't start the bots: {problem}")
    if not rejected:
        return config
    reasons = "\n".join(line for rejection in rejected for line in _rejection_lines(rejection))
    if not asked.skip_failing:
        more = "" if asked.skip_failing is None else "; --skip-failing plays without them"
        console.usage_error(f"{reasons}\nNo match was played. arena check BOT shows details{more}.")
    bots = tuple(bot for bot in config.bots if bot not in [rejection.bot for rejection in rejected])
    if len(bots) < 2:
        console.usage_error(f"{reasons}\nA game needs at least 2 bots, and {len(bots)} can play: no match was played.")
    skipped = tuple((rejection.bot.name, _rejection_reason(rejection)) for rejection in rejected)
    console.print_note(f"{reasons}\nskipped: {', '.join(name for name, _ in skipped)}")
    return replace(make_config(asked, bots, config.settings, config.sandbox), skipped=skipped)


def _rejection_reason(rejected: RejectedBot) -> str:
    return escape_control(rejected.step.message)


def _rejection_lines(rejected: RejectedBot) -> Iterator[str]:
    """Yield why a bot can't play, its faulty line, the end of its standard error, and advice."""
    step = rejected.step
    yield f"{rejected.bot.name} can't play: {_rejection_reason(rejected)}"
    if step.received is not None:
        yield f"  got: {escape_bytes(step.received, 200)}"
    yield from (f"  | {escape_bytes(line, 200)}" for line in step.stderr)
    yield from (f"  {escape_control(line)}" for line in step.advice.split("\n") if line)


def resume_run(of: type[Config], resume: Path) -> tuple[Config, RunFolder]:
    """Return the config of the run in the folder `resume`, and the locked folder; print its bots' commands."""
    _refuse_options()
    if not resume.exists():
        console.usage_error(f"{resume} doesn't exist.\nName a run's folder.")
    folder = RunFolder(resume, record_results)
    config = of.from_json(folder.config())
    _announce_and_check(config)
    folder.lock()
    folder.restore()
    remove_leftovers(config.sandbox)
    return config, folder


def _refuse_options() -> None:
    """Exit with 2 if --resume is combined with an option that would change the run."""
    context = click.get_current_context()
    options_of = {parameter.name: parameter for parameter in context.command.params}
    named = {name: "BOT" if name == "bots" else options_of[name].opts[0] for name in context.params}
    free = [named[name] for name in ("jobs", "seconds", "budget", "as_json", "as_csv") if name in named]
    names = [
        named[name]
        for name in context.params
        if name != "resume"
        and named[name] not in free
        and context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE
    ]
    if names:
        only = f"{', '.join(free[:-1])} and {free[-1]}"
        console.usage_error(f"--resume keeps the settings of the run: omit {', '.join(names)} (allowed: {only})")


def _announce_and_check(config: RunConfig) -> None:
    """Print commands, sandbox and clock; exit if they or bots' files differ from those at the start of the run."""
    require_unchanged(config.bots)
    require_unchanged_commands(config.bots, programs_of(config.sandbox.name))
    for bot in config.bots:
        console.print_note(f"{bot.name}: {escape_control(shlex.join(bot.argv) or bot.command)}")
    options.require_sandbox(config.sandbox)
    options.require_set_variables(config.sandbox.pass_env)
    with scratch_folder() as scratch, closing(make_sandbox(config.sandbox, scratch)) as box:
        options.require_own_clock(config.settings.timing, box)
        options.announce_sandbox(config.sandbox, {}, box, "")
        options.announce_clock(config.settings.timing, box)


def play_session(this: Run, folder: RunFolder, show: Callable[[], None]) -> tuple[int, str | None]:
    """Play the run by `show()`; return the exit code and the error that stopped it, which is also printed, or None."""
    state = this.progress
    try:
        if state.resumed:
            console.print_note(f"{state.resumed} of {state.plan.matches} matches are already complete")
        show()
        folder.end()
    except KeyboardInterrupt:
        return 130, None
    except (BotError, FolderError) as problem:
        text = str(problem)
    except PausedError as problem:
        more = " --budget FILE" if "--budget FILE" in str(problem) else ""
        text = f"the run is paused: {problem}\nResume it with: {resume_command(this.config, folder)}{more}"
    except HostError as problem:
        text = f"{problem}\nFix it (see arena doctor), and resume with: {resume_command(this.config, folder)}"
    except OSError as problem:
        text = f"the results can't be written: {console.os_error_reason(problem)}\n"
        text += f"Complete matches are kept; resume with: {resume_command(this.config, folder)}"
    else:
        return (1 if state.abandoned else 0), None
    console.print_error(text)
    return 1, text


def resume_command(config: RunConfig, folder: RunFolder) -> str:
    """Return the command line that continues the run in a folder."""
    return f"arena {config.COMMAND} --resume {shlex.quote(str(folder.path))}"


@contextmanager
def exit_before_first_game(refused: Callable[..., Any] | None) -> Iterator[None]:
    """End the command at Ctrl-C or an error; with `refused`, also print the JSON of `refused(error=...)`."""
    try:
        with exit_on_refusal():
            yield
    except console.CommandEnd as ended:
        if refused is not None:
            console.print_json(refused(error=ended.text))
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
            asked = replace(RunOptions.from_options(bots, values), budget=budget, models=True)
            config, folder = prepare_run(asked, plan_run, "arena-runs")
        else:
            config, folder = resume_run(RunConfig, resume)
        this = Run(config, folder)
        events = open_pool(this, folder, jobs, budget)
    status, problem = play_session(this, folder, partial(play_with_progress, this, events))
    _print_report(this, folder, as_json, as_csv, problem)
    if status == 130:
        console.print_note(f"interrupted; resume with: {resume_command(this.config, folder)}")
    sys.exit(status)


def open_pool(
    this: Run, folder: RunFolder, jobs: int | None, budget_file: Path | None
) -> Generator[PoolEvent, None, None]:
    """Return the pool of a run, which plays it as its events are taken. Raises BotError if a model can't play."""
    refuse_budget(this.config.bots, budget_file)
    if not any(bot.is_model for bot in this.config.bots):
        return this.play(jobs or count_cores())
    models = import_models()
    budget = models.keep_budget(folder.path, budget_file)
    models.load_players(this.config.bots, budget)
    events: Generator[PoolEvent, None, None] = models.play_with_models(
        this, folder, jobs or models.DEFAULT_MATCHES, budget, console.print_note
    )
    return events


def play_with_progress(this: Run, pool: Generator[PoolEvent, None, None]) -> None:
    """Play to the end; show the progress, and print each failed attempt at a match."""
    live, line = run_report.LiveStandings(this.progress), partial(run_report.progress_line, this.progress)
    with console.show_progress(lambda: live, line) as redraw, closing(pool) as events:
        for event in events:
            redraw()
            if isinstance(event, JobFailed):
                console.print_note(f"match {event.job.spec.match} failed: {event.reason}")


def _print_report(this: Run, folder: RunFolder, as_json: bool, as_csv: bool, problem: str | None) -> None:
    """Print a run's results in the wanted format, then the skipped bots.

    problem: why the run ended early, None if it didn't.
    """
    standings, models = this.progress.standings(), []
    if any(bot.is_model for bot in this.config.bots):
        models = import_models().report_calls(folder.path)
    if as_json or as_csv:
        from arena.run.report import make_run_report, run_report_to_csv  # slow: pydantic

        result = make_run_report(this, folder, standings, problem, models)
        if as_json:
            console.print_json(result, folder.path)
        else:
            console.print_text(run_report_to_csv(result), folder.path)
    else:
        parts = [*run_report.report_parts(this, folder, standings), *run_report.model_parts(models)]
        console.print_parts(*parts, kept=folder.path)
    for name, reason in this.config.skipped:
        console.print_note(f"skipped: {name}: {reason}")
