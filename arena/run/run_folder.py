"""Store a run in a folder: the store interface, records, logs, fault samples and atomic writes.

    run.json         the request, the key, the bots with their digests; written first. `ended` is added at the end
    results.jsonl    one line per game in match order; derived from the records, never read back
    records/         one file per match, 000012.jsonl; exists only when its match is complete
    logs/            standard error by process, 000012-honest-1.txt. A bot's first and last files are kept, up to
                     MAX_LOG_BYTES; honest.left-out.txt contains the size of the rest
    faults/          the first fault samples of each kind, one file per bot: honest.jsonl

A store contains facts, which readers aggregate: completed matches with their results, and failed attempts. A record
is written to a temporary file, synced and renamed, so after a crash a match exists whole or not at all. Its fault
samples are written first and count only with the record. The folder is private (0700): records show hidden cards, and
the key reveals all future ones. run.json names programs to start, so it is as trusted as a Makefile."""

import fcntl
import json
import os
import pickle
import re
import secrets
import stat
import time
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from arena.referee import FailedMatch, GameResult, PlayedMatch, StoredFaultSample, select_samples
from arena.sandbox import remove_tree


class ResultSource(Protocol):
    """The results of the stored matches of one run."""

    def list_matches(self) -> Sequence[int]:
        """Return the stored matches, in order of storing; earlier sessions come first."""

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a stored match. Raises KeyError for any other."""


class Store(ResultSource, Protocol):
    """A store of the matches of one run."""

    def list_missing(self, matches: Iterable[int]) -> list[int]:
        """Return the given matches that aren't stored, in the same order, including ones with failed attempts."""

    def save(self, played: PlayedMatch) -> None:
        """Store a match atomically, unless it is already stored. Raises OSError if writing fails."""

    def add_failed_attempt(self, void: FailedMatch) -> None:
        """Count a failed attempt, which `list_failed_attempts` returns then."""

    def fault_samples(self, bot: str) -> Sequence[StoredFaultSample]:
        """Return a bot's first fault samples of each kind in all stored matches."""

    def list_failed_attempts(self) -> Sequence[FailedMatch]:
        """Return failed attempts in order of time; an implementation may return only those of this session."""

    def finish(self) -> None:
        """End a session, even after an interruption at any moment. Raises OSError if writing fails."""


