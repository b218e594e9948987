"""Render the statistics as a page: a plot and a table for each section, in one file without scripts.

With several bots, each plot shows one rate with a row per bot; with a single bot, a section is one plot with a row per
rate. A row has a point for the rate and a line for its interval. In a comparison it also shows the other version's
rate. Every number of a plot is in the table below it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Self

from arena.escaping import escape_control
from arena.formatting import format_count, format_interval, format_percent, format_points, format_points_interval
from arena.replay import escape_html, html_page, style_sheets
from arena.stats.report import (
    LARGEST_NOTE,
    ONE_MATCH,
    SECTIONS,
    ComparedBot,
    DecisionTimes,
    Profile,
    Rate,
    RateDifference,
    StatsReport,
    format_per_100_games,
)

_WIDTH = 360  # of a plot at least, in SVG units: about a pixel each on a phone
_LEFT, _RIGHT = 112, 22  # _LEFT: at least
_MIN_AXIS = 140
_LETTER = 6.8
_ROW_HEIGHT = 22
_AXIS_MAXIMA = (0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class PlotRow:
    """A row of a plot. `difference`: from the other version's rate; None without one."""

    label: str
    rate: Rate
    difference: RateDifference | None = None

    @property
    def other_rate(self) -> Rate | None:
        return None if self.difference is None else self.difference.other_rate

    @property
    def significant(self) -> bool:
        return self.difference is not None and self.difference.significant


@dataclass(frozen=True, slots=True)
class Scale:
    """The common scale of plots. left: the width of the labels, in SVG units. end: of the axis, as a rate."""

    left: int
    end: float

    @classmethod
    def of(cls, plots: Iterable[Sequence[PlotRow]]) -> Self:
        """Return the scale that fits all rows of these plots."""
        rows = [row for plot in plots for row in plot]
        longest = max(len(escape_control(row.label)) for row in rows)
        end = _axis_maximum([rate for row in rows for rate in (row.rate, row.other_rate) if rate])
        return cls(max(_LEFT, round(_LETTER * longest) + 16), end)

    @property
    def width(self) -> int:
        return max(_WIDTH, self.left + _MIN_AXIS + _RIGHT)

    def x(self, share: float) -> float:
        return round(self.left + (self.width - self.left - _RIGHT) * min(share / self.end, 1), 1)


def stats_page(report: StatsReport, title: str) -> str:
    """Return an HTML page with all rates of a report."""
    compared = {} if report.comparison is None else {pair.bot: pair for pair in report.comparison.bots}
    sections = "".join(_section(name, report.bots, compared) for name in SECTIONS)
    single = " class='single'" if len(report.bots) == 1 else ""
    head = f"<header>\n<h1>{escape_html(title)}</h1>\n{_render_head(report)}</header>\n"
    body = f"<main{single}>\n{head}{sections}{_decision_times_section(report.bots, compared)}</main>"
    return html_page(title, body, [style_sheets("stats")], [])


def _render_head(report: StatsReport) -> str:
    """Return the lines about the records and how to read the plots and, in a comparison, its largest differences."""
    notes = list(_describe_plots(report))
    legend = ""
    if report.comparison is not None:
        (pair,) = report.comparison.bots
        differences = [difference for by_name in pair.differences.values() for difference in by_name.values()]
        clear = sum(difference.significant for difference in differences)
        notes.append(
            f"{pair.bot} compared with {pair.other.bot}: {clear} of {len(differences)} rates differ "
            "clearly *: more than chance, for this many rates. Without real differences 1 page in 20 has a star."
        )
        legend = f"<p class='legend'>{_legend_entry('now', pair.bot)}{_legend_entry('before', pair.other.bot)}</p>\n"
        legend += _render_largest_differences(pair)
    return "".join(f"<p class='muted'>{escape_html(note)}</p>\n" for note in notes) + legend


