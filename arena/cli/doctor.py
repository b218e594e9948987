"""The command `arena doctor`: what this host can do for strangers' bots.

As in arena/cli/run.py, packages are imported inside the command.
"""

import json
import sys
import textwrap
from typing import TYPE_CHECKING

import click

from arena.cli.out import width, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.sandbox import Finding

_COLOURS = {"ok": "green", "tip": "cyan", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def doctor(as_json: bool) -> None:
    """Check this host: sandboxes, languages, and what makes times vary.

    Prints what is found, with the command that mends it: first what stops a run (fail), then what strangers' bots need
    (warn), then what would be better (tip).

    Exit code 0 if a sandbox that isolates works, else 1.
    """
    from arena.sandbox import ISOLATING, boxes, findings

    tried = boxes()
    found = findings(tried)
    works = any(tried[name] is None for name in ISOLATING)
    if as_json:
        rows = [
            {
                "what": finding.what,
                "level": finding.level,
                "text": finding.trouble.text,
                "mend": finding.trouble.command,
                "then": finding.trouble.then,
            }
            for finding in found
        ]
        told = {name: None if trouble is None else str(trouble) for name, trouble in tried.items()}
        write(json.dumps({"isolates": works, "boxes": told, "findings": rows}))
    else:
        write("\n".join(_lines(found)))
    sys.exit(0 if works else 1)


def _lines(found: "Sequence[Finding]") -> "Iterator[str]":
    """Yield a line for each finding, below it the command that mends it, and what is to be done besides.

    In a pipe all are whole; a terminal gets texts folded at words, and commands still whole, to be copied.
    """
    widest = max(len(finding.what) for finding in found)
    indent = " " * (6 + widest + 2)
    columns = max(width(), len(indent) + 20)
    for finding in found:
        level = click.style(f"{finding.level:4}", fg=_COLOURS[finding.level])
        text = f"\n{indent}".join(textwrap.wrap(finding.trouble.text, columns - len(indent), break_on_hyphens=False))
        yield f"{level}  {finding.what:{widest}}  {text}"
        if finding.trouble.command:
            yield f"{indent}$ {finding.trouble.command}"
        if finding.trouble.then:
            for line in textwrap.wrap(finding.trouble.then, columns - len(indent) - 2, break_on_hyphens=False):
                yield f"{indent}  {line}"
