"""Open a ladder, report errors, and print views and logs for the `arena ladder` commands.

Errors are one or two lines. Views are printed as JSON, as lines, or as tables whose columns are the field names.
Commands that play a ladder's version use a copy of it on this machine. `arena ladder run` writes sentences to a
terminal, and to a journal lines with time, level and ids:

    2026-11-22T12:30:05Z info runner=5f3a91c2 match=4711 played
    2026-11-22T12:30:06Z warning runner=5f3a91c2 version=ada@3 auto-disabled: it forfeited in its last 5 matches"""

import getpass
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem
from rich.console import RenderableType
from rich.text import Text

from arena.bots import BotError, copy_name, extract_bot
from arena.checks import CheckStepView, FaultReport
from arena.cli.check import step_lines
from arena.cli.console import (
    Column,
    CommandEnd,
    fail,
    make_table,
    option,
    os_error_reason,
    print_json,
    print_note,
    print_parts,
    usage_error,
)
from arena.cli.main import require_extras
from arena.cli.run_report import example_parts
from arena.escaping import escape_control
from arena.formatting import format_wins
from arena.rating import Estimate
from arena.run import RulesetError, cache_folder
from arena.sandbox import SandboxError
from arena.workers import ExecutorLostError
from ladder.audit_log import DecisionSummary, describe_decision
from ladder.ladder import ActionResult, Ladder, get_version_archive, open_ladder
from ladder.settings import LadderError
from ladder.store import DatabaseError, MatchParticipant, SchemaError, all_bots


