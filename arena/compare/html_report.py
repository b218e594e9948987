"""Render a comparison as an HTML page: where OLD and NEW diverge, the effect of each divergence, the evidence.

The page has no scripts."""

import html
import shlex
from collections.abc import Iterator, Sequence

from arena.bots import escape_control
from arena.compare.evidence import DECISION_THRESHOLD
from arena.compare.report import (
    CompareReport,
    DivergenceGroup,
    DivergencePosition,
    InterimResult,
    format_gain,
    format_points,
    mixture_hint,
    remarks,
)
from arena.replay import html_page, style_sheets

_WIDTH, _HEIGHT = 480, 220  # of the plot, in units of its own
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 34, 10, 30
_SCALES = (0.1, 0.2, 0.3, 0.5, 1.0)  # where the axis of differences may end
_TICKS = 5


def comparison_page(answer: CompareReport) -> str:
    """Return the HTML of an answer."""
    title = f"NEW is {answer.words}" if answer.verdict != "not known" else answer.words.capitalize()
    body = f"<main class='compare'>\n{_head(answer, title)}{_differences(answer)}{_opponents(answer)}"
    body += f"{_evidence(answer)}{_players(answer)}</main>"
    return html_page(f"Comparison: {title}", body, [style_sheets("look", "stats", "compare")], [])


def _head(answer: CompareReport, title: str) -> str:
    lines = [f"OLD is {answer.old.given}, NEW is {answer.new.given}, against {', '.join(answer.opponents)}."]
    if answer.pairs:
        lines.append(
            f"NEW won {_percent(answer.new.won)} of its games, OLD {_percent(answer.old.won)}: "
            f"{format_points(answer.difference)} points ({format_points(answer.low)} to "
            f"{format_points(answer.high)}; each end alone holds "
            "with 95 %, however often one looks)."
        )
    if answer.error is not None:
        lines.append(f"It stopped before its end: {answer.error}")
    text = "".join(f"<p>{_safe(line)}</p>\n" for line in lines)
    text += "".join(f"<p class='remark'>{_safe(line)}.</p>\n" for line in remarks(answer))
    return f"<header>\n<h1>{_safe(title)}</h1>\n{text}</header>\n"


# --- where they differ ------------------------------------------------------------------------------------------------


def _differences(answer: CompareReport) -> str:
    about = (
        "Both halves of a pair have the same cards, seats and opponents. So up to the first choice that made a "
        "difference they are one game: below are these choices, what matters most first."
    )
    names = ("adds, points", "pays, points", "pairs", "OLD won", "NEW won")
    body = "".join(_difference(answer, row) for row in answer.differs)
    parts = [
        _table("Where they differ", ("OLD's choice, and NEW's", *names), body) if body else "<p>There is none.</p>\n"
    ]
    if body:
        parts.append(
            _muted(
                "adds: the row's part of the difference of the win shares. pays: NEW's gain in such a pair, with its "
                "95 % interval, of each row alone: of 20 rows one misses."
            )
        )
    parts.append(_muted(f"{answer.alike} of {answer.pairs} pairs were alike to the end."))
    return f"<section class='panel'>\n<h2>Where they differ</h2>\n{_muted(about)}{''.join(parts)}</section>\n"


def _difference(answer: CompareReport, row: DivergenceGroup) -> str:
    choices = f"<span class='muted'>{_safe(row.asked)}</span><br>{_safe(row.old)} → {_safe(row.new)}"
    cells = (format_points(row.points), format_gain(row), str(row.pairs), _percent(row.old_won), _percent(row.new_won))
    summary = "examples" if len(row.examples) > 1 else "example"
    examples = "".join(_example(answer, seen) for seen in row.examples)
    more = f"<tr class='more'><td colspan='6'><details><summary>{summary}</summary>{examples}</details></td></tr>\n"
    return _row("td", ("long", choices), *_numbers(*cells)) + more


def _example(answer: CompareReport, seen: DivergencePosition) -> str:
    halves = (("OLD", seen.old, seen.old_won, seen.match), ("NEW", seen.new, seen.new_won, seen.new_match))
    lines = "".join(
        f"<br>{name}: {_safe(turn)}. <b>{_won(won)}</b><br><code>{_safe(_replay(answer, seen, match))}</code>"
        for name, turn, won, match in halves
    )
    return f"<p><b>{_safe(', '.join(seen.hand))}</b> in turn {seen.turn}; {_safe(seen.table)}{lines}</p>"


def _replay(answer: CompareReport, seen: DivergencePosition, match: int) -> str:
    return f"arena replay {shlex.quote(answer.run)} --match {match} --game {seen.game} --from {seen.turn}"


def _won(worth: float) -> str:
    return "won" if worth == 1 else "lost" if not worth else "a draw"


def _opponents(answer: CompareReport) -> str:
    """Return the difference against each opponent, where tables differ in who sits there."""
    if len(answer.opponents) < answer.seats:
        return ""
    rows = "".join(
        _row("td", ("long", _safe(row.bot)), *_numbers(format_gain(row), str(row.blocks))) for row in answer.against
    )
    about = "The blocks in which this opponent sat at the table, with others: each row alone, of 20 one misses."
    table = _table("Against whom", ("opponent", "points", "blocks"), rows)
    return f"<section class='panel'>\n<h2>Against whom</h2>\n{_muted(about)}{table}</section>\n"


