"""Print the output of the commands, and end them with an exit code or at a signal.

Data goes to stdout, by `print_text` (a text), `print_parts` (tables and other objects of rich) or `print_json` (the
report of a command with `json_option`). Everything else goes to stderr: `print_note` prints a notice and `print_error`
an error. `usage_error`, `fail` and `exit_on_os_error` print an error and exit. `show_progress` shows the progress of a
long command. All texts are printed literally: no markup, no emoji codes. A SIGTERM or a closed terminal ends a command
as Ctrl-C does."""

import errno
import json
import math
import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Column as RichColumn
    from rich.table import Table
    from rich.text import Text


UNLIMITED_COLUMNS = 10_000  # the width of a pipe or a file, so that no line is wrapped or cut
MAX_PROSE_COLUMNS = 100  # longer lines of prose are hard to read
MIN_TABLE_COLUMNS = 60  # on narrower terminals, each row of a wider table becomes several lines
REDRAW_S = 0.25  # between two redraws on a terminal
PROGRESS_INTERVAL_S = 10.0  # between two lines of progress if stderr isn't a terminal
HOST_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # not the input's fault

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class _Option(click.Option):
    """An option whose help shows its default and its range in words: [default: 480; 1 or more].

    NaN is in no range, and numbers have ASCII digits alone.
    """

    def type_cast_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value in the option's type; click itself accepts NaN in each range, 1_000 and wide digits."""
        converted = super().type_cast_value(ctx, value)
        is_text = isinstance(value, str) and ("_" in value or not value.isascii())
        if (is_text and isinstance(converted, int | float)) or (isinstance(converted, float) and math.isnan(converted)):
            raise click.BadParameter(f"{value!r} is not a number.", ctx, self)
        return converted

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return the texts for the brackets. Click itself would print a default in words in parentheses."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        if isinstance(self.type, click.IntRange | click.FloatRange):
            end = " or more" if self.type.max is None else f" to {self.type.max:,}"
            extra["range"] = f"{self.type.min:,}{end}"
        return extra


class ExistingPath(click.Path):
    """A path to something that exists. `remedy`: what to name instead."""

    def __init__(self, remedy: str, **allowed: bool) -> None:
        super().__init__(path_type=Path, exists=True, **allowed)
        self._remedy = remedy

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Exits with 2 if there is none."""
        if not os.path.exists(value):
            usage_error(f"{value} doesn't exist.\n{self._remedy}")
        return super().convert(value, param, ctx)


def option(*declarations: str, help: str, **attributes: Any) -> Callable[[Decorated], Decorated]:
    """Return a decorator as `click.option` does. `help` may end in the default in words: "The port.  [any free]"."""
    text, _, default = help.removesuffix("]").partition("  [")
    return click.option(*declarations, cls=_Option, help=text, show_default=default or True, **attributes)


# ---------------------------------------------------------------- to stderr


def print_note(text: str) -> None:
    """Print lines on stderr, wrapped at blanks if it is a terminal; control characters are escaped."""
    from arena.escaping import escape_control

    columns = os.get_terminal_size(2).columns if os.isatty(2) else UNLIMITED_COLUMNS
    click.echo("\n".join(wrap_line(escape_control(line), columns) for line in text.split("\n")), err=True)


def reorder_request(sent: bytes) -> bytes:
    """Return a request with `kind`, `legal` and `you` first and the long fields last, or another line unchanged."""
    from protocol import decode, encode

    message = decode(sent)
    if not isinstance(message, dict) or "legal" not in message:
        return sent
    leading, trailing = ("kind", "legal", "you"), ("events", "state")
    order = (*leading, *(name for name in message if name not in leading + trailing), *trailing)
    return encode({name: message[name] for name in order if name in message}).rstrip()


def wrap_line(line: str, columns: int) -> str:
    """Return a line wrapped at blanks; further lines are indented by two more columns than the first."""
    if len(line) <= columns:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line.strip(),
        max(columns, len(indent) + 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_error(text: str) -> None:
    """Print an error on stderr."""
    print_note(f"arena: {text}")


class CommandEnd(SystemExit):
    """The end of a command that has printed the error `text` on stderr."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code)
        self.text = text


