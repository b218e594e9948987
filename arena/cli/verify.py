"""The command `arena verify`: records, replayed."""

import shlex
from pathlib import Path

import click

from arena.cli.out import counted, fail, reason, refuse, write


@click.command()
@click.argument("path", metavar="DIR|RECORD", type=click.Path(path_type=Path))
def verify(path: Path) -> None:
    """Replay records through the engine and demand the same events and results."""
    from arena.referee import RecordError, read
    from arena.referee import verify as replay
    from arena.run import game_results

    if path.is_dir():
        files = sorted((path / "records" if (path / "records").is_dir() else path).glob("*.jsonl"))
        if not files:
            refuse(f"{path} holds no records; name a run's folder or a record file")
    elif path.is_file():
        files = [path]
    else:
        refuse(f"{path} doesn't exist; name a run's folder or a record file")
    games = faults = 0
    lines = []
    for file in files:
        try:
            record = read(file.read_text(encoding="utf-8"))
        except OSError as problem:
            refuse(f"{reason(problem)}; name a run's folder or a record file")
        except (RecordError, RecursionError, UnicodeDecodeError) as problem:
            refuse(f"{file}: {problem}; only a whole record of this version can be verified")
        try:
            replay(record)
        except RecordError as problem:
            fail(f"{file}: {problem}")
        games += len(record.games)
        faults += sum(len(game.faults) for game in record.games)
        lines += [result.to_line().rstrip("\n") for result in game_results(record)]
    listed = path / "results.jsonl"
    if path.is_dir() and listed.is_file() and listed.read_bytes().decode(errors="replace").splitlines() != lines:
        fail(f"{listed} is not what the records say; arena run --resume {shlex.quote(str(path))} writes it anew")
    write(f"{games} games in {len(files)} records: every move legal, every event and result the same", path)
    if faults:
        write(f"{counted(faults, 'fault')} of bots stand in them: no replay can show that they happened", path)
