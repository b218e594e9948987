"""Export a ladder as files for other programs, and write CSV.

An export contains results.jsonl (one line a game, as `arena run` writes it; bots are versions: honest@3),
matches.csv, versions.csv, standings.csv and the audit log. Users are pseudonyms; their names, and chat lines, are
exported only on request. Times are seconds since 1970, UTC. Formula-like texts begin with an apostrophe. All files
show one moment, also while the ladder runs, and are streamed row by row.
"""

import csv
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from arena.escaping import escape_control, escape_csv_cell
from ladder import store
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER
from ladder.settings import LadderError
from ladder.standings import STANDINGS_COLUMNS, make_standings_cells, view_standings
from ladder.users import UserSummary
from ladder.view_context import ViewContext


@dataclass(frozen=True, slots=True)
class ExportedFiles:
    """The files that were written."""

    items: tuple[str, ...]


def export_ladder(ladder: Ladder, folder: Path, names: bool) -> list[Path]:
    """Write a ladder into a new or empty folder; return its files.

    names: whether to write logins, names and chat lines, or only pseudonyms. Raises LadderError if the folder isn't
    empty, OSError if it can't be written.
    """
    make_empty_folder(folder, "--out DIR")
    with ladder.reading(STAFF_VIEWER if names else PUBLIC_VIEWER) as context:
        return list(_write_files(context, folder, 0o600 if names else 0o666))


def make_empty_folder(folder: Path, option: str) -> None:
    """Create a folder, or use an existing empty one. Raises LadderError if it isn't empty, OSError if that fails.

    option: the command line option with which to name another one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{escape_control(folder)} isn't empty.\nName an empty folder: {option}")


def _write_files(context: ViewContext, folder: Path, mode: int) -> Iterator[Path]:
    """Write the files of an export, with the permissions `mode`; yield each path once its file is complete."""
    path = folder / "results.jsonl"
    with _open_new(path, mode) as file:
        file.writelines(result.to_line() for result in store.all_results(context.connection))
    yield path
    shows_logins = context.viewer.can_view(UserSummary, "login")
    for name, columns, rows in store.export_tables(context.connection, shows_logins):
        yield _write_table(folder / f"{name}.csv", columns, rows, mode)
    if store.find_latest_snapshot(context.connection) is not None:
        cells = map(make_standings_cells, view_standings(context).items)
        yield _write_table(folder / "standings.csv", STANDINGS_COLUMNS, cells, mode)


def _open_new(path: Path, mode: int) -> TextIO:
    """Open a new text file with the permissions `mode`. Its lines end as they are written, as CSV requires."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", newline="")


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], mode: int) -> Path:
    with _open_new(path, mode) as file:
        write_csv(file, columns, rows)
    return path


def write_csv(file: object, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write CSV to `file`, which has `write`: the names of the columns, then the rows."""
    writer = csv.writer(file, lineterminator="\n")  # type: ignore[arg-type]  # whatever has `write`
    writer.writerow(columns)
    writer.writerows([_format_cell(value) for value in row] for row in rows)


def _format_cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return escape_csv_cell(value.encode(errors="backslashreplace").decode()) if isinstance(value, str) else value
