"""Write the report of a study as files that can be published.

report.html            plots, tables and methods on one page
figures/               each plot as an SVG file
tables/                measures, differences, decisions, claims, challenges, statements and calls: CSV, JSON Lines
bluffs.jsonl           each bluff with hand, reasoning, statements, odds, reactions and outcome
replays/deal-0000.html all games of a deal, with the reasoning of each decision and all cards"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from arena.escaping import escape_csv_cell
from arena.formatting import NO_VALUE, format_count, format_points, format_points_interval, format_range
from arena.referee import game_marker, turn_marker
from arena.replay import escape_html, html_page, make_replay_object, replay_page, style_sheets
from arena.run import read_logs
from arena.stats import ALL
from arena.stats.plots import PlotRow, Scale, details_table, number_cells, rates_section, svg_file
from arena.stats.report import Rate
from arena.study.measures import MEASURES, Difference, Measured
from arena.study.report import Study, StudyReport
from arena.study.tables import CallRow, Challenge, Claim, Decision, GameTables, Statement

TABLES: dict[str, type[Any]] = {
    "measures": Measured,
    "differences": Difference,
    "decisions": Decision,
    "claims": Claim,
    "challenges": Challenge,
    "statements": Statement,
    "calls": CallRow,
}
_REPLAY_BYTES = 100_000  # of reasoning a game
_MIN_DEALS = 5  # for an interval of an amount


def write_report(study: Study, report: StudyReport, out: Path, on_deal: Callable[[], object] = lambda: None) -> None:
    """Write all files into the folder `out`, in place of those of an earlier report.

    on_deal: called after each replay. Raises OSError if a file can't be written, RecordFileError if a record can't be
    read.
    """
    for name in ("tables", "figures", "replays"):
        (out / name).mkdir(parents=True, exist_ok=True)
    plots_by_measure = list(_list_plots(report.measures))
    (out / "report.html").write_text(_render_report(report, plots_by_measure), encoding="utf-8")
    _write_figures(out / "figures", plots_by_measure)
    for table, row_type in TABLES.items():
        _write_table(out / "tables" / table, row_type, _list_rows(study, report, table))
    with (out / "bluffs.jsonl").open("w", encoding="utf-8") as file:
        for bluff in list_bluffs(study.games):
            file.write(json.dumps(bluff) + "\n")
    for deal, games in groupby(study.games, lambda game: game.deal):
        page = _render_deal(study, deal, list(games))
        (out / "replays" / f"deal-{deal:04d}.html").write_text(page, encoding="utf-8")
        on_deal()


def _write_figures(folder: Path, plots_by_measure: Sequence[tuple[str, "Plots"]]) -> None:
    """Write each plot as an SVG file, those of a measure with one scale. Names that would be equal are extended."""
    used_names = set[str]()
    for measure, plots in plots_by_measure:
        scale = Scale.of(rows for _, rows in plots)
        for caption, rows in plots:
            name = "".join(c if c.isalnum() else "-" for c in f"{measure}-{caption}")
            while name.casefold() in used_names:
                name += "-2"
            used_names.add(name.casefold())
            text = svg_file(MEASURES[measure].title, caption, rows, scale)
            (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def _render_deal(study: Study, deal: int, games: Sequence[GameTables]) -> str:
    """Return the page with the replays of a deal's games in all conditions.

    Raises RecordFileError if a record can't be read.
    """
    replays: list[dict[str, Any]] = []
    matches_by_condition: dict[str, list[int]] = {}
    for game in games:
        matches_by_condition.setdefault(game.condition, []).append(game.match)
        record = study.record(game.match)
        logs = read_logs(study.path / "records" / f"{game.match:06d}.jsonl", record)
        replays.append(make_replay_object(record, {**logs, **_make_reasoning_logs(game)}))
    conditions = ", ".join(f"{name} {format_range(matches)}" for name, matches in matches_by_condition.items())
    return replay_page(replays, f"{study.path.name}: deal {deal} ({conditions})", log_bytes=_REPLAY_BYTES)


def _list_rows(study: Study, report: StudyReport, table: str) -> Iterable[Any]:
    """Return the rows of one of TABLES: of the report, the journal, or each game in order."""
    if table in ("measures", "differences"):
        rows: Iterable[Any] = getattr(report, table)
        return rows
    return study.call_rows() if table == "calls" else (row for game in study.games for row in getattr(game, table))


def _write_table(path: Path, row_type: type[Any], rows: Iterable[Any]) -> None:
    """Write a table of dataclasses as CSV and as JSON Lines. In CSV, lists are JSON. path: without its suffix."""
    names = [column.name for column in fields(row_type)]
    with path.with_suffix(".csv").open("w", encoding="utf-8") as table, path.with_suffix(".jsonl").open("w") as lines:
        writer = csv.DictWriter(table, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            values = asdict(row)
            lines.write(json.dumps(values) + "\n")
            writer.writerow({name: _csv_cell(value) for name, value in values.items()})


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value)
    return escape_csv_cell(value) if isinstance(value, str) else value


def list_bluffs(games: Iterable[GameTables]) -> Iterator[dict[str, Any]]:
    """Yield each bluff as JSON: the claim's row with reasoning, statements made with it, and the game's result.

    Without a call of a model, `call`, `reasoning` and `thinking` are None.
    """
    for game in games:
        for claim in game.claims:
            if claim.true:
                continue
            call = game.calls[claim.move][-1] if claim.move in game.calls else {}
            yield {
                **asdict(claim),
                "call": call.get("call"),
                "reasoning": call.get("reasoning"),
                "thinking": call.get("thinking"),
                "statements": [asdict(statement) for statement in game.statements if statement.move == claim.move],
                "won": game.worth[claim.player],
            }


def _make_reasoning_logs(game: GameTables) -> dict[str, list[bytes]]:
    """Return the reasoning of each model in a game, by bot, in the form of a bot's standard error."""
    log_lines: dict[str, list[str]] = {}
    for decision in game.decisions:
        for call in game.calls.get(decision.move, ()):
            lines = log_lines.setdefault(call["player"], [game_marker(0)])
            lines += [turn_marker(decision.turn), f"{decision.kind}: {call['done']}"]
            lines += [text for text in (call.get("thinking"), call.get("reasoning")) if text]
    return {bot: ["\n".join(lines).encode(errors="backslashreplace")] for bot, lines in log_lines.items()}


