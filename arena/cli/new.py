"""Implement `arena new`: create the folder of a bot that plays unchanged."""

import shlex
from pathlib import Path

import click

from arena.bots import KITS, MODEL, BotError, NewBot, new_bot
from arena.cli import console
from arena.escaping import escape_control


@click.command()
@click.argument("path", metavar="NAME", type=click.Path(path_type=Path))
@console.option(
    "--lang",
    "language",
    type=click.Choice((*KITS, MODEL)),
    default="python",
    help="Programming language of the bot, or model: a language model plays.",
)
@console.json_option(NewBot)
def new(path: Path, language: str, as_json: bool) -> None:
    """Create a working bot from a template.

    NAME is the folder; its last part is the bot's name. It gets the bot, its kit, bot.toml, a README and a test. A
    language model's folder gets bot.toml and the prompt.
    """
    try:
        result = new_bot(path, language)
    except BotError as problem:
        console.usage_error(str(problem))
    except OSError as problem:
        console.fail(f"the folder {escape_control(path)} can't be created: {console.os_error_reason(problem)}")
    if as_json:
        console.print_json(result)
        return
    name, folder, run = result.name, escape_control(shlex.quote(str(path))), shlex.quote(f"{result.name}-run")
    missing = " and ".join(result.missing)
    if missing:
        console.print_note(f"this machine has no {missing}, which the bot needs; arena doctor shows how to install it")
    if language == MODEL:
        console.print_text(
            f"{escape_control(name)} is created. Set endpoint and model in {escape_control(result.file)}, and change "
            f"{escape_control(path / 'prompt.jinja')} as you like. Next steps:\n"
            f"  arena check {folder}\n"
            f"  arena run {folder} sample:honest sample:counter sample:bluffer --games 24 --out {run}\n"
            f"  arena play {folder} --browser"
        )
        return
    state = f"is created, and needs {missing}" if missing else "can play"
    console.print_text(
        f"{escape_control(name)} {state}. Write your strategy in {escape_control(result.file)}. Next steps:\n"
        f"  arena check {folder}\n"
        f"  arena run {folder} sample:honest sample:counter sample:bluffer --games 240 --out {run}\n"
        f"  arena replay {run} --lost-by {shlex.quote(name)} --html lost.html"
    )