def replace_file(path: Path, text: str) -> None:
    """Write `text` to a file atomically and sync it to disk. Raises OSError if the file can't be written."""
    scratch = path.with_name(path.name + ".tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)  # never group-writable
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


MAX_LOG_BYTES = 2 << 20  # for each bot: 32 processes with the largest logs, or 512 with small ones
_BLOCK = 4096  # the least disk space of a file
_NAME = re.compile(r"(\d{6,})-(.+)-(\d+)\.txt")
_LEFT_OUT = "{} kB in {} files left out: the first and the last are kept\n"
_LEFT_OUT_PATTERN = re.compile(rb"([0-9]{1,18}) kB in ([0-9]{1,18}) files ")

_Log = tuple[int, int, int]  # match, process, bytes


class LogFolder:
    """A folder of log files, limited in size for each bot. Only one object at a time may write to the folder."""

    def __init__(self, folder: Path, max_bytes: int = MAX_LOG_BYTES) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._by_bot: dict[str, list[_Log]] | None = None  # each bot's files in order; None until they are needed

    def add(self, match: int, bot: str, process: int, data: bytes) -> None:
        """Write a process's standard error; remove the bot's middle files if all are too large.

        Raises OSError if a file can't be written.
        """
        name = escape_file_name(bot)
        self._path(name, match, process).write_bytes(data)
        logs = self._files().setdefault(name, [])
        logs[:] = [log for log in logs if log[:2] != (match, process)]  # of an interrupted attempt
        insort(logs, (match, process, len(data)))
        removed = []
        while len(logs) > 1 and sum(map(_disk_size, logs)) > self._max_bytes:
            removed.append(logs.pop(self._first_of_middle(logs)))
        if removed:
            for removed_match, removed_process, _ in removed:
                self._path(name, removed_match, removed_process).unlink(missing_ok=True)
            self._note_left_out(name, removed)

    def files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot in a match, one for each process, in order."""
        start = f"{match:06d}-{escape_file_name(bot)}-"
        files = {path.stem.removeprefix(start): path for path in self._folder.glob(f"{start}*.txt")}
        return [files[number] for number in sorted(filter(str.isdecimal, files), key=int)]  # "2-1" is that of bot-2

    def _first_of_middle(self, logs: list[_Log]) -> int:
        """Return the index of the first file after the first half of the allowed size; never the last file."""
        size = 0
        for index, log in enumerate(logs[:-1]):
            size += _disk_size(log)
            if size > self._max_bytes // 2:
                return index
        return len(logs) - 2

    def _note_left_out(self, name: str, logs: list[_Log]) -> None:
        """Add removed files to the counts in the bot's left-out.txt."""
        path = self._folder / f"{name}.left-out.txt"
        counts = _LEFT_OUT_PATTERN.match(path.read_bytes()) if path.is_file() else None
        counted_kb, counted_files = (int(counts[1]), int(counts[2])) if counts else (0, 0)
        added_kb = sum(-(-size // 1000) for _, _, size in logs)  # rounded up
        replace_file(path, _LEFT_OUT.format(counted_kb + added_kb, counted_files + len(logs)))

    def _files(self) -> dict[str, list[_Log]]:
        """Return the files by bot; the first call lists those of earlier sessions."""
        if self._by_bot is None:
            self._by_bot = {}
            for path in self._folder.iterdir():
                if fields := _NAME.fullmatch(path.name):
                    log = (int(fields[1]), int(fields[3]), path.stat().st_size)
                    insort(self._by_bot.setdefault(fields[2], []), log)
        return self._by_bot

    def _path(self, name: str, match: int, process: int) -> Path:
        return self._folder / f"{match:06d}-{name}-{process}.txt"


def _disk_size(log: _Log) -> int:
    return max(_BLOCK, log[2])


def escape_file_name(bot: str) -> str:
    """Return a bot's name, escaped for use in a file name; different names have different results."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):05x}" for c in bot)


def record_file_name(match: int) -> str:
    """Return the name of a match's file in the folder of the records."""
    return f"{match:06d}.jsonl"


def new_run_folder_name(parent: str) -> Path:
    """Return a path in `parent` for a new run: the local time and six random hex digits."""
    return Path(parent, f"{time.strftime('%Y-%m-%d-%H%M%S')}-{secrets.token_hex(3)}")


class FolderError(Exception):
    """The folder can't be used; the message states the reason and a remedy in one line."""


class RunFolder:
    """A run's folder. `results_of` returns the results of a record's text, or raises FolderError."""

    def __init__(self, path: Path, results_of: Callable[[str], tuple[GameResult, ...]]) -> None:
        self.path = path
        self._results_of = results_of
        self._logs = LogFolder(self.logs)
        self._stored: dict[int, None] = {}  # the stored matches, in order of storing
        # Results until `results` returns them; pickled, a game takes 80 bytes.
        self._unread_results: dict[int, tuple[GameResult, ...] | bytes] = {}
        self._lines: dict[int, str] = {}  # that can't be written yet, since an earlier match is missing
        self._samples: dict[str, tuple[StoredFaultSample, ...]] = {}  # contents of the bots' files, once read
        self._voids: list[FailedMatch] = []
        # results.jsonl: the first match that it lacks, and its size up to the last complete match.
        self._next_listed, self._listed_bytes = 0, 0
        self._locked: int | None = None

    @property
    def records(self) -> Path:
        """The folder of the records."""
        return self.path / "records"

    @property
    def logs(self) -> Path:
        """The folder of the bots' standard error."""
        return self.path / "logs"

    def create(self, config: dict[str, Any], fill: Callable[[], object] = lambda: None) -> None:
        """Create the folder, call `fill`, and write run.json last, so that a folder with run.json is complete.

        config: the content of run.json. Raises FolderError if the folder exists or can't be created or filled; a new
        folder that isn't complete is removed at any exception.
        """
        self.refuse_existing()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.mkdir(mode=0o700)
            try:
                self.records.mkdir()
                self.logs.mkdir()
                fill()
                replace_file(self.path / "run.json", json.dumps(config, indent=2) + "\n")
            except BaseException:
                remove_tree(self.path)
                raise
        except OSError as error:
            raise FolderError(f"{self.path} can't be created: {error.strerror}; name another --out") from None

    def refuse_existing(self) -> None:
        """Raise FolderError if a file or folder exists at the path."""
        if os.path.exists(self.path / "run.json"):  # Path.exists raises if the name is too long
            raise FolderError(f"{self.path} exists; name another --out, or continue with --resume {self.path}")
        if os.path.lexists(self.path):
            raise FolderError(f"{self.path} exists; name another --out")

    def end(self) -> None:
        """Write the number of matches into run.json as `ended`, and the abandoned ones.

        Raises OSError if the file can't be written, FolderError if it can't be read.
        """
        abandoned = sorted({void.match for void in self._voids if void.is_last} - self._stored.keys())
        config = {**self.config(), "ended": len(self._stored), "abandoned": abandoned}
        replace_file(self.path / "run.json", json.dumps(config, indent=2) + "\n")

    def lock(self) -> None:
        """Lock the run until `unlock` or the end of this process. Raises FolderError if another process has it.

        This does nothing if the folder is missing, or its file system has no locks.
        """
        try:
            self._locked = os.open(self.path, os.O_RDONLY)
            fcntl.flock(self._locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            raise FolderError(
                f"{self.path} is in use by another arena process; wait until it ends, or stop it"
            ) from None
        except OSError:
            pass

    def unlock(self) -> None:
        """Release the lock, if this object has it."""
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def config(self) -> dict[str, Any]:
        """Return the contents of run.json. Raises FolderError if it is unreadable, invalid or writable for others."""
        file = self.path / "run.json"
        try:
            text = file.read_text(encoding="utf-8")
            self._require_own_file(self.path)
            self._require_own_file(file)
            config = json.loads(text)
        except (FileNotFoundError, NotADirectoryError):
            raise FolderError(
                f"{self.path} isn't the folder of a run: it has no run.json; name another folder"
            ) from None
        except OSError as error:
            raise FolderError(f"{file} can't be read: {error.strerror}; check its permissions") from None
        except (ValueError, RecursionError):
            raise FolderError(f"{file} isn't valid JSON: it was changed; start a new run") from None
        if not isinstance(config, dict):
            raise FolderError(f"{file} isn't a JSON object: it was changed; start a new run")
        return config

    def _require_own_file(self, path: Path) -> None:
        """Raise FolderError if another user owns or may write run.json, or its folder: it could name any command.

        The folder may be a link, the file may not. Raises OSError if the path can't be read.
        """
        if path.is_symlink() and path != self.path:
            raise FolderError(f"{path} is a link, and says which programs are started: put the file in its place")
        status = path.stat()
        if status.st_uid != os.geteuid():
            raise FolderError(
                f"{path} belongs to user {status.st_uid}, and says which programs are started as you: "
                "continue as that user, or start a new run"
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise FolderError(
                f"others may write to {path}, which says which programs are started as you: "
                f"look through run.json, then chmod go-w {path}"
            )

    def restore(self) -> None:
        """Delete incomplete records and fault samples, and read the matches that are stored, in match order.

        results.jsonl then contains all matches before the first missing one, so that `save` can continue it in order.
        Raises FolderError if a record is incomplete, OSError if results.jsonl or a missing folder can't be written.
        """
        for folder in (self.records, self.logs):
            folder.mkdir(exist_ok=True)  # git, for example, copies no empty folder
        for folder in (self.path, self.records, self.path / "faults"):
            for leftover in folder.glob("*.jsonl.tmp"):
                leftover.unlink()
        self._next_listed, self._listed_bytes = 0, 0
        self._lines.clear()
        self._stored.clear()
        replace_file(self.path / "results.jsonl", "")
        self._read_new_records()
        self._write_result_lines()

    def list_missing(self, matches: Iterable[int]) -> list[int]:
        """Return the given matches that aren't stored, in the same order."""
        return [match for match in matches if match not in self._stored]

    def save(self, played: PlayedMatch) -> None:
        """Store a match, unless it is already stored.

        Raises OSError if writing fails, FolderError if a file of the folder is invalid; the match is stored even then
        if its record is complete.
        """
        if self.record(played.match).exists():
            self._read_new_records()
        else:
            for bot, number, data in played.logs:
                self._logs.add(played.match, bot, number, data)
            self._write_samples(played)
            replace_file(self.record(played.match), played.record)
            self._note_match(played.match, played.results)
            self._unread_results[played.match] = played.results
        self._write_result_lines()

    def add_failed_attempt(self, void: FailedMatch) -> None:
        """Note a failed attempt, in memory only."""
        self._voids.append(void)

    def list_matches(self) -> tuple[int, ...]:
        """Return the stored matches, in order of storing; earlier sessions come first."""
        return tuple(self._stored)

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a stored match. Raises KeyError for any other."""
        if match not in self._stored:
            raise KeyError(match)
        results = self._unread_results.pop(match, None)
        if results is None:
            return self._read_results(match)
        return pickle.loads(results) if isinstance(results, bytes) else results

    def fault_samples(self, bot: str) -> tuple[StoredFaultSample, ...]:
        """Return a bot's first fault samples of each kind in stored matches. Raises FolderError for an invalid file."""
        return tuple(sample for sample in self._read_samples(bot) if sample.match in self._stored)

    def list_failed_attempts(self) -> tuple[FailedMatch, ...]:
        """Return the failed attempts of this session, in order."""
        return tuple(self._voids)

    def finish(self) -> None:
        """Write all stored matches to results.jsonl, skipping missing ones.

        Raises OSError if the file can't be written, FolderError if a record can't be read.
        """
        self._read_new_records()  # Ctrl-C may have interrupted `save` after it wrote a record
        self._write_result_lines(over_gaps=True)

    def record(self, match: int) -> Path:
        """Return the path of a match's record, which may not exist yet."""
        return self.records / record_file_name(match)

    def read(self, match: int) -> str:
        """Return the text of a stored match's record."""
        return self.record(match).read_text(encoding="utf-8")

    def log_files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot's standard error in a match, one for each process, in order."""
        return self._logs.files(match, bot)

    def fault_sample_file(self, bot: str) -> Path:
        """Return the path of a bot's fault samples; the file exists if it has any."""
        return self.path / "faults" / f"{escape_file_name(bot)}.jsonl"

    def _read_samples(self, bot: str) -> tuple[StoredFaultSample, ...]:
        """Return the samples in a bot's file, including those of matches that aren't stored; the file is read once.

        Raises FolderError if the file is invalid, OSError if it can't be read.
        """
        if bot not in self._samples:
            file = self.fault_sample_file(bot)
            try:
                lines = file.read_text(encoding="utf-8").splitlines()
                self._samples[bot] = tuple(map(StoredFaultSample.from_line, lines))
            except FileNotFoundError:
                self._samples[bot] = ()
            except (KeyError, TypeError, ValueError) as error:
                raise FolderError(f"{file} was changed: {error}; remove the file, and resume") from None
        return self._samples[bot]

    def _write_samples(self, played: PlayedMatch) -> None:
        """Update the fault samples of the match's bots.

        Raises FolderError if a file is invalid, OSError if one can't be written.
        """
        for bot in sorted({bot for result in played.results for bot in result.seats}):
            stored = self._read_samples(bot)
            of_other_matches = [sample for sample in stored if sample.match != played.match]
            of_match = [sample for sample in played.fault_samples if sample.bot == bot]
            samples = select_samples([*of_other_matches, *of_match])
            if samples != stored:
                file = self.fault_sample_file(bot)
                file.parent.mkdir(exist_ok=True)
                replace_file(file, "".join(sample.to_line() for sample in samples))
                self._samples[bot] = samples

    def _read_new_records(self) -> None:
        """Read the records that aren't in `_stored` yet."""
        numbers = [int(path.stem) for path in self.records.glob("*.jsonl") if path.stem.isdecimal()]
        for match in sorted(set(numbers) - self._stored.keys()):
            if self.record(match).is_file():
                results = self._read_results(match)
                self._note_match(match, results)
                self._unread_results[match] = pickle.dumps(results)

    def _note_match(self, match: int, results: tuple[GameResult, ...]) -> None:
        self._lines[match] = _lines_of(results)
        self._stored[match] = None  # last: an interrupted run reads the match from its record

    def _read_results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a match from its record. Raises FolderError if it isn't a complete record of it."""
        try:
            results = self._results_of(self.read(match))
            if results[0].match != match:
                raise FolderError(f"it is the record of match {results[0].match}")
            return results
        except (FolderError, UnicodeDecodeError) as error:
            path = self.record(match)
            raise FolderError(f"{path}: {error}; remove the file, and --resume plays the match again") from None

    def _write_result_lines(self, *, over_gaps: bool = False) -> None:
        """Append lines to results.jsonl up to the first missing match; with `over_gaps`, those of all stored matches.

        First remove incomplete lines of an interrupted call. If another process has truncated the file, write all lines
        again. Raises OSError if the file can't be written, FolderError if a record can't be read.
        """
        start, size = self._next_listed, self._listed_bytes
        end = max(self._lines, default=-1) + 1 if over_gaps else start
        while end in self._lines:
            end += 1
        new_matches = [match for match in sorted(self._lines) if start <= match < end]
        with (self.path / "results.jsonl").open("ab") as file:
            lost_matches: list[int] = []
            if file.tell() < size:
                lost_matches = [match for match in sorted(self._stored) if match < start]
                size = 0
            file.truncate(size)
            for match in lost_matches:
                size += file.write(_lines_of(self._read_results(match)).encode())
            for match in new_matches:
                size += file.write(self._lines[match].encode())
        self._next_listed, self._listed_bytes = max(start, end), size
        for match in new_matches:
            del self._lines[match]


def _lines_of(results: Iterable[GameResult]) -> str:
    return "".join(result.to_line() for result in results)