def _describe_plots(report: StatsReport) -> Iterator[str]:
    """Yield a line each on the records, the games' lengths, and how to read a point."""
    records = report.records
    games = f"{format_count(records.games, 'game')} in {format_count(records.records, 'match', 'es')}"
    yield f"{games} of {', '.join(records.rules)}, from {', '.join(records.paths)}."
    if records.turns is not None:
        yield (
            f"Half of the games have at most {records.turns.median} turns, 80 % of them {records.turns.p10} to "
            f"{records.turns.p90}."
        )
    interval = "; the line through it contains the true rate in about 95 of 100 such runs"
    yield f"A point is a rate{interval if report.has_intervals else ''}."
    if report.of_one_match:
        yield f"A point without a line has {ONE_MATCH}."


def _legend_entry(style: str, bot: str) -> str:
    """Return an entry of the legend. style: the class of the point, "now" for a bot, "before" for its reference."""
    mark = f"<circle class='point {style}' cx='6' cy='6' r='4.5'/>"
    drawing = f"<svg width='12' height='12' viewBox='0 0 12 12' aria-hidden='true'>{mark}</svg>"
    return f"<span>{drawing} {escape_html(bot)}</span>"


def _render_largest_differences(pair: ComparedBot) -> str:
    """Return a table of the clear differences with what to try; "" without one."""
    if not pair.largest:
        return ""
    rows = "".join(
        f"<tr><th scope='row'>{escape_html(difference.text)}<p class='muted'>{escape_html(difference.advice)}</p></th>"
        + number_cells(f"{difference.rate:.0%}", f"{difference.other_rate:.0%}", f"{difference.field_rate:.0%}")
        + number_cells(*format_per_100_games(difference))
        + "</tr>\n"
        for difference in pair.largest
    )
    headings = ["", "bot", "reference", "field", "in 100 games", "95 %"]
    note = f"<p class='muted'>{escape_html(LARGEST_NOTE)}</p>\n"
    return details_table("Largest differences, and what to try", headings, rows, " open class='largest'") + note


def _section(name: str, bots: Sequence[Profile], compared: Mapping[str, ComparedBot]) -> str:
    plots = list(_list_plots(name, bots, compared))
    return rates_section(*SECTIONS[name], plots) if plots else ""


def rates_section(title: str, about: str, plots: Sequence[tuple[str, Sequence[PlotRow]]]) -> str:
    """Return a section with a plot for each (caption, rows), and a table of all numbers. Its plots share a scale."""
    scale = Scale.of(rows for _, rows in plots)
    figures = "".join(
        _figure(f"{title}: {caption}" if caption else title, caption, rows, scale) for caption, rows in plots
    )
    return (
        f"<section class='panel'>\n<h2>{escape_html(title)}</h2>\n<p class='muted'>{escape_html(about)}</p>\n"
        f"<div class='plots'>\n{figures}</div>\n{_render_table(title, plots)}</section>\n"
    )


def _list_plots(
    section: str, bots: Sequence[Profile], compared: Mapping[str, ComparedBot]
) -> Iterator[tuple[str, list[PlotRow]]]:
    """Yield each plot of a section as (caption, rows); a single bot's plot has no caption. compared: by bot."""
    names = list(dict.fromkeys(name for bot in bots for name in getattr(bot, section)))
    if len(bots) == 1:
        if names:
            yield "", [_make_row(section, name, _display_name(section, name), bots[0], compared) for name in names]
        return
    for name in names:
        rows = [_make_row(section, name, bot.bot, bot, compared) for bot in bots if name in getattr(bot, section)]
        yield _display_name(section, name), rows


def _make_row(section: str, name: str, label: str, bot: Profile, compared: Mapping[str, ComparedBot]) -> PlotRow:
    differences = compared[bot.bot].differences if bot.bot in compared else {}
    return PlotRow(label, getattr(bot, section)[name], differences.get(section, {}).get(name))


def _display_name(section: str, name: str) -> str:
    """Return the label of a rate: bot names unchanged, other names with blanks instead of underscores."""
    labels = {"attack_targets": name, "win_rate_by_seat": f"seat {name}", "win_rate_by_players_left": f"{name} left"}
    return labels.get(section, name.replace("_", " "))


