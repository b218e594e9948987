"""The command `arena ladder matches`: lists of matches."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import note
from ladder import views
from ladder.access import STAFF
from ladder.service import known_bot

KINDS = ("rated", "qualifying", "challenge", "final")


@click.command()
@FOLDER
@click.option("--bot", "name", metavar="BOT", shell_complete=complete_bots, help="Those of a bot alone.")
@click.option("--kind", type=click.Choice(KINDS), help="Those of a kind alone.")
@click.option("--last", type=click.IntRange(1, 100_000), metavar="N", default=20, help="How many.  [20]")
@click.option("--todo", is_flag=True, help="Those that are played now or wait, in place of those that ended.")
@click.option("--after", type=click.IntRange(1), metavar="MATCH", help="Those that follow this match in the list.")
@answers(views.MatchList)
def matches(
    folder: Path, name: str | None, kind: str | None, last: int, todo: bool, after: int | None, as_json: bool
) -> None:
    """List the last matches that ended, the newest first, with each version's wins."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        bot = None if name is None else known_bot(reader.connection, name).id
        page = views.match_list(reader, bot, kind, todo, after, last)
    if not page.rows and not as_json:
        note("no match is played or waits" if todo else "no match has ended yet")
    else:
        print_view(page, as_json)
