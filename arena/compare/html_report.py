"""Render a comparison as an HTML page without scripts: the divergences of OLD and NEW, their effect, the evidence."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from statistics import NormalDist

from arena.compare import ABOUT_PAIRS, BIAS, UNDECIDED_ADVICE, VALIDITY, describe_pairing_gain
from arena.compare.divergence import DivergenceGroup, DivergencePosition
from arena.compare.report import CompareReport, InterimResult, format_gain, remarks
from arena.formatting import begin_sentence, format_count, format_percent, format_points, format_points_interval
from arena.rating import Estimate
from arena.replay import escape_html as escape
from arena.replay import html_page, style_sheets

_WIDTH, _HEIGHT = 480, 220  # of the plot, in SVG units
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 34, 10, 30
_AXIS_MAXIMA = (0.1, 0.2, 0.3, 0.5, 1.0)  # possible ends of the axis of differences
_TICKS = 5  # of the axis of blocks
_DIVERGENCE_HEADS = ("OLD's and NEW's choice", "adds, points", "gain, points", "pairs", "OLD won", "NEW won")


def comparison_page(report: CompareReport) -> str:
    """Return the report of a comparison as an HTML page, which needs no other file."""
    title = begin_sentence(report.verdict_text)
    body = f"<main class='compare'>\n{_render_header(report, title)}{_render_divergences(report)}"
    body += f"{_opponents_section(report)}{_render_evidence(report)}{_versions_section(report)}</main>"
    return html_page(f"Comparison: {title}", body, [style_sheets("stats", "compare")], [])


def _render_header(report: CompareReport, title: str) -> str:
    """Return the page's head: the bots, the result with its interval, advice or the error, and remarks."""
    lines = [f"OLD is {report.old.argument}, NEW is {report.new.argument}, against {', '.join(report.opponents)}."]
    if report.pairs:
        lines.append(
            f"NEW won {format_percent(report.new.win_rate)} of its games, OLD {format_percent(report.old.win_rate)}: "
            f"{format_points_interval(*_ends(report)[1:])} points ({VALIDITY})."
        )
        lines.append(f"Measured: {format_points(report.difference.value)} points, {BIAS}.")
    if report.pairing_gain is not None:
        lines.append(f"{begin_sentence(describe_pairing_gain(report.pairing_gain))}.")
    if report.verdict == "not known":
        lines.append(f"{UNDECIDED_ADVICE}.")
    if report.error is not None:
        lines += f"The comparison stopped early: {report.error}".splitlines()
    text = "".join(f"<p>{escape(line)}</p>\n" for line in lines)
    text += "".join(f"<p class='remark'>{escape(line)}.</p>\n" for line in remarks(report))
    return f"<header>\n<h1>{escape(title)}</h1>\n{text}</header>\n"


def _render_divergences(report: CompareReport) -> str:
    """Return the section with the table of divergences, which may be empty."""
    introduction = (
        f"{ABOUT_PAIRS}, so they are the same up to the first different choice. The table lists these choices, the "
        "most important first."
    )
    rows = "".join(_divergence_row(report, row) for row in report.divergences)
    table = "<p>None found.</p>\n"
    if rows:
        table = _table("Divergences", _DIVERGENCE_HEADS, rows) + _muted(_DIVERGENCE_LEGEND)
    identical = _muted(f"{report.identical_pairs} of {report.pairs} pairs were identical to the end.")
    return f"<section class='panel'>\n<h2>Divergences</h2>\n{_muted(introduction)}{table}{identical}</section>\n"


_DIVERGENCE_LEGEND = (
    "adds: the row's part of the difference in win rate. gain: NEW's gain in such a pair, with its 95 % interval for "
    "each row alone. A gain has a colour if it is more than chance, for this many rows: without real gains, 1 page in "
    "20 has a colour."
)


def _divergence_row(report: CompareReport, row: DivergenceGroup) -> str:
    """Return the row of a group of divergences, and a row below it that opens its examples."""
    choices = f"<span class='muted'>{escape(row.request)}</span><br>{escape(row.old)} → {escape(row.new)}"
    gain = (f"number {_gain_class(row.win_rate_gain, len(report.divergences))}", escape(format_gain(row)))
    numbers = (str(row.pairs), format_percent(row.old_win_rate), format_percent(row.new_win_rate))
    contribution, pairs, *rates = _number_cells(format_points(row.contribution), *numbers)
    summary = "examples" if len(row.examples) > 1 else "example"
    examples = "".join(_render_position(report, position) for position in row.examples)
    details = f"<details><summary>{summary}</summary>{examples}</details>"
    return (
        _row("td", ("long", choices), contribution, gain, pairs, *rates, heads=_DIVERGENCE_HEADS)
        + f"<tr class='more'><td colspan='6'>{details}</td></tr>\n"
    )


