"""Implement `arena verify`: replay records, and compare events and results with the records and the run's plan."""

import sys
from pathlib import Path

import click

from arena.cli.console import fail, format_count, json_option, print_json, print_text, usage_error
from arena.compare.comparison import CompareConfig
from arena.run import RecordFileError, VerificationReport, verify_all


@click.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
@json_option(VerificationReport)
def verify(path: Path, as_json: bool) -> None:
    """Replay records and verify events and results.

    DIR is a run's folder, or an export of arena ladder final. Its key and plan determine the matches, seats and cards.
    Exit code 1, with the differences, if a record differs. docs/explanation/fairness-and-proofs.md explains the proof.
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
        print_text("without run.json or final.json, the plan of the matches can't be checked", path)
    elif replayed.records < replayed.planned:
        print_text(f"{replayed.records} of {replayed.planned} planned matches are in the folder", path)
    if replayed.faults:
        print_text(
            f"a replay can't verify faults of bots: the records contain {format_count(replayed.faults, 'fault')}", path
        )
