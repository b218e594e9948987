"""Verify records: replay them, and compare a folder's records with the plan in its run.json or final.json.

The plan's key determines the matches, their keys, tables, seats and handles; the plan's file also contains the match
settings, and run.json the digests of the bots' files. Three things can't be verified: whether a bot really made a
recorded choice, how long it took, and faults that left no trace in the moves.
"""

import json
import shlex
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from arena import referee
from arena.escaping import escape_control
from arena.run.config import INVALID_DATA_ERRORS, RunConfig, seed_key
from arena.run.record_reading import RecordFileError, find_record_files, read_record_file
from arena.run.run_folder import FolderError, record_file_name
from arena.run.session import FinalPlan

_MAX_SHOWN = 20  # differences
_MAX_CHARACTERS = 300  # of a difference


@dataclass(frozen=True, slots=True)
class VerificationReport:
    """The numbers of replayed records and games, and the differences found.

    stopped: how the folder itself says that not all planned matches were played; None if it doesn't. note: what the
    plan leaves open; None if nothing.

    faults: recorded ones; a replay can't verify them. planned: the number of matches in the folder's plan, None without
    a plan. differences: texts, at most 20 and then the number of the rest. Without any, all moves are legal, and
    all events and results are reproduced.
    """

    records: int
    games: int
    faults: int
    planned: int | None
    differences: tuple[str, ...] = ()
    stopped: str | None = None
    note: str | None = None


def verify_all(path: Path, *configs: type[RunConfig]) -> VerificationReport:
    """Replay the records at a path, and compare a folder's records with its plan and its results.jsonl.

    configs: the config classes that run.json may have, in addition to RunConfig. Raises RecordFileError if there is no
    record, an incomplete one, or an unreadable plan.
    """
    folder = _Folder(path, configs)
    differences = folder.differences()
    examples = [_shorten(difference) for difference in islice(differences, _MAX_SHOWN)]
    omitted = sum(1 for _ in differences)
    if omitted:
        examples.append(f"and {omitted} more")
    planned = None if folder.plan is None else len(folder.tables)
    note = None
    if isinstance(folder.plan, FinalPlan) and folder.plan.max_extra_rounds:
        rounds = f"{len(folder.plan.extra_rounds)} of at most {folder.plan.max_extra_rounds} extra rounds"
        note = f"final.json has {rounds}; a replay can't verify whether a tie made more necessary"
    return VerificationReport(
        len(folder.files), folder.games, folder.faults, planned, tuple(examples), folder.stopped, note
    )


def _shorten(difference: str) -> str:
    text = escape_control(difference)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}..."


