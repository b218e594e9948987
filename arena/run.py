"""One run of `arena run`: what was asked for, the jobs it makes, and its way through the runner to its folder.

A run is a function of its config: plan, seats and cards all come from its key, so `--resume` needs nothing else. The
config is what run.json holds.
"""

import hashlib
import hmac
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from arena import __version__
from arena.bots import Bot, Programs, check_unchanged
from arena.coup import COUP, Ruleset, derived
from arena.coup.ruleset_data import from_dict, to_dict
from arena.job import FULL, Job, NoRoomError, no_room, play
from arena.locked_folder import locked
from arena.referee import ArenaError, MatchResult, MatchSpec, RecordError, Timing, read, results
from arena.sandbox import Limits, Program, remove_tree
from arena.sandbox.choice import BOX_PATH, Choice, sweep, sweep_all
from ladder.board import Tally
from ladder.folder import FolderError, RunFolder
from ladder.runner import Completed, Idle, Voided, run
from ladder.schedule import Plan, Shuffle, plan, seatings
from ladder.workers import Workers

VERSION = 2  # of run.json
PAUSES_S = (2.0, 10.0)  # after a match's first and second void: a Docker daemon restarts in some seconds
GIVE_UP = 3  # matches given up in a row, none played between them: then it's this machine, and the run stops
_SCRATCH = "arena-run-"  # how the names of scratch folders begin; no other folder may be called so
_CHECK_S = 1.0  # how often the bots' files are compared with their digests while games are played


class HostError(Exception):
    """Say in one line why no match can be played on this machine."""


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
    sandbox: Choice = field(default_factory=Choice)
    limits: Limits = field(default_factory=Limits)

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
            limits=self.limits,
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
            fields["sandbox"] = Choice(**config["sandbox"])
            fields["limits"] = Limits(**config["limits"])
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
    return Program(bot.argv, bot.cwd, files=bot.path)


def programs(choice: Choice) -> Programs:
    """Return what runs bots in a sandbox: the user's programs, those that a box finds first, or those of an image."""
    if choice.name == "bubblewrap":
        return Programs(sys.executable, os.pathsep.join([BOX_PATH, os.environ.get("PATH", os.defpath)]))
    if choice.name == "docker":
        return Programs("python3", image=True)
    return Programs(sys.executable)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for temporary files that is ours alone, and remove it afterwards.

    As long as it is in use it is locked, so that whoever comes after a kill -9 knows what may go: see
    `remove_dead_scratch`. Raises OSError, which for want of room says so.
    """
    while True:
        path = Path(tempfile.gettempdir(), f"{_SCRATCH}{secrets.token_hex(8)}")
        try:
            path.mkdir(mode=0o700)
        except OSError as problem:
            if problem.errno in FULL:
                raise OSError(problem.errno, no_room(path.parent)) from problem
            raise
        lock = locked(path)
        if lock is not None:
            break  # else another arena took it for a dead one's before it was locked
    try:
        yield path
    finally:
        _remove(path)
        os.close(lock)


def remove_dead_scratch() -> None:
    """Remove the scratch folders of arenas that were killed: our user's, and locked by nobody."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
            lock = locked(path)
            if lock is not None:
                _remove(path)
                os.close(lock)


def clean_up(choice: Choice) -> None:
    """Remove what arenas that were killed left on this machine: folders, groups, containers, whatever they chose."""
    remove_dead_scratch()
    sweep_all(choice.name)


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
        """Count what is complete already."""
        for lines in self.folder.load():
            self.progress.done += 1
            for line in lines:
                self.progress.tally.add(line)
        self.progress.resumed = self.progress.done

    def play(self, jobs: int) -> Iterator[Completed[Job, MatchResult] | Voided[Job] | Idle]:
        """Play what isn't complete, and yield what happens.

        Raises BotError if a bot's files change, HostError if this machine fails again and again, or has no room for
        temporary files. An OSError is one of the results.
        """
        with ExitStack() as stack:
            try:
                scratch = stack.enter_context(scratch_folder())
            except OSError as problem:
                raise HostError(problem.strerror or str(problem)) from problem
            try:
                yield from self._play(jobs, scratch)
            except NoRoomError as problem:
                raise HostError(str(problem)) from problem

    def _play(self, jobs: int, scratch: Path) -> Iterator[Completed[Job, MatchResult] | Voided[Job] | Idle]:
        progress = self.progress
        have = set(self.folder.complete())
        choice = self.config.sandbox
        starts = [program(bot) for bot in self.config.bots]
        todo = (
            Job(self.config.spec(table.match, table.bots), tuple(starts[bot] for bot in table.bots), scratch, choice)
            for table in progress.plan.tables
            if table.match not in have
        )
        jobs = max(1, min(jobs, progress.plan.matches))
        workers = Workers(jobs)
        lost = 0
        checked = self._clock()
        try:
            for event in run(todo, play, workers, 2 * jobs, (ArenaError,), Job.clean, PAUSES_S):
                if self._clock() - checked > _CHECK_S:
                    check_unchanged(self.config.bots)
                    checked = self._clock()
                match event:
                    case Completed(job, result):
                        logs = [(job.spec.bots[bot], number, data) for bot, number, data in result.logs]
                        for line in self.folder.save(result.match, result.record, logs):
                            progress.tally.add(line)
                        progress.done += 1
                        lost = 0
                        progress.requests += result.requests
                        progress.startup_s += result.startup_s
                    case Voided(job, reason, given_up):
                        progress.voided += 1
                        if given_up:
                            progress.given_up.append((job.spec.match, reason))
                            lost += 1
                progress.seconds = self._clock() - progress.began
                yield event
                if lost >= GIVE_UP:
                    raise HostError(f"{GIVE_UP} matches in a row were void too often: {progress.given_up[-1][1]}")
            check_unchanged(self.config.bots)
        finally:
            workers.shutdown(cancel_futures=True)
            sweep(choice.name)  # what a worker that had to be killed left
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
            if path.exists():  # on a full disk, which has no room for a folder beside it; a tree too deep stays
                with suppress(RecursionError):
                    shutil.rmtree(path, ignore_errors=True)
        scratch.rmdir()


def record_results(text: str) -> list[dict[str, Any]]:
    """Return the lines of results.jsonl of a record's text. Raises FolderError if it can't be read."""
    try:
        return results(read(text))
    except RecordError as problem:
        raise FolderError(str(problem)) from None
