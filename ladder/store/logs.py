"""A run's logs: standard error of bot processes, a file each, bounded for each bot.

    000012-honest-1.txt     of the bot's first process in match 12
    honest.left-out.txt     how much is left out, once something is

A bot may have KEPT_BYTES, each file counted as a disk does, so a run may have that for each of its bots. Of more the
first half and the last half are kept, in the order of the matches: how it began, and how it ended.
"""

import re
from bisect import insort
from pathlib import Path

from ladder.store.write import write

KEPT_BYTES = 2 << 20  # a bot: 32 processes that write all that is kept of one, or 512 that write little
_BLOCK = 4096  # what a file takes on a disk at least
_NAME = re.compile(r"(\d{6,})-(.+)-(\d+)\.txt")
_LEFT_OUT = "{} kB in {} files left out: the first and the last are kept\n"
_LEFT_OUT_BEFORE = re.compile(rb"([0-9]{1,18}) kB in ([0-9]{1,18}) files ")

_Log = tuple[int, int, int]  # match, process, bytes


class Logs:
    """The logs in a folder, which others only add to by this object."""

    def __init__(self, folder: Path, kept_bytes: int = KEPT_BYTES) -> None:
        self._folder = folder
        self._kept = kept_bytes
        self._of: dict[str, list[_Log]] | None = None  # bot -> its files in order; None until they are needed

    def add(self, match: int, bot: str, process: int, data: bytes) -> None:
        """Keep what a process wrote, and leave out what is too much. Raises OSError."""
        name = safe(bot)
        self._path(name, match, process).write_bytes(data)
        logs = self._files().setdefault(name, [])
        logs[:] = [log for log in logs if log[:2] != (match, process)]  # of an attempt that was cut off
        insort(logs, (match, process, len(data)))
        left_out = []
        while len(logs) > 1 and sum(map(_size, logs)) > self._kept:
            left_out.append(logs.pop(self._first_of_middle(logs)))
        if left_out:
            for number, which, _ in left_out:
                self._path(name, number, which).unlink(missing_ok=True)
            self._note(name, left_out)

    def files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot in a match, one a process, in order."""
        start = f"{match:06d}-{safe(bot)}-"
        files = {path.stem.removeprefix(start): path for path in self._folder.glob(f"{start}*.txt")}
        return [files[number] for number in sorted(filter(str.isdecimal, files), key=int)]  # "2-1" is that of bot-2

    def _first_of_middle(self, logs: list[_Log]) -> int:
        """Return the place of the first file that isn't of the first half; never the last file."""
        size = 0
        for place, log in enumerate(logs[:-1]):
            size += _size(log)
            if size > self._kept // 2:
                return place
        return len(logs) - 2

    def _note(self, name: str, logs: list[_Log]) -> None:
        """Add to the note about a bot's left-out files."""
        path = self._folder / f"{name}.left-out.txt"
        before = _LEFT_OUT_BEFORE.match(path.read_bytes()) if path.is_file() else None  # else nothing is left out yet
        kilobytes, files = (int(before[1]), int(before[2])) if before else (0, 0)
        kilobytes += sum(-(-size // 1000) for _, _, size in logs)  # rounded up
        write(path, _LEFT_OUT.format(kilobytes, files + len(logs)))

    def _files(self) -> dict[str, list[_Log]]:
        """Return the files by bot; those of earlier sessions are looked for once."""
        if self._of is None:
            self._of = {}
            for path in self._folder.iterdir():
                if named := _NAME.fullmatch(path.name):
                    insort(self._of.setdefault(named[2], []), (int(named[1]), int(named[3]), path.stat().st_size))
        return self._of

    def _path(self, name: str, match: int, process: int) -> Path:
        return self._folder / f"{match:06d}-{name}-{process}.txt"


def _size(log: _Log) -> int:
    return max(_BLOCK, log[2])


def safe(bot: str) -> str:
    """Return a bot's name as a part of a file's name: no two names give the same."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):05x}" for c in bot)
