"""Implement `arena compare`, which tests whether NEW is better than OLD."""

import os
import shlex
import sys
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.bots import Bot, BotError, check_out_revision
from arena.cli import console, options, run, run_report
from arena.cli.options import complete_bot
from arena.compare import NAMES, NEW, OLD, report
from arena.compare.comparison import CompareConfig, Comparison, VersionArgument
from arena.compare.html_report import comparison_page
from arena.escaping import escape_control
from arena.formatting import format_count, format_points
from arena.referee import MatchSettings, Record
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
        words: list[str] = []
        opponents = False
        for word in args:
            if word.startswith("-") and word != "-":
                opponents = word == "--against"
                words += [] if opponents else [word]
            else:
                words += ["--against", word] if opponents else [word]
        return super().parse_args(ctx, words)


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
    with run.exit_before_first_game(report.RefusedComparison if as_json else None):
        if resume is not None:
            config, folder = run.resume_run(CompareConfig, resume)
        else:
            versions, arguments = _resolve_versions(bots, against, ladder)
            asked = run.RunOptions.from_options(arguments, values)
            make_config = partial(_make_comparison, versions, min_effect, max_pairs)
            config, folder = run.prepare_run(asked, make_config, "arena-compare")
        this = Run(config, folder)
        comparison = Comparison(config, folder)
        if not comparison.has_ended:
            console.print_note(report.describe_resolution(comparison))
    with console.stop_early(seconds) as early:
        play = partial(_play_with_progress, this, comparison, jobs or run.count_cores(), early)
        status, problem = run.play_session(this, folder, play)
    _print_report(this, comparison, folder, as_json, problem)
    if status == 130:
        console.print_note(f"{early.reason}; resume with: {run.resume_command(config, folder)}")
    sys.exit(early.exit_code if status == 130 else status)


def _resolve_versions(
    bots: tuple[str, ...], against: tuple[str, ...], ladder: Path | None
) -> tuple[tuple[VersionArgument, ...], tuple[str, ...]]:
    """Return the descriptions of OLD and NEW, and the arguments of all bots. Exits with 2 if one is missing."""
    if len(bots) != 2 or not against:
        console.usage_error(
            "name both versions and their opponents: arena compare OLD NEW --against sample:honest sample:opportunist"
        )
    versions, arguments = [], []
    for name, argument in zip(NAMES, bots, strict=True):
        path, meant = _resolve_version(argument, ladder)
        versions.append(VersionArgument(argument, meant))
        arguments.append(f"{name}={path}")
    for argument in against:
        path, _ = _resolve_version(argument, ladder)
        arguments.append(argument if path == argument else f"{argument.replace('/', ' ').strip()[-40:]}={path}")
    return tuple(versions), tuple(arguments)


def _resolve_version(argument: str, ladder: Path | None) -> tuple[str, str]:
    """Return the path of a version's files, and the description of its name."""
    path, at, revision = argument.rpartition("@")
    if not at or not path or os.path.lexists(argument):
        return argument, argument if argument.startswith("sample:") else os.path.abspath(os.path.expanduser(argument))
    if ladder is not None:
        copied: tuple[str, str] = import_module("ladder.cli.common").copy_version(ladder, argument)  # of an extra
        return copied
    try:
        copy, commit = check_out_revision(Path(os.path.expanduser(path)), revision, cache_folder())
    except BotError as problem:
        if revision.isdecimal():
            raise BotError(f"{problem}\nFor a version of a ladder's bot, add --ladder LADDER.") from None
        raise
    return str(copy), f"{os.path.abspath(path)} at {commit}"


