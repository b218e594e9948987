"""The page of a comparison: where OLD and NEW differ and how often that pays, then the evidence. It has no scripts."""

import html
import shlex
from collections.abc import Iterator, Sequence

from arena.bots import shown
from arena.compare.answer import Answer, Differs, Look, Position, signed
from arena.page import frame, style

_WIDTH, _HEIGHT = 480, 220  # of the plot, in units of its own
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 34, 10, 30
_SCALES = (0.1, 0.2, 0.3, 0.5, 1.0)  # where the axis of differences may end
_TICKS = 5
_SCROLL = "<div class='scroll' tabindex='0' role='region' aria-label="  # a table that may be wider than a phone


def page(told: Answer) -> str:
    """Return the HTML of an answer."""
    title = f"NEW is {told.words}" if told.verdict != "not known" else told.words.capitalize()
    body = f"<main class='compare'>\n{_head(told, title)}{_differences(told)}{_evidence(told)}{_players(told)}</main>"
    return frame(f"Comparison: {title}", body, [style("look", "stats", "compare")], [])


def _head(told: Answer, title: str) -> str:
    lines = [f"OLD is {told.old.given}, NEW is {told.new.given}, against {', '.join(told.against)}."]
    if told.pairs:
        lines.append(
            f"NEW won {_percent(told.new.won)} of its games, OLD {_percent(told.old.won)}: {signed(told.difference)} "
            f"points ({signed(told.low)} to {signed(told.high)}; each end alone holds with 95 %, however often one "
            "looks)."
        )
    if told.error is not None:
        lines.append(f"It stopped before its end: {told.error}")
    return f"<header>\n<h1>{_safe(title)}</h1>\n" + "".join(f"<p>{_safe(line)}</p>\n" for line in lines) + "</header>\n"


# --- where they differ ------------------------------------------------------------------------------------------------


def _differences(told: Answer) -> str:
    about = (
        "Both halves of a pair have the same cards, seats and opponents. So up to the first decision at which the two "
        "chose otherwise, they are one game: below are these decisions, what matters most first."
    )
    rows = "".join(_difference(told, row) for row in told.differs)
    head = _row(
        "th", "asked", "OLD chose", "NEW chose", *_numbers("pairs", "OLD won", "NEW won", "pays, points", "adds")
    )
    table = (
        f"{_SCROLL}'Where they differ'>\n<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div>\n"
        if rows
        else "<p>There is none.</p>\n"
    )
    notes = [f"{told.alike} of {told.pairs} pairs were alike to the end."]
    if told.differs:
        notes.insert(
            0,
            "pays: NEW's gain in such a pair, with its 95 % interval, of each row alone: of 20 rows one misses. "
            "adds: the row's part of the difference of the win shares.",
        )
    if told.by_opponents:
        notes.append(
            f"In {told.by_opponents} an opponent was the first to differ, since it remembered earlier games of the "
            f"match: they add {signed(told.by_opponents_points)}."
        )
    small = "".join(f"<p class='muted'>{_safe(note)}</p>\n" for note in notes)
    return (
        f"<section class='panel'>\n<h2>Where they differ</h2>\n<p class='muted'>{about}</p>\n{table}{small}</section>\n"
    )


def _difference(told: Answer, row: Differs) -> str:
    pays = signed(row.pays)
    if row.low is not None and row.high is not None:
        pays += f" ({signed(row.low)} to {signed(row.high)})"
    cells = _numbers(str(row.pairs), _percent(row.old_won), _percent(row.new_won), pays, signed(row.points))
    summary = "examples" if len(row.examples) > 1 else "example"
    examples = "".join(_example(told, seen) for seen in row.examples)
    more = f"<tr class='more'><td colspan='8'><details><summary>{summary}</summary>{examples}</details></td></tr>\n"
    return _row("td", *(("long", _safe(text)) for text in (row.asked, row.old, row.new)), *cells) + more


def _example(told: Answer, seen: Position) -> str:
    replay = f"arena replay {shlex.quote(told.run)} --match {seen.match} --game {seen.game} --from {seen.turn}"
    return (
        f"<p><b>{_safe(', '.join(seen.hand))}</b> in turn {seen.turn}; {_safe(seen.table)}<br>"
        f"OLD: {_safe(seen.old)}. <b>{_won(seen.old_won)}</b><br>"
        f"NEW: {_safe(seen.new)}. <b>{_won(seen.new_won)}</b><br><code>{_safe(replay)}</code></p>"
    )


def _won(worth: float) -> str:
    return "won" if worth == 1 else "lost" if not worth else "a draw"


# --- the evidence -----------------------------------------------------------------------------------------------------