def _gain_class(gain: Estimate, rows: int) -> str:
    """Return the CSS class of a gain that differs from 0 by more than chance, in a table of `rows` gains; else ""."""
    if gain.low is None or gain.high is None:
        return ""
    widening = NormalDist().inv_cdf(1 - 0.025 / rows) / NormalDist().inv_cdf(0.975)
    if widening * (gain.high - gain.value) < -gain.value:
        return "bad"
    return "good" if widening * (gain.value - gain.low) < gain.value else ""


def _render_position(report: CompareReport, position: DivergencePosition) -> str:
    """Return one position as HTML: the hand and the table, then the turns of OLD and NEW from it, side by side."""
    sides = (
        ("OLD", position.old, position.old_won, position.match),
        ("NEW", position.new, position.new_won, position.new_match),
    )
    halves = "".join(
        f"<div><b>{name}: {_outcome(share)}</b>\n<ol start='{position.turn}'>"
        f"{''.join(f'<li>{escape(turn)}</li>' for turn in turns)}</ol>\n"
        f"<code>{escape(_replay_command(report, position, match))}</code></div>"
        for name, turns, share, match in sides
    )
    hand = f"<b>{escape(', '.join(position.hand))}</b> in turn {position.turn}; {escape(position.table)}"
    return f"<p>{hand}</p>\n<div class='halves'>{halves}</div>\n"


def _replay_command(report: CompareReport, position: DivergencePosition, match: int) -> str:
    return f"arena replay {shlex.quote(report.run)} --match {match} --game {position.game} --from {position.turn}"


def _outcome(share: float) -> str:
    """Return the result of a game in words. share: of the win, 0 to 1."""
    return {0.0: "lost", 1.0: "won"}.get(share, "a draw")


def _opponents_section(report: CompareReport) -> str:
    """Return the section of differences by opponent; "" before the first block, or if all tables have the same ones."""
    if not report.by_opponent or len(report.opponents) < report.seats:
        return ""
    rows = "".join(
        _row("td", ("long", escape(row.bot)), *_number_cells(format_gain(row), str(row.blocks)))
        for row in report.by_opponent
    )
    introduction = "Each row counts the blocks with this opponent at the table. 1 interval in 20 misses the true value."
    table = _table("Differences by opponent", ("opponent", "points", "blocks"), rows)
    return f"<section class='panel'>\n<h2>By opponent</h2>\n{_muted(introduction)}{table}</section>\n"


def _render_evidence(report: CompareReport) -> str:
    """Return the section with the interval after each block, as a plot and a table; "" before the first block."""
    if not report.interim_results:
        return ""
    points = f"{100 * report.min_effect:.3g}"
    played = f"{format_count(report.pairs, 'pair')} in {format_count(report.blocks, 'block')}"
    lines = [
        f"{played}, {report.discordant_pairs} with different results.",
        f"The interval decides: above 0 NEW is better, below 0 worse, and within {points} points it makes no "
        "difference that counts.",
    ]
    names = ("blocks", "points", "low", "high")
    table = _table("The interval after each block", names, "".join(map(_interim_row, report.interim_results)))
    return (
        f"<section class='panel'>\n<h2>Evidence</h2>\n{''.join(map(_muted, lines))}{_render_plot(report)}"
        f"<details><summary>Table</summary>\n{table}</details>\n</section>\n"
    )


def _interim_row(interim: InterimResult) -> str:
    return _row("td", *_number_cells(str(interim.blocks), *map(format_points, _ends(interim))))


def _ends(interim: InterimResult | CompareReport) -> tuple[float, float, float]:
    """Return (difference, low, high) of a result with an interval; all interim results have one."""
    value, low, high = astuple(interim.difference)
    return value, low, high


