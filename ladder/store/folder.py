"""A run's folder: every write of a run that has no database.

    run.json         what was asked for, the key, the bots with their digests; written first
    results.jsonl    one line a game in match order; derived from the records, never read back
    records/         one file a match, 000012.jsonl; there only when its match is complete
    logs/            standard error of each bot process, 000012-honest-1.txt

A record is written beside its place, synced and renamed: after a crash at any moment each match is there whole or not
at all. The folder is for its owner alone (0700): records tell hidden cards and the key tells all future ones.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

_RECORD = "{:06d}.jsonl"


class FolderError(Exception):
    """The folder can't be used. One line that says what to do."""


class RunFolder:
    """A run's folder. `results` turns a record's text into lines of results.jsonl, or raises FolderError."""

    def __init__(self, path: Path, results: Callable[[str], list[dict[str, Any]]]) -> None:
        self.path = path
        self._results = results
        self._ready: dict[int, str] = {}  # lines of complete matches that wait for one before them
        self._next = 0
        self._locked: int | None = None

    @property
    def records(self) -> Path:
        """Return the folder of the records."""
        return self.path / "records"

    @property
    def logs(self) -> Path:
        """Return the folder of the bots' standard error."""
        return self.path / "logs"

    def create(self, config: dict[str, Any]) -> None:
        """Make the folder. Raises FolderError if it exists or can't be made."""
        self.refuse_existing()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
            self.records.mkdir()
            self.logs.mkdir()
            _write(self.path / "run.json", json.dumps(config, indent=2) + "\n")
        except OSError as problem:
            raise FolderError(f"{self.path} can't be made: {problem.strerror}; name another --out") from None

    def refuse_existing(self) -> None:
        """Raise FolderError if there is something where the folder is to be made."""
        if os.path.exists(self.path / "run.json"):  # Path.exists raises where the name is too long
            raise FolderError(f"{self.path} exists; name another --out, or go on with --resume {self.path}")
        if os.path.lexists(self.path):
            raise FolderError(f"{self.path} exists; name another --out")

    def lock(self) -> None:
        """Keep other processes from playing this run as long as this one lives. Raises FolderError if one does."""
        try:
            self._locked = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise FolderError(f"{self.path} is being played by another arena; wait for its end, or stop it") from None
        except OSError:
            pass  # a file system without locks

    def unlock(self) -> None:
        """Undo `lock`."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def config(self) -> dict[str, Any]:
        """Return what run.json holds. Raises FolderError if there is none that can be read."""
        try:
            config = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FolderError(f"{self.path} holds no run: it has no run.json; name the folder of a run") from None
        except OSError as problem:
            raise FolderError(f"{self.path / 'run.json'} can't be read: {problem.strerror}") from None
        except (ValueError, RecursionError):
            raise FolderError(f"{self.path / 'run.json'} is not JSON: it was changed; start a new run") from None
        if not isinstance(config, dict):
            raise FolderError(f"{self.path / 'run.json'} holds no JSON object: it was changed; start a new run")
        return config

    def complete(self) -> list[int]:
        """Return the numbers of the complete matches, in order."""
        numbers = [int(path.stem) for path in self.records.glob("*.jsonl") if path.stem.isdecimal()]
        return sorted(number for number in numbers if self.record(number).is_file())

    def record(self, match: int) -> Path:
        """Return where the record of a match is or will be."""
        return self.records / _RECORD.format(match)

    def read(self, match: int) -> str:
        """Return the record of a complete match."""
        return self.record(match).read_text(encoding="utf-8")

    def save(self, match: int, record: str, logs: Iterable[tuple[str, int, bytes]]) -> list[dict[str, Any]]:
        """Keep a complete match, once, and return its results. `logs` holds (bot, process number, standard error).

        What was kept first counts. Raises OSError if the disk doesn't take it; then the match isn't there.
        """
        path = self.record(match)
        if path.exists():
            record = self.read(match)
        else:
            for bot, number, data in logs:
                (self.logs / f"{match:06d}-{_safe(bot)}-{number}.txt").write_bytes(data)
            _write(path, record)
        lines = self._results(record)
        if match >= self._next:
            self._ready[match] = _text(lines)
        with (self.path / "results.jsonl").open("a", encoding="utf-8") as out:
            out.write(self._in_order())
        return lines

    def log_files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot's standard error in a match, one a process, in order."""
        start = f"{match:06d}-{_safe(bot)}-"
        found = {path.stem.removeprefix(start): path for path in self.logs.glob(f"{start}*.txt")}
        return [found[number] for number in sorted(filter(str.isdecimal, found), key=int)]  # "2-1" is that of bot-2

    def load(self) -> Iterator[list[dict[str, Any]]]:
        """Yield each complete match's lines, in match order; for whoever goes on with the run.

        results.jsonl then ends where the first match is missing, so that `save` can go on with it in order.
        Raises FolderError at a record that isn't whole.
        """
        for leftover in self.records.glob("*.tmp"):
            leftover.unlink()
        self._ready = {}
        self._next = 0
        for match in self.complete():
            lines = self._lines(match)
            self._ready[match] = _text(lines)
            yield lines
        _write(self.path / "results.jsonl", self._in_order())

    def finish(self) -> Iterator[list[dict[str, Any]]]:
        """Yield each complete match's lines, as `load` does; results.jsonl then holds them all, over the gaps."""
        texts = []
        for match in self.complete():
            lines = self._lines(match)
            texts.append(_text(lines))
            yield lines
        _write(self.path / "results.jsonl", "".join(texts))

    def _lines(self, match: int) -> list[dict[str, Any]]:
        try:
            return self._results(self.read(match))
        except (FolderError, UnicodeDecodeError) as problem:
            path = self.record(match)
            raise FolderError(f"{path}: {problem}; remove it, and --resume plays the match again") from None

    def _in_order(self) -> str:
        """Return, once, the lines that can follow those in results.jsonl."""
        texts = []
        while self._next in self._ready:
            texts.append(self._ready.pop(self._next))
            self._next += 1
        return "".join(texts)


def _text(lines: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def _safe(bot: str) -> str:
    """Return a bot's name as a part of a file's name: no two names give the same."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):05x}" for c in bot)


def _write(path: Path, text: str) -> None:
    """Write a file so that after a crash it is there whole or not at all."""
    beside = path.with_name(path.name + ".tmp")
    with beside.open("w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    beside.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
