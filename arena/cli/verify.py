"""Implement `arena verify`: replay records, and compare events and results with the records and the run's plan."""

import sys
from pathlib import Path

import click

from arena.cli.console import fail, json_option, print_json, print_text, usage_error
from arena.compare.comparison import CompareConfig
from arena.formatting import format_count
from arena.run import RecordFileError, VerificationReport, verify_all
from arena.study import StudyConfig

STOPPED = 3  # exit code


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@json_option(VerificationReport)
def verify(path: Path, as_json: bool) -> None:
    """Replay records and verify events and results.

    DIR is a run's folder, or an export of arena ladder final. Its key and plan determine the matches, seats and cards.
    Exit codes: 0 if all planned matches are there, and the same; 1 if a record differs or a match is missing; 3 if
    nothing differs, but the folder says that the run was stopped or matches were abandoned.
    docs/explanation/fairness-and-proofs.md explains the proof.
    """
    try:
        replayed = verify_all(path, CompareConfig, StudyConfig)
    except RecordFileError as problem:
        usage_error(str(problem))
    stopped = 0 if replayed.stopped is None else STOPPED
    if as_json:
        print_json(replayed, path)
        sys.exit(1 if replayed.differences else stopped)
    if replayed.differences:
        fail("\n".join(replayed.differences))
    what = f"{format_count(replayed.games, 'game')} in {format_count(replayed.records, 'record')}"
    print_text(f"{what}: every move legal, every event and result the same", path)
    if replayed.planned is None:
        print_text("without run.json or final.json, the plan of the matches can't be checked", path)
    elif replayed.stopped is not None:
        print_text(replayed.stopped, path)
    elif replayed.records < replayed.planned:
        print_text(f"the verdict needed {replayed.records} of {replayed.planned} planned matches", path)
    if replayed.note is not None:
        print_text(replayed.note, path)
    if replayed.faults:
        print_text(
            f"a replay can't verify faults of bots: the records contain {format_count(replayed.faults, 'fault')}", path
        )
    sys.exit(stopped)
