"""A ladder as files that other programs read: what was played, by whom, what was decided, and the table.

    results.jsonl    a game a line, as arena run writes it; bots are versions: honest@3
    matches.csv      each match: its kind, how it ended, whether it rates
    versions.csv     each version: its owner, state, times, digest
    standings.csv    the newest table, if there is one
    acts.csv         what was decided: who, when, why
    owners.csv       only where names are asked for

Times are seconds since 1970, UTC. Owners are pseudonyms, unless names are asked for. A text that a spreadsheet would
take for a formula begins with an apostrophe. Everything is of one moment, also while the ladder runs, and goes from the
database to the files row by row.
"""

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from arena.bots import cell, shown
from ladder.access import PUBLIC, STAFF
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import all_results, last_board
from ladder.views import STANDINGS_COLUMNS, Reader, lists, standings, standings_cells

_AT_A_TIME = 1000  # rows in memory


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that were written."""

    rows: tuple[str, ...]


def export(ladder: Ladder, folder: Path, names: bool) -> list[Path]:
    """Write a ladder into a new or empty folder; return its files. Raises LadderError, OSError."""
    new_folder(folder, "--out DIR")
    with ladder.reading(STAFF if names else PUBLIC) as reader:
        return list(_files(reader, folder, 0o600 if names else 0o666))


def new_folder(folder: Path, option: str) -> None:
    """Make a folder, or take an empty one. Raises LadderError, which names the option that takes another, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{shown(folder)} isn't empty.\nName a new folder: {option}")


def _files(reader: Reader, folder: Path, mode: int) -> Iterable[Path]:
    """Write the files one after the other."""
    results = folder / "results.jsonl"
    with _new(results, mode) as lines:
        lines.writelines(result.to_line() for result in all_results(reader.connection))
    yield results
    for name, query in lists(reader).items():
        with reader.connection.execute(query, execution_options={"yield_per": _AT_A_TIME}) as rows:
            yield _file(folder / f"{name}.csv", list(rows.keys()), rows, mode)
    if last_board(reader.connection) is not None:
        yield _file(folder / "standings.csv", STANDINGS_COLUMNS, map(standings_cells, standings(reader).rows), mode)


def _new(path: Path, mode: int) -> TextIO:
    """Open a new file, with names for its owner alone."""
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8", newline="")


def _file(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]], mode: int) -> Path:
    with _new(path, mode) as out:
        write_csv(out, columns, rows)
    return path


def write_csv(out: object, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows as CSV below the names of their columns."""
    writer = csv.writer(out, lineterminator="\n")  # type: ignore[arg-type]  # whatever has `write`
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return cell(value.encode(errors="backslashreplace").decode()) if isinstance(value, str) else value
