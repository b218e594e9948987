"""Implement `arena study`: plan, play and report a study of language models."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.bots import Bot
from arena.cli import console, options, run_models
from arena.cli import run as run_command
from arena.escaping import escape_control, quote_path
from arena.formatting import (
    NO_VALUE,
    format_count,
    format_interval,
    format_percent,
    format_points,
    format_points_interval,
)
from arena.model_matches import DEFAULT_MATCHES
from arena.models import Budget, read_budget
from arena.referee import MatchSettings, RecordError
from arena.run import RecordFileError, Run, seed_key
from arena.sandbox import SandboxChoice
from arena.stats import ALL
from arena.study import StudyConfig, bot_arguments, make_study_config
from arena.study.design_file import StudyFile, read_study_file
from arena.study_measures import MEASURES, Measured
from arena.study_publication import describe_difference, format_p, write_report
from arena.study_report import ShownDifference, StudyPlan, StudyReport, make_study_report, plan_study, read_study

if TYPE_CHECKING:
    from rich.console import RenderableType


@click.group()
def study() -> None:
    """Plan, play and report a study of language models.

    FILE lists players, conditions, seats and games, in TOML. All players and conditions get the same deals.
    """


@study.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@console.option(
    "--pilot", metavar="DIR", type=click.Path(path_type=Path), help="Study whose numbers are used.  [assumptions]"
)
@console.option(
    "--jobs", type=click.IntRange(1), default=DEFAULT_MATCHES, metavar="N", help="Games to play in parallel."
)
@console.json_option(StudyPlan)
def plan(file: Path, pilot: Path | None, jobs: int, as_json: bool) -> None:
    """Print what a study takes and can show, before any call is made.

    It needs no keys. A pilot is a small study with the same names of players: its calls, tokens, seconds and prices,
    and the variation of its deals, replace assumptions.
    """
    with run_command.exit_on_refusal():
        design = read_study_file(file)
        bots = run_command.load_named_bots(bot_arguments(design), "process", models=True)
        config = make_study_config(design, bots, MatchSettings(), SandboxChoice(), seed_key(design.seed))
        budget = read_budget(Path(design.budget)) if design.budget else Budget()
        try:
            result = plan_study(config, budget, jobs, None if pilot is None else read_study(pilot))
        except (RecordFileError, RecordError) as problem:
            console.usage_error(str(problem))
    if as_json:
        console.print_json(result)
    else:
        console.print_parts(*_format_plan(result))


_ASSUMED = "assumed; a pilot is better: --pilot DIR"


def _format_plan(result: StudyPlan) -> "Iterator[RenderableType]":
    """Yield the games, the use of each player, the smallest clear differences, and what is too much, for printing."""
    games = f"{format_count(result.games, 'game')}: {result.games_each} of each player in each condition"
    yield f"{games}, {format_count(result.deals, 'deal')}"
    if result.uses:
        basis = _ASSUMED
        if result.pilot:
            is_assumed = any(use.pilot_condition is None for use in result.uses)
            basis = f"from {result.pilot}" + ", in part assumed" * is_assumed
        time = f"{result.hours:.1f} hours" if result.hours >= 1 else f"{max(1, math.ceil(60 * result.hours))} min"
        yield f"{_describe_use(result)}, {time} ({basis})"
        yield _make_use_table(result)
    if result.differences:
        yield ""
        yield _make_difference_table(result)
    for text in result.refused:
        yield f"too much: {text}"


def _make_use_table(result: StudyPlan) -> "RenderableType":
    """Return a row for each player and condition; with a pilot, its condition is in the last column."""
    rows = [
        [
            escape_control(use.player),
            escape_control(use.condition),
            *map(str, (use.games, use.calls, use.tokens)),
            NO_VALUE if use.dollars is None else f"{use.dollars:.2f}",
            *([escape_control(use.pilot_condition or "assumed")] if result.pilot else ()),
        ]
        for use in result.uses
    ]
    number_columns = (console.Column(name, number=True) for name in ("games", "calls", "tokens", "dollars"))
    return console.make_table(["player", "condition", *number_columns, *(["pilot"] if result.pilot else ())], rows)


def _make_difference_table(result: StudyPlan) -> "RenderableType":
    """Return a row for each measure, with the smallest differences that the study can show, in points."""
    rows = [
        [
            _title(difference, result.pilot),
            *map(_points_text, (difference.alone, difference.corrected)),
            str(difference.comparisons),
        ]
        for difference in result.differences
    ]
    number_columns = (console.Column(name, number=True) for name in ("alone", "corrected", "comparisons"))
    return console.make_table(["clear in 80 % of studies, points", *number_columns], rows)


def _title(shown: ShownDifference, pilot: str | None) -> str:
    is_marked = shown.assumed and pilot is not None
    return f"{MEASURES[shown.measure].title}{', assumed' if is_marked else ''}"


def _describe_use(result: StudyPlan) -> str:
    cost = "no price" if result.dollars is None else f"${result.dollars:.2f}"
    return f"about {result.calls} calls, {result.tokens} tokens, {cost}"


def _points_text(difference: float) -> str:
    return "none" if difference >= 1 else f"{100 * difference:.1f}"


@study.command(cls=options.GroupedCommand)
@click.argument("file", metavar="FILE", required=False, type=click.Path(path_type=Path))
@console.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Games to play in parallel.  [32, without models the cores]"
)
@console.option(
    "--budget",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="With --resume: the new budget of the study, in TOML.  [that of the study's file]",
)
@options.sandbox_options
@console.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the study.  [arena-studies/<time>]"
)
@console.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Resume the study in DIR.")
def run(file: Path | None, resume: Path | None, jobs: int | None, budget: Path | None, **values: Any) -> None:
    """Play a study.

    Interrupt it at any time: --resume DIR continues it, and makes no answered call again. With a used-up budget, the
    study can be reported, and continued with --resume DIR --budget FILE.

    Exit codes: 0 all games are played, 1 the study is paused or failed, 2 it was refused, 130 interrupted.
    """
    console.treat_sigterm_as_sigint()
    with run_command.exit_before_first_game(None):
        if resume is not None:
            config, folder = run_command.resume_run(StudyConfig, resume)
        elif file is None:
            console.usage_error("name a study's file, or a folder: arena study run --resume DIR")
        elif budget is not None:
            console.usage_error("--budget is for --resume: the study's file names the budget")
        else:
            design = read_study_file(file)
            budget = Path(design.budget) if design.budget else None
            run_options = run_command.RunOptions(
                bots=bot_arguments(design),
                seats=design.seats,
                rules=next(iter(design.conditions.values())).rules,
                seed=design.seed,
                pass_env=(),
                clock=None,
                limits={},
                budget=budget,
                models=True,
                **values,
            )
            config, folder = run_command.prepare_run(run_options, partial(_plan_study, design), "arena-studies")
        study_run = Run(config, folder)
        events = run_command.open_pool(study_run, folder, jobs, budget)
    play = partial(run_command.play_with_progress, study_run, events)
    status, _ = run_command.play_session(study_run, folder, play)
    console.print_note(f"{study_run.progress.done} of {format_count(study_run.progress.plan.matches, 'game')} played")
    if status == 130:
        console.print_note(f"interrupted; resume with: {run_command.resume_command(config, folder)}")
    console.print_note(f"report: arena study report {quote_path(folder.path)}")
    sys.exit(status)


def _plan_study(
    design: StudyFile,
    run_options: run_command.RunOptions,
    bots: tuple[Bot, ...],
    settings: MatchSettings,
    choice: SandboxChoice,
) -> StudyConfig:
    """Return the config of a study, and print its size. Raises BotError if it can't be played."""
    config = make_study_config(design, bots, settings, choice, seed_key(design.seed))
    plan = config.plan()
    conditions = format_count(len(config.conditions), "condition")
    console.print_note(f"{format_count(plan.games, 'game')}: {format_count(plan.rounds, 'deal')} in {conditions}")
    budget = run_models.check_models(config, run_options.budget)
    if budget is not None:
        forecast = plan_study(config, budget, DEFAULT_MATCHES)
        console.print_note(f"models: {_describe_use(forecast)} (assumed); the budget allows {budget.calls} calls")
        for text in forecast.refused:
            console.print_note(f"too much: {text}")
    return config


