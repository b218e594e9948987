"""The command `arena doctor`: what this host can do for strangers' bots."""

import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn

import click

from arena.cli.answers import answers, print_json
from arena.cli.findings import finding_lines
from arena.cli.out import Column, error, show, table, write
from arena.examine import Host, boxes, findings
from arena.sandbox import ISOLATING, Probed, ProgramError, SandboxError, Seen, let_through, probe


@click.command()
@click.option("--probe", "probed", is_flag=True, help="Look around in each box, and print what a bot could reach.")
@answers(Host, Probed)
def doctor(probed: bool, as_json: bool) -> None:
    """Check this host: sandboxes, languages, and what makes times vary.

    Prints what is found, with the command that mends it: first what stops a run (fail), then what strangers' bots need
    (warn), then what is good, and what would be better (note).

    Exit code 0 if a sandbox that isolates works, else 1; with --probe also 1 if one let something through.
    """
    tried = boxes()
    if probed:
        _probe([name for name, trouble in tried.items() if trouble is None], as_json)
    results = findings(tried)
    works = any(tried[name] is None for name in ISOLATING)
    if as_json:
        reasons = {name: None if trouble is None else str(trouble) for name, trouble in tried.items()}
        print_json(Host(works, reasons, tuple(results)))
    else:
        widest = max(len(finding.what) for finding in results)
        write("\n".join(line for finding in results for line in finding_lines(finding, widest)))
    sys.exit(0 if works else 1)


def _probe(names: Sequence[str], as_json: bool) -> NoReturn:
    """Look around in these boxes, print what was reached as a table, and exit."""
    found: list[Seen] = []
    good = any(name in ISOLATING for name in names)
    for name in names:
        try:
            found += probe(name)
        except (SandboxError, ProgramError) as problem:
            error(f"{name}: {problem}")
            good = False
    good = good and not let_through(found)
    if as_json:
        print_json(Probed(good, tuple(found)))
    else:
        cells = {(seen.look, seen.box): _cell(seen) for seen in found}
        looks = dict.fromkeys(seen.look for seen in found)
        columns = [Column("what a bot could reach"), *(Column(name, least=16) for name in names)]
        show(table(columns, [[look, *(cells.get((look, name), "-") for name in names)] for look in looks]))
    sys.exit(0 if good else 1)


def _cell(seen: Seen) -> str:
    if seen.reached:
        return "REACHED: " + textwrap.shorten(seen.reached, 60, placeholder=" ...")
    return f"nothing ({seen.refused})" if seen.refused else "nothing"
