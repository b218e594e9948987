"""The command `arena ladder bot`: all that a bot's owner should be told."""

from dataclasses import replace
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.log import write_log
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import note, refuse, write
from ladder import views
from ladder.access import STAFF, Viewer
from ladder.service import due_of_bot, known_bot


@click.command()
@FOLDER
@click.argument("name", metavar="BOT", shell_complete=complete_bots)
@click.option("--version", "number", type=click.IntRange(1), metavar="N", help="The version to look at.  [the newest]")
@click.option("--last", type=click.IntRange(0, 1000), metavar="N", default=10, help="How many matches.  [10]")
@click.option("--build-log", is_flag=True, help="Print what the version's build printed, and nothing else.")
@answers(views.Bot, views.BuildLog)
def bot(folder: Path, name: str, number: int | None, last: int, build_log: bool, as_json: bool) -> None:
    """Print all about a bot: its versions, why one doesn't play, where it stands, its faults, times and matches.

    Of each deadline it prints the version that counts. It is what the bot's owner may see.
    """
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        owner = Viewer(known_bot(reader.connection, name).login)
        as_owner = replace(reader, viewer=owner)
        if build_log:
            view: views.Bot | views.BuildLog | None = views.build_log(as_owner, name, number)
        else:
            view = views.bot(as_owner, name, number, last, due_of_bot(ladder, as_owner, name))
    if view is None:
        refuse(f"{name} has no version {number}; leave --version out to see which it has")
    if as_json:
        print_json(view)
    elif isinstance(view, views.Bot):
        playing = next((version for version in view.versions if version.active), None)
        what = views.why_none(view) if playing is None else f"version {playing.number} plays"
        write(shown(f"{view.bot}: {what}"))
        print_view(view, as_json)
    elif view.text:
        write_log(view.text)
    else:
        note(f"version {view.version} has no log of a build: it needs none, printed nothing, or waits for it")