class _Folder:
    """The records at a path, and their plan, if there is one. Raises RecordFileError if it can't be verified.

    games, faults: of the records, once `differences` has been read to its end. tables: the planned bots by match.
    """

    def __init__(self, path: Path, configs: tuple[type[RunConfig], ...]) -> None:
        self.path = path
        self.files = find_record_files(path)
        self.games = self.faults = 0
        self.final_matches = 0  # the number of matches at the end of the run; 0 if it hasn't ended
        self.abandoned: set[int] = set()
        try:
            self.plan = self._load_plan(configs) if path.is_dir() else None
            self.tables = {} if self.plan is None else {table.match: table.bots for table in self.plan.plan().tables}
        except (*INVALID_DATA_ERRORS, FolderError, RecursionError) as problem:
            raise RecordFileError(f"{path} can't be verified: {problem}") from None
        except OSError as problem:
            raise RecordFileError(f"{path} can't be verified: {problem.filename}: {problem.strerror}") from None
        self.by_match = {int(file.stem): file for file in self.files if file.stem.isdecimal()}
        self.missing = sorted(self.tables.keys() - self.by_match.keys())
        self.stopped = None if self.plan is None else self._describe_stop()

    def _load_plan(self, configs: tuple[type[RunConfig], ...]) -> RunConfig | FinalPlan | None:
        """Set `final_matches` and `abandoned` by final.json or run.json, and return its plan; None without such a file.

        Raises FolderError, or the error of an invalid value, if the file was changed, OSError if it can't be read.
        """
        final_file, run_file = self.path / "final.json", self.path / "run.json"
        file = final_file if final_file.exists() else run_file
        if not file.exists():
            return None
        values: dict[str, Any] = json.loads(file.read_text("utf-8"))
        self.final_matches = int(values.get("ended", 0))
        self.abandoned = set(map(int, values.get("abandoned", ())))
        if file == final_file:
            return FinalPlan.from_json(values)
        config_by_command = {config.COMMAND: config for config in configs}
        return config_by_command.get(values.get("command", ""), RunConfig).from_json(values)

    def _describe_stop(self) -> str | None:
        """Return how run.json or final.json says that the run stopped early; None if it doesn't, or isn't true."""
        count_text = f"{len(self.tables) - len(self.missing)} of {len(self.tables)} planned matches are in the folder"
        if isinstance(self.plan, RunConfig) and not self.final_matches:
            return f"the run was stopped before its end: {count_text}"
        if self.missing and self.abandoned.issuperset(self.missing):
            return f"matches were abandoned, such as match {self.missing[0]}: {count_text}"
        return None

    def list_matches(self) -> list[int]:
        """Return the matches that have a record."""
        return [*self.by_match]

    def results(self, match: int) -> tuple[referee.GameResult, ...]:
        """Return the results of a match that has a record.

        Raises RecordFileError if the record can't be read or replayed.
        """
        return tuple(referee.game_results(read_record_file(self.by_match[match])))

    def differences(self) -> Iterator[str]:
        """Yield a text for each difference from the plan, the replay and results.jsonl; count games and faults.

        Raises RecordFileError if a record isn't complete.
        """
        plan = self.plan
        if isinstance(plan, RunConfig) and plan.seed is not None and plan.key != seed_key(plan.seed):
            yield f"{self.path / 'run.json'}: the key is not the one of seed {plan.seed}"
        yield from self._commitment_differences()
        lacks_files = len(self.files) < self.final_matches
        if lacks_files:
            yield f"{self.path}: {self.final_matches} matches were played, but {len(self.files)} are in the folder"
        are_records_valid = True
        for difference in self._record_differences():
            are_records_valid = False
            yield difference
        if not self.missing or self.stopped is not None or lacks_files:
            return
        if not (are_records_valid and isinstance(plan, RunConfig) and plan.is_decided(self)):
            yield (
                f"{self.path}: {len(self.missing)} of {len(self.tables)} planned matches are missing, "
                f"such as match {self.missing[0]}{self._resume_hint('plays them')}"
            )

    def _commitment_differences(self) -> Iterator[str]:
        """Yield a text if the published commitment of a final doesn't fit its plan."""
        published = self.path / "published.txt"
        if isinstance(self.plan, FinalPlan):
            if not published.is_file() or published.read_text("utf-8", "replace") != self.plan.publication():
                yield f"{published} doesn't match the commitment in final.json: its key, terms or versions"
        elif self.path.is_dir() and published.exists():
            yield f"{published} is the commitment of a final, but final.json is missing"

    def _record_differences(self) -> Iterator[str]:
        """Yield the differences of records and results.jsonl, and count games and faults; read each file once.

        Raises RecordFileError if a record isn't complete.
        """
        results_file = self.path / "results.jsonl"
        has_results = self.path.is_dir() and results_file.is_file()
        with results_file.open("rb") if has_results else nullcontext() as results:
            comparison = None if results is None else _ResultsComparison(results)
            for file, record in self._read_records():
                yield from (f"{file}: {difference}" for difference in self._find_differences_of(file, record))
                self.games += len(record.games)
                self.faults += sum(len(game.faults) for game in record.games)
                if comparison is not None:
                    comparison.add(record)
            yield from self._results_differences(results_file, comparison)

    def _results_differences(self, file: Path, comparison: "_ResultsComparison | None") -> Iterator[str]:
        """Yield a text if results.jsonl differs from the records. comparison: with all of them; None without a file."""
        if comparison is None:
            if self.plan is not None:
                yield f"{file} is missing{self._resume_hint('writes it')}"
            return
        was_killed = isinstance(self.plan, RunConfig) and not self.final_matches  # before it wrote all results
        if not comparison.is_equal(may_lack_lines=was_killed):
            yield f"{file} differs from the records{self._resume_hint('rewrites it')}"

    def _read_records(self) -> Iterator[tuple[Path, referee.Record]]:
        """Yield each file with its record. Raises RecordFileError if a record isn't complete."""
        for file in self.files:
            try:
                yield file, read_record_file(file)
            except RecordFileError as problem:
                raise RecordFileError(f"{problem}; only a complete record can be verified") from None

    def _resume_hint(self, effect: str) -> str:
        """Return the command that resumes the run, with its effect; "" if it can't be resumed."""
        if not isinstance(self.plan, RunConfig):
            return ""
        return f"; arena {self.plan.COMMAND} --resume {shlex.quote(str(self.path))} {effect}"

    def _find_differences_of(self, file: Path, record: referee.Record) -> Iterator[str]:
        """Yield the differences of a record from the planned match of its file name, and from its replay."""
        match = int(file.stem) if file.stem.isdecimal() else -1
        if self.plan is not None and (file.name != record_file_name(match) or match not in self.tables):
            yield f"the plan has no match of this name: it has {len(self.tables)} matches"
        elif self.plan is not None:
            yield from _compare_with_spec(record, self.plan.spec(match, self.tables[match]))
        try:
            referee.verify_record(record)
        except referee.RecordError as problem:
            yield str(problem)


