"""The command `arena ladder match`: one match."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import refuse, write
from ladder import views
from ladder.access import STAFF
from ladder.views import Match


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1, 2**31 - 1))
@click.option("--record", is_flag=True, help="Print the record, which arena verify replays.")
@answers(views.Match)
def match(folder: Path, match: int, record: bool, as_json: bool) -> None:
    """Print what is known of a match: its table, each game, faults, times, and why it ended."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        view = views.match(reader, match)
        text = views.record_text(reader, match) if record else None
    if view is None:
        refuse(f"there is no match {match}; see arena ladder matches {folder}")
    if record:
        if text is None:
            refuse(f"match {match} has no record: it {_why_no_record(view)}")
        write(text.rstrip("\n"))
    else:
        print_view(view, as_json)


def _why_no_record(view: Match) -> str:
    if view.cause == "played":
        return "was played too long ago (ladder.toml, retention)"
    return f"wasn't played ({view.cause or view.state})"
