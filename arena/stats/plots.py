"""The statistics as a page: a plot and a table for each section, in one file without scripts.

A plot has a row for each bot, or, of one bot, for each name of the section: a point for the share, a line for its
interval. Beside an earlier version, the row has that one's, too. Every number of a plot stands in the table beneath.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from arena.bots import escape_control
from arena.replay import html_page, style_sheets
from arena.stats.report import (
    ONE_MATCH,
    SECTIONS,
    ComparedBot,
    DecisionTimes,
    Profile,
    Rate,
    RateDifference,
    StatsReport,
)

_WIDTH = 360  # of a plot, in units of its own: on a phone about a pixel each
_LEFT, _RIGHT = 112, 22
_ROW = 22
_LABEL = 17  # characters of a label that there is room for
_SCALES = (0.05, 0.1, 0.25, 0.5, 1.0)  # where an axis may end


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of a plot. `differs` is None where there is nothing to compare with."""

    label: str
    now: Rate
    differs: RateDifference | None = None

    @property
    def before(self) -> Rate | None:
        return None if self.differs is None else self.differs.before

    @property
    def clear(self) -> bool:
        """Whether the rate differs clearly."""
        return self.differs is not None and self.differs.clear


def stats_page(answer: StatsReport, title: str) -> str:
    """Return the HTML of a page with all rates of an answer."""
    compared = {} if answer.comparison is None else {pair.bot: pair for pair in answer.comparison.bots}
    sections = "".join(_section(name, answer.bots, compared) for name in SECTIONS)
    single = " class='single'" if len(answer.bots) == 1 else ""
    head = f"<header>\n<h1>{_safe(title)}</h1>\n{_head(answer)}</header>\n"
    body = f"<main{single}>\n{head}{sections}{_times(answer.bots, compared)}</main>"
    return html_page(title, body, [style_sheets("look", "stats")], [])


def _head(answer: StatsReport) -> str:
    records = answer.records
    matches = f"{records.records} match{'' if records.records == 1 else 'es'}"
    lines = [f"{records.games} games in {matches} of {', '.join(records.rules)}, from {', '.join(records.paths)}."]
    if records.turns is not None:
        lines.append(
            f"Half of the games have at most {records.turns.median} turns, 80 % of them {records.turns.p10} to "
            f"{records.turns.p90}."
        )
    line = "; the line through it holds the true share in about 95 of 100 such runs" if answer.has_intervals else ""
    lines.append(f"A point is a share{line}.")
    if answer.of_one_match:
        lines.append(f"A point without a line has {ONE_MATCH}.")
    legend = ""
    if answer.comparison is not None:
        (pair,) = answer.comparison.bots
        every = [each for names in pair.differences.values() for each in names.values()]
        clear = sum(each.clear for each in every)
        lines.append(
            f"Compared with {pair.before.bot} (before): {clear} of {len(every)} rates differ "
            "clearly *: beyond chance, with so many rates compared. Where nothing differs, 1 page in 20 has a star."
        )
        legend = f"<p class='legend'>{_sign('now')}{_sign('before')}</p>\n"
    return "".join(f"<p class='muted'>{_safe(line)}</p>\n" for line in lines) + legend


def _sign(which: str) -> str:
    mark = f"<circle class='point {which}' cx='6' cy='6' r='4.5'/>"
    return f"<span><svg width='12' height='12' viewBox='0 0 12 12' aria-hidden='true'>{mark}</svg> {which}</span>"


# ---------------------------------------------------------------- sections


def _section(name: str, bots: Sequence[Profile], compared: Mapping[str, ComparedBot]) -> str:
    plots = list(_plots(name, bots, compared))
    if not plots:
        return ""
    title, about = SECTIONS[name]
    end = _end([rate for _, rows in plots for row in rows for rate in (row.now, row.before) if rate is not None])
    figures = "".join(_figure(f"{title}: {what}" if what else title, what, rows, end) for what, rows in plots)
    return (
        f"<section class='panel'>\n<h2>{_safe(title)}</h2>\n<p class='muted'>{_safe(about)}</p>\n"
        f"<div class='plots'>\n{figures}</div>\n{_table(title, plots)}</section>\n"
    )


def _plots(
    section: str, bots: Sequence[Profile], compared: Mapping[str, ComparedBot]
) -> Iterator[tuple[str, list[_Row]]]:
    """Yield the plots of a section: what they are of, and their rows."""
    names = list(dict.fromkeys(name for bot in bots for name in getattr(bot, section)))
    if len(bots) == 1:
        (bot,) = bots
        if names:
            yield "", [_row(section, name, _name(section, name), bot, compared) for name in names]
        return
    for name in names:
        rows = [_row(section, name, bot.bot, bot, compared) for bot in bots if name in getattr(bot, section)]
        yield _name(section, name), rows


def _row(section: str, name: str, label: str, bot: Profile, compared: Mapping[str, ComparedBot]) -> _Row:
    differences = compared[bot.bot].differences if bot.bot in compared else {}
    return _Row(label, getattr(bot, section)[name], differences.get(section, {}).get(name))


def _name(section: str, name: str) -> str:
    """Return what a plot or its row is called: a bot's name as it is, a word of ours with blanks."""
    named = {"attacked": name, "won_by_seat": f"seat {name}", "won_by_left": f"{name} left"}
    return named.get(section, name.replace("_", " "))


def _end(rates: Sequence[Rate]) -> float:
    """Return where the axis of a section ends, so that small shares can be told apart."""
    most = max(rate.share if rate.share_95 is None else rate.share_95[1] for rate in rates)
    return next((scale for scale in _SCALES if most <= scale), 1.0)


# ---------------------------------------------------------------- plots


