"""The command `arena verify`: records, replayed."""

from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.out import counted, fail, refuse, write
from arena.referee import RecordError
from arena.run import KeptError, Replayed, replay_all


@click.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
@answers(Replayed)
def verify(path: Path, as_json: bool) -> None:
    """Replay records through the engine and demand the same events and results.

    DIR is a run's folder, or one that arena ladder final --export wrote.
    """
    try:
        replayed = replay_all(path)
    except KeptError as problem:
        refuse(str(problem))
    except RecordError as problem:
        fail(str(problem))
    if as_json:
        print_json(replayed, path)
        return
    what = f"{counted(replayed.games, 'game')} in {counted(replayed.records, 'record')}"
    write(f"{what}: every move legal, every event and result the same", path)
    if replayed.faults:
        write(f"that a bot was at fault, no replay can show: {counted(replayed.faults, 'fault')} in them", path)
