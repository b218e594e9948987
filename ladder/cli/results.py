"""Implement the `arena ladder` commands that print and export standings, matches, logs and events.

`rerate` computes the standings from all results, and compares them with the stored ones."""

import io
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import click
from rich.table import Table

from arena import formatting
from arena.cli.console import (
    Column,
    json_option,
    make_table,
    option,
    print_json,
    print_note,
    print_parts,
    print_text,
    usage_error,
)
from arena.escaping import escape_control, quote_path
from ladder.bot_pages import BotLogs, view_logs
from ladder.cli import common
from ladder.dashboards import EventList, list_events
from ladder.exports import ExportedFiles, export_ladder, write_csv
from ladder.ladder import get_bot
from ladder.match_pages import MatchList, MatchPage, find_record_text, list_matches, view_match
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER
from ladder.standings import (
    COLUMNS,
    SORTS,
    STANDINGS_COLUMNS,
    RebuiltStandings,
    make_standings_cells,
    rebuild_standings,
    view_standings,
)
from ladder.standings.computation import CollusionSuspects, Standings, StandingsRow
from ladder.store import find_match_summary
from protocol import escape_bytes

TRUSTED = "Bots run as plain processes without isolation: this ladder trusts their authors."
MAX_LINE_CHARACTERS = 2000  # of a log, that are printed
EVENTS_POLL_S = 1.0  # between two looks for new events


@click.command()
@common.FOLDER_ARGUMENT
@option("--sort", type=click.Choice(list(SORTS)), default="rank", help="Order of the rows.")
@option("--at", type=click.DateTime(["%Y-%m-%d"]), help="Print the last standings up to this day in UTC.")
@option("--show-logins", is_flag=True, help="Show owners' logins, and suspected collusion.")
@json_option(Standings)
@option("--csv", "as_csv", is_flag=True, help="Print CSV on stdout.")
def standings(folder: Path, sort: str, at: datetime | None, show_logins: bool, as_json: bool, as_csv: bool) -> None:
    """Print the standings: ranks and win rates.

    Columns are the ratings, win rates with 95 % intervals, trends, games, faults, and the versions' ages. Owners are
    shown by their pseudonyms.
    """
    with (
        common.open_ladder_or_exit(folder) as ladder,
        ladder.reading(STAFF_VIEWER if show_logins else PUBLIC_VIEWER) as context,
    ):
        standings = view_standings(context, sort, None if at is None else at.strftime("%Y-%m-%d"))
    if not standings.matches and not standings.items:
        advice = f"no matches have been rated yet; play some: arena ladder run {quote_path(folder)}"
        print_note("no matches were rated by that day" if at else advice)
    if as_json:
        print_json(standings)
    elif as_csv:
        print_text(_format_csv(standings))
    elif standings.items:
        print_parts(standings_table(standings, context.now if at is None else standings.created_at))
        print_parts("", *_list_standings_notes(standings))
        if not standings.isolated:
            print_parts(TRUSTED)


def standings_table(ranking: Standings, now: float | None = None) -> Table:
    """Return a table of standings. now: for trends and the versions' ages; without it these columns are left out."""
    columns = [column for column in COLUMNS if column.terminal and (now is not None or not column.of_now)]
    headings = [Column(column.terminal, column.number, column.min_width) for column in columns]
    return make_table(headings, [[column.text(row, now or 0.0) for column in columns] for row in ranking.items])


def _list_standings_notes(ranking: Standings) -> Iterator[str]:
    """Yield the lines below the standings: counts, missing intervals, the leader, and pairs that favour each other."""
    games = formatting.format_count(ranking.games, "game")
    matches = formatting.format_count(ranking.matches, "match", "es")
    yield f"{games} in {matches}; win rates in %, fair: {100 * ranking.fair_win_rate:.0f}; * reference bot"
    if formatting.have_no_intervals(row.win_rate_adjusted for row in ranking.items):
        yield formatting.NO_INTERVALS
    verdict = ranking.verdict
    if verdict is not None and verdict.leader is not None:
        yield formatting.describe_leader(escape_control(verdict.leader), verdict.decided)
    if ranking.collusion is not None:
        yield from map(_describe_collusion, ranking.collusion.suspects or ())