def usage_error(text: str) -> NoReturn:
    """Print an error of the input, and exit with 2."""
    print_error(text)
    raise CommandEnd(2, text)


def fail(text: str) -> NoReturn:
    """Print a failure of this machine, and exit with 1."""
    print_error(text)
    raise CommandEnd(1, text)


def write_html(file: Path, page: str) -> None:
    """Write a page. Exits with 1 if the file can't be written."""
    try:
        file.write_text(page, encoding="utf-8", errors="replace")
    except OSError as problem:  # which names no file if the disk is full
        fail(f"{file}: {problem.strerror}; name another file")


def exit_on_os_error(problem: OSError) -> NoReturn:
    """Print a system call's error, and exit: with 1 for HOST_ERRNOS, else with 2.

    An error without errno doesn't come from the system: it is a bug, and is raised again.
    """
    if problem.errno is None:
        raise problem
    if problem.errno in HOST_ERRNOS:
        fail(os_error_reason(problem))
    usage_error(os_error_reason(problem))


@contextmanager
def show_progress(
    render: "Callable[[], RenderableType]",
    describe: Callable[[], str],
    say: Callable[[str], None] = print_note,
    say_s: float = PROGRESS_INTERVAL_S,
) -> Iterator[Callable[[], None]]:
    """Yield a function to call after each step of progress.

    On a terminal it redraws `render()`, at most once in REDRAW_S; the drawing is erased at the end. Otherwise it calls
    `say(describe())`, at most once in `say_s` seconds.
    """
    terminal = make_console(stderr=True)
    if not terminal.is_terminal:
        yield _throttle(say_s, lambda: say(describe()), time.monotonic())
        return
    from rich.live import Live

    with Live(console=terminal, auto_refresh=False, transient=True) as drawing:
        yield _throttle(REDRAW_S, lambda: drawing.update(render(), refresh=True), 0.0)


def _throttle(interval_s: float, act: Callable[[], None], acted_at: float) -> Callable[[], None]:
    """Return a function that calls `act` at most once in `interval_s`, as if `act` was called before, at `acted_at`."""

    def act_if_due() -> None:
        nonlocal acted_at
        if time.monotonic() - acted_at >= interval_s:
            acted_at = time.monotonic()
            act()

    return act_if_due


# ---------------------------------------------------------------- to stdout


def print_text(text: str, results: Path | None = None) -> None:
    """Print a text and a line break on stdout.

    A closed pipe (`| head`) is ignored. After any other error exits with 1 and a message that names the folder
    `results`, if there is one.
    """
    with _handle_stdout_errors(results):
        click.echo(text, file=sys.stdout)  # without `file`, click would write UTF-8 to an ASCII terminal
        if sys.stdout is not None:
            sys.stdout.flush()


def print_parts(
    *parts: "RenderableType", widest: int = UNLIMITED_COLUMNS, results: Path | None = None, max_lines: int | None = None
) -> None:
    """Print parts on stdout, each on its own lines, as wide as the terminal but at most `widest` columns.

    In a pipe or a file nothing is wrapped unless `widest` is given. On a narrower terminal a table loses its last
    columns, so the columns of a table are in order of importance; below MIN_TABLE_COLUMNS its rows become lines.
    results: as for `print_text`. max_lines: of the output, None without a limit.
    """
    printer = make_console()
    is_unlimited = widest == UNLIMITED_COLUMNS and not printer.is_terminal
    columns = UNLIMITED_COLUMNS if is_unlimited else min(printer.width, widest)
    with _handle_stdout_errors(results), printer.capture() as captured:  # even an empty write fails on a full disk
        for part in _flatten(parts):
            _print_part(printer, part, columns)
    lines = [line.rstrip() for line in captured.get().removesuffix("\n").split("\n")]
    if max_lines is not None and len(lines) > max_lines:
        lines = _cut_lines(lines, max_lines)
    print_text("\n".join(lines), results)


def _print_part(printer: "Console", part: "RenderableType", columns: int) -> None:
    """Print a part by `printer`; a table that is too wide without its last columns, or as lines."""
    from rich.table import Table

    printer.width = columns
    dropped: list[str] = []
    if isinstance(part, Table) and _min_columns(part) > columns:
        if columns < MIN_TABLE_COLUMNS:
            for line in _list_row_lines(part):
                printer.print(line, crop=False)
            return
        dropped = _drop_columns(part, columns)
        printer.width = max(columns, _min_columns(part))
    printer.print(part, crop=False)
    if dropped:
        printer.print(f"columns left out: {', '.join(dropped)}", style="dim")