def _evidence(told: Answer) -> str:
    if not told.looks:
        return ""
    points = f"{100 * told.points:.3g}"
    says = "says better, too" if told.hint >= 20 else "says nothing yet"
    lines = [
        f"{told.pairs} pairs in {told.blocks} blocks, {told.discordant} with another result for the two. Evidence for "
        f"better {told.better:.3g}, for not better by {points} {told.not_better:.3g}; the first to reach 20 decides, "
        "and by chance alone that is wrong at most once in 20 comparisons, however often one looks.",
        "The studentised mixture is often sooner and promises less, since it takes blocks as normal: at "
        f"{told.hint:.3g} of 20 it {says}.",
    ]
    rows = "".join(_look(look) for look in told.looks)
    head = _row("th", *_numbers("blocks", "points", "low", "high", "for better", "for not better"))
    return (
        "<section class='panel'>\n<h2>Evidence</h2>\n"
        + "".join(f"<p class='muted'>{_safe(line)}</p>\n" for line in lines)
        + _plot(told)
        + f"<details><summary>The numbers</summary>\n{_SCROLL}'The evidence after each block'>\n"
        + f"<table><thead>{head}</thead>\n<tbody>{rows}</tbody></table></div></details>\n</section>\n"
    )


def _look(look: Look) -> str:
    evidence = (f"{look.better:.3g}", f"{look.not_better:.3g}")
    return _row("td", *_numbers(str(look.blocks), *map(signed, (look.difference, look.low, look.high)), *evidence))


def _plot(told: Answer) -> str:
    """Return the difference with its interval, block by block."""
    looks, last = told.looks, told.looks[-1]
    widest = max(abs(last.low), abs(last.high), told.points) * 1.6
    end = next(scale for scale in _SCALES if scale >= min(widest, 1.0))

    def x(blocks: int) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * blocks / last.blocks

    def y(difference: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (end - max(-end, min(end, difference))) / (2 * end)

    band = [(look.blocks, look.high) for look in looks] + [(look.blocks, look.low) for look in reversed(looks)]
    marks = "".join(_level(level, y(level), told.points) for level in (-end, -end / 2, 0.0, end / 2, end, told.points))
    ticks = sorted({max(1, round(last.blocks * tick / _TICKS)) for tick in range(1, _TICKS + 1)})
    below = "".join(
        f"<text class='axis' x='{x(tick):.1f}' y='{_HEIGHT - 12}' text-anchor='middle'>{tick}</text>" for tick in ticks
    )
    label = f"The difference in points after each block, at the end {signed(last.difference)}"
    return (
        f"<figure><svg class='wide' viewBox='0 0 {_WIDTH} {_HEIGHT}' role='img' aria-label='{_safe(label)}'>\n{marks}"
        f"<polygon class='band' points='{_path([(x(at), y(value)) for at, value in band])}'/>\n"
        f"<polyline class='line' points='{_path([(x(look.blocks), y(look.difference)) for look in looks])}'/>\n{below}"
        f"</svg><figcaption class='muted'>Points by which NEW leads, after each block, with their interval; the broken "
        f"line is what counts as better.</figcaption></figure>\n"
    )


def _level(level: float, at: float, points: float) -> str:
    kind = "wanted" if level == points else "zero" if not level else "grid"
    label = signed(level).removesuffix(".0") if level else "0"
    beside = f"'{_WIDTH - _RIGHT + 4}'" if kind == "wanted" else f"'{_LEFT - 6}' text-anchor='end'"
    return (
        f"<line class='{kind}' x1='{_LEFT}' x2='{_WIDTH - _RIGHT}' y1='{at:.1f}' y2='{at:.1f}'/>"
        f"<text class='axis' y='{at + 4:.1f}' x={beside}>{label}</text>\n"
    )


def _path(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _players(told: Answer) -> str:
    halves = (("OLD", told.old), ("NEW", told.new))
    rows = "".join(
        _row("td", name, ("long", _safe(half.meant)), *_numbers(str(half.faults), str(half.forfeits)))
        for name, half in halves
    )
    head = _row("th", "", "what it is", *_numbers("faults", "forfeits"))
    seed = "" if told.seed is None else f", seed {told.seed}"
    played = f"{told.rules} at {told.seats} seats{seed}; records in {told.run}."
    return (
        f"<section class='panel'>\n<h2>The two</h2>\n{_SCROLL}'The two'><table><thead>{head}</thead>"
        f"<tbody>{rows}</tbody></table></div>\n<p class='muted'>{_safe(played)}</p>\n</section>\n"
    )


# --- parts ------------------------------------------------------------------------------------------------------------


def _numbers(*texts: str) -> Iterator[tuple[str, str]]:
    return (("number", _safe(text)) for text in texts)


def _row(kind: str, *cells: str | tuple[str, str]) -> str:
    """Return a row of a table: a cell is its text, or its class and its HTML."""
    told = [cell if isinstance(cell, tuple) else ("", _safe(cell)) for cell in cells]
    return "<tr>" + "".join(f"<{kind} class='{name}'>{text}</{kind}>" for name, text in told) + "</tr>\n"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _safe(text: str) -> str:
    return html.escape(shown(text))
