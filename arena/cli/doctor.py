"""The command `arena doctor`: what this host can do for strangers' bots, and what its sandboxes stop.

As in arena/cli/run.py, packages are imported inside the command.
"""

import json
import os
import signal
import sys
import textwrap
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, NoReturn

import click

from arena.cli.options import SandboxName
from arena.cli.out import fail, note, progress, refuse, width, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from arena.red_team import Result
    from arena.sandbox import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}
_AT_ONCE = "interrupted before the first attack"


@click.command()
@click.option("--attack", is_flag=True, help="Attack the sandboxes that work here, and print what they stop.")
@click.option("--box", type=SandboxName(), help="With --attack: attack this one.  [all]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def doctor(attack: bool, box: str | None, as_json: bool) -> None:
    """Check this host: sandboxes, clocks, languages.

    Prints what is found, and for what could be better the command that mends it.

    Exit code 0 if a sandbox that isolates works, else 1; with --attack 1 if an attack succeeded that shouldn't,
    and 130 if it was interrupted.
    """
    from arena.sandbox import ISOLATING, boxes, findings

    if box is not None and not attack:
        refuse("--box goes with --attack: arena doctor --attack --box bubblewrap")
    if attack:
        _attack(box, as_json)
    tried = boxes()
    found = list(findings(tried))
    works = any(tried[name] is None for name in ISOLATING)
    if as_json:
        fields = ("what", "level", "text", "mend", "then")
        rows = [{name: getattr(finding, name) for name in fields} for finding in found]
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
        text = f"\n{indent}".join(textwrap.wrap(finding.text, columns - len(indent), break_on_hyphens=False))
        yield f"{level}  {finding.what:{widest}}  {text}"
        if finding.mend:
            yield f"{indent}$ {finding.mend}"
        if finding.then:
            for line in textwrap.wrap(finding.then, columns - len(indent) - 2, break_on_hyphens=False):
                yield f"{indent}  {line}"


def _attack(box: str | None, as_json: bool) -> NoReturn:
    """Attack the boxes that work, or the one that was named; print what came of it, also if it is interrupted."""
    from arena.red_team import Result, failures, table

    interruption = _Interruption()
    for number in (signal.SIGINT, signal.SIGTERM):  # a polite kill ends like Ctrl-C
        signal.signal(number, interruption)
    found: list[Result] = []
    interrupted = False
    try:
        _collect(_attackable(box), found, interruption)
    except KeyboardInterrupt:
        interrupted = True
    if as_json:
        write(json.dumps([asdict(result) for result in found]))
    elif found:  # a table of nothing says nothing
        write(table(found))
    if interrupted:
        note("interrupted: the attacks above were made, the others weren't" if found else _AT_ONCE)
        sys.exit(130)
    sys.exit(1 if failures(found) else 0)


def _attackable(box: str | None) -> list[str]:
    """Return the boxes to attack. Exits with 1 if the one that was named doesn't work here."""
    from arena.sandbox import boxes

    tried = boxes()
    if box is not None and tried[box] is not None:
        fail(f"the sandbox {box} doesn't work here: {tried[box]}")
    return [box] if box else [name for name, reason in tried.items() if reason is None]


class _Interruption:
    """A handler of signals: the first lets the attack that is on come to its end, the next raises KeyboardInterrupt.

    A box that is being started when an exception comes from nowhere would be lost and live on.
    """

    came = False

    def __call__(self, *_: object) -> None:
        """Handle one."""
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        os.write(2, b"\ninterrupted: this ends with the attack that is on, some seconds; again to end at once\n")

    def check(self) -> None:
        """Raise KeyboardInterrupt if a signal came."""
        if self.came:
            raise KeyboardInterrupt


def _collect(names: list[str], found: "list[Result]", interruption: _Interruption) -> None:
    """Attack these boxes and append each result as soon as it is there. Raises KeyboardInterrupt, between two."""
    from rich.text import Text

    from arena.red_team import attack, expected_results
    from arena.run import clean_up
    from arena.sandbox import Choice, scratch_folder

    note(f"attacking {', '.join(names)}: this takes some minutes")
    total = expected_results(names)

    def line() -> str:
        return _told(found, total)

    def live() -> Text:
        return Text(line(), no_wrap=True, overflow="ellipsis")

    with scratch_folder() as scratch, progress(live, line, redraw_s=0) as tell:
        for name in names:
            clean_up(Choice(name))
        interruption.check()
        with closing(attack(names, scratch)) as results:
            for result in results:
                found.append(result)
                tell()
                interruption.check()


def _told(found: "Sequence[Result]", total: int) -> str:
    """Return how far the attacks are, and what the last one saw."""
    last = found[-1]
    bad = sum(not result.ok for result in found)
    row = f"row {last.row}, " if last.row else ""
    return f"{len(found)} of {total} attacks, {bad} not as expected; {last.tier}: {row}{last.title}: {last.seen}"
