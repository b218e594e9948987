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
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import cell, shown
from ladder.pages import MATCH_COLUMNS, VERSION_COLUMNS, Trend, match_rows, trend, version_rows
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.standings import Row, Standings
from ladder.store.database import acts_of, all_owners, all_results, labels_of_ids, last_board

ACT_COLUMNS = ("act", "at", "who", "what", "bot", "version", "match", "why")
OWNER_COLUMNS = ("login", "name", "pseudonym", "section", "email", "staff")
STANDINGS_COLUMNS = (
    "best_rank", "worst_rank", "bot", "version", "owner", "rating", "rating_low", "rating_high", "share", "share_low",
    "share_high", "since_1_day", "since_7_days", "games", "faults", "forfeits", "submitted",
)  # fmt: skip


def export(ladder: Ladder, folder: Path, names: bool) -> list[Path]:
    """Write a ladder into a new or empty folder; return its files. Raises LadderError, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise LadderError(f"{shown(folder)} isn't empty.\nName a new folder: --out DIR")
    with ladder.database.read() as connection:
        return [path for path in _files(ladder, connection, folder, names) if path is not None]


def _files(ladder: Ladder, connection: Connection, folder: Path, names: bool) -> Iterable[Path | None]:
    """Write the files one after the other."""
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
    told = last_board(connection)
    if told is not None:
        table = Standings.from_json(told)
        trends = trend(connection, table.shares, ladder.clock())
        cells = (standings_cells(row, trends.get(row.bot), names) for row in table.rows)
        yield _file(folder / "standings.csv", STANDINGS_COLUMNS, cells)
    if names:
        rows = ((each.login, each.name, each.pseudonym, each.section, each.email, each.staff) for each in people)
        yield _file(folder / "owners.csv", OWNER_COLUMNS, rows)


def standings_cells(row: Row, moved: Trend | None, names: bool) -> list[object]:
    """Return STANDINGS_COLUMNS of a row: shares of 1, the time in seconds since 1970."""
    share = (None, None, None) if row.adjusted is None else (row.adjusted.value, row.adjusted.low, row.adjusted.high)
    since = (None, None) if moved is None else (moved.day, moved.week)
    return [
        *row.ranks, row.bot, row.number, row.owner if names else row.pseudonym, row.rating.value, row.rating.low,
        row.rating.high, *share, *since, row.games, row.faults, row.forfeits, row.since,
    ]  # fmt: skip


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
