"""Implement `arena stats`: count bots' behaviour from records, as tables for 80 columns."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

import click
from rich.console import RenderableType
from rich.text import Text

from arena.cli import console
from arena.cli.options import complete_name
from arena.escaping import escape_control
from arena.formatting import (
    NO_VALUE,
    format_count,
    format_interval,
    format_percent,
    format_points,
    format_points_interval,
    format_range,
)
from arena.referee import RecordError
from arena.run import RecordFileError, find_record_files, read_record_file
from arena.stats import ALL, StatsAccumulator, report
from arena.stats.plots import stats_page

_NAME_WIDTH = 10  # columns for a name in a narrow terminal; longer names wrap
_MAX_ACTION_COLUMNS = 7  # in one table
_MAX_LINES = 40  # without --all


def stats_parts(stats: report.StatsReport) -> Iterator[RenderableType]:
    """Yield the parts of a report: an overview of all bots, or a bot compared with another one."""
    yield stats_headline(stats.records)
    if stats.comparison is None:
        yield from _format_overview(stats)
        return
    if stats.of_one_match:
        yield Text(f"a rate with {NO_VALUE} has {report.ONE_MATCH}", "dim")
    yield ""
    for bot, pair in zip(stats.bots, stats.comparison.bots, strict=True):
        yield from _format_comparison(bot, pair, stats.records.paths[0])


def stats_headline(records: report.Records) -> str:
    """Return the numbers of counted records in one line."""
    text = (
        f"{format_count(records.games, 'game')} of {', '.join(map(escape_control, records.rules))} at "
        f"{format_range(records.seats)} seats"
    )
    if records.turns is not None:
        text += f"; {records.turns.median} turns (80 %: {records.turns.p10}-{records.turns.p90})"
    return f"{text}, {records.draws} drawn" if records.draws else text


# ---------------------------------------------------------------- all bots in short


def _format_overview(stats: report.StatsReport) -> Iterator[RenderableType]:
    """Yield notes, then each table of all bots after a blank line: results, bluffs, reactions, actions, times."""
    rates: list[report.Rate | None] = []  # shown with their intervals
    for bot in stats.bots:
        rates += (bot.win_rate.get(ALL), bot.win_rate_by_players_left.get("2"))
        rates += (bot.bluffs.get(ALL), bot.challenged.get(ALL))
    if any(rate is not None and rate.low is None for rate in rates):
        yield Text(f"a rate with {NO_VALUE} has {report.ONE_MATCH}", "dim")
    yield Text("what to try: --bot BOT; two bots: --bot BOT --with BOT; all numbers: --json, --csv", "dim")
    for make_table in (_make_result_table, _make_bluff_table, _make_reaction_table):
        yield ""
        yield make_table(stats.bots)
    yield from _make_action_tables(stats.bots)
    yield ""
    yield _make_time_table(stats)


def _make_result_table(bots: Sequence[report.Profile]) -> RenderableType:
    rows = []
    for bot in bots:
        won, won_of_two = bot.win_rate.get(ALL), bot.win_rate_by_players_left.get("2")
        cells = [_percent(won), format_interval(won), _with_total(won_of_two), format_interval(won_of_two)]
        elimination_turn = NO_VALUE if bot.elimination_turns is None else str(bot.elimination_turns.median)
        rows.append([bot.bot, str(bot.games), *cells, elimination_turn])
    return _table(["bot", "games", "win rate", "95 %", "won of\nthe last two", "95 %", "out in\nturn"], rows)


def _make_bluff_table(bots: Sequence[report.Profile]) -> RenderableType:
    rows = []
    for bot in bots:
        bluffs, challenged, caught = (rates.get(ALL) for rates in (bot.bluffs, bot.challenged, bot.challenged_bluffs))
        cells = [_percent(bluffs), format_interval(bluffs), _percent(challenged), format_interval(challenged)]
        rows.append([bot.bot, NO_VALUE if bluffs is None else str(bluffs.total), *cells, _with_total(caught)])
    return _table(["bot", "claims", "bluffs", "95 %", "chal-\nlenged", "95 %", "bluffs\nchallenged"], rows)


def _make_reaction_table(bots: Sequence[report.Profile]) -> RenderableType:
    """Return how often each bot challenged and blocked where it could, and how often rightly."""
    rows = []
    for bot in bots:
        claims, right, lies = (bot.challenges.get(name) for name in ("made", "right", "of_lies"))
        blocks, bluffed = (bot.blocks.get(name) for name in ("made", "bluffed"))
        rows.append([bot.bot, *map(_with_total, (claims, right, lies, blocks, bluffed))])
    names = [
        "challenges\nof claims",
        "right\nof these",
        "challenges\nof lies",
        "blocks\nof actions",
        "bluffs\nof these",
    ]
    return _table(["bot", *names], rows)


def _make_time_table(stats: report.StatsReport) -> RenderableType:
    rows = []
    for bot in stats.bots:
        times = bot.decision_times.get(ALL)
        cells = [NO_VALUE] * 3 if times is None else [str(times.requests), _ms(times.median_ms), _ms(times.p99_ms)]
        rows.append([bot.bot, *cells, _describe_faults(bot) or NO_VALUE])
    names = ["bot", "requests", f"{_clock(stats.records)} ms,\nmedian", "99 %\nwithin", "faults"]
    return _table(names, rows, texts=("faults",))


def _make_action_tables(bots: Sequence[report.Profile]) -> Iterator[RenderableType]:
    """Yield tables of the bots' actions, with up to _MAX_ACTION_COLUMNS columns each, after a blank line."""
    all_actions = list(dict.fromkeys(action for bot in bots for action in bot.actions))
    for start in range(0, len(all_actions), _MAX_ACTION_COLUMNS):
        actions = all_actions[start : start + _MAX_ACTION_COLUMNS]
        rows = []
        for bot in bots:
            turns = format_range([rate.total for rate in bot.actions.values()])
            rows.append([bot.bot, turns, *(_percent(bot.actions.get(action), 0) for action in actions)])
        yield ""
        yield _table(["bot", "turns", *map(_heading, actions)], rows)