def _compare_with_spec(record: referee.Record, spec: referee.MatchSpec) -> Iterator[str]:
    """Yield the differences of a record's head and seats from those of the planned match."""
    stored, planned = _flatten_header(record.header), _flatten_header(spec.header)
    for name in [*planned, *(stored.keys() - planned.keys())]:
        if stored.get(name) != planned.get(name):
            yield f"{name} is {stored.get(name)} in the record, but {planned.get(name)} in the plan"
    if len(record.games) != len(spec.seatings):
        yield f"the record has {len(record.games)} games, the plan {len(spec.seatings)}"
    for game, seats in zip(record.games, spec.seatings, strict=False):
        if game.seating != seats:
            yield f"game {game.game}: the seats are {game.seating} in the record, but {seats} in the plan"


class _ResultsComparison:
    """Compares an open results.jsonl with the results of records, in the order of its lines."""

    def __init__(self, results: BinaryIO) -> None:
        self._results = results
        self._agrees, self._lacks_lines = True, False

    def add(self, record: referee.Record) -> None:
        """Compare the next lines with those of the next record."""
        lines = "".join(result.to_line() for result in referee.game_results(record)).encode()
        stored = self._results.read(len(lines))
        self._agrees &= lines.startswith(stored)
        self._lacks_lines |= stored != lines

    def is_equal(self, may_lack_lines: bool) -> bool:
        """Return, after all records, whether the file has their lines alone, maybe without the last ones."""
        return self._agrees and (may_lack_lines or not self._lacks_lines) and not self._results.read(1)


def _flatten_header(header: referee.MatchHeader) -> dict[str, object]:
    """Return the fields of a header by their names in records; fields of nested objects have dotted names."""
    fields: dict[str, object] = {field: getattr(header, field) for field in header.__dataclass_fields__}
    fields |= {"key": header.key.hex(), "terms": header.settings.to_json()}
    del fields["settings"]
    while nested_names := [name for name, value in fields.items() if isinstance(value, dict)]:
        for name in nested_names:
            values = fields.pop(name)
            assert isinstance(values, dict)
            fields |= {f"{name}.{key}": value for key, value in values.items()}
    return fields
