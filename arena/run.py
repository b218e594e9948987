"""One run of `arena run`: what was asked for, the jobs it makes, and its way through the runner to its folder.

A run is a function of its config: plan, seats and cards all come from its key, so `--resume` needs nothing else. The
config is what run.json holds.
"""

import hashlib
import hmac
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arena import __version__
from arena.bots import Bot, check_unchanged
from arena.coup import COUP, Ruleset, derived
from arena.coup.ruleset_data import from_dict, to_dict
from arena.job import Job, play
from arena.referee import ArenaError, MatchResult, MatchSpec, RecordError, Timing, read, results
from arena.sandbox import Program, remove_tree
from ladder.board import Tally
from ladder.folder import FolderError, RunFolder
from ladder.runner import Completed, Idle, Voided, run
from ladder.schedule import Plan, Shuffle, plan, seatings
from ladder.workers import Workers

VERSION = 1  # of run.json
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run was asked to be. `games` is the number asked for; `seed` is None where the key was drawn at random."""

    bots: tuple[Bot, ...]
    seats: int
    games: int
    match_games: int
    key: bytes
    seed: int | None = None
    rules: Ruleset = COUP
    timing: Timing = field(default_factory=Timing)
    strict: bool = False
    open_names: bool = False
    sandbox: str = "process"

    def plan(self) -> Plan:
        """Return who plays whom. Raises ValueError, with what is allowed, for numbers that make no plan."""
        return plan(len(self.bots), self.seats, self.games, self.match_games, keyed_shuffle(self.key, "schedule"))

    def spec(self, match: int, bots: Sequence[int]) -> MatchSpec:
        """Return the spec of one match."""
        key = derived(self.key, f"match|{match}")
        return MatchSpec(
            match=match,
            key=key,
            bots=tuple(self.bots[bot].name for bot in bots),
            seatings=seatings(self.seats, self.match_games, keyed_shuffle(key, "seats")),
            rules=self.rules,
            timing=self.timing,
            lives=1 if self.strict else 3,
            open_names=self.open_names,
        )

    def to_json(self) -> dict[str, Any]:
        """Return what run.json holds."""
        return {
            "run": VERSION,
            "arena": __version__,
            **asdict(self),
            "key": self.key.hex(),
            "rules": to_dict(self.rules),
            "bots": [{**asdict(bot), "path": str(bot.path), "cwd": str(bot.cwd)} for bot in self.bots],
        }

    @classmethod
    def from_json(cls, config: dict[str, Any]) -> "RunConfig":
        """Return the config that run.json holds. Raises FolderError for one of another version or form."""
        if config.get("run") != VERSION:
            raise FolderError(
                f"run.json has version {config.get('run')!r}, this arena reads version {VERSION}: "
                f"go on with the arena that began it ({config.get('arena')!r})"
            )
        try:
            fields = {name: config[name] for name in cls.__dataclass_fields__}
            fields["key"] = bytes.fromhex(config["key"])
            fields["rules"] = from_dict(config["rules"])
            fields["timing"] = Timing(**config["timing"])
            fields["bots"] = tuple(
                Bot(
                    **{
                        **bot,
                        "path": Path(bot["path"]),
                        "cwd": Path(bot["cwd"]),
                        "argv": tuple(bot["argv"]),
                        "build": tuple(bot["build"]) if bot["build"] else None,
                    }
                )
                for bot in config["bots"]
            )
            read_config = cls(**fields)
            read_config.plan()
            return read_config
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise FolderError(f"run.json was changed: {problem!r}; start a new run") from None


def seed_key(seed: int | None) -> bytes:
    """Return the run's key: from the seed, or from the system's randomness for None."""
    return os.urandom(32) if seed is None else hashlib.sha256(f"coup-arena seed {seed}".encode()).digest()


def keyed_shuffle(key: bytes, purpose: str) -> Shuffle:
    """Return a shuffle for the schedule: items in the order of their own HMACs, so any number of them is shuffled."""

    def shuffle(items: Sequence[int], label: str) -> tuple[int, ...]:
        return tuple(sorted(items, key=lambda item: hmac.digest(key, f"{purpose}|{label}|{item}".encode(), "sha256")))

    return shuffle


def program(bot: Bot) -> Program:
    """Return how to start a bot."""
    return Program(bot.argv, bot.cwd)


@dataclass(slots=True)
class Progress:
    """How far a run is. `given_up` lists (match, reason); `requests` and `startup_s` are of this session alone."""

    plan: Plan
    tally: Tally
    began: float
    done: int = 0
    resumed: int = 0
    voided: int = 0
    given_up: list[tuple[int, str]] = field(default_factory=list)
    requests: int = 0
    startup_s: float = 0.0
    seconds: float = 0.0

    @property
    def fresh_games(self) -> int:
        """Return the number of games that this session played."""
        return (self.done - self.resumed) * self.plan.match_games


class Run:
    """A run over its folder. Iterate `play` to its end, or stop: `progress` is true at any moment."""

    def __init__(self, config: RunConfig, folder: RunFolder, clock: Callable[[], float] = time.monotonic) -> None:
        self.config = config
        self.folder = folder
        self._clock = clock
        self.progress = Progress(config.plan(), Tally([bot.name for bot in config.bots]), clock())

    def load(self) -> None:
        """Count what is complete already, and remove what a killed run left in the temporary folder."""
        for lines in self.folder.load():
            self.progress.done += 1
            for line in lines:
                self.progress.tally.add(line)
        self.progress.resumed = self.progress.done
        self._remove_scratch()

    def _remove_scratch(self) -> None:
        """Remove the scratch folders that earlier sessions of this run noted."""
        note = self.folder.path / "scratch.txt"
        if note.exists():
            for line in note.read_text().splitlines():
                path = Path(line)
                if path.name.startswith("arena-") and path.is_dir() and path.stat().st_uid == os.getuid():
                    _remove(path)
            note.unlink()

    def play(self, jobs: int) -> Iterator[Completed[Job, MatchResult] | Voided[Job] | Idle]:
        """Play what isn't complete, and yield what happens. Raises BotError if a bot's files change."""
        progress = self.progress
        have = set(self.folder.complete())
        programs = [program(bot) for bot in self.config.bots]
        scratch = Path(tempfile.gettempdir(), f"arena-{secrets.token_hex(8)}")
        note = self.folder.path / "scratch.txt"
        note.write_text(f"{scratch}\n")  # before there is anything that a kill could leave
        scratch.mkdir(mode=0o700)
        todo = (
            Job(self.config.spec(table.match, table.bots), tuple(programs[bot] for bot in table.bots), scratch)
            for table in progress.plan.tables
            if table.match not in have
        )
        jobs = max(1, min(jobs, progress.plan.matches))
        workers = Workers(jobs)
        checked = self._clock()
        try:
            for event in run(todo, play, workers, 2 * jobs, (ArenaError,), Job.clean):
                if self._clock() - checked > _CHECK_S:
                    check_unchanged(self.config.bots)
                    checked = self._clock()
                match event:
                    case Completed(job, result):
                        logs = [(job.spec.bots[bot], number, data) for bot, number, data in result.logs]
                        for line in self.folder.save(result.match, result.record, logs):
                            progress.tally.add(line)
                        progress.done += 1
                        progress.requests += result.requests
                        progress.startup_s += result.startup_s
                    case Voided(job, reason, given_up):
                        progress.voided += 1
                        if given_up:
                            progress.given_up.append((job.spec.match, reason))
                progress.seconds = self._clock() - progress.began
                yield event
            check_unchanged(self.config.bots)
        finally:
            workers.shutdown(cancel_futures=True)
            _remove(scratch)
            note.unlink(missing_ok=True)
            progress.done = 0
            for lines in self.folder.finish():  # Ctrl-C may have come between keeping a match and counting it
                progress.done += 1
                for line in lines:
                    progress.tally.add(line)
            progress.seconds = self._clock() - progress.began


def _remove(scratch: Path) -> None:
    """Remove a run's scratch folder, piece by piece: `remove_tree` works beside its root, and may be killed there."""
    with suppress(OSError):  # what can't be removed stays; the results matter more
        for path in scratch.iterdir():
            remove_tree(path)
        scratch.rmdir()


def record_results(text: str) -> list[dict[str, Any]]:
    """Return the lines of results.jsonl of a record's text. Raises FolderError if it can't be read."""
    try:
        return results(read(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None
