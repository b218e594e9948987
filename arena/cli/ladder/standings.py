"""The command `arena ladder standings`: the table."""

import io
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click
from rich.table import Table

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.ladder.words import signed
from arena.cli.out import Column, counted, note, show, table, write
from ladder import views
from ladder.access import PUBLIC, STAFF
from ladder.cells import NO_INTERVALS, ends_of, percent, rating_text, span, unsure
from ladder.service import write_csv
from ladder.standings import Favoured, Standings
from ladder.views import STANDINGS_COLUMNS, standings_cells

TRUSTED = "Bots play as plain processes, kept apart by nothing: this ladder trusts its authors."
DAY_S = 86_400


@click.command()
@FOLDER
@click.option(
    "--sort", type=click.Choice(list(views.SORTS)), default="rank", help="What the rows are ordered by.  [rank]"
)
@click.option("--at", type=click.DateTime(["%Y-%m-%d"]), help="The last table of that day (UTC), or of one before.")
@click.option("--names", is_flag=True, help="Owners' logins, and whose bots favour whose: for the teacher.")
@answers(Standings)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV on stdout.")
def standings(folder: Path, sort: str, at: datetime | None, names: bool, as_json: bool, as_csv: bool) -> None:
    """Print the table: ranks and shares with 95 % intervals, trend, games, faults, age.

    Owners are shown by their pseudonyms.
    """
    with ladder_at(folder) as ladder, ladder.reading(STAFF if names else PUBLIC) as reader:
        table = views.standings(reader, sort, None if at is None else at.strftime("%Y-%m-%d"))
    if not table.matches and not table.rows:
        note("nothing was rated by then" if at else f"nothing was rated yet; play: arena ladder run {folder}")
    if as_json:
        print_json(table)
    elif as_csv:
        write(_csv(table))
    elif table.rows:
        show(standings_table(table, reader.now if at is None else table.at))
        show("", *_lines(table))
        if not table.isolated:
            show(TRUSTED)


def standings_table(ranking: Standings, now: float | None = None) -> Table:
    """Return a table of standings. now: for trends and the versions' ages; without it these columns are left out."""
    columns = [
        Column("ranks"),
        Column("bot", least=9),
        Column("owner", least=6),
        Column("rating\n± 95 %", number=True),
        Column("share\nof wins", number=True),
        Column("95 %"),
        *([Column("since\n1 d", number=True), Column("\n7 d", number=True)] if now is not None else []),
        Column("games", number=True),
        Column("faults", number=True),
        *([Column("age\nd", number=True)] if now is not None else []),
    ]
    rows = [
        (
            span(row.ranks),
            f"{shown(row.label)}{'*' if row.reference else ''}",
            shown(row.owner or row.pseudonym),
            rating_text(row.rating),
            percent(None if row.adjusted is None else row.adjusted.value),
            ends_of(row.adjusted, 0),
            *([] if now is None else [signed(row.trend.day), signed(row.trend.week)]),
            str(row.games),
            str(row.faults),
            *([f"{max(0.0, now - row.since) / DAY_S:.0f}"] if now is not None else []),
        )
        for row in ranking.rows
    ]
    return table(columns, rows)


def _lines(ranking: Standings) -> Iterator[str]:
    """Yield what is said below the table."""
    games, matches = counted(ranking.games, "game"), counted(ranking.matches, "match", "es")
    yield f"{games} in {matches}; shares in %, fair: {100 * ranking.fair:.0f}; * fixes the scale"
    if unsure(row.adjusted for row in ranking.rows):
        yield NO_INTERVALS
    verdict = ranking.verdict
    if verdict is not None and verdict.leader is not None:
        sure = f"surely ({verdict.probability:.0%})" if verdict.decided else "not yet surely"
        yield f"the leader, {shown(verdict.leader)}, is {sure} within 2 points of the best"
    if ranking.findings is not None:
        yield from map(favour_line, ranking.findings.favours or ())


def favour_line(pair: Favoured) -> str:
    """Return in one line whose bots favour whose, with the evidence."""
    one, other = map(shown, pair.owners)
    what = f"{one} gives to {other}" if pair.gives else f"{one} and {other} play together"
    wins = " and ".join(f"{won:g} ({fair:.1f} expected)" for won, fair in zip(pair.wins, pair.expected, strict=True))
    return (
        f"beyond chance: {what}; in {pair.games} games of both they won {wins}; "
        f"a fair field shows that in {max(pair.p, 1e-9):.1g} of cases"
    )


def _csv(ranking: Standings) -> str:
    out = io.StringIO()
    write_csv(out, STANDINGS_COLUMNS, map(standings_cells, ranking.rows))
    return out.getvalue().rstrip("\n")
