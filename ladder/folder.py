"""A run's folder: every write of a run that has no database.

    run.json         what was asked for, the key, the bots with their digests; written first
    results.jsonl    one line a game in match order; derived from the records, never read back
    records/         one file a match, 000012.jsonl; there only when its match is complete
    logs/            standard error of each bot process, 000012-honest-1.txt

A record is written beside its place, synced and renamed: after a crash at any moment each match is there whole or not
at all. The folder is for its owner alone (0700): records tell hidden cards and the key tells all future ones.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

_RECORD = "{:06d}.jsonl"


class FolderError(Exception):
    """The folder can't be used. One line that says what to do."""


class RunFolder:
    """A run's folder. `results` turns a record's text into lines of results.jsonl."""

    def __init__(self, path: Path, results: Callable[[str], list[dict[str, Any]]]) -> None:
        self.path = path
        self._results = results
        self._ready: dict[int, str] = {}  # lines of complete matches that wait for one before them
        self._next = 0

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
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
            self.records.mkdir()
            self.logs.mkdir()
            _write(self.path / "run.json", json.dumps(config, indent=2) + "\n")
        except FileExistsError:
            raise FolderError(f"{self.path} exists; name another --out, or go on with --resume {self.path}") from None
        except OSError as problem:
            raise FolderError(f"{self.path} can't be made: {problem.strerror}; name another --out") from None

    def config(self) -> dict[str, Any]:
        """Return what run.json holds. Raises FolderError if there is none that can be read."""
        try:
            config = json.loads((self.path / "run.json").read_text())
        except FileNotFoundError:
            raise FolderError(f"{self.path} holds no run: it has no run.json") from None
        except (OSError, ValueError) as problem:
            raise FolderError(f"{self.path / 'run.json'} can't be read: {problem}") from None
        if not isinstance(config, dict):
            raise FolderError(f"{self.path / 'run.json'} holds no JSON object")
        return config

    def complete(self) -> list[int]:
        """Return the numbers of the complete matches, in order."""
        return sorted(int(path.stem) for path in self.records.glob("*.jsonl") if path.stem.isdigit())

    def record(self, match: int) -> Path:
        """Return where the record of a match is or will be."""
        return self.records / _RECORD.format(match)

    def read(self, match: int) -> str:
        """Return the record of a complete match."""
        return self.record(match).read_text()

    def save(self, match: int, record: str, logs: Iterable[tuple[str, int, bytes]]) -> list[dict[str, Any]]:
        """Keep a complete match, once, and return its results. `logs` holds (bot, process number, standard error).

        Raises OSError if the disk doesn't take it; then the match isn't there.
        """
        path = self.record(match)
        if not path.exists():
            for bot, number, data in logs:
                (self.logs / f"{match:06d}-{_safe(bot)}-{number}.txt").write_bytes(data)
            _write(path, record)
        lines = self._results(record)
        self._ready[match] = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        with (self.path / "results.jsonl").open("a") as out:
            while self._next in self._ready:
                out.write(self._ready.pop(self._next))
                self._next += 1
        return lines

    def log_files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot's standard error in a match, one a process, in order."""
        return sorted(self.logs.glob(f"{match:06d}-{_safe(bot)}-[0-9]*.txt"))

    def rebuild(self) -> Iterator[list[dict[str, Any]]]:
        """Write results.jsonl anew from the records, and yield each match's lines, in match order."""
        texts = []
        for leftover in self.records.glob("*.tmp"):
            leftover.unlink()
        for match in self.complete():
            lines = self._results(self.read(match))
            texts.append("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
            yield lines
        _write(self.path / "results.jsonl", "".join(texts))
        self._next = 0
        self._ready = {}


def _safe(bot: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in bot)


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