def _axis_maximum(rates: Sequence[Rate]) -> float:
    """Return the end of a section's axis: the smallest that fits all rates, so that small rates can be compared."""
    highest = max(rate.value if rate.high is None else rate.high for rate in rates)
    return next((maximum for maximum in _AXIS_MAXIMA if highest <= maximum), 1.0)


def _figure(title: str, caption: str, rows: Sequence[PlotRow], scale: Scale) -> str:
    head = f"<figcaption>{escape_html(caption)}</figcaption>" if caption else ""
    return f"<figure>{head}{_drawing(title, rows, scale)}</figure>\n"


_SVG_STYLE = (
    "text{font:12px sans-serif}.axis{fill:#555}.grid{stroke:#ccc}.range{stroke:#000;stroke-width:2.5}"
    ".point{fill:#000}.before{fill:#fff;stroke:#000}.caption{font-weight:bold}"
)


def svg_file(title: str, caption: str, rows: Sequence[PlotRow], scale: Scale) -> str:
    """Return a plot as the text of an SVG file, in black and white: the caption above it, the title below its axis."""
    width, height = scale.width, _height(rows)
    drawing = _drawing(f"{title}: {caption}", rows, scale)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height + 44}' "
        f"viewBox='0 0 {width} {height + 44}'><style>{_SVG_STYLE}</style>\n"
        f"<text class='caption' x='{width / 2}' y='15' text-anchor='middle'>{escape_html(caption)}</text>\n"
        f"<svg y='22' width='{width}' height='{height}'{drawing.removeprefix('<svg')}\n"
        f"<text x='{width / 2}' y='{height + 36}' text-anchor='middle'>{escape_html(title)}</text></svg>\n"
    )


def _height(rows: Sequence[PlotRow]) -> int:
    return _ROW_HEIGHT * len(rows) + 22


def _drawing(title: str, rows: Sequence[PlotRow], scale: Scale) -> str:
    height = _height(rows)
    marks = "".join(_render_row(index, row, scale) for index, row in enumerate(rows))
    description = "; ".join(map(_describe_row, rows))
    return (
        f"<svg role='img' viewBox='0 0 {scale.width} {height}'><title>{escape_html(title)}</title>"
        f"<desc>{escape_html(description)}</desc>\n{_render_axis(height, scale)}{marks}</svg>"
    )


def _render_axis(height: int, scale: Scale) -> str:
    lines = []
    for fraction in (0.0, 0.5, 1.0):
        x, value = scale.x(fraction * scale.end), 100 * fraction * scale.end
        lines.append(
            f"<line class='grid' x1='{x}' x2='{x}' y1='2' y2='{height - 18}'/>"
            f"<text class='axis' x='{x}' y='{height - 4}' text-anchor='middle'>{value:g}%</text>\n"
        )
    return "".join(lines)


def _render_row(index: int, row: PlotRow, scale: Scale) -> str:
    """Return a row of a plot as SVG: label, one or two points with intervals, and a star for a clear difference."""
    middle = _ROW_HEIGHT * index + _ROW_HEIGHT // 2 + 2
    shapes = [f"<text x='{scale.left - 10}' y='{middle + 4}' text-anchor='end'>{escape_html(row.label)}</text>"]
    if row.other_rate is None:
        shapes.append(_render_rate("now", row.rate, middle, scale))
    else:
        shapes.append(_render_rate("before", row.other_rate, middle + 4, scale))
        shapes.append(_render_rate("now", row.rate, middle - 4, scale))
    if row.significant:
        shapes.append(f"<text x='{scale.width - 8}' y='{middle + 6}' text-anchor='middle'>*</text>")
    return "".join(shapes) + "\n"


def _render_rate(style: str, rate: Rate, y: int, scale: Scale) -> str:
    """Return a point and, if the rate has one, the line of its interval. style: as for `_legend_entry`."""
    interval = ""
    if rate.low is not None and rate.high is not None:
        low, high = scale.x(rate.low), scale.x(rate.high)
        interval = f"<line class='range {style}' x1='{low}' x2='{high}' y1='{y}' y2='{y}'/>"
    return f"{interval}<circle class='point {style}' cx='{scale.x(rate.value)}' cy='{y}' r='4'/>"


