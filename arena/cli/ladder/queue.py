"""The command `arena ladder queue`: what waits."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import note
from ladder import views
from ladder.access import STAFF


@click.command()
@FOLDER
@click.option("--last", type=click.IntRange(1, 100_000), metavar="N", default=20, help="How many matches.  [20]")
@click.option("--after", type=click.IntRange(1), metavar="MATCH", help="Those that follow this match in the list.")
@answers(views.Queue)
def queue(folder: Path, last: int, after: int | None, as_json: bool) -> None:
    """Print what waits: versions for their examination, and matches for their turn."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        waiting = views.queue(reader, after, last)
    if not (as_json or waiting.examinations or waiting.matches):
        note("nothing waits")
    else:
        print_view(waiting, as_json)