def _figure(title: str, caption: str, rows: Sequence[_Row], end: float) -> str:
    height = _ROW * len(rows) + 22
    marks = "".join(_marks(place, row, end) for place, row in enumerate(rows))
    about = "; ".join(_words(row) for row in rows)
    return (
        f"<figure>{f'<figcaption>{_safe(caption)}</figcaption>' if caption else ''}"
        f"<svg role='img' viewBox='0 0 {_WIDTH} {height}'><title>{_safe(title)}</title><desc>{_safe(about)}</desc>\n"
        f"{_axis(height, end)}{marks}</svg></figure>\n"
    )


def _axis(height: int, end: float) -> str:
    lines = []
    for part in (0.0, 0.5, 1.0):
        x, value = _x(part * end, end), 100 * part * end
        lines.append(
            f"<line class='grid' x1='{x}' x2='{x}' y1='2' y2='{height - 18}'/>"
            f"<text class='axis' x='{x}' y='{height - 4}' text-anchor='middle'>{value:g}%</text>\n"
        )
    return "".join(lines)


def _marks(place: int, row: _Row, end: float) -> str:
    middle = _ROW * place + _ROW // 2 + 2
    label = escape_control(row.label)
    short = label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"
    parts = [f"<text x='{_LEFT - 10}' y='{middle + 4}' text-anchor='end'>{html.escape(short)}</text>"]
    for which, rate, shift in (("before", row.before, 4), ("now", row.now, 0 if row.before is None else -4)):
        if rate is not None:
            y = middle + shift
            if rate.share_95 is not None:
                low, high = (_x(edge, end) for edge in rate.share_95)
                parts.append(f"<line class='range {which}' x1='{low}' x2='{high}' y1='{y}' y2='{y}'/>")
            parts.append(f"<circle class='point {which}' cx='{_x(rate.share, end)}' cy='{y}' r='4'/>")
    if row.clear:
        parts.append(f"<text x='{_WIDTH - 8}' y='{middle + 6}' text-anchor='middle'>*</text>")
    return "".join(parts) + "\n"


def _x(share: float, end: float) -> float:
    return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * min(share / end, 1), 1)


def _words(row: _Row) -> str:
    before = "" if row.before is None else f", before {row.before.share:.1%}"
    return f"{row.label} {row.now.share:.1%}{before}{', clearly' if row.clear else ''}"


# ---------------------------------------------------------------- tables


def _table(title: str, plots: Sequence[tuple[str, Sequence[_Row]]]) -> str:
    both = any(row.before is not None for _, rows in plots for row in rows)
    differ = ["difference", "95 %", "now", "95 %", "count", "before", "95 %", "count"]
    heads = ["", *(differ if both else ["share", "95 %", "count"])]
    body = "".join(
        f"<tr><th scope='row'>{_safe(f'{row.label}, {what}' if what else row.label)}</th>"
        f"{_differs(row) if both else ''}{_cells(row.now)}{_cells(row.before) if both else ''}</tr>\n"
        for what, rows in plots
        for row in rows
    )
    return _details(f"numbers of {title}", heads, body)


def _cells(rate: Rate | None) -> str:
    if rate is None:
        return _numbers("-", "-", "-")
    interval = "-" if rate.share_95 is None else "{:.1f}-{:.1f}".format(*(100 * end for end in rate.share_95))
    return _numbers(f"{rate.share:.1%}", interval, f"{rate.count:g} of {rate.of}")


def _differs(row: _Row) -> str:
    differs = row.differs
    if differs is None:
        return _numbers("-", "-")
    ends = differs.difference_95
    interval = "-" if ends is None else "{:+.1f} to {:+.1f}".format(*(100 * end for end in ends))
    return _numbers(f"{'* ' * row.clear}{100 * differs.difference:+.1f}", interval)


def _numbers(*texts: str) -> str:
    return "".join(f"<td class='number'>{text}</td>" for text in texts)


def _times(bots: Sequence[Profile], compared: Mapping[str, ComparedBot]) -> str:
    rows = "".join(
        f"<tr><th scope='row'>{_safe(kind if len(bots) == 1 else f'{bot.bot}, {kind}')}</th>"
        f"{_took(took, compared.get(bot.bot), kind)}</tr>\n"
        for bot in bots
        for kind, took in bot.took.items()
    )
    least, most = ["median", "99 % within"], ["median", "before", "99 % within", "before"]
    table = _details("times", ["", "requests", *(most if compared else least)], rows, " open")
    return f"<section class='panel'>\n<h2>time for a request, ms</h2>\n{table}</section>\n"


def _took(took: DecisionTimes, pair: ComparedBot | None, kind: str) -> str:
    if pair is None:
        return _numbers(str(took.requests), f"{took.median_ms:.2f}", f"{took.p99_ms:.2f}")
    was = pair.before.took.get(kind)
    median, p99 = ("-", "-") if was is None else (f"{was.median_ms:.2f}", f"{was.p99_ms:.2f}")
    return _numbers(str(took.requests), f"{took.median_ms:.2f}", median, f"{took.p99_ms:.2f}", p99)


def _details(summary: str, heads: Sequence[str], body: str, state: str = "") -> str:
    cells = "".join(f"<th scope='col' class='number'>{head}</th>" if head else "<td></td>" for head in heads)
    return (
        f"<details{state}><summary>{_safe(summary)}</summary>\n<div class='scroll' tabindex='0' role='region' "
        f"aria-label='{_safe(summary)}'>\n<table><thead><tr>{cells}</tr></thead>\n<tbody>\n{body}</tbody></table></div>"
        "</details>\n"
    )


def _safe(text: str) -> str:
    """Return plain text as HTML, with escapes for what can't be printed."""
    return html.escape(escape_control(text))
