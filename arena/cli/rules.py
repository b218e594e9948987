"""The command `arena rules`: the presets, a game's rules as a sheet, the fields of a ruleset."""

import errno
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from rich.console import RenderableType

    from arena.coup import Ruleset


_WIDEST = 100  # columns; longer lines are hard to read


@click.command()
@click.argument("name", required=False, metavar="[NAME|FILE.toml]")
@click.option("--fields", "show_fields", is_flag=True, help="Print every field of a ruleset with its allowed values.")
def rules(name: str | None, show_fields: bool) -> None:
    """List the rulesets, or print the rules of one game as a sheet."""
    from arena.cli import sheet
    from arena.run import load_limits

    if show_fields:
        if name is not None:
            refuse("--fields is the same for all rulesets: it takes no name")
        print_text(sheet.fields())
    elif name is None:
        print_text(sheet.presets())
        write("\nA sheet: arena rules NAME. Rules of your own: arena rules --fields")
    else:
        print_text(sheet.sheet(load_or_refuse(name)))
        limits = load_limits(name)
        if limits:
            write("\nLimits of each bot: " + ", ".join(f"{field} = {value:g}" for field, value in limits.items()))


def load_or_refuse(name: str) -> "Ruleset":
    from arena.run import RulesetError, load

    try:
        return load(name)
    except RulesetError as problem:
        refuse(str(problem))


# ---------------------------------------------------------------- out


def print_text(what: "RenderableType") -> None:
    """Print a text for people: as wide as the terminal, but not wider than one reads with ease."""
    from rich.console import Console

    # No markup and no emoji codes: a name from a file is printed as it is.
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, _WIDEST)
    with console.capture() as captured:
        console.print(what)
    write("\n".join(line.rstrip() for line in captured.get().splitlines()))


def write(text: str) -> None:
    """Write a text and the end of its line; exit with 1 where standard output doesn't take it."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if problem.errno != errno.EPIPE:  # a reader that has gone needs no message
            click.echo(f"arena: standard output can't be written: {problem.strerror}", err=True)
        sys.exit(1)


def refuse(text: str) -> NoReturn:
    """Say what is wrong with the input, and exit with 2."""
    click.echo(f"arena: {text}", err=True)
    sys.exit(2)