def _cut_lines(lines: Sequence[str], max_lines: int) -> list[str]:
    """Return at most `max_lines` lines, the last of which says how many lines --all adds.

    They end before a blank line, if there is one in their second half.
    """
    blank_lines = [number for number in range(max_lines // 2, max_lines - 1) if not lines[number]]
    end = blank_lines[-1] if blank_lines else max_lines - 1
    separator = [""] if blank_lines else []
    return [*lines[:end], *separator, f"{len(lines) - end} more lines: --all"]


@contextmanager
def _handle_stdout_errors(results: Path | None) -> Iterator[None]:
    """Ignore a closed pipe of stdout; exit with 1 after any other error, and name the folder of the results."""
    try:
        yield
    except OSError as problem:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end
        if problem.errno == errno.EPIPE:
            return
        remedy = "" if results is None else f"; the results are in {results}"
        fail(f"standard output can't be written: {os_error_reason(problem)}{remedy}")


def terminal_columns() -> int:
    """Return the width of the terminal of stdout, UNLIMITED_COLUMNS if stdout isn't a terminal."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else UNLIMITED_COLUMNS


def make_console(*, stderr: bool = False) -> "Console":
    """Return a console that prints text literally."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


# ---------------------------------------------------------------- tables and words


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. name: may have several lines. min_width: when wrapped, None if it never is."""

    name: str
    number: bool = False
    min_width: int | None = None


def make_table(columns: Sequence[str | Column], rows: "Sequence[Sequence[str | Text]]") -> "Table":
    """Return a table. A column given by its name alone holds text that is never wrapped."""
    from rich.table import Table

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for place, column in enumerate(columns):
        _add_column(grid, Column(column) if isinstance(column, str) else column, [row[place] for row in rows])
    for row in rows:
        grid.add_row(*row)
    return grid


def _add_column(grid: "Table", column: Column, cells: "Sequence[str | Text]") -> None:
    """Add a column as wide as its widest cell; it may be wrapped down to its `min_width`, if it has one."""
    from rich.text import Text

    width = max(
        Text(cell).cell_len if isinstance(cell, str) else cell.cell_len for cell in [*column.name.split("\n"), *cells]
    )
    grid.add_column(
        column.name,
        justify="right" if column.number else "left",
        no_wrap=column.min_width is None,
        overflow="fold",
        min_width=width if column.min_width is None else min(width, column.min_width),
    )


def _min_columns(table: "Table") -> int:
    """Return the minimum width of a table."""
    return sum((column.min_width or 0) + 2 for column in table.columns)


def _drop_columns(table: "Table", columns: int) -> list[str]:
    """Remove the last columns of a table, except the first two, until it fits; return their names in order."""
    dropped: list[str] = []
    while len(table.columns) > 2 and _min_columns(table) > columns:
        dropped.insert(0, _heading_in_one_line(table.columns.pop()))
    return dropped


def _heading_in_one_line(column: "RichColumn") -> str:
    return str(column.header).replace("-\n", "").replace("/\n", "/").replace("\n", " ").strip()


def _flatten(parts: "Iterable[RenderableType]") -> "Iterator[RenderableType]":
    """Yield parts, with groups replaced by their parts."""
    from rich.console import Group

    for part in parts:
        yield from _flatten(part.renderables) if isinstance(part, Group) else [part]


def _list_row_lines(table: "Table") -> "Iterator[RenderableType]":
    """Yield each row of a table as lines: each cell after its column's name, without empty ones."""
    from rich.padding import Padding
    from rich.text import Text

    names = list(map(_heading_in_one_line, table.columns))
    for row in zip(*(column.cells for column in table.columns), strict=True):
        for index, (name, cell) in enumerate(zip(names, row, strict=True)):
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if index == 0:
                yield Text.assemble(f"{name} ", text, style="bold")
            elif text:
                yield Padding(Text.assemble(f"{name}: ", text), (0, 0, 0, 2))


def format_duration(seconds: float) -> str:
    """Return a time: "59 s", "2 min 5 s", "1 h 2 min"."""
    whole_s = round(seconds)
    if whole_s < 60:
        return f"{whole_s} s"
    if whole_s < 3600:
        return f"{whole_s // 60} min {whole_s % 60} s"
    return f"{whole_s // 3600} h {whole_s % 3600 // 60} min"


def os_error_reason(problem: OSError) -> str:
    """Return the system's message for an error, after the file's name if there is one."""
    message = problem.strerror or str(problem)
    is_full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
    name = problem.filename2 if is_full and problem.filename2 else problem.filename  # of a copy
    return message if name is None else f"{name}: {message}"


def treat_sigterm_as_sigint() -> None:
    """Make SIGTERM and SIGHUP end this command as Ctrl-C does, except signals that it ignores (nohup)."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


class EarlyStop:
    """The early end of a long command; see `stop_early`. `reason`: why the command ends, None before that."""

    def __init__(self, seconds: float | None) -> None:
        self.reason: str | None = None
        self._seconds, self._started_at = seconds, time.monotonic()

    def stop(self, signal_number: int, _frame: object) -> NoReturn:
        """Raise KeyboardInterrupt as the handler of a signal, and note the reason."""
        self.reason = "the time is over" if signal_number == signal.SIGALRM else "interrupted"
        raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt after a signal: Python drops an exception that is raised during a fork."""
        if self.reason is not None:
            raise KeyboardInterrupt

    def describe_left(self, share: float = 0.0) -> str:
        """Return the remaining time, ", 2 min 5 s left"; "" if it isn't known.

        share: of the work that is done, 0 to 1. The result is the shorter one of this estimate and the limit of time.
        """
        passed_s = time.monotonic() - self._started_at
        estimates_s = [passed_s / share - passed_s] if share else []
        if self._seconds is not None:
            estimates_s.append(self._seconds - passed_s)
        return f", {format_duration(max(0.0, min(estimates_s)))} left" if estimates_s else ""

    @property
    def exit_code(self) -> int:
        """The exit code: 130 after an interrupt, else 0."""
        return 130 if self.reason == "interrupted" else 0


@contextmanager
def stop_early(seconds: float | None = None) -> Iterator[EarlyStop]:
    """Raise KeyboardInterrupt in the context at Ctrl-C, SIGTERM, a closed terminal, and after `seconds`.

    Signals that the command ignores (nohup) stay ignored.
    """
    early_stop = EarlyStop(seconds)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    previous_handlers = {number: signal.getsignal(number) for number in numbers}
    for number, handler in previous_handlers.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, early_stop.stop)
    signal.setitimer(signal.ITIMER_REAL, seconds or 0.0)
    try:
        yield early_stop
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


# Importing pydantic takes longer than checking a bot, and is rarely needed.


def json_option(
    *shapes: type, later: Callable[[], tuple[type, ...]] = tuple, about: str = "Print JSON on stdout."
) -> Callable[..., Any]:
    """Return a decorator that adds `--json` (the parameter `as_json`) and `--json-schema` to a command.

    shapes: the types of the printed values. later: returns further types that are slow to import. about: the help.
    """

    def print_schema(context: click.Context, _parameter: click.Parameter, is_requested: bool) -> None:
        """Print the JSON schema of all shapes and end the command, as click's callback of an eager option."""
        if is_requested and not context.resilient_parsing:
            from pydantic import TypeAdapter

            schema = TypeAdapter(reduce(or_, shapes + later())).json_schema(mode="serialization")
            title = f"arena {context.command_path.partition(' ')[2]} --json"
            print_text(json.dumps(schema | {"title": title}, indent=2))
            context.exit()

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        schema = option(
            "--json-schema",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=print_schema,
            help="Print the schema of the JSON output.",
        )
        return option("--json", "as_json", is_flag=True, help=about)(schema(function))

    return add


def print_json(value: Any, results: Path | None = None) -> None:
    """Print a typed value as one line of ASCII JSON.

    Bytes become text; those that aren't UTF-8 are escaped. results: as for `print_text`.
    """
    from pydantic import TypeAdapter

    print_text(json.dumps(TypeAdapter(type(value)).dump_python(value), default=_text), results)


def _text(value: object) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