def _describe_collusion(pair: CollusionSuspects) -> str:
    """Return in one line which owners' bots favour each other, with the evidence."""
    owner, partner = map(escape_control, pair.owners)
    suspicion = f"{owner} favours {partner}" if pair.one_way else f"{owner} and {partner} favour each other"
    wins = " and ".join(
        f"{count:g} ({expected:.1f} expected)" for count, expected in zip(pair.wins, pair.expected, strict=True)
    )
    return (
        f"suspected collusion: {suspicion}; in {formatting.format_count(pair.games, 'game')} together they won {wins}; "
        f"p = {max(pair.p, 1e-9):.1g} if all play fairly"
    )


def _format_csv(ranking: Standings) -> str:
    file = io.StringIO()
    write_csv(file, STANDINGS_COLUMNS, map(make_standings_cells, ranking.items))
    return file.getvalue().rstrip("\n")


@click.command()
@common.FOLDER_ARGUMENT
@click.argument("match", metavar="MATCH", type=common.RowNumber(1))
@option("--record", is_flag=True, help="Print the record, which `arena verify` checks.")
@json_option(MatchPage)
def match(folder: Path, match: int, record: bool, as_json: bool) -> None:
    """Show a match: its bots, games, faults and times."""
    with common.open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        view = view_match(context, match)
        text = find_record_text(context, match) if record else None
    if view is None:
        usage_error(f"the ladder has no match {match}.\nList its matches: arena ladder matches {quote_path(folder)}")
    if record:
        if text is None:
            usage_error(f"match {match} has no record: {_missing_record_reason(view)}")
        print_text(text.rstrip("\n"))
    else:
        common.print_view(view, as_json)


def _missing_record_reason(view: MatchPage) -> str:
    if view.outcome == "played":
        return "records this old are removed (retention in ladder.toml)"
    return f"it wasn't played ({view.outcome or view.status})"


@click.command()
@common.FOLDER_ARGUMENT
@option("--bot", "name", metavar="BOT", shell_complete=common.complete_bots, help="Only matches of this bot.")
@option("--kind", type=click.Choice(("rated", "qualifying", "challenge", "final")), help="Only matches of this kind.")
@option("--last", type=click.IntRange(1, 100_000), metavar="N", default=20, help="Number of matches.")
@option("--todo", is_flag=True, help="List queued and running matches instead of finished ones.")
@option("--after", type=common.RowNumber(1), metavar="MATCH", help="Only matches after this one in the list.")
@json_option(MatchList)
def matches(
    folder: Path, name: str | None, kind: str | None, last: int, todo: bool, after: int | None, as_json: bool
) -> None:
    """List recent matches, the newest first, with the wins of each version."""
    with common.open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        bot = None if name is None else get_bot(context.connection, name).id
        page = list_matches(context, bot, kind, todo, after, last)
    if not page.items and not as_json:
        print_note("no matches are running or queued" if todo else "no match has ended yet")
    else:
        common.print_view(page, as_json)


@click.command()
@common.FOLDER_ARGUMENT
@option("--after", type=common.RowNumber(0), metavar="N", default=0, help="Only events after this number.")
@option("--limit", type=click.IntRange(1, 100_000), metavar="N", default=1000, help="Number of events.")
@option("--follow", is_flag=True, help="Also print new events, until interrupted.")
@json_option(EventList)
def events(folder: Path, after: int, limit: int, follow: bool, as_json: bool) -> None:
    """Print the event log, the oldest event first.

    With --json and --follow, each line is a list of new events.
    """
    cursor = after
    with common.open_ladder_or_exit(folder) as ladder:
        while True:
            with ladder.reading(STAFF_VIEWER) as context:
                page = list_events(context, cursor, limit)
                has_more = page.next_cursor < context.revision
            if not as_json:
                for event in page.items:
                    print_text(common.format_view_line(event))
            elif page.items or not follow:
                print_json(page)
            if not follow:
                break
            if page.next_cursor == cursor:
                time.sleep(EVENTS_POLL_S)
            cursor = page.next_cursor
    if not as_json and has_more:
        print_note(f"for later events: --after {page.next_cursor}")