# ---------------------------------------------------------------- the page

Plots = list[tuple[str, list[PlotRow]]]  # (caption, rows)


def _list_plots(measures: Sequence[Measured]) -> Iterator[tuple[str, Plots]]:
    """Yield the name of each measure that is a share, with a plot for each part and condition."""
    for measure, rows_of_measure in groupby(measures, lambda measured: measured.measure):
        if not MEASURES[measure].is_share:
            continue
        plots: Plots = []
        for (name, condition), rows in groupby(rows_of_measure, lambda measured: (measured.name, measured.condition)):
            caption = condition if name == ALL else f"{condition}, {name.replace('_', ' ')}"
            plots.append((caption, [PlotRow(row.player, _rate(row)) for row in rows]))
        yield measure, plots


def _rate(row: Measured) -> Rate:
    low, high = (None if end is None else round(min(1.0, max(0.0, end)), 4) for end in (row.low, row.high))
    return Rate(count=round(row.count, 4), total=row.total, value=min(1.0, round(row.value, 4)), low=low, high=high)


def _render_report(report: StudyReport, plots: Sequence[tuple[str, Plots]]) -> str:
    """Return the report as one HTML file without scripts. plots: a measure's name with its plots, in order."""
    title = f"Study of {', '.join(report.players)}"
    paragraphs = [
        f"{format_count(report.games, 'game')}: {report.deals} of {format_count(report.planned_deals, 'deal')}, in "
        f"{format_count(len(report.conditions), 'condition')}.",
        "A point is a rate; the line through it contains the true rate in about 95 of 100 such studies.",
        *report.notes,
    ]
    body = "".join(
        (
            f"<main>\n<header>\n<h1>{escape_html(title)}</h1>\n",
            *(f"<p class='muted'>{escape_html(paragraph)}</p>\n" for paragraph in paragraphs),
            "</header>\n",
            _section("Differences", _render_differences(report.differences)),
            *(rates_section(MEASURES[name].title, MEASURES[name].of, rates) for name, rates in plots),
            _section("Amounts", _render_amounts(report.measures)),
            _section("Calls", _render_calls(report)) if report.calls else "",
            f"<section class='panel'>\n<h2>Methods</h2>\n<p>{escape_html(report.methods)}</p>\n</section>\n</main>",
        )
    )
    return html_page(title, body, [style_sheets("stats")], [])