@study.command()
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path))
@console.option(
    "--out",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of the files.  [report, in the study's folder]",
)
@console.option(
    "--playouts",
    type=click.IntRange(0),
    default=2,
    metavar="N",
    help="Deals of which a game of each player is judged by playouts; a game takes about a second.",
)
@console.json_option(StudyReport)
def report(path: Path, out: Path | None, playouts: int, as_json: bool) -> None:
    """Compute all results of a study from its folder, and write them as files.

    DIR is the folder of a study, whether it has ended or not. The report makes no call. It contains a page with plots,
    tables as CSV and JSON Lines, all bluffs with their reasoning, and replays.
    """
    folder = out or path / "report"
    counts = Counter[str]()

    def describe() -> str:
        return ", ".join(f"{format_count(number, noun)} read" for noun, number in counts.items()) or "reading"

    with run_command.exit_on_refusal(), console.show_progress(describe, describe) as redraw:

        def count(noun: str) -> None:
            counts[noun] += 1
            redraw()

        try:
            stored_study = read_study(path, lambda: count("game"))
            result = make_study_report(stored_study, playouts, lambda: count("judged game"))
        except (RecordFileError, RecordError) as problem:
            console.usage_error(str(problem))
        try:
            write_report(stored_study, result, folder, lambda: count("replay"))
        except OSError as problem:  # which names no file if the disk is full
            console.fail(f"the report can't be written into {folder}: {problem.strerror}; name another --out")
    if as_json:
        console.print_json(result, folder)
        return
    console.print_parts(
        *_report_parts(result), f"page {folder / 'report.html'}; tables, figures and replays are next to it"
    )


_MAX_CLEAR = 10  # differences in the terminal
_COLUMN_NAMES = {"win_rate": "games won", "bluffs": "bluffs of\nclaims", "challenges_right": "right\nchallenges"}
_COLUMN_NAMES |= {"statements_true": "true\nstatements", "answers": "useless\nanswers"}  # by measure


def _report_parts(result: StudyReport) -> "Iterator[RenderableType]":
    """Yield the main measures of each condition, and the clear differences."""
    games = format_count(result.games, "game")
    yield f"{games}: {result.deals} of {format_count(result.planned_deals, 'deal')} in all conditions and rotations"
    for condition in result.conditions:
        yield ""
        yield _make_condition_table(result, condition)
    yield ""
    clear_rows = [row for row in result.differences if row.clear]
    for row in clear_rows[:_MAX_CLEAR]:
        points = f"{format_points(row.difference)} points ({format_points_interval(row.low, row.high)})"
        title = MEASURES[row.measure].title
        yield escape_control(f"{title}, {describe_difference(row)}: {points}, p {format_p(row.holm_p)}")
    if len(clear_rows) > _MAX_CLEAR:
        yield f"and {len(clear_rows) - _MAX_CLEAR} more on the page"
    number = f"{len(clear_rows)} of {format_count(len(result.differences), 'difference')}"
    yield f"{number} are clear (p at most 0.05 by Holm's method, whenever you look)"
    yield from result.notes


def _make_condition_table(result: StudyReport, condition: str) -> "RenderableType":
    """Return a row for each player, in the mixed design also for each anchor, with the measures that any player has."""
    rows_of_condition = (row for row in result.measures if row.name == ALL and row.condition == condition)
    estimates = {(row.player, row.measure): row for row in rows_of_condition}
    measures = [name for name in _COLUMN_NAMES if any((player, name) in estimates for player in result.players)]
    anchors = result.anchors if result.design == "mixed" else ()
    rows = []
    for player in (*result.players, *anchors):
        cells = [_format_rate(estimates.get((player, measure))) for measure in measures]
        rows.append([escape_control(player), *cells])
    columns = (console.Column(_COLUMN_NAMES[measure], number=True) for measure in measures)
    return console.make_table([escape_control(condition), *columns], rows)


def _format_rate(estimate: Measured | None) -> str:
    return f"{format_percent(None if estimate is None else estimate.value)} ({format_interval(estimate)})"
