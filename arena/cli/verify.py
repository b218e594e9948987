"""Implement `arena verify`: replay records, and compare events and results with the records and the run's plan."""

import sys
from collections.abc import Iterator
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
        report = verify_all(path, CompareConfig, StudyConfig)
    except RecordFileError as problem:
        usage_error(str(problem))
    exit_code = 0 if report.stopped is None else STOPPED
    if as_json:
        print_json(report, path)
        sys.exit(1 if report.differences else exit_code)
    if report.differences:
        fail("\n".join(report.differences))
    for line in _describe_verified(report):
        print_text(line, path)
    sys.exit(exit_code)


def _describe_verified(report: VerificationReport) -> Iterator[str]:
    """Yield what was verified, and what a replay can't verify, a line each."""
    games = f"{format_count(report.games, 'game')} in {format_count(report.records, 'record')}"
    yield f"{games}: every move legal, every event and result the same"
    if report.planned is None:
        yield "without run.json or final.json, the plan of the matches can't be checked"
    elif report.stopped is not None:
        yield report.stopped
    elif report.records < report.planned:
        yield f"the verdict needed {report.records} of {report.planned} planned matches"
    if report.note is not None:
        yield report.note
    if report.faults:
        yield f"a replay can't verify faults of bots: the records contain {format_count(report.faults, 'fault')}"