# ---------------------------------------------------------------- two bots


def _format_comparison(bot: report.Profile, pair: report.ComparedBot, path: str) -> Iterator[RenderableType]:
    """Yield the results of a bot, what to do first, and each rate and decision time next to the reference's.

    path: of the records, for the command that shows the bot's faults.
    """
    yield escape_control(_describe_results(bot, pair))
    if bot.faults_by_code:
        yield f"fix its faults first ({_describe_faults(bot)}): arena replay {shlex.quote(path)} --faults"
    yield from _format_largest_differences(pair)
    rates = [rate for rates_by_name in pair.differences.values() for rate in rates_by_name.values()]
    count = f"{sum(rate.significant for rate in rates)} of {format_count(len(rates), 'rate')}"
    yield f"\n{escape_control(f'{pair.bot} and {pair.other.bot}')}: {count} differ clearly *"
    yield Text(
        "* clearly: more than chance, for this many rates; without real differences 1 page in 20 has a star", "dim"
    )
    for section, rates_by_name in pair.differences.items():
        title, explanation = report.SECTIONS[section]
        yield ""
        rows = [[_display_name(section, name), *_difference_cells(rate)] for name, rate in rates_by_name.items()]
        yield _table([title, "reference", "bot", "difference", "95 %", ""], rows, texts=("",))
        yield Text(explanation, "dim")
    if time_rows := list(_decision_time_rows(bot, pair)):
        yield ""
        yield _table(["time, ms", "median\nreference", "bot", "99 % within\nreference", "bot"], time_rows)


def _describe_results(bot: report.Profile, pair: report.ComparedBot) -> str:
    """Return the win rates of a bot and the reference, their difference, and when the bot was eliminated."""
    won, turns = pair.differences["win_rate"][ALL], bot.elimination_turns
    _, _, points, interval, _ = _difference_cells(won)
    text = f"{pair.bot} won {_percent(won.rate)} of {format_count(bot.games, 'game')}, {pair.other.bot} "
    text += f"{_percent(won.other_rate)}: {points} points ({interval})"
    return text if turns is None else f"{text}; it was out in turn {turns.median} (80 %: {turns.p10}-{turns.p90})"


def _describe_faults(bot: report.Profile) -> str:
    return ", ".join(f"{code} {count}" for code, count in bot.faults_by_code.items())


