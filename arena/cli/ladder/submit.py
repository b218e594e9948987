"""The command `arena ladder submit`: a bot's new version is taken in, and examined."""

from pathlib import Path

import click

from arena.bots import sample_file
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opened import FOLDER, opened
from arena.cli.out import note
from arena.cli.submit import say_taken
from ladder.service import Taken
from ladder.service import submit as take_in


@click.command()
@FOLDER
@click.argument("bot", metavar="BOT", type=click.Path(path_type=Path))
@click.option("--owner", "login", metavar="LOGIN", required=True, help="Whose bot it is.")
@click.option("--name", metavar="NAME", help="The bot's name.  [what its bot.toml or its file says]")
@answers(Taken)
def submit(folder: Path, bot: Path, login: str, name: str | None, as_json: bool) -> None:
    """Submit a version of a bot: a file, a folder, a zip or a tar; or sample:NAME.

    The ladder's runner examines it; if it is fit, it plays in place of the version before.
    """
    with opened(folder) as ladder:
        taken = take_in(ladder, sample_file(str(bot)) or bot, login, name)
    if as_json:
        print_json(taken)
        return
    say_taken(taken.label, taken.again, taken.left, taken.late, taken.disabled)
    note(f"see what comes of it: arena ladder bot {folder} {taken.name}")
