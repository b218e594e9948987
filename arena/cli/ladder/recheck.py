"""The command `arena ladder recheck`: versions that play are examined again."""

import sys
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.findings import step_lines
from arena.cli.ladder.opening import FOLDER, acting, complete_bots, ladder_at
from arena.cli.out import write
from arena.cli.session import cores
from arena.run import open_executor
from ladder.service import Rechecked, Rechecks, demand_boxes
from ladder.service import recheck as again


@click.command()
@FOLDER
@click.argument("bots", metavar="[BOT]...", nargs=-1, shell_complete=complete_bots)
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Examinations side by side.  [number of cores]")
@acting
@answers(Rechecks)
def recheck(folder: Path, bots: tuple[str, ...], jobs: int | None, who: str, why: str, as_json: bool) -> None:
    """Examine the versions that play again, after an update of the arena, say: all, or those of these bots.

    Each version's outcomes are shown before and after. The first examination stays, and so does who plays; to stop a
    version that fails: arena ladder disable. Exit code 1 if one would be unfit now, or couldn't be examined.
    """
    with ladder_at(folder) as ladder:
        demand_boxes(ladder)
        results = []
        with open_executor(ladder.play.sandbox, jobs or cores()) as pool:
            for each in again(ladder, pool, bots, who, why):
                results.append(each)
                if not as_json:
                    _print(each)
    if as_json:
        print_json(Rechecks(tuple(results)))
    sys.exit(1 if any(each.reason is not None or each.trouble is not None for each in results) else 0)


def _print(each: Rechecked) -> None:
    if each.trouble is not None:
        write(f"{shown(each.version)}: could not be examined: {shown(each.trouble)}")
        return
    word = "fit, as before" if each.reason is None else f"unfit now: {shown(each.reason)}"
    write(f"{shown(each.version)}: {word}")
    for name, before, after in each.changed:
        write(f"  {name}: {before} before, {after} now")
    for step in each.after:
        if step.level == "fail":
            write("\n".join(step_lines(step)))
