"""Add the options `--json` and `--json-schema` to a command, and print its report."""

import json
from collections.abc import Callable
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

import click

from arena.cli.console import option, print_text

# pydantic takes longer to import than `arena check` to examine a bot, which seldom needs it.


def json_option(
    *shapes: type, later: Callable[[], tuple[type, ...]] = tuple, about: str = "Print JSON on stdout."
) -> Callable[..., Any]:
    """Return a decorator that adds `--json` (the parameter `as_json`) and `--json-schema` to a command.

    shapes: the types of the printed values. later: returns further types that are slow to import.
    """

    def print_schema(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
        """Print the schema, and exit."""
        if wanted and not context.resilient_parsing:
            from pydantic import TypeAdapter

            title = f"arena {context.command_path.partition(' ')[2]} --json"
            print_text(
                json.dumps(
                    TypeAdapter(reduce(or_, shapes + later())).json_schema(mode="serialization") | {"title": title},
                    indent=2,
                )
            )
            context.exit()

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        schema = option(
            "--json-schema",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=print_schema,
            help="Print the JSON schema of that.",
        )
        return option("--json", "as_json", is_flag=True, help=about)(schema(function))

    return add


def print_json(value: Any, kept: Path | None = None) -> None:
    """Print a typed value as one line of ASCII JSON.

    Bytes become text; those that aren't UTF-8 are escaped. `kept` is as for `print_text`.
    """
    from pydantic import TypeAdapter

    print_text(json.dumps(TypeAdapter(type(value)).dump_python(value), default=_text), kept)


def _text(value: object) -> str:
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
