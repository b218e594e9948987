"""The command `arena ladder doctor`: whether a ladder needs a hand."""

import sys
from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.findings import finding_lines, has_failure
from arena.cli.ladder.opening import FOLDER, ladder_at, plain_errors
from arena.cli.out import counted, note, write
from arena.examine import Finding
from ladder.service import Checkup, check_up, prune_now


@click.command()
@FOLDER
@click.option("--deep", is_flag=True, help="Read all results, too: sums and table must be theirs.")
@click.option("--prune", is_flag=True, help="First remove records and logs that ladder.toml keeps no longer.")
@answers(Checkup)
def doctor(folder: Path, deep: bool, prune: bool, as_json: bool) -> None:
    """Check a ladder, which may be running: disks, clock, sandbox, runners, queue, database.

    Exit code 1 if something needs a hand (fail), else 0.
    """
    if prune:
        with ladder_at(folder) as ladder:
            pruned = prune_now(ladder)
        note(f"removed records of {counted(pruned.records, 'match', 'es')} and logs of {pruned.logs}")
    with plain_errors():
        results: list[Finding] = []
        for finding in check_up(folder, deep):
            results.append(finding)
            if not as_json:
                write("\n".join(finding_lines(finding)))
    if as_json:
        print_json(Checkup(tuple(results)))
    sys.exit(1 if has_failure(results) else 0)
