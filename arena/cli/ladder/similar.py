"""The command `arena ladder similar`: which bots of different owners are alike in their sources. It accuses nobody."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.view import print_view
from ladder import views
from ladder.service import similar as all_similar


@click.command()
@FOLDER
@answers(views.Similar)
def similar(folder: Path, as_json: bool) -> None:
    """List which bots of different owners are alike, for staff: how much of each one's own text is in the other.

    Of each bot the version that plays is compared, else the newest fit. Names, strings, comments and layout don't
    matter; what kits, samples and reference bots hold doesn't count. A pair is listed from 50 % on. It accuses nobody.
    """
    with ladder_at(folder) as ladder:
        result = all_similar(ladder)
    print_view(result, as_json)
