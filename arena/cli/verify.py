"""The command `arena verify`: records, replayed."""

import os
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.out import counted, fail, reason, refuse, write
from arena.referee import RecordError
from arena.run import KeptError, Replayed, replay_all
from ladder.proof import ProofError, Verified, is_proof, verify_proof


@click.command()
@click.argument("path", metavar="DIR|RECORD|FINAL", type=click.Path(path_type=Path))
@click.option(
    "--published",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of a final: what was published before it, the file final-NAME.txt.",
)
@answers(Replayed, Verified)
def verify(path: Path, published: Path | None, as_json: bool) -> None:
    """Replay records through the engine and demand the same events and results.

    Of a file that arena ladder final --export wrote, demand also that its key decides all tables and deals. That it is
    the key that was committed to shows by --published, or by comparing the SHA-256 with the one that was published.
    """
    if os.path.isfile(path) and _is_final(path):  # Path.is_file raises for another user's folder
        _verify_final(path, published, as_json)
        return
    if published is not None:
        refuse(f"--published is for a final's file, which {path} isn't")
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


def _is_final(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return is_proof(file.read(20))
    except OSError:
        return False


def _verify_final(path: Path, before: Path | None, as_json: bool) -> None:
    try:
        with path.open(encoding="utf-8") as file:
            proof = verify_proof(file)
    except (ProofError, UnicodeDecodeError) as problem:
        fail(f"{path}: {problem}")
    except OSError as problem:
        refuse(reason(problem))
    if before is not None and before.read_bytes().decode(errors="replace") != proof.published:
        fail(f"{path} isn't what {before} says: another key, other versions, or other terms")
    if as_json:
        print_json(proof, path)
        return
    write(f"final {shown(proof.name)}: its key seats all of {counted(proof.matches, 'match', 'es')}", path)
    if before is None:
        write(f"the key's SHA-256 is {proof.commitment}: compare it with what was published before", path)
    else:
        write(f"key, versions and terms are those of {before}", path)
    if proof.games:
        write(f"it deals {counted(proof.games, 'game')}: every move legal, every event and result the same", path)
    if proof.without:
        write(f"{counted(proof.without, 'match', 'es')} without a record: only who played them could be verified", path)
