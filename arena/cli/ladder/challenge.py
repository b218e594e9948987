"""The command `arena ladder challenge`: unrated matches against chosen bots."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.out import note
from ladder.service import Challenge
from ladder.service import challenge as ask


@click.command()
@FOLDER
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@click.argument("opponents", metavar="OPPONENT...", nargs=-1, required=True, shell_complete=complete_bots)
@click.option("--owner", "login", metavar="LOGIN", required=True, help="Who asks; it is the owner of BOT, or staff.")
@click.option("--matches", "count", type=click.IntRange(1, 1000), metavar="N", default=1, help="How many.  [1]")
@answers(Challenge)
def challenge(folder: Path, bot: str, opponents: tuple[str, ...], login: str, count: int, as_json: bool) -> None:
    """Ask for a match that doesn't rate, against bots of your choice; also while the ladder is frozen.

    A bot is its version that plays, or one by its number: honest@3. Reference bots fill the table up. The matches are
    the next that the ladder's runner plays.
    """
    with ladder_at(folder) as ladder:
        asked = ask(ladder, bot, opponents, login, count)
    if as_json:
        print_json(asked)
        return
    first, last = asked.matches[0], asked.matches[-1]
    which = f"match {first}" if first == last else f"matches {first} to {last}"
    left = "" if asked.left is None else f"; {asked.left} more today"
    note(f"{which} of {', '.join(map(shown, asked.labels))} will be played next{left}")
    note(f"see what comes of it: arena ladder match {folder} {first}")
