"""A small file system for a test, and how to fill it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILES = 400  # inodes: more than a run or a ladder needs, and soon used up


@contextmanager
def small_disk(folder: Path, needs: Callable[[str, str | None], None], more: str = "exec") -> Iterator[Path]:
    """Yield a file system of 8 MB and FILES files in a new folder; skip where mounting one isn't allowed.

    more: further options of the mount, which may replace the size.
    """
    needs("a file system of our own", None if os.geteuid() == 0 and sys.platform == "linux" else "root alone mounts")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size=8m,nr_inodes={FILES},mode=1777,{more}", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, timeout=60, check=False)
    needs("a file system of our own", done.stderr.strip() or None if done.returncode else None)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=60)


def fill(folder: Path) -> None:
    folder.mkdir()
    with suppress(OSError), (folder / "blocks").open("wb", 0) as file:
        while True:
            file.write(bytes(1 << 12))
    _use_up_files(folder)


def fill_until_it_ends(folder: Path, process: "subprocess.Popen[str]") -> None:
    """Use up a folder's disk, and what a process frees there, until it ends.

    The space that the boxes of one match free would be enough for the next.
    """
    fill(folder)
    while process.poll() is None:
        _use_up_files(folder)
        time.sleep(0.02)


def _use_up_files(folder: Path) -> None:
    with suppress(OSError):
        for number in range(FILES):
            (folder / str(number)).touch()
