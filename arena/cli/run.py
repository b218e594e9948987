"""The command `arena run`: a run is begun or taken up again, played, and reported."""

import sys
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import click

from arena.cli import options, report
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_bot
from arena.cli.ending import end_like_ctrl_c
from arena.cli.new_run import Asked, begin, refusals, run_of
from arena.cli.out import note, progress, refuse, show, write
from arena.cli.session import again, cores, play, refusal_in_json, resume_run
from arena.run import Run, RunConfig
from ladder.pool import Voided
from ladder.store import RunFolder


def _shapes() -> tuple[type, ...]:
    from arena.run.answer import Answer, Refused

    return Answer, Refused


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="BOT...", shell_complete=complete_bot)
@click.option(
    "--games",
    type=click.IntRange(1),
    metavar="N",
    help="Play at least this many games, rounded up to whole rounds.  [480]",
)
@click.option(
    "--seats", type=click.IntRange(2, 10), metavar="N", help="Bots at a table.  [4, or fewer if there are fewer bots]"
)
@click.option(
    "--match-games",
    type=click.IntRange(1),
    metavar="N",
    help="Games in a match, a multiple of the seats. Bots start anew for each match: longer matches save time, shorter "
    "ones let bots meet more different opponents, so that fewer games tell as much.  "
    "[12, in Docker 24, or the next multiple]",
)
@options.RULES
@click.option(
    "--seed",
    type=int,
    metavar="N",
    help="Make the run repeatable. Whoever guesses N can know all cards: take 20 random digits, or no seed.",
)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play side by side.  [number of cores]")
@options.sandbox_options
@options.PASS_ENV
@options.limit_options
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the results.  [arena-runs/<time>]"
)
@click.option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="The time that is charged; auto: a bot's own time where the kernel tells it.  [auto]",
)
@click.option("--ponder", is_flag=True, help="Let bots compute while it isn't their turn.")
@click.option("--strict", is_flag=True, help="The first fault forfeits the game.")
@click.option("--open-names", is_flag=True, help="Tell bots the others' names instead of letters.")
@click.option("--leave-out", is_flag=True, help="Play without the bots that can't play, and say which.")
@click.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Go on with the run in DIR.")
@answers(later=_shapes)
@click.option("--csv", "as_csv", is_flag=True, help="Print the standings, and who beats whom, as CSV on stdout.")
def run(
    bots: tuple[str, ...], resume: Path | None, jobs: int | None, as_json: bool, as_csv: bool, **given: Any
) -> None:
    """Play bots against each other and print who is best.

    BOT is a program that speaks the protocol: a file (run by its #! line, or by its ending: .py, .js, .sh, or an
    executable), or a folder with a bot.toml (name, run, build). name=BOT names it. sample:NAME is a sample bot, such as
    sample:honest.

    --sandbox process keeps nothing from a bot: it is for bots that you trust.
    """
    if as_json and as_csv:
        refuse("--json and --csv are two forms of one answer: give one of them")
    end_like_ctrl_c()
    try:
        with refusal_in_json(_shapes()[1]) if as_json else nullcontext(), refusals():
            config, folder = (
                begin(Asked.of(bots, given), run_of, "arena-runs") if resume is None else resume_run(RunConfig, resume)
            )
            this = Run(config, folder)
    except KeyboardInterrupt:
        note("interrupted before the first game")
        sys.exit(130)
    status, problem = play(this, folder, partial(_show_play, this, jobs or cores()))
    _report(this, folder, as_json, as_csv, problem)
    if status == 130:
        note(f"interrupted; go on with: {again(this.config, folder)}")
    sys.exit(status)


def _show_play(this: Run, jobs: int) -> None:
    """Play to the end; show the progress, and say which matches are void."""
    live, line = report.Live(this.progress), partial(report.progress_line, this.progress)
    with progress(lambda: live, line) as tell, closing(this.play(jobs)) as events:
        for event in events:
            tell()
            if isinstance(event, Voided):
                note(f"match {event.job.spec.match} is void: {event.reason}")


def _report(this: Run, folder: RunFolder, as_json: bool, as_csv: bool, problem: str | None) -> None:
    """Print the standings and what else there is to tell."""
    board = this.progress.board()
    if as_json or as_csv:
        from arena.run.answer import answer, to_csv  # pydantic, whose models are slow to make

        result = answer(this, folder, board, problem)
        if as_json:
            print_json(result, folder.path)
        else:
            write(to_csv(result), folder.path)
    else:
        show(*report.parts(this, folder, board), kept=folder.path)
    for name, why in this.config.left_out:
        note(f"left out: {name}: {why}")