@click.command()
@common.FOLDER_ARGUMENT
@click.argument("match", metavar="MATCH", type=common.RowNumber(1))
@click.argument("bot", metavar="BOT", shell_complete=common.complete_bots)
@json_option(BotLogs)
def log(folder: Path, match: int, bot: str, as_json: bool) -> None:
    """Print a bot's standard error from a match.

    Each process of the bot has its own part. Control characters are escaped.
    """
    with common.open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        summary = find_match_summary(context.connection, match)
        if summary is None:
            advice = f"List its matches: arena ladder matches {quote_path(folder)}"
            usage_error(f"the ladder has no match {match}.\n{advice}")
        logs = view_logs(context, summary, bot)
    if logs is None:
        version_refs = ", ".join(player.version_ref for player in summary.players)
        usage_error(f"{escape_control(bot)} didn't play in match {match}.\nIts bots are {version_refs}.")
    if as_json:
        print_json(logs)
        return
    if not logs.items:
        print_note(f"{escape_control(bot)} wrote nothing, or its log has expired (retention in ladder.toml)")
    for log in logs.items:
        print_text(f"--- {escape_control(log.version)}, process {log.process}")
        print_log(log.text)


def print_log(data: bytes) -> None:
    """Print a program's output; control characters are escaped, and long lines cut."""
    print_text("\n".join(escape_bytes(line, MAX_LINE_CHARACTERS) for line in data.rstrip(b"\n").split(b"\n")))


@click.command()
@common.FOLDER_ARGUMENT
@json_option(RebuiltStandings)
def rerate(folder: Path, as_json: bool) -> None:
    """Recompute the standings from all results.

    The command compares them with the stored standings, and stores them. Exit code 1 if they differ although matches
    and versions are the same.
    """
    with common.open_ladder_or_exit(folder) as ladder:
        result = rebuild_standings(ladder)
    if as_json:
        print_json(result)
    else:
        print_note(_describe_rebuild(result))
        if result.changes:
            rows = [
                (change.version, *_format_row(change.before), *_format_row(change.after)) for change in result.changes
            ]
            print_parts(make_table(_COLUMNS, rows))
    sys.exit(1 if result.same is False else 0)


_COLUMNS = (
    Column("version", min_width=12),
    *(Column(f"{name}\n{when}", number=True) for when in ("before", "now") for name in ("ranks", "rating", "win rate")),
)


def _describe_rebuild(result: RebuiltStandings) -> str:
    """Return in words how recomputed standings differ from the stored ones."""
    games = formatting.format_count(result.games, "game")
    data = f"{games} in {formatting.format_count(result.matches, 'match', 'es')}"
    if result.first:
        return f"computed the standings from {data}, for the first time"
    if result.same is not None:
        relation = "equal" if result.same else "differ from"
        difference = f"largest difference: {result.max_difference:.2g}"
        return f"recomputed from {data}: they {relation} the stored standings ({difference})"
    if result.news:
        comparative = "more" if result.news > 0 else "fewer"
        return f"recomputed from {data}: {abs(result.news)} {comparative} than in the stored standings"
    return f"recomputed from {data}: other versions are active than in the stored standings"


def _format_row(row: StandingsRow | None) -> tuple[str, str, str]:
    """Return the ranks, the rating and the win rate of a row; dashes without a row."""
    if row is None:
        return "-", "-", "-"
    return (
        formatting.format_rank(row.rank_range, row.games),
        common.format_estimate(row.rating, 1, 2),
        common.format_estimate(row.win_rate_adjusted, 100, 2),
    )


@click.command()
@common.FOLDER_ARGUMENT
@option("--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), required=True, help="A new folder.")
@option("--show-logins", is_flag=True, help="Write owners' logins instead of pseudonyms, and users.csv.")
@json_option(ExportedFiles)
def export(folder: Path, out: Path, show_logins: bool, as_json: bool) -> None:
    """Export results, matches, versions and the audit log.

    The folder gets results.jsonl, with a line for each game as `arena run` writes it, and CSV files, also of the
    standings. The ladder may be running.
    """
    with common.open_ladder_or_exit(folder) as ladder:
        files = export_ladder(ladder, out, show_logins)
    text = f"wrote {', '.join(file.name for file in files)} to {out}"
    common.print_result(ExportedFiles(tuple(map(str, files))), as_json, text)
