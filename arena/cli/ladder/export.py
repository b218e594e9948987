"""The command `arena ladder export`: the ladder as files that other programs read."""

from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.out import note
from ladder.service import Exported
from ladder.service import export as write


@click.command()
@FOLDER
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), required=True, help="A new folder."
)
@click.option("--names", is_flag=True, help="Owners' logins in place of their pseudonyms, and owners.csv.")
@answers(Exported)
def export(folder: Path, out: Path, names: bool, as_json: bool) -> None:
    """Write all results, matches, versions, decisions and the table as files, also while the ladder runs.

    results.jsonl holds a game a line, as arena run writes it; the rest is CSV.
    """
    with ladder_at(folder) as ladder:
        files = write(ladder, out, names)
    if as_json:
        print_json(Exported(tuple(map(str, files))))
    else:
        note(f"wrote {', '.join(file.name for file in files)} into {out}")