def _complete_folders(_context: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Complete folders that are ladders or, without any, that may contain one."""
    path = Path(text)
    parent, prefix = (path, "") if text == "" or text.endswith("/") else (path.parent, path.name)
    try:
        folders = sorted(folder for folder in parent.iterdir() if folder.name.startswith(prefix) and folder.is_dir())
        ladders = [folder for folder in folders if (folder / "ladder.toml").is_file()]
    except OSError:
        return []
    if ladders:
        return [CompletionItem(str(ladder)) for ladder in ladders]
    return [CompletionItem(f"{folder}/") for folder in folders if not folder.name.startswith(".")]


def complete_bots(context: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Complete the names of a ladder's bots; return nothing if it can't be opened quickly."""
    folder = context.params.get("folder")
    if folder is None:
        return []
    try:
        with (
            closing(open_ladder(Path(folder), patience_s=0.5)) as ladder,  # a shell must not wait longer for names
            ladder.database.read() as connection,
        ):
            names = [bot.name for bot in all_bots(connection)]
    except Exception:
        return []
    return [CompletionItem(name) for name in names if name.startswith(text) and name.isprintable()]


class RowNumber(click.IntRange):
    """A match or an event by its number. Too large numbers name none, and become one that a database can compare."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if not re.fullmatch("-?[0-9]+", str(value)):
            self.fail(f"{str(value)!r} is not a valid integer.", param, ctx)
        return min(int(super().convert(value, param, ctx)), 2**31 - 1)


FOLDER_ARGUMENT = click.argument(
    "folder", metavar="LADDER", type=click.Path(path_type=Path, file_okay=False), shell_complete=_complete_folders
)


ACTOR_OPTION = option(
    "--by",
    "actor",
    metavar="NAME",
    default=lambda: _default_actor(),
    callback=lambda *arguments: _require_actor(*arguments),
    help="Name to record in the audit log.  [your login]",
)


@contextmanager
def user_friendly_errors(log: "Journal | None" = None) -> Iterator[None]:
    """Print or `log` errors, and exit: with 2 for errors of the input, with 1 for failures of the machine."""
    end_misuse: Callable[[str], NoReturn] = usage_error if log is None else partial(log.end, 2)
    end_failure: Callable[[str], NoReturn] = fail if log is None else partial(log.end, 1)
    try:
        with require_extras():
            yield
    except (BotError, LadderError, RulesetError, SchemaError) as problem:
        end_misuse(str(problem))
    except (DatabaseError, ExecutorLostError, SandboxError) as problem:
        end_failure(str(problem))
    except UnicodeEncodeError:
        end_misuse("an argument of the command isn't valid UTF-8.\nReplace its invalid bytes.")
    except OSError as problem:
        end_failure(os_error_reason(problem))


@contextmanager
def open_ladder_or_exit(folder: Path, patience_s: float = 10.0, log: "Journal | None" = None) -> Iterator[Ladder]:
    """Yield the ladder of a folder, within `user_friendly_errors`; wait `patience_s` for an unreachable database."""
    hear = log.log_database_state if log is not None else lambda problem: None
    command = click.get_current_context().command_path
    with user_friendly_errors(log), closing(open_ladder(folder, patience_s, hear, command)) as ladder:
        yield ladder


def audited(readers: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options `--by` and `--reason` to a command whose effect the audit log records.

    readers: of the reason, for the help.
    """
    help = f"Reason, shown to {readers}."
    reason = option("--reason", metavar="TEXT", required=True, callback=_require_text, help=help)
    return lambda function: reason(ACTOR_OPTION(function))


def _require_text(_context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Return the text of an option; reject an empty one."""
    if not text.strip():
        raise click.BadParameter("the value is empty; give a text", param=parameter)
    return text


def _require_actor(context: click.Context, parameter: click.Parameter, actor: str) -> str:
    """Return the actor; reject names that the ladder uses for its own decisions."""
    if _require_text(context, parameter, actor) == "ladder":
        raise click.BadParameter('"ladder" is reserved for automatic decisions; give your own name', param=parameter)
    return actor


def _default_actor() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def format_time(timestamp: float | None) -> str:
    """Return a time on this machine's clock: 2026-11-22 17:05."""
    return "-" if timestamp is None else datetime.fromtimestamp(timestamp).astimezone().strftime("%Y-%m-%d %H:%M")


def format_estimate(estimate: Estimate | None, factor: float, digits: int) -> str:
    """Return an estimate times a factor with its interval, if it has one: 24.1 (20.9-27.7)."""
    if estimate is None:
        return "-"
    text = f"{factor * estimate.value:z.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} ({factor * estimate.low:z.{digits}f}-{factor * estimate.high:z.{digits}f})"


_TIME_SUFFIXES = ("_at", "extended_until")  # of fields that hold times


def print_view(view: Any, as_json: bool) -> None:
    """Print a view as JSON, or its lists as tables headed by field names and its other fields as lines."""
    if as_json:
        print_json(view)
    elif parts := [*_format_parts(view)]:
        print_parts(*parts)
    else:
        print_note("the list is empty")


def print_result(value: object, as_json: bool, *notes: str) -> None:
    """Print the result of an action as JSON on stdout, or notes about it on stderr."""
    if as_json:
        print_json(value)
    else:
        print_note("\n".join(notes))


def print_decision(is_changed: bool, state: str, as_json: bool) -> None:
    """Print the state after an action, or that nothing changed. state: as a clause."""
    print_result(ActionResult(is_changed), as_json, state if is_changed else f"{state} already: no change")


def format_view_line(row: Any) -> str:
    """Return a view's non-empty fields in one line."""
    return "  ".join(filter(None, (format_cell(field.name, getattr(row, field.name)) for field in fields(row))))


def format_cell(name: str, value: Any) -> str:
    """Return a field's value as text, "" for None and False. The field's name shows whether it is a time."""
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, float):
        if name.endswith(_TIME_SUFFIXES):
            return format_time(value)
        return f"{value:.5g}" if abs(value) < 1e5 else f"{value:.0f}"  # such as a year's wins
    if isinstance(value, Estimate):
        return format_estimate(value, 1, 3)
    if isinstance(value, MatchParticipant):
        return escape_control(value.version_ref) + (f" {format_wins(value.wins)}" if value.games else "")
    if isinstance(value, DecisionSummary):
        return f"{format_time(value.created_at)} {escape_control(f'{describe_decision(value)}: {value.reason}')}"
    if isinstance(value, dict):
        texts = {key: format_cell("", item) for key, item in value.items()}
        return ", ".join(f"{escape_control(key)} {text}" for key, text in texts.items() if text)
    if is_dataclass(value):
        return format_cell("", {field.name: getattr(value, field.name) for field in fields(value)})
    if isinstance(value, tuple):
        separator = " " if value and isinstance(value[0], int) else ", "
        return separator.join(format_cell("", item) for item in value)
    return escape_control(str(value))


_LINES: dict[type, Callable[[Any], Iterator[RenderableType]]] = {
    CheckStepView: lambda step: iter([Text.from_ansi("\n".join(step_lines(step)))]),
    FaultReport: example_parts,
    DecisionSummary: lambda decision: iter([format_cell("", decision)]),
}


def _format_parts(view: Any) -> Iterator[RenderableType]:
    """Yield the short values of a view, then its lists and nested views, then how to print the rest of a list."""
    values = {field.name: getattr(view, field.name) for field in fields(view) if field.name != "revision"}
    next_cursor = values.pop("next_cursor", None)
    long_values = {name: value for name, value in values.items() if _is_long(value)}
    for name, value in values.items():
        text = "" if name in long_values else format_cell(name, value)
        if text:
            yield f"{name}: {text}"
    for name, value in long_values.items():
        parts = list(_format_long_value(value))
        if parts:
            if name != "items":
                yield f"\n{name}:"
            yield from parts
    if next_cursor is not None:
        yield f"\nmore: --after {next_cursor}"


def _format_long_value(value: Any) -> Iterator[RenderableType]:
    """Yield the parts of a value that `_is_long`: a nested view, or the rows of a list as lines or as one table."""
    if not isinstance(value, tuple):
        yield from _format_parts(value)
    elif type(value[0]) in _LINES:
        for item in value:
            yield from _LINES[type(item)](item)
    else:
        yield _make_table(value)


def _is_long(value: Any) -> bool:
    """Return whether a value is a list of views that isn't empty, or a view other than an estimate."""
    if isinstance(value, tuple):
        return bool(value) and is_dataclass(value[0])
    return is_dataclass(value) and not isinstance(value, Estimate)


def _make_table(rows: Sequence[Any]) -> RenderableType:
    """Return rows of one dataclass, at least one, as a table without empty columns."""
    columns = []
    for name in (field.name for field in fields(rows[0])):
        values = [getattr(row, name) for row in rows]
        texts = [format_cell(name, value) for value in values]
        first_value = next((value for value in values if value is not None), None)
        is_number = isinstance(first_value, (int, float)) and not name.endswith(_TIME_SUFFIXES)
        if any(texts):
            columns.append((Column(name, is_number, None if is_number else 12), texts))
    return make_table([column for column, _ in columns], list(zip(*(texts for _, texts in columns), strict=True)))


def copy_version(folder: Path, text: str) -> tuple[str, str]:
    """Extract a ladder's version into the cache of this machine; return the path of the copy, and its description.

    text: names the version as in `get_version`. Exits as `open_ladder_or_exit` does, and with 2 for unknown versions.
    Raises BotError and OSError of `extract_bot`.
    """
    with open_ladder_or_exit(folder) as ladder:
        version, archive = get_version_archive(ladder, text)
    file_name = version.single_file_name
    copy = extract_bot(archive, copy_name(version.digest, file_name), cache_folder())
    return str(copy if file_name is None else copy / file_name), f"{version.version_ref} of {os.path.abspath(folder)}"


class Journal(logging.Handler):
    """The log of a command, and of the libraries that it uses. On a terminal it prints only the sentences."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = ""
        self._is_database_lost = False
        self._plain = sys.stderr.isatty()
        logging.basicConfig(handlers=[self], level=logging.WARNING, force=True)
        logging.getLogger("ladder").setLevel(logging.INFO)
        logging.getLogger("psycopg").setLevel(logging.ERROR)  # its warnings repeat errors that it raises

    def info(self, text: str, **ids: object) -> None:
        """Log an event."""
        self._say("info", text, ids)

    def warn(self, text: str, **ids: object) -> None:
        """Log a warning that staff may have to investigate."""
        self._say("warning", text, ids)

    def error(self, text: str, **ids: object) -> None:
        """Log an error that staff has to investigate."""
        self._say("error", text, ids)

    def end(self, code: int, text: str) -> NoReturn:
        """Log the error that ends the command, and exit."""
        if self._plain:
            (usage_error if code == 2 else fail)(text)
        self.error(text)
        raise CommandEnd(code, text)

    def emit(self, record: logging.LogRecord) -> None:
        """Log the record of a library, with its traceback."""
        trace = traceback.format_exception(*record.exc_info) if record.exc_info else []
        self._say(record.levelname.lower(), record.getMessage(), getattr(record, "ids", {}))
        for line in "".join(trace).splitlines():
            print_note(f"  {line}")

    def log_database_state(self, problem: str | None) -> None:
        """Log a problem by which the database is unreachable, once per outage; None: log that it is reachable again."""
        if self._is_database_lost == (problem is not None):
            return
        self._is_database_lost = problem is not None
        if problem is None:
            self.info("the database is reachable again")
        else:
            self.warn(problem)

    def _say(self, level: str, text: str, ids: dict[str, object]) -> None:
        """Print an entry in one line: on a terminal the sentence with its ids, else also the time and level."""
        if self._plain:
            subject = " ".join(f"{name} {value}" for name, value in ids.items())
            print_note(f"{subject}: {text}" if subject else text)
            return
        fields = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), level]
        fields += [f"runner={self.runner}"] if self.runner else []
        fields += [f"{name}={value}" for name, value in ids.items()]
        print_note(" ".join([*fields, *text.splitlines()]))
