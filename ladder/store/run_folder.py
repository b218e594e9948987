"""Store a run in a folder: the store interface, records, logs, fault samples and atomic writes.

    run.json         the request, the key, the bots with their digests; written first. `ended` is added at the end
    results.jsonl    one line a game in match order; derived from the records, never read back
    records/         one file a match, 000012.jsonl; exists only when its match is complete
    logs/            standard error by process, 000012-honest-1.txt. A bot's first and last files are kept, up to
                     MAX_LOG_BYTES; honest.left-out.txt contains the size of the rest
    faults/          the first fault samples of each kind, a file for each bot: honest.jsonl

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
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ladder.results import GameResult

MAX_SAMPLES_PER_FAULT = 3  # exchanges that are kept of each kind of fault of a bot: one to show, two to compare it with


@dataclass(frozen=True, slots=True)
class StoredFaultSample:
    """What a bot was sent and what it answered, as it crossed the pipe, without the newline.

    code: the kind of fault. game, step: None if the fault belongs to none. got: None if nothing came.
    facts: names and values of what is known of its cause; older exchanges have none.
    """

    match: int
    bot: str
    code: str
    game: int | None
    step: int | None
    sent: bytes
    got: bytes | None
    facts: tuple[tuple[str, Any], ...] = ()

    def to_line(self) -> str:
        """Return the exchange as a line of JSON in ASCII; bytes that aren't UTF-8 are half surrogates in it."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields |= {name: None if fields[name] is None else _text(fields[name]) for name in ("sent", "got")}
        fields["facts"] = dict(self.facts)
        return json.dumps(fields, separators=(",", ":")) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "StoredFaultSample":
        """Return the exchange that `to_line` wrote. Raises ValueError for any other line."""
        try:
            fields = json.loads(line)
            sent, got = fields.pop("sent"), fields.pop("got")
            fields["facts"] = tuple(fields.get("facts", {}).items())
            return cls(**fields, sent=_bytes(sent), got=None if got is None else _bytes(got))
        except (AttributeError, KeyError, TypeError, RecursionError) as problem:
            raise ValueError(f"no exchange: {problem!r}") from None


def select_samples(exchanges: Iterable[StoredFaultSample]) -> tuple[StoredFaultSample, ...]:
    """Return the exchanges that a store keeps: of each kind of fault of a bot those of its first matches.

    They are the same in whatever order the matches were played. In the order of the matches; of one match in the order
    given.
    """
    kept: dict[tuple[str, str], list[StoredFaultSample]] = defaultdict(list)
    for exchange in sorted(exchanges, key=lambda each: each.match):
        kept[exchange.bot, exchange.code].append(exchange)
    few = [exchange for each in kept.values() for exchange in each[:MAX_SAMPLES_PER_FAULT]]
    return tuple(sorted(few, key=lambda each: each.match))


def _text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


@dataclass(frozen=True, slots=True)
class SlotUsage:
    """The cost of a bot in a match: requests, microseconds of all of them and of the slowest, bytes of memory."""

    requests: int = 0
    time_us: int = 0
    slowest_us: int = 0
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PlayedMatch:
    """Hold a match that was played to its end.

    record: the text from which the match can be replayed. results: one a game, in the order of play.
    logs: (bot, process number, standard error) of each process. exchanges: the first faulty one of each bot and kind.
    spent: what each bot took, styles: what it did, as JSON; where they are known.
    """

    match: int
    record: str
    results: tuple[GameResult, ...]
    logs: tuple[tuple[str, int, bytes], ...] = ()
    exchanges: tuple[StoredFaultSample, ...] = ()
    spent: tuple[tuple[str, SlotUsage], ...] = ()
    styles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class FailedMatch:
    """Hold an attempt at a match that the host failed. `is_last`: it was the last attempt of this session."""

    match: int
    reason: str
    is_last: bool


