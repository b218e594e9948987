"""The command `arena new`: the folder of a new bot, which plays already."""

import shlex
from pathlib import Path

import click

from arena.bots import LANGUAGES, BotError, NewBot, new_bot, shown
from arena.cli.answers import answers, print_json
from arena.cli.out import fail, note, reason, refuse, write


@click.command()
@click.argument("path", metavar="NAME", type=click.Path(path_type=Path))
@click.option(
    "--lang", "language", type=click.Choice(LANGUAGES), default="python", help="What the bot is written in.  [python]"
)
@answers(NewBot)
def new(path: Path, language: str, as_json: bool) -> None:
    """Make a new bot: a folder with a bot that plays already, its kit, bot.toml, a README and a test.

    NAME is the folder; its last part is the bot's name.
    """
    try:
        result = new_bot(path, language)
    except BotError as problem:
        refuse(str(problem))
    except OSError as problem:
        fail(f"the folder of {shown(path)} can't be made: {reason(problem)}")
    if as_json:
        print_json(result)
        return
    name, folder, run = result.name, shown(shlex.quote(str(path))), shlex.quote(f"{result.name}-run")
    write(
        f"{shown(name)} plays already; {shown(result.file)} is where your ideas go. Next:\n"
        f"  arena check {folder}\n"
        f"  arena run {folder} sample:honest sample:counter sample:bluffer --games 240 --out {run}\n"
        f"  arena replay {run} --lost {shlex.quote(name)} --html lost.html"
    )
    if result.missing:
        missing = " and ".join(result.missing)
        note(f"this machine has no {missing}, which it needs: arena doctor says what to install")
