"""The command `arena ladder site`: the public's pages as files."""

from pathlib import Path

import click

from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.lazy import needs_extras
from arena.cli.out import note


@click.command()
@FOLDER
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def site(folder: Path, to: Path) -> None:
    """Write what the public may read as files, for any web space: table, bots, finals, the newest 200 matches.

    Run it again to bring the files up to date: each is replaced at once.
    """
    with needs_extras():
        from ladder.web import write_site
    with ladder_at(folder) as ladder:
        count = write_site(ladder, to)
    note(f"{to}: {count} files; open {to / 'index.html'}")