# --- the evidence -----------------------------------------------------------------------------------------------------


def _evidence(answer: CompareReport) -> str:
    if not answer.looks:
        return ""
    lines = [
        f"{answer.pairs} pairs in {answer.blocks} blocks, {answer.discordant} with another result for the two.",
        f"Evidence for better {answer.better:.3g}, for not better by {100 * answer.points:.3g} "
        f"{answer.not_better:.3g}; the first to reach {DECISION_THRESHOLD:g} decides, and by chance alone that is "
        "wrong at most "
        f"once in {DECISION_THRESHOLD:g} comparisons, however often one looks.",
        f"{mixture_hint(answer).capitalize()}. It is often sooner, and promises less.",
    ]
    names = ("blocks", "points", "low", "high", "for better", "for not better")
    table = _table("The evidence after each block", names, "".join(map(_look, answer.looks)))
    return (
        f"<section class='panel'>\n<h2>Evidence</h2>\n{''.join(map(_muted, lines))}{_plot(answer)}"
        f"<details><summary>The numbers</summary>\n{table}</details>\n</section>\n"
    )


def _look(look: InterimResult) -> str:
    evidence = (f"{look.better:.3g}", f"{look.not_better:.3g}")
    return _row(
        "td", *_numbers(str(look.blocks), *map(format_points, (look.difference, look.low, look.high)), *evidence)
    )


def _plot(answer: CompareReport) -> str:
    """Return the difference with its interval, block by block."""
    looks, last = answer.looks, answer.looks[-1]
    widest = max(abs(last.low), abs(last.high), answer.points) * 1.6
    end = next(scale for scale in _SCALES if scale >= min(widest, 1.0))

    def x(blocks: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * blocks / last.blocks

    def y(difference: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (end - max(-end, min(end, difference))) / (2 * end)

    band = [(look.blocks, look.high) for look in looks] + [(look.blocks, look.low) for look in reversed(looks)]
    marks = "".join(
        _level(level, y(level), answer.points) for level in (-end, -end / 2, 0.0, end / 2, end, answer.points)
    )
    ticks = sorted({max(1, round(last.blocks * tick / _TICKS)) for tick in range(1, _TICKS + 1)})
    below = "".join(
        f"<text class='axis' x='{x(tick):.1f}' y='{_HEIGHT - 12}' text-anchor='middle'>{tick}</text>" for tick in ticks
    )
    label = f"The difference in points after each block, at the end {format_points(last.difference)}"
    return (
        f"<figure><svg class='wide' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{_safe(label)}'>\n{marks}"
        f"<polygon class='band' points='{_path([(x(at), y(value)) for at, value in band])}'/>\n"
        f"<polyline class='line' points='{_path([(x(look.blocks), y(look.difference)) for look in looks])}'/>\n{below}"
        f"</svg><figcaption class='muted'>Points by which NEW leads, after each block, with their interval; the broken "
        f"line is what counts as better.</figcaption></figure>\n"
    )


def _level(level: float, at: float, points: float) -> str:
    kind = "wanted" if level == points else "zero" if not level else "grid"
    label = format_points(level).removesuffix(".0") if level else "0"
    beside = f"'{_WIDTH - _RIGHT + 4}'" if kind == "wanted" else f"'{_LEFT - 6}' text-anchor='end'"
    return (
        f"<line class='{kind}' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{at:.1f}' y2='{at:.1f}'/>"
        f"<text class='axis' y='{at + 4:.1f}' x={beside}>{label}</text>\n"
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _players(answer: CompareReport) -> str:
    rows = "".join(
        _row("td", name, ("long", _safe(half.meant)), *_numbers(str(half.faults), str(half.forfeits)))
        for name, half in (("OLD", answer.old), ("NEW", answer.new))
    )
    table = _table("The two", ("version", "what it is", "faults", "forfeits"), rows)
    seed = "" if answer.seed is None else f", seed {answer.seed}"
    played = f"{answer.rules} at {answer.seats} seats{seed}; records in {answer.run}."
    return f"<section class='panel'>\n<h2>The two</h2>\n{table}{_muted(played)}</section>\n"


# --- parts ------------------------------------------------------------------------------------------------------------


def _muted(text: str) -> str:
    return f"<p class='muted'>{_safe(text)}</p>\n"


def _table(label: str, names: Sequence[str], body: str) -> str:
    """Return a table that may be wider than a phone; the first column is text."""
    head = _row("th", names[0], *_numbers(*names[1:]))
    return (
        f"<div class='scroll' tabindex='0' role='region' aria-label='{_safe(label)}'>\n<table><thead>{head}</thead>\n"
        f"<tbody>{body}</tbody></table></div>\n"
    )


def _numbers(*texts: str) -> Iterator[tuple[str, str]]:
    return (("number", _safe(text)) for text in texts)


def _row(kind: str, *cells: str | tuple[str, str]) -> str:
    """Return a row of a table: a cell is its text, or its class and its HTML."""
    answer = [cell if isinstance(cell, tuple) else ("", _safe(cell)) for cell in cells]
    return "<tr>" + "".join(f"<{kind} class='{name}'>{text}</{kind}>" for name, text in answer) + "</tr>\n"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _safe(text: str) -> str:
    return html.escape(escape_control(text))
