"""The command `arena verify`: records, replayed."""

import sys
from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.out import counted, fail, refuse, write
from arena.compare import CompareConfig
from arena.run import KeptError, Replayed, replay_all


@click.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
@answers(Replayed)
def verify(path: Path, as_json: bool) -> None:
    """Replay records through the engine, and check them against the plan of their run.

    DIR is a run's folder, or one that arena ladder final --export wrote: its key and plan fix the matches, the seats
    and every card. Whatever differs is printed, and the exit code is 1. SECURITY.md says what this
    proves.
    """
    try:
        replayed = replay_all(path, CompareConfig)
    except KeptError as problem:
        refuse(str(problem))
    if as_json:
        print_json(replayed, path)
        sys.exit(1 if replayed.differences else 0)
    if replayed.differences:
        fail("\n".join(replayed.differences))
    what = f"{counted(replayed.games, 'game')} in {counted(replayed.records, 'record')}"
    write(f"{what}: every move legal, every event and result the same", path)
    if replayed.planned is None:
        write("there is no run.json or final.json, so the plan of the matches can't be checked", path)
    elif replayed.records < replayed.planned:
        write(f"{replayed.records} of the {replayed.planned} matches of the plan are there", path)
    if replayed.faults:
        write(f"that a bot was at fault, no replay can show: {counted(replayed.faults, 'fault')} in them", path)
