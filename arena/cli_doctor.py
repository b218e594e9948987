"""The command `arena doctor`: what this host can do for strangers' bots, and what its sandboxes stop.

As in arena/cli.py, packages are imported inside the command.
"""

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from arena.cli_out import fail, note, refuse, to_stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from arena.doctor import Finding

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--attack", is_flag=True, help="Attack the sandboxes that work here, and print what they stop.")
@click.option(
    "--box", type=click.Choice(["process", "bubblewrap", "docker"]), help="With --attack: attack this one.  [all]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout.")
def doctor(attack: bool, box: str | None, as_json: bool) -> None:
    """Check this host: sandboxes, clocks, languages.

    Prints what is found, and for what could be better the command that mends it.

    Exit code 0 if a sandbox that isolates works, else 1; with --attack 1 if an attack succeeded that shouldn't.
    """
    from arena.doctor import boxes, findings

    if box is not None and not attack:
        refuse("--box goes with --attack: arena doctor --attack --box bubblewrap")
    tried = boxes()
    if attack:
        _attack([box] if box else [name for name, reason in tried.items() if reason is None], tried, as_json)
        return
    found = list(findings(tried))
    works = any(tried[name] is None for name in tried if name != "process")
    with to_stdout():
        if as_json:
            rows = [{"what": f.what, "level": f.level.value, "text": f.text, "mend": f.mend} for f in found]
            click.echo(json.dumps({"isolates": works, "boxes": tried, "findings": rows}))
        else:
            _print(found)
    sys.exit(0 if works else 1)


def _print(found: "Sequence[Finding]") -> None:
    """Print a line for each finding, and below it the command that mends it, both whole in a pipe."""
    width = max(len(finding.what) for finding in found)
    for finding in found:
        level = click.style(f"{finding.level:4}", fg=_COLOURS[finding.level])
        click.echo(f"{level}  {finding.what:{width}}  {finding.text}")
        if finding.mend:
            click.echo(f"      {'':{width}}  $ {finding.mend}")


def _attack(names: list[str], tried: dict[str, str | None], as_json: bool) -> None:
    for name in names:
        if tried[name] is not None:
            fail(f"the sandbox {name} doesn't work here: {tried[name]}")
    from arena.red_team import attack, failures, table
    from arena.run import clean_up, scratch_folder
    from arena.sandbox.choice import Choice

    note(f"attacking {', '.join(names)}: this takes some minutes")
    with scratch_folder() as scratch:
        for name in names:
            clean_up(Choice(name))
        found = list(attack(names, scratch))
    bad = failures(found)
    with to_stdout():
        click.echo(json.dumps([asdict(result) for result in found]) if as_json else table(found))
    sys.exit(1 if bad else 0)
