"""A job on its way to any worker of any machine, and what the worker does with it.

The sender first sends the job alone. A worker whose machine lacks bots answers with MissingError, and gets the same job
with the archives of those bots. They stay in the machine's cache, which is bounded, for all its workers and later runs.

A worker refuses (RefusedError) where its machine may not play: another version of the arena, no such sandbox, for bots
of strangers no control groups, no room on the disk. Nothing was tried then, so it's no attempt. Bots are strangers'
unless the sandbox is the plain process, which is for authors who are trusted.
"""

import io
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from arena import __version__
from arena.bots import ArchiveError, BotCache, NotHereError, PortableBot
from arena.referee import ArenaError
from arena.run.job import Job, Played
from arena.run.worker import NoRoomError, Worker, begin, begun
from arena.sandbox import FULL, Choice, why_no_strangers
from ladder.pool import RefusedError

_MOST_BYTES = 4 << 30  # of a machine's cache: some thousand bots, which come again if they are needed again


_fit: set[Choice] = set()  # what a trial box has worked for in this process; it takes a third of a second


class MissingError(Exception):
    """Say which bots a worker's machine lacks, by their digests; to send them along helps."""

    def __init__(self, digests: tuple[str, ...]) -> None:
        super().__init__(digests)
        self.digests = digests

    def __str__(self) -> str:
        """Return it in one line."""
        return f"the cache of this machine lacks {', '.join(self.digests)}"


@dataclass(frozen=True, slots=True)
class Parcel:
    """A job, the version of the arena that sends it, and archives (made by `pack`) of bots that were missing."""

    job: Job
    arena: str = __version__
    archives: tuple[tuple[PortableBot, bytes], ...] = ()


def cache_folder() -> Path:
    """Return where this machine's bots are kept: $ARENA_CACHE, else `coup-arena/bots` in the user's cache folder."""
    named = os.environ.get("ARENA_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "coup-arena" / "bots"


def check_machine(arena: str, choice: Choice) -> None:
    """Raise RefusedError if this process may not play for an arena of that version in that sandbox."""
    if arena != __version__:
        raise RefusedError(f"it has version {__version__} of the arena, not {arena}")
    if choice.isolates and choice not in _fit:
        why = why_no_strangers(choice)
        if why is not None:
            raise RefusedError(f"strangers' bots can't play there in {choice.name}: {why}")
        _fit.add(choice)


def play_parcel(parcel: Parcel) -> Played:
    """Play the match of a parcel in this process, which becomes a worker if it isn't one yet.

    Raises RefusedError, MissingError, or ArenaError where this machine failed.
    """
    check_machine(parcel.arena, parcel.job.choice)
    worker = _worker()
    try:
        for bot, archive in parcel.archives:
            worker.cache.put(bot, io.BytesIO(archive))
        if parcel.archives:
            worker.cache.trim(_MOST_BYTES)
        with ExitStack() as stack:
            _hold(worker.cache, parcel.job.bots, stack)
            return worker.play(parcel.job)
    except NoRoomError as problem:
        raise RefusedError(str(problem)) from problem
    except (ArchiveError, NotHereError) as problem:
        raise ArenaError(str(problem)) from problem
    except OSError as problem:
        if problem.errno in FULL:
            raise RefusedError(f"no room for bots in {cache_folder()}: free some, or set ARENA_CACHE") from problem
        raise ArenaError(str(problem)) from problem


def _worker() -> Worker:
    worker = begun()
    if worker is None:
        try:
            folder = cache_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except (OSError, RuntimeError) as problem:  # there may be no user of this number, as in some containers
            raise RefusedError(f"no folder for bots ({problem}): set ARENA_CACHE") from problem
        begin(folder)
        worker = begun()
        assert worker is not None
    return worker


def _hold(cache: BotCache, bots: tuple[PortableBot, ...], stack: ExitStack) -> None:
    """Keep the bots in the cache as long as the stack lasts. Raises MissingError."""
    missing = []
    for bot in bots:
        try:
            stack.enter_context(cache.held(bot))
        except NotHereError:
            missing.append(bot.digest)
    if missing:
        raise MissingError(tuple(dict.fromkeys(missing)))
