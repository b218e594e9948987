"""Implement `arena compare`, which tests whether NEW is better than OLD."""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.bots import Bot, BotError, check_out_revision
from arena.cli import console, options, run_report
from arena.cli import run as run_command
from arena.cli.options import complete_bot
from arena.compare import NAMES, NEW, OLD, report
from arena.compare.comparison import CompareConfig, Comparison, VersionArgument
from arena.compare.html_report import comparison_page
from arena.escaping import escape_control
from arena.formatting import format_count, format_points
from arena.referee import MatchSettings
from arena.run import Run, RunFolder, cache_folder, read_record_file, seed_key
from arena.sandbox import SandboxChoice
from arena.workers import JobFailed

if TYPE_CHECKING:
    from rich.console import RenderableType

_MAX_DIFFERENCE_ROWS = 8  # in the terminal; the page has all


class _CompareCommand(options.GroupedCommand):
    """A command whose option --against takes all words up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert --against before each opponent, as click expects."""
        expanded_args: list[str] = []
        is_opponent = False
        for argument in args:
            is_option = argument.startswith("-") and argument != "-"
            if is_option:
                is_opponent = argument == "--against"
            if not is_opponent:
                expanded_args.append(argument)
            elif not is_option:
                expanded_args += ["--against", argument]
        return super().parse_args(ctx, expanded_args)


@click.command(cls=_CompareCommand)
@click.argument("bots", nargs=-1, metavar="OLD NEW --against BOT...", shell_complete=complete_bot)
@console.option(
    "--against", multiple=True, metavar="BOT", shell_complete=complete_bot, help="Opponents of OLD and NEW."
)
@console.option(
    "--min-effect",
    type=click.FloatRange(0.1, 100),
    default=5,
    metavar="P",
    help="Smallest difference in win rate that counts, in percent.",
)
@console.option("--max-pairs", type=click.IntRange(1), default=1500, metavar="N", help="Stop after N pairs of games.")
@options.time_option("Stop after this time: 60s, 5m.  [no limit]")
@console.option(
    "--ladder",
    metavar="LADDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Ladder in which name@3 is a version of a bot. Without it, @ means a revision of git.",
)
@console.option(
    "--seats", type=click.IntRange(2, 10), metavar="N", help="Bots at a table.  [4, or fewer if there are fewer bots]"
)
@console.option(
    "--match-games",
    type=click.IntRange(1),
    metavar="N",
    help="Games per match, a multiple of the seats. Bots restart in each match: longer matches save time, but their "
    "pairs are less alike if opponents adapt.  [number of seats]",
)
@options.RULES_OPTION
@console.option(
    "--seed", type=int, metavar="N", help="Make the comparison repeatable. Use it only for bots that you trust."
)
@console.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
@options.sandbox_options
@options.PASS_ENV_OPTION
@options.limit_options
@console.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the results.  [arena-compare/<time>]"
)
@console.option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="Time that bots are charged; auto: own time if the kernel reports it, else wall time.  [auto]",
)
@console.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Resume the comparison in DIR.")
@console.json_option(report.CompareReport, report.RefusedComparison)
def compare(
    *,
    bots: tuple[str, ...],
    against: tuple[str, ...],
    min_effect: float,
    max_pairs: int,
    seconds: float | None,
    ladder: Path | None,
    resume: Path | None,
    jobs: int | None,
    as_json: bool,
    **values: Any,
) -> None:
    """Test whether a bot's new version is better than the old one.

    OLD and NEW play the same deals in the same seats against opponents with the same random seeds, in new processes.
    The comparison stops when it is decided: "better", "worse", or "no difference of 5". You can look at interim results
    any time: of 20 comparisons, at most 1 is wrongly "better" and at most 1 wrongly "worse", if bots carry nothing from
    one match to the next.

    OLD and NEW are files or folders, as for arena run, sample:NAME, mybot@HEAD~1 (a bot at a revision of git), or
    with --ladder name@3. Every BOT after --against is an opponent; each block of games uses some of them.
    """
    console.treat_sigterm_as_sigint()
    with run_command.exit_before_first_game(report.RefusedComparison if as_json else None):
        if resume is not None:
            config, folder = run_command.resume_run(CompareConfig, resume)
        else:
            versions, arguments = _resolve_versions(bots, against, ladder)
            run_options = run_command.RunOptions.from_options(arguments, values)
            make_config = partial(_make_comparison, versions, min_effect, max_pairs)
            config, folder = run_command.prepare_run(run_options, make_config, "arena-compare")
        run = Run(config, folder)
        comparison = Comparison(config, folder)
        if not comparison.has_ended:
            console.print_note(report.describe_resolution(comparison))
    with console.stop_early(seconds) as early_stop:
        play = partial(_play_with_progress, run, comparison, jobs or run_command.count_cores(), early_stop)
        status, problem = run_command.play_session(run, folder, play)
    standings = run.progress.standings()
    result = report.make_compare_report(
        comparison, standings, str(folder.path), lambda match: read_record_file(folder.record(match)), problem
    )
    page = _write_page(result, folder)
    if as_json:
        console.print_json(result, folder.path)
    else:
        faults = run_report.fault_parts(run, folder, standings)
        console.print_parts(*_report_parts(comparison, result, page, faults), results=folder.path)
    if status == 130:
        console.print_note(f"{early_stop.reason}; resume with: {run_command.resume_command(config, folder)}")
    sys.exit(early_stop.exit_code if status == 130 else status)


