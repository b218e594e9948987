"""The commands `arena rules` and `arena odds`. As in arena/cli.py, packages are imported inside the commands."""

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from rich.console import RenderableType

    from arena.coup import Role, Ruleset
    from arena.odds import Odds

_WIDEST = 100  # columns; longer lines are hard to read


@click.command()
@click.argument("name", required=False, metavar="[NAME|FILE.toml]")
@click.option("--fields", "show_fields", is_flag=True, help="Print every field of a ruleset with its allowed values.")
def rules(name: str | None, show_fields: bool) -> None:
    """List the rulesets, or print the rules of one game as a sheet."""
    from arena import sheet
    from arena.rulesets import load_limits

    if show_fields:
        if name is not None:
            _refuse("--fields is the same for all rulesets: it takes no name")
        _print(sheet.fields())
    elif name is None:
        _print(sheet.presets())
        _write("\nA sheet: arena rules NAME. Rules of your own: arena rules --fields")
    else:
        _print(sheet.sheet(_load(name)))
        limits = load_limits(name)
        if limits:
            _write("\nLimits of each bot: " + ", ".join(f"{field} = {value:g}" for field, value in limits.items()))


@click.command()
@click.option("--own", required=True, metavar="ROLE,ROLE", help="Your cards that are face down.")
@click.option("--players", required=True, type=click.IntRange(2, 10), help="Players at the start, you among them.")
@click.option("--revealed", default="", metavar="ROLE,...", help="All cards that are face up, yours too.  [none]")
@click.option("--influences", metavar="N,N,...", help="Cards that each opponent has left, 0 for the exiled.")
@click.option("--rules", "name", default="coup", metavar="NAME", help="Ruleset, or a file .toml.  [coup]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def odds(own: str, players: int, revealed: str, influences: str | None, name: str, as_json: bool) -> None:
    """Print how likely opponents hold each role, from the cards you see.

    The odds of a uniform deal, before you learn from what anybody does: arena odds --own captain,contessa --players 2
    """
    from arena.odds import odds as calculate

    ruleset = _load(name)
    mine = _roles("--own", own, ruleset)
    up = _roles("--revealed", revealed, ruleset)
    try:
        found = calculate(ruleset, players, mine, up, None if influences is None else _numbers(influences))
    except ValueError as problem:
        _refuse(str(problem))
    if as_json:
        _write(json.dumps(_odds_json(ruleset, players, mine, up, found)))
    else:
        _print(_odds_table(ruleset, players, mine, up, found))


def _load(name: str) -> "Ruleset":
    from arena.rulesets import RulesetError, load

    try:
        return load(name)
    except RulesetError as problem:
        _refuse(str(problem))


def _roles(option: str, text: str, ruleset: "Ruleset") -> "list[Role]":
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    known = {role.value: role for role in ruleset.roles}
    for word in words:
        if word not in known:
            _refuse(f"{option} {text!r} names {word!r}, no role; the roles of {ruleset.name} are {', '.join(known)}")
    return sorted(known[word] for word in words)


def _numbers(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) == 1 for word in words):
        _refuse(f"--influences {text!r}: write a number for each opponent with commas between them, as in 2,2,1")
    return [int(word) for word in words]


def _odds_json(
    ruleset: "Ruleset", players: int, own: "Sequence[Role]", revealed: "Sequence[Role]", found: "Odds"
) -> dict[str, object]:
    def numbers(chances: "dict[Role, Fraction]") -> dict[str, float]:
        return {role.value: float(chance) for role, chance in chances.items()}

    return {
        "rules": ruleset.name,
        "players": players,
        "own": [role.value for role in own],
        "revealed": [role.value for role in revealed],
        "unseen": found.unseen,
        "copies_unseen": {role.value: number for role, number in found.copies.items()},
        "held_by_influence": {str(cards): numbers(chances) for cards, chances in found.by_influence.items()},
        "influences": found.influences,
        "held_by_opponent": None if found.opponents is None else [numbers(chances) for chances in found.opponents],
        "nobody_holds": None if found.nobody is None else numbers(found.nobody),
    }


def _odds_table(
    ruleset: "Ruleset", players: int, own: "Sequence[Role]", revealed: "Sequence[Role]", found: "Odds"
) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    up = f", face up {', '.join(revealed)}" if revealed else ""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("role", no_wrap=True)
    table.add_column("unseen", justify="right")
    counts = sorted({cards for cards in found.influences or found.by_influence if cards}, reverse=True)
    for cards in counts:
        table.add_column(f"with {cards} card{'' if cards == 1 else 's'}", justify="right")
    if found.nobody is not None:
        table.add_column("nobody", justify="right")
    for role, copies in found.copies.items():
        chances = [found.by_influence[cards][role] for cards in counts]
        if found.nobody is not None:
            chances.append(found.nobody[role])
        table.add_row(role.value, str(copies), *(f"{float(chance):.1%}" for chance in chances))
    notes = ["An opponent with so many cards has at least one of the role; nobody: no opponent has one."]
    if found.nobody is None:
        notes = [f"{notes[0].split(';')[0]}. For all opponents together give --influences."]
    notes.append("The odds of the deal: what a player reveals, keeps or claims tells you more.")
    return Group(
        Text(f"{ruleset.name}, {players} players; you have {', '.join(own)}{up}; {found.unseen} cards unseen"),
        Text(),
        table,
        Text(),
        *(Text(note, style="dim") for note in notes),
    )


# ---------------------------------------------------------------- out


def _print(what: "RenderableType") -> None:
    """Print a text for people: as wide as the terminal, but not wider than one reads with ease."""
    from rich.console import Console

    # No markup and no emoji codes: a name from a file is printed as it is.
    console = Console(highlight=False, markup=False, emoji=False)
    console.width = min(console.width, _WIDEST)
    with console.capture() as captured:
        console.print(what)
    _write("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _write(text: str) -> None:
    """Write a text and the end of its line; exit with 1 where standard output doesn't take it."""
    try:
        click.echo(text)
        sys.stdout.flush()
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if problem.errno != errno.EPIPE:  # a reader that has gone needs no message
            click.echo(f"arena: standard output can't be written: {problem.strerror}", err=True)
        sys.exit(1)


def _refuse(text: str) -> NoReturn:
    """Say what is wrong with the input, and exit with 2."""
    click.echo(f"arena: {text}", err=True)
    sys.exit(2)
