"""The command `arena doctor`: what this host can do for strangers' bots."""

import sys

import click

from arena.cli.answers import answers, print_json
from arena.cli.findings import finding_lines
from arena.cli.out import write
from arena.examine import Host, boxes, findings
from arena.sandbox import ISOLATING


@click.command()
@answers(Host)
def doctor(as_json: bool) -> None:
    """Check this host: sandboxes, languages, and what makes times vary.

    Prints what is found, with the command that mends it: first what stops a run (fail), then what strangers' bots need
    (warn), then what is good, and what would be better (note).

    Exit code 0 if a sandbox that isolates works, else 1.
    """
    tried = boxes()
    results = findings(tried)
    works = any(tried[name] is None for name in ISOLATING)
    if as_json:
        reasons = {name: None if trouble is None else str(trouble) for name, trouble in tried.items()}
        print_json(Host(works, reasons, tuple(results)))
    else:
        widest = max(len(finding.what) for finding in results)
        write("\n".join(line for finding in results for line in finding_lines(finding, widest)))
    sys.exit(0 if works else 1)