def _section(title: str, table: str) -> str:
    return f"<section class='panel'>\n<h2>{title}</h2>\n{table}</section>\n"


def describe_difference(row: Difference) -> str:
    """Return what a difference compares: "gpt - claude, talk" or "gpt, talk - silent"."""
    if row.player == row.other_player:
        return f"{row.player}, {row.condition} - {row.other_condition}"
    return f"{row.player} - {row.other_player}, {row.condition}"


def format_p(p: float) -> str:
    """Return a p-value with three digits; "< 0.001" for a smaller one."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _render_differences(rows: Sequence[Difference]) -> str:
    """Return all differences as a folded table, after an open one of the clear differences."""
    caption = (
        "In points, by deal. A star is a clear difference: its p-value, corrected for all comparisons of the measure, "
        "is at most 0.05. Looking at interim results doesn't change that, so intervals are wider than those of rates. "
        "They aren't corrected."
    )
    clear_rows = [row for row in rows if row.clear]
    clear_part = "<p>No difference is clear.</p>\n"
    if clear_rows:
        clear_part = _render_difference_table("clear differences", clear_rows, " open")
    return f"<p class='muted'>{caption}</p>\n{clear_part}{_render_difference_table('all differences', rows)}"


def _render_difference_table(title: str, rows: Sequence[Difference], attributes: str = "") -> str:
    """Return these rows as a table that can be folded. attributes: as of `details_table`."""
    body = "".join(
        f"<tr><th scope='row'>{escape_html(f'{MEASURES[row.measure].title}: {describe_difference(row)}')}</th>"
        + number_cells(
            f"{'* ' * row.clear}{format_points(row.difference)}",
            format_points_interval(row.low, row.high),
            format_p(row.holm_p),
            str(row.deals),
        )
        + "</tr>\n"
        for row in rows
    )
    return details_table(title, ["", "difference", "95 % ends", "p, Holm", "deals"], body, attributes)


def _render_amounts(rows: Sequence[Measured]) -> str:
    """Return the table of all measures that aren't shares; too few deals give no interval."""
    body = "".join(
        f"<tr><th scope='row'>{escape_html(f'{MEASURES[row.measure].title}: {row.player}, {row.condition}')}</th>"
        + number_cells(_amount(row.value), _amount_interval(row), str(row.total))
        + "</tr>\n"
        for row in rows
        if not MEASURES[row.measure].is_share
    )
    return details_table("all amounts", ["", "mean", "95 %", "cases"], body, " open")


def _amount_interval(row: Measured) -> str:
    if row.low is None or row.high is None or row.deals < _MIN_DEALS:
        return NO_VALUE
    return f"{_amount(row.low)} to {_amount(row.high)}"


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _render_calls(report: StudyReport) -> str:
    """Return the table of each player's calls, with a last row for those without a known player, cut off by a crash."""
    body = "".join(
        f"<tr><th scope='row'>{escape_html(row.player)}</th>"
        + number_cells(
            str(row.calls),
            str(row.tokens),
            NO_VALUE if row.dollars is None else f"{row.dollars:.4f}",
            str(row.asked_again),
            _render_counts(row.default_moves),
            _render_counts(row.provider_failures),
        )
        + "</tr>\n"
        for row in report.calls
    )
    if report.calls_cut_off:
        cells = number_cells(str(report.calls_cut_off), *[NO_VALUE] * 5)
        body += f"<tr><th scope='row'>cut off by a crash</th>{cells}</tr>\n"
    headings = ["", "calls", "tokens", "dollars", "asked again", "default moves", "failures of the provider"]
    return details_table("all calls, with those of games that don't count", headings, body, " open")


def _render_counts(counts: dict[str, int]) -> str:
    return escape_html(", ".join(f"{reason} {count}" for reason, count in counts.items()) or NO_VALUE)
