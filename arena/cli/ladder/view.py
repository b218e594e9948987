"""How commands of a ladder print any view: as JSON, as lines, or as tables with the names of its fields."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from arena.bots import shown
from arena.cli.answers import print_json
from arena.cli.findings import step_lines
from arena.cli.ladder.words import interval, when
from arena.cli.out import Column, show, table
from arena.cli.report import example_lines
from arena.examine import StepView
from arena.run import Example
from ladder.rating import Estimate
from ladder.views import Decision, SeatLine, did

_TIMES = {"at", "closes", "ended_at", "ends", "examined", "received", "since", "submitted", "until"}


def print_view(view: Any, as_json: bool) -> None:
    """Print a view: as JSON, or its lists as tables with the names of their fields, and all else as lines."""
    if as_json:
        print_json(view)
    else:
        show(*_parts(view))


def line_of(row: Any) -> str:
    """Return a view in one line: what its fields hold, but for what is empty."""
    return "  ".join(filter(None, (cell(field.name, getattr(row, field.name)) for field in fields(row))))


def cell(name: str, value: Any) -> str:
    """Return the text of a field's value; a time is known by the field's name."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, float):
        return when(value) if name in _TIMES else f"{value:.5g}"
    if isinstance(value, Estimate):
        return interval(value, 1, 3)
    if isinstance(value, SeatLine):
        return f"{shown(value.label)} {value.wins:g}" if value.games else shown(value.label)
    if isinstance(value, Decision):
        return f"{when(value.at)} {shown(did(value))}: {shown(value.why)}"
    if isinstance(value, dict):
        return ", ".join(f"{shown(key)} {text}" for key, each in value.items() if (text := cell("", each)))
    if is_dataclass(value):
        return cell("", {field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, tuple):
        return (" " if value and isinstance(value[0], int) else ", ").join(cell("", each) for each in value)
    return shown(str(value))


_LINES: dict[type, Callable[[Any], Iterator[RenderableType]]] = {
    StepView: lambda step: iter([Text.from_ansi("\n".join(step_lines(step)))]),
    Example: example_lines,
    Decision: lambda act: iter([cell("", act)]),
}


def _parts(view: Any) -> Iterator[RenderableType]:
    """Yield short values first, then lists and views in the view; `change` is for programs."""
    values = {field.name: getattr(view, field.name) for field in fields(view) if field.name != "change"}
    long = {name: value for name, value in values.items() if _is_long(value)}
    for name, value in values.items():
        if name not in long and (text := cell(name, value)):
            yield f"{name}: {text}"
    for name, value in long.items():
        if parts := list(_long_parts(value)):
            yield f"\n{name}:"
            yield from parts


def _long_parts(value: Any) -> Iterator[RenderableType]:
    if not isinstance(value, tuple):
        yield from _parts(value)
    elif type(value[0]) in _LINES:
        for each in value:
            yield from _LINES[type(each)](each)
    else:
        yield _table(value)


def _is_long(value: Any) -> bool:
    if isinstance(value, tuple):
        return bool(value) and is_dataclass(value[0])
    return is_dataclass(value) and not isinstance(value, Estimate)


def _table(rows: Sequence[Any]) -> RenderableType:
    """Return rows as a table, without the columns that are empty."""
    names = [field.name for field in fields(rows[0])]
    cells = {name: [cell(name, getattr(row, name)) for row in rows] for name in names}
    kept = [name for name in names if any(cells[name])]
    numbers = {name for name in kept if isinstance(getattr(rows[0], name), (int, float)) and name not in _TIMES}
    columns = [Column(name, name in numbers, None if name in numbers else 12) for name in kept]
    return table(columns, list(zip(*(cells[name] for name in kept), strict=True)))
