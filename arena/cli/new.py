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
    if result.missing:
        missing = " and ".join(result.missing)
        console.print_note(f"this machine has no {missing}, which the bot needs; arena doctor shows how to install it")
    describe = _describe_model if language == MODEL else _describe_program
    console.print_text(describe(result, path, shlex.quote(f"{result.name}-run")))


def _describe_model(bot: NewBot, path: Path, run: str) -> str:
    """Return what to change in a language model's folder, and the next commands. run: the folder of its first run."""
    folder = escape_control(shlex.quote(str(path)))
    return (
        f"{escape_control(bot.name)} is created. Set endpoint and model in {escape_control(bot.file)}, and change "
        f"{escape_control(path / 'prompt.jinja')} as you like. Next steps:\n"
        f"  arena check {folder}\n"
        f"  arena run {folder} sample:honest sample:counter sample:bluffer --games 24 --out {run}\n"
        f"  arena play {folder} --browser"
    )


def _describe_program(bot: NewBot, path: Path, run: str) -> str:
    """Return where to write the strategy of a program, and the next commands. run: the folder of its first run."""
    folder = escape_control(shlex.quote(str(path)))
    state = f"is created, and needs {' and '.join(bot.missing)}" if bot.missing else "can play"
    return (
        f"{escape_control(bot.name)} {state}. Write your strategy in {escape_control(bot.file)}. Next steps:\n"
        f"  arena check {folder}\n"
        f"  arena run {folder} sample:honest sample:counter sample:bluffer --games 240 --out {run}\n"
        f"  arena replay {run} --lost-by {shlex.quote(bot.name)} --html lost.html"
    )