class Store(Protocol):
    """Keep the matches of one run."""

    def todo(self, matches: Iterable[int]) -> list[int]:
        """Return those of the matches that aren't kept, in the same order; void ones are among them."""

    def keep(self, played: PlayedMatch) -> None:
        """Keep a match, once: of a match that comes twice the first counts.

        The match is kept whole or not at all, whenever the process dies. Raises OSError if the store can't take it.
        """

    def void(self, void: FailedMatch) -> None:
        """Note that an attempt at a match was void."""

    def kept(self) -> Sequence[int]:
        """Return the kept matches in the order in which they were kept: those of earlier sessions first."""

    def results(self, match: int) -> tuple[GameResult, ...]:
        """Return the results of a kept match. Raises KeyError for any other."""

    def exchanges(self, bot: str) -> Sequence[StoredFaultSample]:
        """Return the first few fault samples of a bot in stored matches, also of those of earlier sessions."""

    def voids(self) -> Sequence[FailedMatch]:
        """Return the failed attempts in order; perhaps of this session alone."""

    def finish(self) -> None:
        """End a session, also one that was interrupted at any moment. Raises OSError if the store can't be written."""


def replace_file(path: Path, text: str) -> None:
    """Replace a file by one with this text, which is on the disk when this returns. Raises OSError."""
    scratch = path.with_name(path.name + ".tmp")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)  # never the group's
    with open(descriptor, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    scratch.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


MAX_LOG_BYTES = 2 << 20  # a bot: 32 processes that write all that is kept of one, or 512 that write little
_BLOCK = 4096  # what a file takes on a disk at least
_NAME = re.compile(r"(\d{6,})-(.+)-(\d+)\.txt")
_LEFT_OUT = "{} kB in {} files left out: the first and the last are kept\n"
_LEFT_OUT_BEFORE = re.compile(rb"([0-9]{1,18}) kB in ([0-9]{1,18}) files ")

_Log = tuple[int, int, int]  # match, process, bytes


class LogFolder:
    """The logs in a folder, which others only add to by this object."""

    def __init__(self, folder: Path, kept_bytes: int = MAX_LOG_BYTES) -> None:
        self._folder = folder
        self._kept = kept_bytes
        self._of: dict[str, list[_Log]] | None = None  # bot -> its files in order; None until they are needed

    def add(self, match: int, bot: str, process: int, data: bytes) -> None:
        """Keep what a process wrote, and leave out what is too much. Raises OSError."""
        name = escape_file_name(bot)
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
        start = f"{match:06d}-{escape_file_name(bot)}-"
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
        replace_file(path, _LEFT_OUT.format(kilobytes, files + len(logs)))

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


def escape_file_name(bot: str) -> str:
    """Return a bot's name as a part of a file's name: no two names give the same."""
    return "".join(c if c.isalnum() or c in "-_." else f"%{ord(c):05x}" for c in bot)


def record_file_name(match: int) -> str:
    """Return the name of the file that holds the record of a match."""
    return f"{match:06d}.jsonl"


def new_run_folder_name(parent: str) -> Path:
    """Return a name for a folder of its own: the time, and six digits in hex for those that begin in one second."""
    return Path(parent, f"{time.strftime('%Y-%m-%d-%H%M%S')}-{secrets.token_hex(3)}")


class FolderError(Exception):
    """The folder can't be used; the message says in one line why, and what to do."""


class RunFolder:
    """A run's folder. `results_of` turns a record's text into the results of its games, or raises FolderError."""

    def __init__(self, path: Path, results_of: Callable[[str], tuple[GameResult, ...]]) -> None:
        self.path = path
        self._results_of = results_of
        self._logs = LogFolder(self.logs)
        self._kept: dict[int, None] = {}  # the kept matches, in the order in which they were kept
        # Their results until they are asked for; packed, a game takes 80 bytes.
        self._unasked: dict[int, tuple[GameResult, ...] | bytes] = {}
        self._lines: dict[int, str] = {}  # those that can't be written yet, since a match before is missing
        self._faulty: dict[str, tuple[StoredFaultSample, ...]] = {}  # what the bots' files hold that were looked at
        self._voids: list[FailedMatch] = []
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
            replace_file(self.path / "run.json", json.dumps(config, indent=2) + "\n")
        except OSError as problem:
            raise FolderError(f"{self.path} can't be made: {problem.strerror}; name another --out") from None

    def refuse_existing(self) -> None:
        """Raise FolderError if there is something where the folder is to be made."""
        if os.path.exists(self.path / "run.json"):  # Path.exists raises where the name is too long
            raise FolderError(f"{self.path} exists; name another --out, or continue with --resume {self.path}")
        if os.path.lexists(self.path):
            raise FolderError(f"{self.path} exists; name another --out")

    def end(self) -> None:
        """Write into run.json that the run has ended, and with how many matches. Raises OSError, FolderError."""
        config = {**self.config(), "ended": len(self._kept)}
        replace_file(self.path / "run.json", json.dumps(config, indent=2) + "\n")

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
        """Return what run.json holds. Raises FolderError if it can't be read, or others may write it."""
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
                "continue as that user, or start a new run"
            )
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise FolderError(
                f"others may write to {path}, which says which programs are started as you: "
                f"look through run.json, then chmod go-w {path}"
            )

    def load(self) -> None:
        """Read the matches that earlier sessions stored, in match order.

        results.jsonl then ends where the first match is missing, so that `keep` can continue it in order.
        Raises FolderError at a record that isn't whole.
        """
        for folder in (self.path, self.records, self.path / "faults"):
            for leftover in folder.glob("*.jsonl.tmp"):
                leftover.unlink()
        self._listed = (0, 0)
        self._lines.clear()
        replace_file(self.path / "results.jsonl", "")
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
            replace_file(self.record(played.match), played.record)
            self._note(played.match, played.results)
            self._unasked[played.match] = played.results
        self._list()

    def void(self, void: FailedMatch) -> None:
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

    def exchanges(self, bot: str) -> tuple[StoredFaultSample, ...]:
        """Return the first faulty exchanges of each kind of a bot in kept matches. Raises FolderError if changed."""
        return tuple(exchange for exchange in self._exchanges(bot) if exchange.match in self._kept)

    def voids(self) -> tuple[FailedMatch, ...]:
        """Return the void attempts of this session, in order."""
        return tuple(self._voids)

    def finish(self) -> None:
        """Bring results.jsonl up to all kept matches, over the gaps. Raises OSError, FolderError as `load` does."""
        self._take_in()  # Ctrl-C may have come between the writing of a record and the noting of its results
        self._list(over_gaps=True)

    def record(self, match: int) -> Path:
        """Return where the record of a match is or will be."""
        return self.records / record_file_name(match)

    def read(self, match: int) -> str:
        """Return the record of a kept match."""
        return self.record(match).read_text(encoding="utf-8")

    def log_files(self, match: int, bot: str) -> list[Path]:
        """Return the files of a bot's standard error in a match, one a process, in order."""
        return self._logs.files(match, bot)

    def exchanges_file(self, bot: str) -> Path:
        """Return where a bot's faulty exchanges are, if it has any."""
        return self.path / "faults" / f"{escape_file_name(bot)}.jsonl"

    def _exchanges(self, bot: str) -> tuple[StoredFaultSample, ...]:
        """Return what a bot's file holds, also of matches that aren't kept."""
        if bot not in self._faulty:
            file = self.exchanges_file(bot)
            try:
                lines = file.read_text(encoding="utf-8").splitlines()
                self._faulty[bot] = tuple(map(StoredFaultSample.from_line, lines))
            except FileNotFoundError:
                self._faulty[bot] = ()
            except (KeyError, TypeError, ValueError) as problem:
                raise FolderError(f"{file} was changed: {problem}; remove it, and resume") from None
        return self._faulty[bot]

    def _keep_exchanges(self, played: PlayedMatch) -> None:
        """Write the files that the match changes."""
        for bot in sorted({bot for result in played.results for bot in result.seats}):
            before = self._exchanges(bot)
            others = [exchange for exchange in before if exchange.match != played.match]
            new = [exchange for exchange in played.exchanges if exchange.bot == bot]
            after = select_samples([*others, *new])
            if after != before:
                file = self.exchanges_file(bot)
                file.parent.mkdir(exist_ok=True)
                replace_file(file, "".join(exchange.to_line() for exchange in after))
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
        self._kept[match] = None  # last: an interrupted run reads the match from its record

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
            cut = out.tell() < size  # by another process
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
