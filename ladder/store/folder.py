"""A run's folder: a store for a run that has no database. Every write of such a run happens here.

    run.json         what was asked for, the key, the bots with their digests; written first. At the end of the run
                     `ended` is added: with how many matches
    results.jsonl    one line a game in match order; derived from the records, never read back
    records/         one file a match, 000012.jsonl; there only when its match is complete
    logs/            standard error of each bot process, 000012-honest-1.txt, bounded for each bot: see logs.py
    faults/          the first faulty exchanges of each kind, a file for each bot that has any: honest.jsonl

A record is written beside its place, synced and renamed: after a crash at any moment each match is there whole or not
at all. A match's faulty exchanges are written before its record, in place of those that an earlier attempt at the match
left, and count only if the record is there. The results of a match are held in memory until they are asked for once,
those of earlier sessions packed; after that they are read from its record. Void matches are known to their own session
alone.

The folder is for its owner alone (0700): records tell hidden cards and the key tells all future ones. run.json says
which programs are started, so `config` takes it from nobody else: a run's folder is as trusted as a Makefile.
"""

import fcntl
import json
import os
import pickle
import secrets
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ladder.results import GameResult
from ladder.store.exchange import KeptExchange, first_few
from ladder.store.logs import Logs, safe
from ladder.store.store import PlayedMatch, VoidMatch
from ladder.store.write import write


def record_name(match: int) -> str:
    """Return the name of the file that holds the record of a match."""
    return f"{match:06d}.jsonl"


def new_folder(parent: str) -> Path:
    """Return a name for a folder of its own: the time, and six digits in hex for those that begin in one second."""
    return Path(parent, f"{time.strftime('%Y-%m-%d-%H%M%S')}-{secrets.token_hex(3)}")


class FolderError(Exception):
    """Say in one line why the folder can't be used, and what to do."""