def _resolve_versions(
    bots: tuple[str, ...], against: tuple[str, ...], ladder: Path | None
) -> tuple[tuple[VersionArgument, ...], tuple[str, ...]]:
    """Return the descriptions of OLD and NEW, and the arguments of all bots, with their names.

    Exits with 2 if one is missing. Raises BotError if a version can't be found.
    """
    if len(bots) != 2 or not against:
        console.usage_error(
            "name both versions and their opponents: arena compare OLD NEW --against sample:honest sample:opportunist"
        )
    versions, arguments = [], []
    for name, argument in zip(NAMES, bots, strict=True):
        path, description = _resolve_version(argument, ladder)
        versions.append(VersionArgument(argument, description))
        arguments.append(f"{name}={path}")
    for opponent in against:
        path, _ = _resolve_version(opponent, ladder)
        name = re.sub("[/=]", " ", opponent)[-40:].strip()  # a name has no /, and ends before the first =
        arguments.append(opponent if path == opponent else f"{name}={path}")
    return tuple(versions), tuple(arguments)


def _resolve_version(argument: str, ladder: Path | None) -> tuple[str, str]:
    """Return the path of a version's files, and the description of its name.

    A version of git or of the ladder is copied first. Raises BotError if there is no such version.
    """
    path, _, revision = argument.rpartition("@")
    if not path or os.path.lexists(argument):
        is_sample = argument.startswith("sample:")
        return argument, (argument if is_sample else os.path.abspath(os.path.expanduser(argument)))
    path = os.path.expanduser(path)
    if ladder is not None:
        copied: tuple[str, str] = import_module("ladder.cli.common").copy_version(ladder, argument)  # of an extra
        return copied
    try:
        copy, commit = check_out_revision(Path(path), revision, cache_folder())
    except BotError as problem:
        if revision.isdecimal():
            raise BotError(f"{problem}\nFor a version of a ladder's bot, add --ladder LADDER.") from None
        raise
    return str(copy), f"{os.path.abspath(path)} at {commit}"


def _make_comparison(
    versions: tuple[VersionArgument, ...],
    min_effect: float,
    max_pairs: int,
    run_options: run_command.RunOptions,
    bots: tuple[Bot, ...],
    settings: MatchSettings,
    choice: SandboxChoice,
) -> CompareConfig:
    """Return the config of a comparison, and print its plan. Exits with 2 if it can't be planned."""
    if bots[OLD].digest == bots[NEW].digest:
        console.usage_error(
            f"OLD and NEW have the same contents (SHA-256 {bots[NEW].digest[:12]}): nothing to compare.\n"
            "Save your change, or name another version. If they differ in other files, name their folders."
        )
    seats = run_command.choose_seats(run_options, len(bots) - 1, settings.rules)
    config = CompareConfig(
        bots=bots,
        seats=seats,
        games=2 * max_pairs,
        match_games=run_options.match_games or seats,
        key=seed_key(run_options.seed),
        seed=run_options.seed,
        settings=settings,
        sandbox=choice,
        min_effect=min_effect / 100,
        versions=versions,
    )
    _announce_comparison(config)
    return config


