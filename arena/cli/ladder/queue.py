"""The command `arena ladder queue`: what waits."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.matches import matches_table
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.words import when
from arena.cli.out import note, show, table
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
    if as_json:
        print_json(waiting)
        return
    if not waiting.examinations and not waiting.matches:
        note("nothing waits")
    if waiting.examinations:
        words = {"queued": "waits", "examined": "is examined now"}
        rows = [
            (shown(version.label), shown(version.pseudonym), words[version.state], when(version.submitted))
            for version in waiting.examinations
        ]
        show(table(["to be examined", "owner", "", "sent in"], rows))
    if waiting.matches:
        show(matches_table(waiting.matches))
