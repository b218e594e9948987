"""The commands `arena ladder backup` and `arena ladder restore`: a ladder as one file, and back."""

from contextlib import closing
from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at, plain_errors
from arena.cli.out import note
from ladder.service import Backup, Created
from ladder.service import backup as write_backup
from ladder.service import restore as read_backup

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@FOLDER
@click.argument("file", metavar="FILE", type=FILE)
@answers(Backup)
def backup(folder: Path, file: Path, as_json: bool) -> None:
    """Write the whole ladder to one new FILE, a tar; the ladder may be running.

    Wherever the database is, the FILE can be restored to SQLite or to PostgreSQL. It holds the key of all deals: keep
    it where nobody else reads.
    """
    with ladder_at(folder) as ladder:
        size = write_backup(ladder, file)
    if as_json:
        print_json(Backup(str(file), size))
    else:
        note(f"wrote {file}: {size / 1e6:.1f} MB; back with arena ladder restore {file} NEW-FOLDER")


@click.command()
@click.argument("file", metavar="FILE", type=FILE)
@FOLDER
@click.option("--database", metavar="URL", help="An empty database to fill.  [a file in the folder]")
@answers(Created)
def restore(file: Path, folder: Path, database: str | None, as_json: bool) -> None:
    """Make a ladder in a new folder from a FILE that `arena ladder backup` wrote.

    What was being played when it was written is played again. It is also the way from SQLite to PostgreSQL and back.
    Let only one of the two ladders run on: both would play the same matches.
    """
    with plain_errors(), closing(read_backup(file, folder, database)) as ladder:
        commitment = ladder.commitment
    if as_json:
        print_json(Created(str(folder), commitment))
    else:
        note(f"made {folder}; the key of all deals has the SHA-256 {commitment}")
        note(f"next: arena ladder doctor {folder}; arena ladder run {folder}")
