"""A copy of a ladder's version on this machine, for commands that play bots from where they stand."""

import os
from pathlib import Path

from arena.bots import copy_of
from arena.cli.ladder.opening import ladder_at
from arena.run import cache_folder
from ladder.service import files_of


def version_copy(folder: Path, given: str) -> tuple[str, str]:
    """Return where a copy of a version stands, and what it is. Exits as `ladder_at` does; with 2 for none."""
    with ladder_at(folder) as ladder:
        version, archive = files_of(ladder, given)
    title = version.digest if version.file is None else f"{version.digest}-{version.file}"
    copy = copy_of(archive, title, cache_folder())
    where = copy if version.file is None else copy / version.file
    return str(where), f"{version.label} of {os.path.abspath(folder)}"
