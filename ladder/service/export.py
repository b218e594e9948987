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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.bots import cell, shown
from ladder.access import PUBLIC, STAFF
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import acts_of, all_owners, all_results, labels_of_ids, last_board
from ladder.views import (
    MATCH_COLUMNS,
    STANDINGS_COLUMNS,
    VERSION_COLUMNS,
    Reader,
    match_rows,
    standings,
    standings_cells,
    version_rows,
)

ACT_COLUMNS = ("act", "at", "who", "what", "bot", "version", "match", "why")
OWNER_COLUMNS = ("login", "name", "pseudonym", "section", "email", "staff")


@dataclass(frozen=True, slots=True)
class Exported:
    """The files that were written."""

    rows: tuple[str, ...]


def export(ladder: Ladder, folder: Path, names: bool) -> list[Path]:
    """Write a ladder into a new or empty folder; return its files. Raises LadderError, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{shown(folder)} isn't empty.\nName a new folder: --out DIR")
    with ladder.reading(STAFF if names else PUBLIC) as reader:
        return list(_files(reader, folder, names))


def _files(reader: Reader, folder: Path, names: bool) -> Iterable[Path]:
    """Write the files one after the other."""
    connection = reader.connection
    people = all_owners(connection)
    called = {owner.login: owner.login if names else owner.pseudonym for owner in people}

    def named(row: Sequence[object], columns: Sequence[str], *of: str) -> list[object]:
        """Return a row whose owners are called as the reader may know them; others, such as staff, stay."""
        places = {columns.index(name) for name in of}
        return [called.get(str(cell), cell) if place in places else cell for place, cell in enumerate(row)]

    results = folder / "results.jsonl"
    with results.open("x", encoding="utf-8") as lines:
        lines.writelines(result.to_line() for result in all_results(connection))
    yield results
    matches = (named(row, MATCH_COLUMNS, "by") for row in match_rows(connection))
    yield _file(folder / "matches.csv", MATCH_COLUMNS, matches)
    versions = (named(row, VERSION_COLUMNS, "owner") for row in version_rows(connection))
    yield _file(folder / "versions.csv", VERSION_COLUMNS, versions)
    label = labels_of_ids(connection)
    acts = (
        (
            act.id, act.at, act.who, act.what, *(label.get(act.version or 0, "").rpartition("@")[::2]), act.match,
            act.why,
        )
        for act in acts_of(connection)
    )  # fmt: skip
    yield _file(folder / "acts.csv", ACT_COLUMNS, (named(row, ACT_COLUMNS, "who") for row in acts))
    if last_board(connection) is not None:
        yield _file(folder / "standings.csv", STANDINGS_COLUMNS, map(standings_cells, standings(reader).rows))
    if names:
        rows = ((each.login, each.name, each.pseudonym, each.section, each.email, each.staff) for each in people)
        yield _file(folder / "owners.csv", OWNER_COLUMNS, rows)


def _file(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    with path.open("x", encoding="utf-8", newline="") as out:
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