def _describe_row(row: PlotRow) -> str:
    reference = "" if row.other_rate is None else f", reference {row.other_rate.value:.1%}"
    return f"{row.label} {row.rate.value:.1%}{reference}{', clearly' if row.significant else ''}"


def _render_table(title: str, plots: Sequence[tuple[str, Sequence[PlotRow]]]) -> str:
    """Return the numbers of several plots as one folded table; the columns of a comparison if any row has two rates."""
    is_comparison = any(row.other_rate is not None for _, rows in plots for row in rows)
    headings = ["", "rate", "95 %", "count"]
    if is_comparison:
        headings = ["", "difference", "95 %", "bot", "95 %", "count", "reference", "95 %", "count"]
    body = "".join(
        f"<tr><th scope='row'>{escape_html(f'{row.label}, {caption}' if caption else row.label)}</th>"
        f"{_difference_cells(row) if is_comparison else ''}{_rate_cells(row.rate)}"
        f"{_rate_cells(row.other_rate) if is_comparison else ''}</tr>\n"
        for caption, rows in plots
        for row in rows
    )
    return details_table(f"numbers of {title}", headings, body)


def _rate_cells(rate: Rate | None) -> str:
    if rate is None:
        return number_cells("-", "-", "-")
    return number_cells(format_percent(rate.value), format_interval(rate), f"{rate.count:g} of {rate.total}")


def _difference_cells(row: PlotRow) -> str:
    difference = row.difference
    if difference is None:
        return number_cells("-", "-")
    value, low, high = astuple(difference.difference)
    star = "* " if row.significant else ""
    return number_cells(f"{star}{format_points(value)}", format_points_interval(low, high))


def number_cells(*texts: str) -> str:
    """Return cells of a table's row; the texts are HTML."""
    return "".join(f"<td class='number'>{text}</td>" for text in texts)


def _decision_times_section(bots: Sequence[Profile], compared: Mapping[str, ComparedBot]) -> str:
    rows = "".join(
        f"<tr><th scope='row'>{escape_html(kind if len(bots) == 1 else f'{bot.bot}, {kind}')}</th>"
        f"{_decision_time_cells(times, compared.get(bot.bot), kind)}</tr>\n"
        for bot in bots
        for kind, times in bot.decision_times.items()
    )
    headings = ["median", "reference", "99 % within", "reference"] if compared else ["median", "99 % within"]
    table = details_table("times", ["", "requests", *headings], rows, " open")
    return f"<section class='panel'>\n<h2>time for a request, ms</h2>\n{table}</section>\n"


def _decision_time_cells(times: DecisionTimes, pair: ComparedBot | None, kind: str) -> str:
    """Return the number of requests, the median and 99 %, with a pair each followed by the reference's."""
    if pair is None:
        return number_cells(str(times.requests), f"{times.median_ms:.2f}", f"{times.p99_ms:.2f}")
    reference = pair.other.decision_times.get(kind)
    median, p99 = ("-", "-") if reference is None else (f"{reference.median_ms:.2f}", f"{reference.p99_ms:.2f}")
    return number_cells(str(times.requests), f"{times.median_ms:.2f}", median, f"{times.p99_ms:.2f}", p99)


def details_table(summary: str, headings: Sequence[str], body: str, attributes: str = "") -> str:
    """Return a table that can be folded. body: its rows, as HTML. attributes: " open" if it isn't folded."""
    cells = "".join(f"<th scope='col' class='number'>{text}</th>" if text else "<td></td>" for text in headings)
    return (
        f"<details{attributes}><summary>{escape_html(summary)}</summary>\n<div class='scroll' tabindex='0' "
        f"role='region' aria-label='{escape_html(summary)}'>\n<table><thead><tr>{cells}</tr></thead>\n"
        f"<tbody>\n{body}</tbody></table></div></details>\n"
    )