def _announce_comparison(config: CompareConfig) -> None:
    """Print what is compared, against which bots and in how many games. Exits with 2 if there is no such plan."""
    try:
        blocks = config.plan().rounds
    except ValueError as problem:
        console.usage_error(str(problem))
    for name, version in zip(NAMES, config.versions, strict=True):
        description = "" if version.resolved == version.argument else f" ({escape_control(version.resolved)})"
        console.print_note(f"{name} is {escape_control(version.argument)}{description}")
    opponents = ", ".join(escape_control(bot.name) for bot in config.bots[2:])
    console.print_note(
        f"at most {format_count(blocks, 'block')} of {config.match_games} pairs of {config.settings.rules.name} at "
        f"{config.seats} seats, against {opponents}"
    )


def _play_with_progress(run: Run, comparison: Comparison, jobs: int, early_stop: console.EarlyStop) -> None:
    """Play until there is a verdict, or a match is abandoned; show the interim result, and print failed attempts."""
    if comparison.has_ended:
        return
    resumed_blocks = comparison.evidence.blocks

    def describe() -> str:
        played, blocks_left = comparison.evidence.blocks - resumed_blocks, report.blocks_left(comparison)
        return report.describe_progress(comparison) + early_stop.describe_left(played / (played + blocks_left))

    with console.show_progress(describe, describe) as redraw, closing(run.play(jobs)) as events:
        for event in events:
            comparison.update()
            redraw()
            if isinstance(event, JobFailed):
                console.print_note(f"match {event.job.spec.match} failed: {event.reason}")
            if comparison.has_ended or (isinstance(event, JobFailed) and event.abandoned):
                return  # blocks count in order, and one was abandoned


def _write_page(result: report.CompareReport, folder: RunFolder) -> Path:
    """Write the page of a comparison into its folder, and return its path. A page that can't be written is noted."""
    file = folder.path / "compare.html"
    try:
        file.write_text(comparison_page(result), encoding="utf-8")
    except OSError as error:
        console.print_note(f"the page can't be written: {error.strerror}")
    return file


def _report_parts(
    comparison: Comparison, result: report.CompareReport, file: Path, faults: "Iterable[RenderableType]"
) -> "list[RenderableType]":
    """Return the printed parts of a result. file: its HTML page. faults: those of the bots, as parts."""
    parts: list[RenderableType] = [*report.summarize_report(comparison, result)]
    if result.divergences:
        table = _make_divergence_table(result.divergences[:_MAX_DIFFERENCE_ROWS])
        parts += ["", "first different choices, in the same position", table]
        if len(result.divergences) > _MAX_DIFFERENCE_ROWS:
            parts.append(f"the page has {len(result.divergences) - _MAX_DIFFERENCE_ROWS} more")
    elif result.pairs and not result.diverged_by_opponent:
        parts.append("all choices were the same")
    games = f"arena replay {shlex.quote(result.run)} --match M --game G"
    parts += ["", f"page {file}; games: {games} (OLD played the even matches, NEW the odd ones)"]
    return [*parts, *(part for fault in faults for part in ("", fault))]


def _make_divergence_table(divergences: "Sequence[report.DivergenceGroup]") -> "RenderableType":
    """Return a row for each first different choice, with what it adds to the difference and how often each won."""
    rows = [
        [
            row.request,
            row.old,
            row.new,
            format_points(row.contribution),
            report.format_gain(row),
            str(row.pairs),
            f"{row.old_win_rate:.0%}",
            f"{row.new_win_rate:.0%}",
        ]
        for row in divergences
    ]
    number_names = ("adds\npoints", "gain\n(95 %)", "pairs", "OLD\nwon", "NEW\nwon")
    columns = [
        *(console.Column(name, min_width=16) for name in ("request", "OLD chose", "NEW chose")),
        *(console.Column(name, number=True) for name in number_names),
    ]
    return console.make_table(columns, rows)