class RunFolder:
    """A run's folder. `results_of` turns a record's text into the results of its games, or raises FolderError."""

    def __init__(self, path: Path, results_of: Callable[[str], tuple[GameResult, ...]]) -> None:
        self.path = path
        self._results_of = results_of
        self._logs = Logs(self.logs)
        self._kept: dict[int, None] = {}  # the kept matches, in the order in which they were kept
        # Their results until they are asked for; packed, a game takes 80 bytes.
        self._unasked: dict[int, tuple[GameResult, ...] | bytes] = {}
        self._lines: dict[int, str] = {}  # those that can't be written yet, since a match before is missing
        self._faulty: dict[str, tuple[KeptExchange, ...]] = {}  # what the bots' files hold that were looked at
        self._voids: list[VoidMatch] = []
        self._listed = (0, 0)  # the first match that isn't in results.jsonl, and its bytes as far as they are right
        self._locked: int | None = None

    @property
    def records(self) -> Path:
        """Return the folder of the records."""
        return self.path / "records"

    @property
    def logs(self) -> Path:
        """Return the folder of the bots' standard error."""
        return self.path / "logs"

    def create(self, config: dict[str, Any], fill: Callable[[], object] = lambda: None) -> None:
        """Make the folder, have it filled, and write run.json last: a folder that has one lacks nothing.

        Raises FolderError if it exists or can't be made.
        """
        self.refuse_existing()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
            self.records.mkdir()
            self.logs.mkdir()
            fill()
            write(self.path / "run.json", json.dumps(config, indent=2) + "\n")
        except OSError as problem:
            raise FolderError(f"{self.path} can't be made: {problem.strerror}; name another --out") from None

    def refuse_existing(self) -> None:
        """Raise FolderError if there is something where the folder is to be made."""
        if os.path.exists(self.path / "run.json"):  # Path.exists raises where the name is too long
            raise FolderError(f"{self.path} exists; name another --out, or go on with --resume {self.path}")
        if os.path.lexists(self.path):
            raise FolderError(f"{self.path} exists; name another --out")

    def end(self) -> None:
        """Write into run.json that the run has ended, and with how many matches. Raises OSError, FolderError."""
        config = {**self.config(), "ended": len(self._kept)}
        write(self.path / "run.json", json.dumps(config, indent=2) + "\n")

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
        """Return what run.json holds. Raises FolderError if there is none that can be read, or others may write it."""
        try:
            text = (self.path / "run.json").read_text(encoding="utf-8")
            for path in (self.path, self.path / "run.json"):
                self._refuse_others(path)
            config = json.loads(text)
        except (FileNotFoundError, NotADirectoryError):
            raise FolderError(f"{self.path} holds no run: it has no run.json; name the folder of a run") from None
        except OSError as problem:
            raise FolderError(f"{self.path / 'run.json'} can't be read: {problem.strerror}") from None
        except (ValueError, RecursionError):
            raise FolderError(f"{self.path / 'run.json'} is not JSON: it was changed; start a new run") from None
        if not isinstance(config, dict):
            raise FolderError(f"{self.path / 'run.json'} holds no JSON object: it was changed; start a new run")
        return config

    def _refuse_others(self, path: Path) -> None:
        """Raise FolderError for a file that another user has, or may write: run.json could name any command."""
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) and path != self.path:
            raise FolderError(f"{path} is a link, and says which programs are started: put the file in its place")
        status = path.stat()
        if status.st_uid != os.geteuid():
            raise FolderError(
                f"{path} belongs to user {status.st_uid}, and says which programs are started as you: "
                "go on as that user, or start a new run"
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise FolderError(
                f"others may write to {path}, which says which programs are started as you: "
                f"look through run.json, then chmod go-w {path}"
            )

    def load(self) -> None:
        """Take in the matches that earlier sessions kept, in match order.

        results.jsonl then ends where the first match is missing, so that `keep` can go on with it in order.
        Raises FolderError at a record that isn't whole.
        """
        for folder in (self.path, self.records, self.path / "faults"):
            for leftover in folder.glob("*.jsonl.tmp"):
                leftover.unlink()
        self._listed = (0, 0)
        self._lines.clear()
        write(self.path / "results.jsonl", "")
        self._take_in()
        self._list()

    def todo(self, matches: Iterable[int]) -> list[int]:
        """Return those of the matches that aren't kept, in the same order."""
        return [match for match in matches if match not in self._kept]

    def keep(self, played: PlayedMatch) -> None:
        """Keep a match, once: of a match that comes twice the first counts.

        Raises OSError if the disk doesn't take it. The match isn't kept then.
        """
        if self.record(played.match).exists():
            self._take_in()
        else:
            for bot, number, data in played.logs:
                self._logs.add(played.match, bot, number, data)
            self._keep_exchanges(played)
            write(self.record(played.match), played.record)
            self._note(played.match, played.results)
            self._unasked[played.match] = played.results
        self._list()

    def void(self, void: VoidMatch) -> None:
        """Note that an attempt at a match was void, for this session."""
        self._voids.append(void)

    def kept(self) -> tuple[int, ...]:
        """Return the kept matches in the order in which they were kept: those of earlier sessions first."""
        return tuple(self._kept)

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a kept match. Raises KeyError for any other."""
        if match not in self._kept:
            raise KeyError(match)
        results = self._unasked.pop(match, None)
        if results is None:
            return self._read_results(match)
        return pickle.loads(results) if isinstance(results, bytes) else results

    def exchanges(self, bot: str) -> tuple[KeptExchange, ...]:
        """Return the first faulty exchanges of each kind of a bot in kept matches. Raises FolderError if changed."""
        return tuple(exchange for exchange in self._exchanges(bot) if exchange.match in self._kept)

    def voids(self) -> tuple[VoidMatch, ...]:
        """Return the void attempts of this session, in order."""
        return tuple(self._voids)

    def finish(self) -> None:
        """Bring results.jsonl up to all kept matches, over the gaps. Raises OSError, FolderError as `load` does."""
        self._take_in()  # Ctrl-C may have come between the writing of a record and the noting of its results
        self._list(over_gaps=True)

    def record(self, match: int) -> Path:
        """Return where the record of a match is or will be."""
        return self.records / record_name(match)

    def read(self, match: int) -> str:
        """Return the record of a kept match."""
        return self.record(match).read_text(encoding="utf-8")

    def log_files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot's standard error in a match, one a process, in order."""
        return self._logs.files(match, bot)

    def exchanges_file(self, bot: str) -> Path:
        """Return where a bot's faulty exchanges are, if it has any."""
        return self.path / "faults" / f"{safe(bot)}.jsonl"

    def _exchanges(self, bot: str) -> tuple[KeptExchange, ...]:
        """Return what a bot's file holds, also of matches that aren't kept."""
        if bot not in self._faulty:
            file = self.exchanges_file(bot)
            try:
                lines = file.read_text(encoding="utf-8").splitlines()
                self._faulty[bot] = tuple(map(KeptExchange.from_line, lines))
            except FileNotFoundError:
                self._faulty[bot] = ()
            except (KeyError, TypeError, ValueError) as problem:
                raise FolderError(f"{file} was changed: {problem}; remove it, and go on") from None
        return self._faulty[bot]

    def _keep_exchanges(self, played: PlayedMatch) -> None:
        """Write the files that the match changes."""
        for bot in sorted({bot for result in played.results for bot in result.seats}):
            before = self._exchanges(bot)
            others = [exchange for exchange in before if exchange.match != played.match]
            new = [exchange for exchange in played.exchanges if exchange.bot == bot]
            after = first_few([*others, *new])
            if after != before:
                file = self.exchanges_file(bot)
                file.parent.mkdir(exist_ok=True)
                write(file, "".join(exchange.to_line() for exchange in after))
                self._faulty[bot] = after

    def _take_in(self) -> None:
        """Read the records that this session hasn't seen."""
        numbers = [int(path.stem) for path in self.records.glob("*.jsonl") if path.stem.isdecimal()]
        for match in sorted(set(numbers) - self._kept.keys()):
            if self.record(match).is_file():
                results = self._read_results(match)
                self._note(match, results)
                self._unasked[match] = pickle.dumps(results)

    def _note(self, match: int, results: tuple[GameResult, ...]) -> None:
        self._lines[match] = _lines_of(results)
        self._kept[match] = None  # last: whoever is interrupted before takes the match in from its record

    def _read_results(self, match: int) -> tuple[GameResult, ...]:
        try:
            results = self._results_of(self.read(match))
            if results[0].match != match:
                raise FolderError(f"it is the record of match {results[0].match}")
            return results
        except (FolderError, UnicodeDecodeError) as problem:
            path = self.record(match)
            raise FolderError(f"{path}: {problem}; remove it, and --resume plays the match again") from None

    def _list(self, over_gaps: bool = False) -> None:
        """Write to results.jsonl the lines that can follow those in it; over gaps: of all kept matches.

        What an interrupted call left of its lines is cut off first.
        """
        first, size = self._listed
        after = max(self._lines, default=-1) + 1 if over_gaps else first
        while after in self._lines:
            after += 1
        matches = [match for match in sorted(self._lines) if first <= match < after]
        with (self.path / "results.jsonl").open("ab") as out:
            cut = out.tell() < size  # by somebody else
            before = [match for match in sorted(self._kept) if match < first] if cut else []
            size = 0 if cut else size
            out.truncate(size)
            for match in before:
                size += out.write(_lines_of(self._read_results(match)).encode())
            for match in matches:
                size += out.write(self._lines[match].encode())
        self._listed = (max(first, after), size)
        for match in matches:
            del self._lines[match]


def _lines_of(results: Iterable[GameResult]) -> str:
    return "".join(result.to_line() for result in results)