def _make_comparison(
    versions: tuple[VersionArgument, ...],
    min_effect: float,
    max_pairs: int,
    asked: run.RunOptions,
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
    seats = run.choose_seats(asked, len(bots) - 1, settings.rules)
    match_games = asked.match_games or seats
    config = CompareConfig(
        bots=bots,
        seats=seats,
        games=2 * max_pairs,
        match_games=match_games,
        key=seed_key(asked.seed),
        seed=asked.seed,
        settings=settings,
        sandbox=choice,
        min_effect=min_effect / 100,
        versions=versions,
    )
    try:
        plan = config.plan()
    except ValueError as problem:
        console.usage_error(str(problem))
    for name, version in zip(NAMES, versions, strict=True):
        meant = "" if version.resolved == version.argument else f" ({escape_control(version.resolved)})"
        console.print_note(f"{name} is {escape_control(version.argument)}{meant}")
    blocks = f"at most {format_count(plan.rounds, 'block')} of {match_games} pairs"
    console.print_note(
        f"{blocks} of {settings.rules.name} at {seats} seats, against "
        f"{', '.join(escape_control(bot.name) for bot in bots[2:])}"
    )
    return config


def _play_with_progress(this: Run, comparison: Comparison, jobs: int, early: console.EarlyStop) -> None:
    """Play until there is a verdict; show the interim result, and print each failed attempt at a match."""
    from rich.text import Text

    if comparison.has_ended:
        return
    first = comparison.evidence.blocks

    def line() -> str:
        played, blocks_left = comparison.evidence.blocks - first, report.blocks_left(comparison)
        return report.describe_progress(comparison) + early.describe_left(played / (played + blocks_left))

    with console.show_progress(lambda: Text(line()), line) as redraw, closing(this.play(jobs)) as events:
        for event in events:
            comparison.update()
            redraw()
            if isinstance(event, JobFailed):
                console.print_note(f"match {event.job.spec.match} failed: {event.reason}")
            if comparison.has_ended or (isinstance(event, JobFailed) and event.abandoned):
                return  # blocks count in order, and one was abandoned


def _print_report(this: Run, comparison: Comparison, folder: RunFolder, as_json: bool, problem: str | None) -> None:
    """Write the page of a comparison into its folder, and print the report, as text with the bots' faults.

    problem: why the comparison has ended early, None if it hasn't. A page that can't be written is only noted.
    """

    def record_of(match: int) -> Record:
        return read_record_file(folder.record(match))

    standings = this.progress.standings()
    result = report.make_compare_report(comparison, standings, str(folder.path), record_of, problem)
    file = folder.path / "compare.html"
    try:
        file.write_text(comparison_page(result), encoding="utf-8")
    except OSError as error:
        console.print_note(f"the page can't be written: {error.strerror}")
    if as_json:
        console.print_json(result, folder.path)
        return
    faults = (part for text in run_report.fault_parts(this, folder, standings) for part in ("", text))
    console.print_parts(*_report_parts(comparison, result, file), *faults, kept=folder.path)


def _report_parts(comparison: Comparison, result: report.CompareReport, file: Path) -> "list[RenderableType]":
    """Return the printed parts of a result. file: its HTML page."""
    parts: list[RenderableType] = [*report.summarize_report(comparison, result)]
    if result.divergences:
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
            for row in result.divergences[:_MAX_DIFFERENCE_ROWS]
        ]
        columns = [
            *(console.Column(name, min_width=16) for name in ("request", "OLD chose", "NEW chose")),
            *(
                console.Column(name, number=True)
                for name in ("adds\npoints", "gain\n(95 %)", "pairs", "OLD\nwon", "NEW\nwon")
            ),
        ]
        parts += ["", "first different choices, in the same position", console.make_table(columns, rows)]
        if len(result.divergences) > _MAX_DIFFERENCE_ROWS:
            parts.append(f"the page has {len(result.divergences) - _MAX_DIFFERENCE_ROWS} more")
    elif result.pairs and not result.diverged_by_opponent:
        parts.append("all choices were the same")
    games = f"arena replay {shlex.quote(result.run)} --match M --game G"
    return [*parts, "", f"page {file}; games: {games} (OLD played the even matches, NEW the odd ones)"]
