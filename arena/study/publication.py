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
from arena.referee import Record, game_marker, turn_marker
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

    Raises OSError if a file can't be written.
    """
    for name in ("tables", "figures", "replays"):
        (out / name).mkdir(parents=True, exist_ok=True)
    plots = list(_plots(report.measures))
    (out / "report.html").write_text(_render_report(report, plots), encoding="utf-8")
    for measure, rates in plots:
        scale = Scale.of(rows for _, rows in rates)
        for caption, rows in rates:
            name = "-".join("".join(c if c.isalnum() else "-" for c in part) for part in (measure, caption) if part)
            (out / "figures" / f"{name}.svg").write_text(
                svg_file(MEASURES[measure].title, caption, rows, scale), "utf-8"
            )
    for name, kind in TABLES.items():
        _write_table(out / "tables" / name, kind, _rows(study, report, name))
    with (out / "bluffs.jsonl").open("w", encoding="utf-8") as file:
        for bluff in list_bluffs(study.games):
            file.write(json.dumps(bluff) + "\n")
    for deal, games in groupby(study.games, lambda game: game.deal):
        page = _render_deal(study, deal, list(games))
        (out / "replays" / f"deal-{deal:04d}.html").write_text(page, encoding="utf-8")
        on_deal()


def _render_deal(study: Study, deal: int, games: Sequence[GameTables]) -> str:
    """Return the page with the replays of a deal's games in all conditions."""
    matches: list[dict[str, Any]] = []
    numbers: dict[str, list[int]] = {}  # of matches, by condition
    for game in games:
        numbers.setdefault(game.condition, []).append(game.match)
        record = study.record(game.match)
        logs = read_logs(study.path / "records" / f"{game.match:06d}.jsonl", record)
        matches.append(make_replay_object(record, {**logs, **_reasoning_logs(game, record)}))
    conditions = ", ".join(f"{name} {format_range(own)}" for name, own in numbers.items())
    return replay_page(matches, f"{study.path.name}: deal {deal} ({conditions})", log_bytes=_REPLAY_BYTES)


def _rows(study: Study, report: StudyReport, name: str) -> Iterable[Any]:
    if name in ("measures", "differences"):
        rows: Iterable[Any] = getattr(report, name)
        return rows
    return study.call_rows() if name == "calls" else (row for game in study.games for row in getattr(game, name))


def _write_table(path: Path, kind: type[Any], rows: Iterable[Any]) -> None:
    """Write a table as CSV and as JSON Lines. In CSV, lists are JSON."""
    names = [column.name for column in fields(kind)]
    with path.with_suffix(".csv").open("w", encoding="utf-8") as table, path.with_suffix(".jsonl").open("w") as lines:
        text = csv.DictWriter(table, names, lineterminator="\n")
        text.writeheader()
        for row in rows:
            values = asdict(row)
            lines.write(json.dumps(values) + "\n")
            text.writerow({name: _csv_cell(value) for name, value in values.items()})


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value)
    return escape_csv_cell(value) if isinstance(value, str) else value


def list_bluffs(games: Iterable[GameTables]) -> Iterator[dict[str, Any]]:
    """Yield each bluff as JSON: the claim's row with reasoning, statements made with it, and the game's result."""
    for game in games:
        for claim in game.claims:
            if claim.true:
                continue
            line = game.calls[claim.move][-1] if claim.move in game.calls else {}
            said = [asdict(statement) for statement in game.statements if statement.move == claim.move]
            yield {
                **asdict(claim),
                "call": line.get("call"),
                "reasoning": line.get("reasoning"),
                "thinking": line.get("thinking"),
                "statements": said,
                "won": game.worth[claim.player],
            }


def _reasoning_logs(game: GameTables, record: Record) -> dict[str, list[bytes]]:
    """Return the reasoning of each model in a game, in the form of a bot's standard error."""
    texts: dict[str, list[str]] = {}
    for decision in game.decisions:
        for line in game.calls.get(decision.move, ()):
            text = texts.setdefault(line["player"], [game_marker(0)])
            text.append(turn_marker(decision.turn))
            text.append(f"{decision.kind}: {line['done']}")
            text += [part for part in (line.get("thinking"), line.get("reasoning")) if part]
    return {bot: ["\n".join(text).encode()] for bot, text in texts.items()}


