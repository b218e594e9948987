"""The command `arena ladder rerate`: the table from all results, beside the one that was kept."""

import sys
from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.words import interval
from arena.cli.out import Column, counted, note, show, table
from ladder.cells import span
from ladder.service import Rerated
from ladder.service import rerate as rebuild
from ladder.standings import Row


@click.command()
@FOLDER
@answers(Rerated)
def rerate(folder: Path, as_json: bool) -> None:
    """Rebuild the table from all results, and compare it with the one that was kept.

    The rebuilt one is kept. Exit code 1 if it is another, though it is of the same matches and versions.
    """
    with ladder_at(folder) as ladder:
        result = rebuild(ladder)
    if as_json:
        print_json(result)
    else:
        note(_text(result))
        if result.changes:
            rows = [(change.version, *_cells(change.before), *_cells(change.after)) for change in result.changes]
            show(table(_COLUMNS, rows))
    sys.exit(1 if result.same is False else 0)


_COLUMNS = (
    Column("version", least=12),
    *(Column(f"{name}\n{when}", number=True) for when in ("before", "now") for name in ("ranks", "rating", "share")),
)


def _text(result: Rerated) -> str:
    of = f"{result.games} games in {counted(result.matches, 'match', 'es')}"
    if result.first:
        return f"the table is of {of}; there was none before"
    if result.same is not None:
        words = "the same as" if result.same else "another than"
        return f"rebuilt from {of}: {words} the one that was kept, which differs by {result.largest:.2g} at most"
    if result.news:
        more = "more" if result.news > 0 else "fewer"
        return f"rebuilt from {of}: {abs(result.news)} {more} than the one that was kept knew"
    return f"rebuilt from {of}: other versions play than in the one that was kept"


def _cells(row: Row | None) -> tuple[str, str, str]:
    if row is None:
        return "-", "-", "-"
    return span(row.ranks), interval(row.rating, 1, 2), interval(row.adjusted, 100, 2)
