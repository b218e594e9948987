"""Store the calls of a run: a line for each, and what the run has used of its budget.

    journal.jsonl      one line a call, see docs/reference/models.md
    reserved.jsonl     one short line before each call: what it may use at most. A call without a line in the journal
                       was cut off by a crash, and counts in full
    system-....txt     the system prompts, by the `system` of the journal's lines

All methods belong to one thread, that of the client."""

import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from arena.run.report import ModelCalls

FOLDER = "models"  # in the folder of a run
_JOURNAL, _RESERVATIONS = "journal.jsonl", "reserved.jsonl"
Line = dict[str, Any]
CallKey = tuple[int, int, str, int, int]  # match, game, player, request, attempt


@dataclass(slots=True)
class Usage:
    """What was used: answered calls, tokens, dollars. It is also the most that a call may use."""

    calls: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens, self.dollars + other.dollars)


@dataclass(slots=True)
class PlayerCalls:
    """The calls of a player in a run. done: how often each thing was done with a call, by the first word of `done`.

    failures: of the provider, by reason. replaced: default moves, by reason.
    """

    used: Usage = field(default_factory=Usage)
    is_priced: bool = False
    seconds: float = 0.0
    done: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    replaced: Counter[str] = field(default_factory=Counter)


class Journal:
    """The journal in `folder`, None for none. `is_open(match)`: this match's calls may be replayed.

    is_read_only: no file is changed, as another process may write them. Raises OSError if a file can't be read or
    written.
    """

    def __init__(
        self, folder: Path | None, is_open: Callable[[int], bool] = lambda match: True, *, is_read_only: bool = False
    ) -> None:
        self._folder = folder
        self.used = Usage()
        self.players: dict[str, PlayerCalls] = {}
        self.last_line: Line | None = None
        self.reserved: dict[int, Usage] = {}  # of calls that are being made
        self._last_number = 0
        self._replays: dict[tuple[CallKey, str], Line] = {}
        self._journal: IO[str] | None = None
        self._reservations: IO[str] | None = None
        if folder is None:
            return
        if not is_read_only:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for name in (_RESERVATIONS, _JOURNAL):
                _cut_off_incomplete_line(folder / name)
        self._read(folder, is_open)
        if not is_read_only:
            self._journal = _open_to_append(folder / _JOURNAL)
            self._reservations = _open_to_append(folder / _RESERVATIONS)

    def _read(self, folder: Path, is_open: Callable[[int], bool]) -> None:
        """Count the use of the calls in the files of a folder; one without a line in the journal counts in full."""
        for line in _read_lines(folder / _RESERVATIONS):
            self.reserved[line["call"]] = Usage(1, line["tokens"], line["dollars"])
        lines = _read_lines(folder / _JOURNAL)
        self._last_number = max([0, *self.reserved, *(line["call"] for line in lines)])
        for line in lines:
            self._count(line)
            if "answer" in line and is_open(line["match"]):
                self._replays[_key_of(line), line["digest"]] = line
        self.used = sum(self.reserved.values(), self.used)  # calls that a crash cut off
        self.reserved.clear()

    def find(self, key: CallKey, digest: str) -> Line | None:
        """Return the line of the answered call of the same request with the same digest, None without one."""
        return self._replays.get((key, digest))

    def reserve(self, max_usage: Usage) -> int:
        """Reserve what a call may use at most, and return the call's number. Raises OSError."""
        self._last_number += 1
        self.reserved[self._last_number] = max_usage
        line = {"call": self._last_number, "tokens": max_usage.tokens, "dollars": max_usage.dollars}
        _write_line(self._reservations, line)
        return self._last_number

    def add(self, line: Line, system: str) -> None:
        """Add the line of a call that has ended; `used` of the line replaces what was reserved.

        system: its prompt, which is stored once, in a file of its own, that `system` of the line names. Raises OSError.
        """
        if self._folder is not None:
            line["system"] = sha256(system.encode()).hexdigest()[:16]
            file = self._folder / f"system-{line['system']}.txt"
            if not file.exists():
                file.write_text(system, encoding="utf-8")
        self._count(line)
        _write_line(self._journal, line)

    def close(self) -> None:
        """Close the files, if any."""
        for file in (self._journal, self._reservations):
            if file is not None:
                file.close()

    def _count(self, line: Line) -> None:
        """Add a line's use to the totals of the run and of its player, and release what was reserved for it."""
        self.last_line = line
        self.reserved.pop(line["call"], None)
        calls, tokens, dollars = line["used"]
        used = Usage(calls, tokens, dollars or 0.0)
        self.used += used
        player = self.players.setdefault(line["player"], PlayerCalls())
        player.used += used
        player.is_priced = dollars is not None
        player.seconds += line["seconds"]
        outcome, _, reason = line["done"].partition(": ")
        player.done[outcome] += 1
        if outcome == "provider":
            player.failures[reason] += 1
        elif outcome == "default move":
            player.replaced[reason] += 1


def _write_line(file: IO[str] | None, line: Line) -> None:
    """Append a line to a file, if there is one, at once."""
    if file is not None:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")
        file.flush()


def _key_of(line: Line) -> CallKey:
    return line["match"], line["game"], line["player"], line["request"], line["attempt"]


def read_calls(folder: Path) -> list[Line]:
    """Return the lines of the journal of a run's folder, in order; [] without a journal.

    Raises OSError if the journal can't be read.
    """
    return _read_lines(folder / FOLDER / _JOURNAL)


def report_calls(folder: Path) -> list[ModelCalls]:
    """Return the calls of each model player of a run. Raises OSError if the journal can't be read."""
    with closing(Journal(folder / FOLDER, is_read_only=True)) as journal:
        return [_report_player(name, calls) for name, calls in sorted(journal.players.items())]


def count_cut_off(folder: Path) -> int:
    """Return the number of calls that a crash cut off, or that are open; the budget counts them in full.

    Raises OSError like `report_calls`.
    """
    with closing(Journal(folder / FOLDER, is_read_only=True)) as journal:
        return journal.used.calls - sum(player.used.calls for player in journal.players.values())


def _report_player(name: str, calls: PlayerCalls) -> ModelCalls:
    """Return a player's calls as `--json` shows them; `dollars` is None without a price."""
    return ModelCalls(
        player=name,
        calls=calls.used.calls,
        tokens=calls.used.tokens,
        dollars=round(calls.used.dollars, 6) if calls.is_priced else None,
        seconds=round(calls.seconds, 3),
        played=calls.done["played"],
        asked_again=calls.done["asked again"],
        default_moves=dict(calls.replaced),
        provider_failures=dict(calls.failures),
    )


def _cut_off_incomplete_line(file: Path) -> None:
    data = file.read_bytes() if file.exists() else b""
    end = data.rfind(b"\n") + 1
    if end < len(data):
        os.truncate(file, end)


def _read_lines(file: Path) -> list[Line]:
    """Return the lines of a file, [] without one. Raises OSError if it can't be read.

    An incomplete last line and damaged lines are left out: their calls count in full, as if a crash had cut them off.
    """
    data = file.read_bytes() if file.exists() else b""
    lines = []
    for line in data[: data.rfind(b"\n") + 1].splitlines():
        with suppress(ValueError):
            lines.append(json.loads(line))
    return lines


def _open_to_append(file: Path) -> IO[str]:
    return open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600), "a", encoding="utf-8")