# ---------------------------------------------------------------- the page

Plots = list[tuple[str, list[PlotRow]]]  # (caption, rows)


def _plots(measures: Sequence[Measured]) -> Iterator[tuple[str, Plots]]:
    """Yield each measure that is a share, with a plot for each part and condition."""
    for measure, rows_of_measure in groupby(measures, lambda measured: measured.measure):
        if MEASURES[measure].is_share:
            plots: Plots = []
            for (name, condition), rows in groupby(
                rows_of_measure, lambda measured: (measured.name, measured.condition)
            ):
                caption = condition if name == ALL else f"{condition}, {name.replace('_', ' ')}"
                plots.append((caption, [PlotRow(row.player, _rate(row)) for row in rows]))
            yield measure, plots


def _rate(row: Measured) -> Rate:
    low, high = (None if end is None else round(min(1.0, max(0.0, end)), 4) for end in (row.low, row.high))
    return Rate(count=round(row.count, 4), total=row.total, value=min(1.0, round(row.value, 4)), low=low, high=high)


def _render_report(report: StudyReport, plots: Sequence[tuple[str, Plots]]) -> str:
    """Return the report as one HTML file without scripts. plots: a measure's name with its plots, in order."""
    title = f"Study of {', '.join(report.players)}"
    lines = [
        f"{format_count(report.games, 'game')}: {report.deals} of {format_count(report.planned_deals, 'deal')}, in "
        f"{format_count(len(report.conditions), 'condition')}.",
        "A point is a rate; the line through it contains the true rate in about 95 of 100 such studies.",
        *report.notes,
    ]
    body = "".join(
        (
            f"<main>\n<header>\n<h1>{escape_html(title)}</h1>\n",
            *(f"<p class='muted'>{escape_html(line)}</p>\n" for line in lines),
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
    """Return a p-value with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _render_differences(rows: Sequence[Difference]) -> str:
    """Return all differences as a folded table, after an open one of the clear differences."""
    about = (
        "In points, by deal. A star is a clear difference: its p-value, corrected for all comparisons of the measure, "
        "is at most 0.05. Looking at interim results doesn't change that, so intervals are wider than those of rates. "
        "They aren't corrected."
    )

    def table(title: str, shown: Sequence[Difference], state: str = "") -> str:
        """Return these rows as a folded table; state: " open" to unfold it."""
        body = "".join(
            f"<tr><th scope='row'>{escape_html(f'{MEASURES[row.measure].title}: {describe_difference(row)}')}</th>"
            + number_cells(
                f"{'* ' * row.clear}{format_points(row.difference)}",
                format_points_interval(row.low, row.high),
                format_p(row.holm_p),
                str(row.deals),
            )
            + "</tr>\n"
            for row in shown
        )
        return details_table(title, ["", "difference", "95 % ends", "p, Holm", "deals"], body, state)

    clear = [row for row in rows if row.clear]
    first = table("clear differences", clear, " open") if clear else "<p>No difference is clear.</p>\n"
    return f"<p class='muted'>{about}</p>\n{first}{table('all differences', rows)}"


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

    def counts(numbers: dict[str, int]) -> str:
        return escape_html(", ".join(f"{what} {number}" for what, number in numbers.items()) or NO_VALUE)

    body = "".join(
        f"<tr><th scope='row'>{escape_html(row.player)}</th>"
        + number_cells(
            str(row.calls),
            str(row.tokens),
            NO_VALUE if row.dollars is None else f"{row.dollars:.4f}",
            str(row.asked_again),
            counts(row.default_moves),
            counts(row.provider_failures),
        )
        + "</tr>\n"
        for row in report.calls
    )
    heads = ["", "calls", "tokens", "dollars", "asked again", "default moves", "failures of the provider"]
    if report.calls_cut_off:
        cells = number_cells(str(report.calls_cut_off), *[NO_VALUE] * 5)
        body += f"<tr><th scope='row'>cut off by a crash</th>{cells}</tr>\n"
    return details_table("all calls, with those of games that don't count", heads, body, " open")
