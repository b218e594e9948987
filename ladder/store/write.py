"""Write a file so that after a crash it is there whole or not at all."""

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Replace a file by one with this text, which is on the disk when this returns. Raises OSError."""
    beside = path.with_name(path.name + ".tmp")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)  # never the group's
    with open(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
