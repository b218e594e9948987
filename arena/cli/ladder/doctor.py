"""The command `arena ladder doctor`: whether a ladder needs a hand."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, opened, plain_errors, print_json
from arena.cli.out import note, write

if TYPE_CHECKING:
    from ladder.service import Finding

_COLOURS = {"ok": "green", "note": "yellow", "fail": "red"}


@click.command()
@FOLDER
@click.option("--deep", is_flag=True, help="Read all results, too: sums and table must be theirs.")
@click.option("--prune", is_flag=True, help="First remove records and logs that ladder.toml keeps no longer.")
@AS_JSON
def doctor(folder: Path, deep: bool, prune: bool, as_json: bool) -> None:
    """Check a ladder, which may be running: disks, clock, sandbox, runners, queue, database.

    Exit code 1 if something needs a hand (fail), else 0.
    """
    if prune:
        with opened(folder) as ladder:
            from ladder.service import prune_now

            pruned = prune_now(ladder)
        note(f"removed records of {pruned.records} matches and logs of {pruned.logs}")
    with plain_errors():
        from ladder.service import check_up

        found: list[Finding] = []
        for finding in check_up(folder, deep):
            found.append(finding)
            if not as_json:
                _print(finding)
    if as_json:
        keys = ("what", "health", "text", "do")
        print_json([{key: getattr(finding, key) for key in keys} for finding in found])
    sys.exit(1 if any(finding.health == "fail" for finding in found) else 0)


def _print(finding: "Finding") -> None:
    from arena.bots import shown

    level = click.style(f"{finding.health:4}", fg=_COLOURS[finding.health])
    write(f"{level}  {finding.what:16}  {shown(finding.text)}")
    if finding.do:
        write(f"{'':24}-> {shown(finding.do)}")