def _format_largest_differences(pair: report.ComparedBot) -> Iterator[RenderableType]:
    """Yield the clear differences with what to try, the largest first."""
    if not pair.largest:
        yield "nothing to try: no clear difference has advice, or the reference wins no more games than the bot"
        return
    yield ""
    rows = [
        [
            difference.text,
            format_percent(difference.rate, 0),
            format_percent(difference.other_rate, 0),
            format_percent(difference.field_rate, 0),
            *report.format_per_100_games(difference),
        ]
        for difference in pair.largest
    ]
    yield _table(["largest differences", "bot", "reference", "field", "in 100\ngames", "95 %"], rows)
    for advice in dict.fromkeys(difference.advice for difference in pair.largest):
        texts = ", ".join(difference.text for difference in pair.largest if difference.advice == advice)
        yield Text(f"try: {advice} ({texts})")
    yield Text(report.LARGEST_NOTE, "dim")


def _difference_cells(difference: report.RateDifference) -> list[str]:
    value, low, high = astuple(difference.difference)
    return [
        _with_total(difference.other_rate),
        _with_total(difference.rate),
        format_points(value),
        format_points_interval(low, high),
        "*" if difference.significant else "",
    ]


def _decision_time_rows(bot: report.Profile, pair: report.ComparedBot) -> Iterator[list[str]]:
    """Yield the cells of each kind of request that both answered: medians, then 99 %, of the reference and the bot."""
    for kind, times in bot.decision_times.items():
        if kind in pair.other.decision_times:
            other = pair.other.decision_times[kind]
            yield [kind, *map(_ms, (other.median_ms, times.median_ms, other.p99_ms, times.p99_ms))]


# ---------------------------------------------------------------- cells


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], texts: Sequence[str] = ()) -> RenderableType:
    """Return a table of numbers. The first column and the columns in `texts` hold names."""
    columns = []
    for index, name in enumerate(names):
        is_text = index == 0 or name in texts
        columns.append(console.Column(name, number=not is_text, min_width=_NAME_WIDTH if is_text else None))
    return console.make_table(columns, [[escape_control(cell) for cell in row] for row in rows])


def _percent(rate: report.Rate | None, digits: int = 1) -> str:
    return format_percent(None if rate is None else rate.value, digits)


def _with_total(rate: report.Rate | None) -> str:
    """Return a rate with its total: "46% of 1096"."""
    return NO_VALUE if rate is None else f"{rate.value:.0%} of {rate.total}"


def _ms(time: float) -> str:
    return f"{time:.2f}" if time < 10 else f"{time:.0f}"


def _clock(records: report.Records) -> str:
    return records.clocks[0] if len(records.clocks) == 1 else "own or wall"


def _display_name(section: str, name: str) -> str:
    """Return a row's name: a bot's name unchanged, the arena's own names with blanks."""
    return name if section == "attack_targets" else name.replace("_", " ")


def _heading(name: str) -> str:
    return "assas-\nsinate" if name == "assassinate" else name.replace("_", "\n")


@click.command()
@click.argument("paths", metavar="RECORD|DIR...", nargs=-1, type=click.Path(path_type=Path))
@console.option(
    "--bot", metavar="BOT", shell_complete=complete_name, help="Compare this bot with another one.  [all bots, briefly]"
)
@console.option(
    "--with",
    "other",
    metavar="BOT",
    shell_complete=complete_name,
    help="Bot of the same records to compare with.  [the other bot with the highest win rate]",
)
@console.json_option(report.StatsReport)
@console.option("--csv", "as_csv", is_flag=True, help="Print all rates as CSV on stdout, one per line.")
@console.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page with plots."
)
@console.option("--all", "show_all", is_flag=True, help="Print all tables, not only the first 40 lines.")
def stats(
    *,
    paths: tuple[Path, ...],
    bot: str | None,
    other: str | None,
    as_json: bool,
    as_csv: bool,
    html: Path | None,
    show_all: bool,
) -> None:
    """Print statistics on how bots play.

    It covers wins, bluffs, challenges, blocks, attacked bots and response times, for a run in DIR. Bluffs that no
    player challenged count, too, because records contain all cards.

    With --bot the report compares the bot with the winner and the field: the largest differences with what to try, then
    with --all all rates. arena stats RUN --bot mybot --with mybot-2 compares two bots of one run.
    """
    if not paths:
        console.usage_error("name a run's folder or a record; arena run prints the folder at its end")
    if sum((as_json, as_csv, html is not None)) > 1:
        console.usage_error("choose one of --json, --csv and --html")
    if other is not None and bot is None:
        console.usage_error("--with needs the bot that is compared: add --bot NAME")
    if other is not None and other == bot:
        console.usage_error("a bot can't be compared with itself: name another one with --with")
    stats_report, accumulator = _count_records(paths, None if bot is None else (bot, other))
    result = _select_bots(stats_report, accumulator, bot, other)
    if html is not None:
        _write_page(html, result)
    elif as_json:
        console.print_json(result)
    elif as_csv:
        console.print_text(report.stats_report_to_csv(result))
    else:
        max_lines = None if show_all else _MAX_LINES
        console.print_parts(*stats_parts(result), widest=console.MAX_PROSE_COLUMNS, max_lines=max_lines)
    sys.exit(1 if stats_report.records.skipped else 0)


