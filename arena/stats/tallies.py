"""The tallies of a run, `tallies/000012.tally`: what each match counts, kept beside its record for the next time.

A tally is a seal, then a MatchCounts as compressed JSON. The seal is the SHA-256 of the code that counted, of when the
record came to this disk (its ctime), of the record, and of what follows. So a tally that is cut off, was damaged, is of
another record or by other code counts for nothing. Nor does one that came with a run from elsewhere: nobody knows
beforehand when that comes to this disk. A tally saves time, and no more: where none can be written, there is none.
"""

import hashlib
import json
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

from arena.count import MatchCounts, counts_of
from arena.run import record_at, text_at

_ARENA = Path(__file__).parents[1]
CODE = ("count", "coup", "referee", "run", "sandbox", "stats", "tell", "../protocol")  # the rooms that make a tally
_SIZE = hashlib.sha256().digest_size


def counts_at(file: Path) -> MatchCounts:
    """Return what the record in a file counts; in a run's folder its tally is read, or else kept.

    Raises KeptError for a file that can't be read, RecordError where the engine doesn't play the record so.
    """
    text = text_at(file)
    basis = _basis(file, text)
    tally = file.parent.parent / "tallies" / f"{file.stem}.tally"
    if basis is not None:
        with suppress(OSError):
            data = tally.read_bytes()
            if data[:_SIZE] == _seal(basis, data[_SIZE:]):
                return MatchCounts(**json.loads(zlib.decompress(data[_SIZE:])))
    counts = counts_of(record_at(file, text))
    if basis is not None:
        body = zlib.compress(json.dumps(vars(counts), separators=(",", ":")).encode(), 1)
        with suppress(OSError):
            tally.parent.mkdir(exist_ok=True)
            tally.unlink(missing_ok=True)  # it may be a link, or be read by another
            with tally.open("xb") as out:
                out.write(_seal(basis, body) + body)
    return counts


def _basis(file: Path, text: str) -> "hashlib._Hash | None":
    """Return the digest of what a tally depends on; None where no run is around the record."""
    with suppress(OSError):
        if file.parent.name == "records" and (file.parent.parent / "run.json").is_file():
            return hashlib.sha256(f"{_code()} {file.stat().st_ctime_ns} {text}".encode())
    return None


def _seal(basis: "hashlib._Hash", body: bytes) -> bytes:
    whole = basis.copy()
    whole.update(body)
    return whole.digest()


@cache
def _code() -> str:
    """Return the digest of the code that counts. Raises OSError."""
    code = hashlib.sha256()
    for room in CODE:
        for file in sorted((_ARENA / room).glob("*.py")):
            code.update(file.read_bytes())
    return code.hexdigest()
