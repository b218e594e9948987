"""The command `arena verify`: records, replayed."""

import os
import shlex
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.out import counted, fail, reason, refuse, write
from arena.referee import RecordError
from arena.referee import verify as replay
from arena.run import KeptError, game_results, record_at, records_at
from ladder.proof import ProofError, is_proof, verify_proof


@click.command()
@click.argument("path", metavar="DIR|RECORD|FINAL", type=click.Path(path_type=Path))
@click.option(
    "--published",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of a final: what was published before it, the file final-NAME.txt.",
)
def verify(path: Path, published: Path | None) -> None:
    """Replay records through the engine and demand the same events and results.

    Of a file that arena ladder final --export wrote, demand also that its key decides all tables and deals. That it is
    the key that was committed to shows by --published, or by comparing the SHA-256 with the one that was published.
    """
    if os.path.isfile(path) and _is_final(path):  # Path.is_file raises for another user's folder
        _verify_final(path, published)
        return
    if published is not None:
        refuse(f"--published is for a final's file, which {path} isn't")
    try:
        files = records_at(path)
    except KeptError as problem:
        refuse(str(problem))
    games = faults = 0
    lines = []
    for file in files:
        try:
            record = record_at(file)
        except KeptError as problem:
            refuse(f"{problem}; only a whole record can be verified")
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
    found = f"{counted(games, 'game')} in {counted(len(files), 'record')}"
    write(f"{found}: every move legal, every event and result the same", path)
    if faults:
        write(f"that a bot was at fault, no replay can show: {counted(faults, 'fault')} in them", path)


def _is_final(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return is_proof(file.read(20))
    except OSError:
        return False


def _verify_final(path: Path, before: Path | None) -> None:
    try:
        with path.open(encoding="utf-8") as file:
            found = verify_proof(file)
    except (ProofError, UnicodeDecodeError) as problem:
        fail(f"{path}: {problem}")
    except OSError as problem:
        refuse(reason(problem))
    write(f"final {shown(found.name)}: its key seats all {found.matches} matches", path)
    if before is None:
        write(f"the key's SHA-256 is {found.commitment}: compare it with what was published before", path)
    elif before.read_bytes().decode(errors="replace") != found.published:
        fail(f"{path} isn't what {before} says: another key, other versions, or other terms")
    else:
        write(f"key, versions and terms are those of {before}", path)
    if found.games:
        write(f"{found.games} games are dealt by it: every move legal, every event and result the same", path)
    if found.without:
        write(f"{counted(found.without, 'match', 'es')} have no record: only who played them could be verified", path)
