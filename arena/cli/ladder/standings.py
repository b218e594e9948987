"""The command `arena ladder standings`: the table."""

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, opened, print_json
from arena.cli.out import Column, counted, note, show, table, write

if TYPE_CHECKING:
    from rich.table import Table

    from ladder.rating import Estimate
    from ladder.standings import Row, Standings

TRUSTED = "Bots play as plain processes, kept apart by nothing: this ladder trusts its authors."
SORTS = ("rank", "share", "games", "faults", "name", "age")


@click.command()
@FOLDER
@click.option("--sort", type=click.Choice(SORTS), default="rank", help="What the rows are ordered by.  [rank]")
@click.option("--names", is_flag=True, help="Owners' logins in place of their pseudonyms: for the teacher.")
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV on stdout.")
def standings(folder: Path, sort: str, names: bool, as_json: bool, as_csv: bool) -> None:
    """Print the table: ranks and shares with 95 % intervals, games, faults.

    Owners are shown by their pseudonyms.
    """
    with opened(folder) as ladder:
        from ladder.standings import Standings
        from ladder.store.database import last_board

        with ladder.database.read() as connection:
            told = last_board(connection)
        trusted = not ladder.play.sandbox.isolates
    if told is None:
        note(f"nothing was rated yet; play: arena ladder run {folder}")
        found = None
    else:
        found = _sorted(Standings.from_json(told), sort)
    if as_json:
        from dataclasses import asdict

        print_json({} if found is None else {**asdict(found), "isolated": not trusted})
        return
    if found is None:
        return
    if as_csv:
        write(_csv(found, names))
        return
    show(standings_table(found, names))
    show(f"\n{found.games} games in {counted(found.matches, 'match', 'es')}; {_explained(found)}")
    if trusted:
        show(TRUSTED)


def standings_table(found: "Standings", names: bool) -> "Table":
    """Return a table of standings; `names`: owners' logins in place of their pseudonyms."""
    from arena.bots import shown

    columns = [
        Column("ranks"),
        Column("bot", least=12),
        Column("owner", least=8),
        Column("rating", number=True),
        Column("share of wins", number=True),
        Column("games", number=True),
        Column("faults", number=True),
        Column("forfeits", number=True),
    ]
    rows = [
        (
            _ranks(row),
            f"{shown(row.bot)}@{row.number}{' (reference)' if row.reference else ''}",
            shown(row.owner if names else row.pseudonym),
            _interval(row.rating, 1, 1),
            _interval(row.adjusted, 100, 1),
            str(row.games),
            str(row.faults),
            str(row.forfeits),
        )
        for row in found.rows
    ]
    return table(columns, rows)


def _ranks(row: "Row") -> str:
    best, worst = row.ranks
    return str(best) if best == worst else f"{best}-{worst}"


def _interval(value: "Estimate | None", times: float, digits: int) -> str:
    if value is None:
        return "-"
    told = f"{times * value.value:.{digits}f}"
    if value.low is None or value.high is None:
        return told
    return f"{told} ({times * value.low:.{digits}f}-{times * value.high:.{digits}f})"


def _explained(found: "Standings") -> str:
    return f"shares in %, fair: {100 * found.fair:.0f}; in parentheses: what holds the truth in 95 % of cases"


def _sorted(found: "Standings", sort: str) -> "Standings":
    from dataclasses import replace

    keys = {
        "rank": lambda row: row.place,
        "share": lambda row: -(row.adjusted.value if row.adjusted else 0.0),
        "games": lambda row: -row.games,
        "faults": lambda row: -(row.faults / max(1, row.games)),
        "name": lambda row: (row.bot, row.number),
        "age": lambda row: -row.since,
    }
    return replace(found, rows=tuple(sorted(found.rows, key=keys[sort])))


def _csv(found: "Standings", names: bool) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["best_rank", "worst_rank", "bot", "version", "owner", "rating", "rating_low", "rating_high", "share",
         "share_low", "share_high", "games", "faults", "forfeits"]
    )  # fmt: skip
    for row in found.rows:
        share = (row.adjusted.value, row.adjusted.low, row.adjusted.high) if row.adjusted else (None, None, None)
        rating = (row.rating.value, row.rating.low, row.rating.high)
        writer.writerow(
            [*row.ranks, row.bot, row.number, row.owner if names else row.pseudonym, *rating, *share, row.games,
             row.faults, row.forfeits]
        )  # fmt: skip
    return out.getvalue().rstrip("\n")