@dataclass(frozen=True, slots=True)
class _PlotScale:
    """The scales of a plot. blocks: those at its right edge. max_difference: at its top; its negative at the bottom."""

    blocks: int
    max_difference: float

    def x(self, blocks: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * blocks / self.blocks

    def y(self, difference: float) -> float:
        visible = max(-self.max_difference, min(self.max_difference, difference))
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (self.max_difference - visible) / (2 * self.max_difference)


def _render_plot(report: CompareReport) -> str:
    """Return a plot of the difference with its interval, by number of blocks. There is at least one interim result."""
    last_result = report.interim_results[-1]
    scale = _PlotScale(last_result.blocks, _choose_axis_maximum(last_result, report.min_effect))
    differences, low_ends, high_ends = (
        [(scale.x(result.blocks), scale.y(_ends(result)[index])) for result in report.interim_results]
        for index in range(3)
    )
    label = f"The difference in points after each block, at the end {format_points(last_result.difference.value)}"
    return (
        f"<figure><svg class='wide' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{escape(label)}'>\n"
        f"{_render_grid(scale, report.min_effect)}"
        f"<polygon class='band' points='{_svg_points([*high_ends, *reversed(low_ends)])}'/>\n"
        f"<polyline class='line' points='{_svg_points(differences)}'/>\n{_render_block_labels(scale)}"
        f"</svg><figcaption class='muted'>Points by which NEW leads, after each block, with their interval; the broken "
        f"line is the smallest difference that counts.</figcaption></figure>\n"
    )


def _render_grid(scale: _PlotScale, min_effect: float) -> str:
    """Return the lines of a plot at five differences, and at the smallest one that counts."""
    levels = [share * scale.max_difference for share in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    lines = [_grid_line("grid" if level else "zero", level, scale.y(level)) for level in levels]
    return "".join([*lines, _grid_line("wanted", min_effect, scale.y(min_effect))])


def _render_block_labels(scale: _PlotScale) -> str:
    """Return the numbers of blocks below a plot, at most _TICKS of them."""
    ticks = sorted({max(1, round(scale.blocks * tick / _TICKS)) for tick in range(1, _TICKS + 1)})
    return "".join(
        f"<text class='axis' x='{scale.x(tick):.1f}' y='{_HEIGHT - 12}' text-anchor='middle'>{tick}</text>"
        for tick in ticks
    )


def _choose_axis_maximum(last_result: InterimResult, min_effect: float) -> float:
    """Return the end of the axis of differences, which shows the last interval, with a margin, or all of -1 to 1."""
    max_value = 1.6 * max(*map(abs, _ends(last_result)[1:]), min_effect)
    return next((scale for scale in _AXIS_MAXIMA if scale >= max_value), 1.0)


def _grid_line(kind: str, level: float, y: float) -> str:
    """Return a line of the plot at a difference, with its label, at the right if its kind is "wanted".

    kind: its CSS class: grid, zero, or wanted for the smallest difference that counts.
    """
    label = format_points(level).removesuffix(".0") if level else "0"
    anchor = f"'{_WIDTH - _RIGHT + 4}'" if kind == "wanted" else f"'{_LEFT - 6}' text-anchor='end'"
    return (
        f"<line class='{kind}' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{y:.1f}' y2='{y:.1f}'/>"
        f"<text class='axis' y='{y + 4:.1f}' x={anchor}>{label}</text>\n"
    )


def _svg_points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _versions_section(report: CompareReport) -> str:
    """Return the section with both versions and their faults, and what was played."""
    rows = "".join(
        _row("td", name, ("long", escape(side.resolved)), *_number_cells(str(side.faults), str(side.forfeits)))
        for name, side in (("OLD", report.old), ("NEW", report.new))
    )
    table = _table("Versions", ("version", "bot", "faults", "forfeits"), rows)
    seed = "" if report.seed is None else f", seed {report.seed}"
    source = f"{report.rules} at {report.seats} seats{seed}; records in {report.run}."
    return f"<section class='panel'>\n<h2>Versions</h2>\n{table}{_muted(source)}</section>\n"


def _muted(text: str) -> str:
    return f"<p class='muted'>{escape(text)}</p>\n"


def _table(label: str, names: Sequence[str], body: str) -> str:
    """Return a table that scrolls if it is too wide; the first column is text, the others are numbers.

    names: of the columns. body: its rows, as HTML.
    """
    head = _row("th", names[0], *_number_cells(*names[1:]))
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{escape(label)}'>\n<table><thead>{head}</thead>\n"
        f"<tbody>{body}</tbody></table></div>\n"
    )


def _number_cells(*texts: str) -> Iterator[tuple[str, str]]:
    return (("number", escape(text)) for text in texts)


def _row(kind: str, *cells: str | tuple[str, str], heads: Sequence[str] = ()) -> str:
    """Return a table row of `kind` cells (th or td). Each cell is a text, or a pair of class and HTML.

    heads: of the columns, which a phone shows in each row.
    """
    pairs = [cell if isinstance(cell, tuple) else ("", escape(cell)) for cell in cells]
    attributes = [f' data-head="{escape(head)}"' for head in heads] or [""] * len(pairs)
    html_cells = (
        f"<{kind} class='{name}'{attribute}>{html}</{kind}>"
        for (name, html), attribute in zip(pairs, attributes, strict=True)
    )
    return f"<tr>{''.join(html_cells)}</tr>\n"
