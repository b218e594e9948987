"""Implement `arena verify`: replay records, and compare events and results with the records and the run's plan."""

import sys
from pathlib import Path

import click

from arena.cli.console import fail, format_count, json_option, print_json, print_text, usage_error
from arena.compare import CompareConfig
from arena.run import RecordFileError, VerificationReport, verify_all


@click.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
@json_option(VerificationReport)
def verify(path: Path, as_json: bool) -> None:
    """Replay records through the engine, and check them against the plan of their run.

    DIR is a run's folder, or one that arena ladder final export wrote: its key and plan fix the matches, the seats
    and every card. Whatever differs is printed, and the exit code is 1. SECURITY.md says what this
    proves.
    """
    try:
        replayed = verify_all(path, CompareConfig)
    except RecordFileError as problem:
        usage_error(str(problem))
    if as_json:
        print_json(replayed, path)
        sys.exit(1 if replayed.differences else 0)
    if replayed.differences:
        fail("\n".join(replayed.differences))
    what = f"{format_count(replayed.games, 'game')} in {format_count(replayed.records, 'record')}"
    print_text(f"{what}: every move legal, every event and result the same", path)
    if replayed.planned is None:
        print_text("there is no run.json or final.json, so the plan of the matches can't be checked", path)
    elif replayed.records < replayed.planned:
        print_text(f"{replayed.records} of the {replayed.planned} matches of the plan are there", path)
    if replayed.faults:
        print_text(
            f"that a bot was at fault, no replay can show: {format_count(replayed.faults, 'fault')} in them", path
        )
