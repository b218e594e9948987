"""The command `arena ladder similar`: which bots of different owners are alike in their sources. It accuses nobody."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.view import print_view
from ladder import views
from ladder.service import AT_LEAST
from ladder.service import similar as all_similar


@click.command()
@FOLDER
@click.option(
    "--at-least",
    metavar="PERCENT",
    type=click.FloatRange(0, 100),
    default=AT_LEAST,
    help=f"List pairs of which one has so much of its own text in the other.  [{AT_LEAST:g}]",
)
@answers(views.Similar)
def similar(folder: Path, at_least: float, as_json: bool) -> None:
    """List which bots of different owners are alike, for staff: how much of each one's own text is in the other.

    Of each bot the version that plays is compared, else the newest fit. Names, strings, comments and layout don't
    matter; what kits, samples and reference bots hold doesn't count. It accuses nobody.
    """
    with ladder_at(folder) as ladder:
        result = all_similar(ladder, at_least)
    print_view(result, as_json)
