"""The command `arena ladder standings`: the table."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, opened, print_json
from arena.cli.ladder.words import ranks, signed
from arena.cli.out import Column, counted, note, show, table, write

if TYPE_CHECKING:
    from rich.table import Table

    from ladder.pages import Trend
    from ladder.rating import Estimate
    from ladder.standings import Favoured, Findings, Row, Standings

TRUSTED = "Bots play as plain processes, kept apart by nothing: this ladder trusts its authors."
SORTS = ("rank", "share", "games", "faults", "name", "age", "trend")
DAY_S = 86_400


@click.command()
@FOLDER
@click.option("--sort", type=click.Choice(SORTS), default="rank", help="What the rows are ordered by.  [rank]")
@click.option("--at", type=click.DateTime(["%Y-%m-%d"]), help="The last table of that day (UTC), or of one before.")
@click.option("--names", is_flag=True, help="Owners' logins, and whose bots favour whose: for the teacher.")
@AS_JSON
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV on stdout.")
def standings(folder: Path, sort: str, at: datetime | None, names: bool, as_json: bool, as_csv: bool) -> None:
    """Print the table: ranks and shares with 95 % intervals, trend, games, faults, age.

    Owners are shown by their pseudonyms.
    """
    with opened(folder) as ladder:
        from ladder.pages import trend
        from ladder.standings import Standings
        from ladder.store.database import get_board, last_board

        with ladder.database.read() as connection:
            told = last_board(connection) if at is None else get_board(connection, at.strftime("%Y-%m-%d"))
            found = None if told is None else Standings.from_json(told)
            now = ladder.clock() if at is None or found is None else found.at
            trends = {} if found is None else trend(connection, found.shares, now)
        trusted = not ladder.play.sandbox.isolates
    if found is None:
        note("nothing was rated by then" if at else f"nothing was rated yet; play: arena ladder run {folder}")
        if as_json:
            print_json({})
        return
    found = _sorted(found, sort, trends)
    if as_json:
        print_json({**_json(found, trends, names), "isolated": not trusted})
    elif as_csv:
        write(_csv(found, trends, names))
    else:
        show(standings_table(found, names, trends, now))
        show("", *_lines(found, names))
        if trusted:
            show(TRUSTED)


def standings_table(
    found: "Standings", names: bool, trends: "Mapping[str, Trend] | None" = None, now: float | None = None
) -> "Table":
    """Return a table of standings; `names`: owners' logins in place of their pseudonyms.

    trends: of the bots, by name. now: for the versions' ages. Without them the table lacks those columns.
    """
    from arena.bots import shown

    columns = [
        Column("ranks"),
        Column("bot", least=9),
        Column("owner", least=6),
        Column("rating\n± 95 %", number=True),
        Column("share\nof wins", number=True),
        Column("95 %"),
        *([Column("since\n1 d", number=True), Column("\n7 d", number=True)] if trends is not None else []),
        Column("games", number=True),
        Column("faults", number=True),
        *([Column("age\nd", number=True)] if now is not None else []),
    ]
    rows = []
    for row in found.rows:
        moved = None if trends is None else trends.get(row.bot)
        since = [signed(moved.day), signed(moved.week)] if moved is not None else ["-", "-"]
        rows.append(
            (
                ranks(*row.ranks),
                f"{shown(row.bot)}@{row.number}{'*' if row.reference else ''}",
                shown(row.owner if names else row.pseudonym),
                _rated(row.rating),
                "-" if row.adjusted is None else f"{100 * row.adjusted.value:.1f}",
                _ends(row.adjusted),
                *([] if trends is None else since),
                str(row.games),
                str(row.faults),
                *([f"{max(0.0, now - row.since) / DAY_S:.0f}"] if now is not None else []),
            )
        )
    return table(columns, rows)


def _rated(rating: "Estimate") -> str:
    return f"{rating.value:.1f}" + ("" if rating.high is None else f" ±{rating.high - rating.value:.1f}")


def _ends(share: "Estimate | None") -> str:
    if share is None or share.low is None or share.high is None:
        return "-"
    return f"{100 * share.low:.0f}-{100 * share.high:.0f}"


def _lines(found: "Standings", names: bool) -> Iterator[str]:
    """Yield what is said below the table."""
    from arena.bots import shown

    yield (
        f"{found.games} games in {counted(found.matches, 'match', 'es')}; shares in %, fair: {100 * found.fair:.0f}; "
        "* fixes the scale"
    )
    verdict = found.verdict
    if verdict is not None and verdict.leader is not None:
        sure = f"surely ({verdict.probability:.0%})" if verdict.decided else "not yet surely"
        yield f"the leader, {shown(verdict.leader)}, is {sure} within 2 points of the best"
    if found.findings is not None:
        yield transitive(found.findings)
        if names:
            yield from map(favoured, found.findings.favours)


def transitive(found: "Findings") -> str:
    """Return in one line how far the field is from being ordered by strength alone."""
    from arena.bots import shown

    low, high = found.part.low, found.part.high
    if low is None or high is None:
        return "whether strength alone decides can't be told from so few matches"
    part = f"{found.part.value:.0%} ({low:.0%}-{high:.0%}) of what decides between two bots isn't strength"
    if found.cycle is not None:
        names = [shown(label) for label in found.cycle]
        return f"{part}: {' beats '.join([*names, names[0]])}"
    return f"{part}; no cycle beyond chance" if low > 0 else f"no sign that more than strength decides: {part}"


def favoured(found: "Favoured") -> str:
    """Return in one line whose bots favour whose, with the evidence."""
    from arena.bots import shown

    one, other = map(shown, found.owners)
    what = f"{one} gives to {other}" if found.gives else f"{one} and {other} play together"
    wins = " and ".join(f"{won:g} ({fair:.1f} expected)" for won, fair in zip(found.wins, found.expected, strict=True))
    return (
        f"beyond chance: {what}; in {found.games} games of both they won {wins}; "
        f"a fair field shows that in {max(found.p, 1e-9):.1g} of cases"
    )


def _sorted(found: "Standings", sort: str, trends: "Mapping[str, Trend]") -> "Standings":
    def moved(row: "Row") -> float:
        return (row.bot in trends and trends[row.bot].week) or 0.0

    keys: dict[str, Any] = {
        "rank": lambda row: row.place,
        "share": lambda row: -(row.adjusted.value if row.adjusted else 0.0),
        "games": lambda row: -row.games,
        "faults": lambda row: -(row.faults / max(1, row.games)),
        "name": lambda row: (row.bot, row.number),
        "age": lambda row: -row.since,
        "trend": lambda row: -moved(row),
    }
    return replace(found, rows=tuple(sorted(found.rows, key=keys[sort])))


def _json(found: "Standings", trends: "Mapping[str, Trend]", names: bool) -> dict[str, Any]:
    """Return the table as an object; logins, and who favours whom, are in it for the teacher alone."""
    told = asdict(found)
    for row in told["rows"]:
        row["trend"] = asdict(trends[row["bot"]]) if row["bot"] in trends else None
        if not names:
            del row["owner"]
    if told["findings"] is not None and not names:
        del told["findings"]["favours"]
    return told


def _csv(found: "Standings", trends: "Mapping[str, Trend]", names: bool) -> str:
    from ladder.service import STANDINGS_COLUMNS, standings_cells, write_csv

    out = io.StringIO()
    write_csv(out, STANDINGS_COLUMNS, (standings_cells(row, trends.get(row.bot), names) for row in found.rows))
    return out.getvalue().rstrip("\n")