def _count_records(
    paths: Sequence[Path], pair: tuple[str, str | None] | None
) -> tuple[report.StatsReport, StatsAccumulator]:
    """Count all readable records, with the covariances of `pair`, and print a note on each unreadable one.

    Returns their statistics, and the counts for a comparison. pair: as for `StatsAccumulator`. Exits with 2 if no
    record can be read.
    """
    try:
        files = list({file.resolve(): file for path in paths for file in find_record_files(path)}.values())
    except RecordFileError as problem:
        console.usage_error(str(problem))
    accumulator = StatsAccumulator(pair)
    skip_reasons = _add_records(accumulator, files)
    if not accumulator.records:
        others = len(skip_reasons) - 1
        note = f"; and {format_count(others, 'file')} more can't be read" if others else ""
        console.usage_error(f"{skip_reasons[0]}{note}")
    for reason in skip_reasons:
        console.print_note(f"skipped: {reason}")
    return report.make_stats_report(accumulator, [str(path) for path in paths], skip_reasons), accumulator


def _add_records(accumulator: StatsAccumulator, files: Sequence[Path]) -> list[str]:
    """Count the records in files, and show the progress; return the reasons why some can't be counted."""
    skip_reasons: list[str] = []

    def describe() -> str:
        files_read = accumulator.records + len(skip_reasons)
        return f"{files_read} of {format_count(len(files), 'record')} read, {accumulator.games} games"

    with console.show_progress(describe, describe) as redraw:
        for file in files:
            reason = _add_record(accumulator, file)
            if reason is not None:
                skip_reasons.append(reason)
            redraw()
    return skip_reasons


def _add_record(accumulator: StatsAccumulator, file: Path) -> str | None:
    """Count the record in a file; return the reason if it can't be counted, else None."""
    try:
        accumulator.add(read_record_file(file))
    except RecordFileError as problem:
        return str(problem)
    except RecordError as problem:
        return f"{file}: {problem}"
    return None


def _select_bots(
    stats_report: report.StatsReport, accumulator: StatsAccumulator, bot: str | None, other: str | None
) -> report.StatsReport:
    """Return the comparison of `bot` with `other` (None: the best other bot), without `bot` the statistics unchanged.

    Exits with 2 if one isn't in the records.
    """
    if bot is None:
        return stats_report
    profile = _get_profile(stats_report, bot)
    if other is None:
        other = next(candidate.bot for candidate in stats_report.bots if candidate.bot != bot)  # the best first
    return report.compare_bots(stats_report, accumulator, profile, _get_profile(stats_report, other))


def _write_page(file: Path, result: report.StatsReport) -> None:
    """Write the page with plots. Exits with 1 if the file can't be written."""
    bots = result.bots[0].bot if len(result.bots) == 1 else "all bots"
    console.write_html(file, stats_page(result, f"{bots} in {_describe_source(result)}"))
    console.print_note(f"{format_count(len(result.bots), 'bot')} in {file}: open it in a browser")


def _get_profile(result: report.StatsReport, name: str) -> report.Profile:
    """Return a bot's statistics. Exits with 2 if it isn't in the records."""
    profiles = {profile.bot: profile for profile in result.bots}
    if name not in profiles:
        bot_names = ", ".join(profiles)
        console.usage_error(f'{_describe_source(result)} has no bot "{name}"; its bots are {bot_names}')
    return profiles[name]


def _describe_source(result: report.StatsReport) -> str:
    return ", ".join(result.records.paths)
