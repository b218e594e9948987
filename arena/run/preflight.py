"""Build the bots of a new run, add their kits, and test-start each of them before the run has a folder.

In the test each bot starts, answers the hello and plays its first moves.

Builds use a sibling folder of the run's own, `<run>.building`. It contains `logs/`, the output of the builds, and
`bots/`: copies of bots that lacked their kit, and in an isolating sandbox the results of builds. Both move into the
run's folder when it is created; after a failed build the logs remain. The folder is locked while it is in use and
contains the file `unfinished`. A folder with that file but without a lock belongs to a killed process, and the next
run removes it."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from arena.bots import Bot, BuildError, build_all, build_in_box, relocate_bot, with_kit
from arena.checks import CheckSettings, CheckStep, Severity, Timeouts, open_check_threads, smoke_test
from arena.run.config import RunConfig
from arena.sandbox import Sandbox, lock_folder, programs_of, remove_tree
from ladder.store import FolderError, RunFolder

BUILD_S = 600  # how long a bot's build command may take
_UNFINISHED = "unfinished"
Config = TypeVar("Config", bound=RunConfig)


class RunBuilds:
    """The builds of the run that will lie in the folder `run`."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self.path = run.absolute().with_name(f"{run.name}.building")
        self._bots = self.path / "bots"
        self._logs = self.path / "logs"
        self._lock: int | None = None

    def build(self, config: Config, box: Sandbox) -> Config:
        """Return the config with its bots built: in the box if the box isolates, else where they lie.

        Raises BotError if a build fails, FolderError if something else, or another arena, has the builds' place.
        """
        try:
            self._take()
            given = self._with_kits(config.bots, config.sandbox.isolates)
            if config.sandbox.isolates:
                bots = build_in_box(given, box, programs_of(config.sandbox.name), self._bots, self._logs, BUILD_S)
            else:
                bots = build_all(given, self._logs, BUILD_S)
        except BuildError:
            self._keep_logs()
            raise
        except BaseException:
            self.discard()
            raise
        return replace(config, bots=tuple(bots))

    def _with_kits(self, bots: Sequence[Bot], boxed: bool) -> list[Bot]:
        """Return the bots as they are built and played; a bot that plays under several names is copied once."""
        copies: dict[Path, Bot] = {}
        for number, bot in enumerate(bots):
            if bot.path not in copies:
                copies[bot.path] = with_kit(bot, boxed, self._bots / f"kit-{number:02d}")
        return [replace(copies[bot.path], name=bot.name) for bot in bots]

    def settle(self, config: Config, folder: RunFolder) -> Config:
        """Create the run's folder, move the builds into it, and return the config with their new places."""
        inside = folder.path.absolute() / "bots"
        config = replace(config, bots=tuple(relocate_bot(bot, self._bots, inside) for bot in config.bots))

        def fill() -> None:
            if self._lock is not None:
                if self._bots.is_dir():
                    self._bots.rename(inside)
                for log in self._logs.iterdir() if self._logs.is_dir() else ():
                    log.rename(folder.logs / log.name)

        folder.create(config.to_json(), fill)
        if self._lock is not None:
            remove_tree(self.path)
        self._unlock()
        return config

    def discard(self) -> None:
        """Remove what was built, and the logs."""
        if self._lock is not None:  # else nothing was built: what is there is another's
            remove_tree(self.path)
            self._unlock()

    def _keep_logs(self) -> None:
        """Leave what the builds said to the author."""
        remove_tree(self._bots)
        with suppress(OSError):
            (self.path / _UNFINISHED).unlink()
        self._unlock()

    def remove_dead(self) -> None:
        """Remove what arenas that were killed in a build left next to this run's folder."""
        for path in self.path.parent.glob("*.building"):
            with suppress(OSError):  # it vanished, or can't be looked into
                if _of_builds(path) and (path / _UNFINISHED).exists():
                    lock = lock_folder(path)
                    if lock is not None:
                        remove_tree(path)
                        os.close(lock)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _take(self) -> None:
        """Make the folder and lock it, without what an earlier build left. Raises FolderError if it isn't ours now."""
        if os.path.lexists(self.path) and not _of_builds(self.path):
            raise FolderError(f"{self.path} exists, where bots would be built; remove it, or name another --out")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (FileNotFoundError, NotADirectoryError, PermissionError) as problem:
            raise FolderError(f"{self._run} can't be made: {problem.strerror}; name another --out") from None
        self._lock = lock_folder(self.path)
        if self._lock is None:
            raise FolderError(f"another arena builds into {self.path} now; wait for it, or name another --out")
        (self.path / _UNFINISHED).touch()
        remove_tree(self._bots)
        remove_tree(self._logs)


def _of_builds(path: Path) -> bool:
    """Return whether a folder is this user's and holds nothing but what builds make. Raises OSError."""
    ours = path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()
    return ours and not {found.name for found in path.iterdir()} - {"bots", "logs", _UNFINISHED}


_AT_ONCE = 16  # boxes of one user, as many as a sandbox's own counters allow for
_MAX_WAIT_S = 12.0  # that an answer is waited for; a slower bot isn't checked further
_SHORT_S = 2.0  # a limit below it may be missed because all start at once
_WAKE_S = 0.5  # in which Ctrl-C is heard at the latest


@dataclass(frozen=True, slots=True)
class RejectedBot:
    """A bot that can't play: the step of its check that failed."""

    bot: Bot
    step: CheckStep


def preflight_all(config: RunConfig, sandbox: Sandbox, scratch: Path, mute: Callable[[Bot], None]) -> list[RejectedBot]:
    """Look at all bots of a run, and return those that can't play, in their order.

    `mute` is called, from any thread, for a bot that says nothing for two seconds after its hello. A bot has the times
    of a match, and two seconds at least for a request, since the others compute at the same time. Raises SandboxError
    or OSError if this machine failed.
    """
    timing = config.terms.timing
    allowed_s = max(_SHORT_S, (timing.limit_ms + timing.bank_ms) / 1000)
    exam = CheckSettings(
        sandbox=sandbox,
        choice=config.sandbox,
        scratch=scratch,
        terms=config.terms,
        rules=(config.terms.rules,),
        seats=config.seats,
        hello_s=timing.start_ms / 1000,
        timeouts=Timeouts(min(allowed_s, _MAX_WAIT_S), 0.0),
        silence_fails=allowed_s <= _MAX_WAIT_S,
    )
    with open_check_threads(exam, min(_AT_ONCE, len(config.bots))) as (threads, shared):
        looks = [threads.submit(smoke_test, bot, shared, partial(mute, bot)) for bot in config.bots]
        waiting = set(looks)
        while waiting:  # a signal that another thread was given is seen once this one wakes
            done, waiting = wait(waiting, _WAKE_S, FIRST_EXCEPTION)
            for look in done:
                look.result()
        steps = [look.result() for look in looks]
    failed = [
        RejectedBot(bot, step) for bot, step in zip(config.bots, steps, strict=True) if step.severity is Severity.FAIL
    ]
    if exam.hello_s < _SHORT_S and len(config.bots) > (os.cpu_count() or 1):
        failed = [again for each in failed if (again := _alone(each, exam)) is not None]
    return failed


def _alone(rejected: RejectedBot, exam: CheckSettings) -> RejectedBot | None:
    """Look once more at a bot, while no other runs."""
    step = smoke_test(rejected.bot, exam, lambda: None)
    return RejectedBot(rejected.bot, step) if step.severity is Severity.FAIL else None
