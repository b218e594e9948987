"""Makes `weights.xz`: builds train.c, lets it learn, and packs its tables. It needs gcc, 1 GB and ten minutes.

python3 train.py
"""

import lzma
import struct
import subprocess
import tempfile
from array import array
from pathlib import Path

SEED = 1
ROUNDS = 6_000_000  # games that the first table learns from
ENTRIES = 170_000  # of a table, those that were met most
LEAST = 0.08  # smaller chances are what is left of the search for a move
HERE = Path(__file__).parent


def packed(table: bytes) -> bytes:
    """Return a table as bot.py reads it: a size, that many hashed keys, and as many numbers of seven odds."""
    odds: dict[int, int] = {}
    for key, *chances, _ in struct.iter_unpack("<Q7fI", table):
        digest = (key + 1) * 0x9E3779B97F4A7C15 >> 32 & 0xFFFFFFFF
        kept = [chance if chance >= LEAST else 0 for chance in chances]
        number = sum(round(15 * chance / sum(kept)) << 4 * move for move, chance in enumerate(kept))
        odds.setdefault(digest, number)  # of two keys with one digest the one that was met more
    keys = sorted(odds)
    return array("I", [len(keys), *keys, *(odds[key] for key in keys)]).tobytes()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        program, tables = Path(folder, "train"), Path(folder, "table")
        subprocess.run(["gcc", "-O3", "-march=native", "-o", program, HERE / "train.c"], check=True)
        subprocess.run([program, str(SEED), str(ROUNDS), tables, str(ENTRIES)], check=True)
        files = sorted(Path(folder).glob("table.*"))
        data = lzma.compress(b"".join(packed(file.read_bytes()) for file in files), preset=9)
    (HERE / "weights.xz").write_bytes(data)
    print(f"{len(files)} tables in {len(data)} bytes")


if __name__ == "__main__":
    main()
