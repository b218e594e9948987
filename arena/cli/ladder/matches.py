"""The command `arena ladder matches`: lists of matches."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, complete_bots, opened, print_json
from arena.cli.ladder.words import became, day, seat_words
from arena.cli.out import Column, note, show, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from ladder.pages import MatchLine

KINDS = ("rated", "qualifying", "challenge", "final")


@click.command()
@FOLDER
@click.option("--bot", "name", metavar="BOT", shell_complete=complete_bots, help="Those of a bot alone.")
@click.option("--kind", type=click.Choice(KINDS), help="Those of a kind alone.")
@click.option("--last", type=click.IntRange(1, 100_000), metavar="N", default=20, help="How many.  [20]")
@click.option("--todo", is_flag=True, help="Those that are played now or wait, in place of those that ended.")
@AS_JSON
def matches(folder: Path, name: str | None, kind: str | None, last: int, todo: bool, as_json: bool) -> None:
    """List the last matches that ended, the newest first, with each version's wins."""
    with opened(folder) as ladder:
        from ladder.pages import last_matches
        from ladder.service import known_bot

        with ladder.database.read() as connection:
            bot = None if name is None else known_bot(connection, name).id
            found = last_matches(connection, last, bot, kind, todo)
    if as_json:
        from dataclasses import asdict

        print_json([asdict(line) for line in found])
        return
    if not found:
        note("no match is played or waits" if todo else "no match has ended yet")
        return
    show(matches_table(found))


def matches_table(found: "Sequence[MatchLine]") -> "Table":
    """Return matches as a table: a line each."""
    rows = [
        (
            str(line.id),
            line.kind,
            became(line),
            day(line.ended_at),
            ", ".join(map(seat_words, line.seats)),
        )
        for line in found
    ]
    columns = [Column("match", number=True), Column("kind"), Column(""), Column("ended"), Column("games won", least=20)]
    return table(columns, rows)
