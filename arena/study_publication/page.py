"""Render the report of a study as one HTML page: plots, differences, amounts, calls and methods."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from arena.formatting import NO_VALUE, format_count, format_points, format_points_interval
from arena.replay import escape_html, html_page, style_sheets
from arena.stats import ALL
from arena.stats.plots import PlotRow, details_table, number_cells, rates_section
from arena.stats.report import Rate
from arena.study_measures import MEASURES, Difference, Measured
from arena.study_report import StudyReport

_MIN_DEALS = 5  # for an interval of an amount
Plots = list[tuple[str, list[PlotRow]]]  # (caption, rows)


def list_plots(measures: Sequence[Measured]) -> Iterator[tuple[str, Plots]]:
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


def render_report(report: StudyReport, plots: Sequence[tuple[str, Plots]]) -> str:
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
    """Return the table of each player's calls, with a last row for those without an answer."""
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
        body += f"<tr><th scope='row'>cut off by a crash, or open</th>{cells}</tr>\n"
    headings = ["", "calls", "tokens", "dollars", "asked again", "default moves", "failures of the provider"]
    return details_table("all calls, with those of games that don't count", headings, body, " open")


def _render_counts(counts: dict[str, int]) -> str:
    return escape_html(", ".join(f"{reason} {count}" for reason, count in counts.items()) or NO_VALUE)
