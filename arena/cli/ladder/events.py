"""The command `arena ladder events`: what happened, one line each, and what happens from now on."""

import time
from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.view import line_of
from arena.cli.out import note, write
from ladder import views
from ladder.access import STAFF

_PAUSE_S = 1.0


@click.command()
@FOLDER
@click.option("--after", type=click.IntRange(0), metavar="N", default=0, help="Those after the event of this number.")
@click.option("--limit", type=click.IntRange(1, 100_000), metavar="N", default=1000, help="How many.  [1000]")
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C with what happens then.")
@answers(views.EventList)
def events(folder: Path, after: int, limit: int, follow: bool, as_json: bool) -> None:
    """Print what happened, each with its number, the oldest first.

    With --json and --follow a list is printed, on one line, whenever there is something new.
    """
    with ladder_at(folder) as ladder:
        while True:
            with ladder.reading(STAFF) as reader:
                happened = views.event_list(reader, after, limit)
            if as_json and (happened.rows or not follow):
                print_json(happened)
            for line in () if as_json else happened.rows:
                write(line_of(line))
            if not follow:
                break
            if happened.next == after:
                time.sleep(_PAUSE_S)
            after = happened.next
    if not as_json and len(happened.rows) == limit:
        note(f"there are more: --after {happened.next}")
