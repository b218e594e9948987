"""The command `arena ladder submit`: a bot's new version is taken in, and examined."""

from pathlib import Path

import click

from arena.bots import sample_file, shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opened import FOLDER, opened
from arena.cli.out import note
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
    if taken.again:
        note(f"{taken.label} has the same files: nothing was taken in")
    else:
        note(f"{taken.label} is taken in, and waits for its examination; {taken.left} more today")
    if taken.disabled is not None:
        note(f"the bot is disabled ({shown(taken.disabled)}): what is fit plays once staff activates it")
    if taken.late is not None:
        note(f"it comes after the deadline {taken.late}, in its grace: it counts, as late")
    note(f"see what comes of it: arena ladder bot {folder} {taken.name}")
