"""Build the bots of a new run, add their kits, and test-start each of them before the run has a folder.

In the test each bot starts, answers the hello and plays its first moves.

Builds use a sibling folder of the run's own, `<run>.building`. It contains `logs/`, the output of the builds, and
`bots/`: copies of bots that lacked their kit, and in an isolating sandbox the results of builds. Both move into the
run's folder when it is created; after a failed build the logs remain. The folder is locked while it is in use and
contains the file `unfinished`. A folder with that file but without a lock belongs to a killed process, and the next
run removes it."""

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from arena.bots import Bot, BuildError, build_all, build_in_box, copy_with_kit, relocate_bot
from arena.checks import CheckSettings, CheckStep, Severity, Timeouts, open_check_threads, smoke_test
from arena.run.config import RunConfig
from arena.run.run_folder import FolderError, RunFolder
from arena.sandbox import Sandbox, lock_folder, programs_of, remove_tree

BUILD_S = 600  # of a bot's build command
_UNFINISHED = "unfinished"
Config = TypeVar("Config", bound=RunConfig)


class RunBuilds:
    """The builds of the bots of a new run. `run`: the run's future folder."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self.path = run.absolute().with_name(f"{run.name}.building")
        self._bots = self.path / "bots"
        self._logs = self.path / "logs"
        self._lock: int | None = None

    def build(self, config: Config, box: Sandbox) -> Config:
        """Return the config with its bots built: in the box if the sandbox isolates, else in their own folders.

        The builds' folder stays locked until `settle` or `discard`. Raises BuildError if a build fails, whose logs
        remain; BotError if a bot's build can't start or its files aren't accepted, FolderError if the builds' folder is
        in use or contains other files, SandboxError or OSError if this machine fails.
        """
        try:
            self._claim_folder()
            bots = self._add_kits(config.bots, config.sandbox.isolates)
            if config.sandbox.isolates:
                built = build_in_box(bots, box, programs_of(config.sandbox.name), self._bots, self._logs, BUILD_S)
            else:
                built = build_all(bots, self._logs, BUILD_S)
        except BuildError:
            self._keep_logs()
            raise
        except BaseException:
            self.discard()
            raise
        return replace(config, bots=tuple(built))

    def _add_kits(self, bots: Sequence[Bot], is_boxed: bool) -> list[Bot]:
        """Return the bots with their kits added; a bot that plays under several names is copied once."""
        copies: dict[Path, Bot] = {}
        for number, bot in enumerate(bots):
            if bot.path not in copies:
                copies[bot.path] = copy_with_kit(bot, is_boxed, self._bots / f"kit-{number:02d}")
        return [replace(copies[bot.path], name=bot.name) for bot in bots]

    def settle(self, config: Config, folder: RunFolder) -> Config:
        """Create the run's folder, move the builds into it, and return the config with the bots' new paths.

        Raises FolderError if the folder exists, or can't be created or filled.
        """
        new_bots = folder.path.absolute() / "bots"
        settled = replace(config, bots=tuple(relocate_bot(bot, self._bots, new_bots) for bot in config.bots))
        if self._lock is None:  # nothing was built
            folder.create(settled.to_json())
            return settled
        folder.create(settled.to_json(), lambda: self._move_to(new_bots, folder.logs))
        remove_tree(self.path)
        self._unlock()
        return settled

    def _move_to(self, bots: Path, logs: Path) -> None:
        """Move the builds to the path `bots`, and each log into the folder `logs`."""
        if self._bots.is_dir():
            self._bots.rename(bots)
        for log in self._logs.iterdir() if self._logs.is_dir() else ():
            log.rename(logs / log.name)

    def discard(self) -> None:
        """Remove the builds and their logs."""
        if self._lock is not None:  # else nothing was built, and an existing folder isn't ours
            remove_tree(self.path)
            self._unlock()

    def _keep_logs(self) -> None:
        """Remove the builds but keep their logs, for the author."""
        remove_tree(self._bots)
        with suppress(OSError):
            (self.path / _UNFINISHED).unlink()
        self._unlock()

    def remove_dead(self) -> None:
        """Remove what arenas that were killed in a build left next to this run's folder."""
        for path in self.path.parent.glob("*.building"):
            with suppress(OSError):  # it vanished, or can't be read
                if not _is_build_folder(path) or not (path / _UNFINISHED).exists():
                    continue
                lock = lock_folder(path)
                if lock is not None:  # no arena uses it
                    remove_tree(path)
                    os.close(lock)

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _claim_folder(self) -> None:
        """Create, lock and empty the builds' folder. Raises FolderError if it is in use or contains other files."""
        if os.path.lexists(self.path) and not _is_build_folder(self.path):
            raise FolderError(f"{self.path} exists already; remove it, or name another --out")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            if problem.errno == errno.ENOSPC:
                raise  # this machine fails, whatever the name
            raise FolderError(f"{self._run} can't be created: {problem.strerror}; name another --out") from None
        self._lock = lock_folder(self.path)
        if self._lock is None:
            raise FolderError(f"another arena is building in {self.path}; wait until it ends, or name another --out")
        (self.path / _UNFINISHED).touch()
        remove_tree(self._bots)
        remove_tree(self._logs)


def _is_build_folder(path: Path) -> bool:
    """Return whether a folder belongs to this user and contains only files of builds.

    Raises OSError if the folder can't be read.
    """
    if not path.is_dir() or path.is_symlink() or path.stat().st_uid != os.getuid():
        return False
    return {entry.name for entry in path.iterdir()} <= {"bots", "logs", _UNFINISHED}


_MAX_BOXES = 16  # at once, the maximum for a sandbox's counters per user
_MAX_WAIT_S = 12.0  # for an answer; a slower bot isn't checked further
_SHORT_S = 2.0  # a bot may miss a lower limit only because all bots start at once
_WAKE_S = 0.5  # the maximum delay of Ctrl-C: Python handles signals once the main thread wakes


@dataclass(frozen=True, slots=True)
class RejectedBot:
    """A bot that can't play: the step of its check that failed."""

    bot: Bot
    step: CheckStep


def preflight_all(
    config: RunConfig, sandbox: Sandbox, scratch: Path, on_mute: Callable[[Bot], None]
) -> list[RejectedBot]:
    """Test-start all bots of a run but its language models, and return the ones that can't play, in order.

    A request may take as long as in a match, but at least two seconds, since all bots run at the same time. A bot that
    is silent for twelve seconds, which a match would allow, counts as able to play. on_mute: called, from any thread,
    for a bot that is silent for two seconds. Raises SandboxError or OSError if this machine fails.
    """
    timing = config.settings.timing
    allowed_s = max(_SHORT_S, (timing.limit_ms + timing.bank_ms) / 1000)
    settings = CheckSettings(
        sandbox=sandbox,
        choice=config.sandbox,
        scratch=scratch,
        match_settings=config.settings,
        rules=(config.settings.rules,),
        seats=config.seats,
        hello_s=timing.start_ms / 1000,
        timeouts=Timeouts(min(allowed_s, _MAX_WAIT_S), 0.0),
        silence_fails=allowed_s <= _MAX_WAIT_S,
    )
    bots = [bot for bot in config.bots if not bot.is_model]
    rejections = _test_together(bots, settings, on_mute)
    is_start_rushed = settings.hello_s < _SHORT_S and len(bots) > (os.cpu_count() or 1)
    if not is_start_rushed:
        return rejections
    retried = ((rejection.bot, smoke_test(rejection.bot, settings, lambda: None)) for rejection in rejections)
    return _list_rejections(retried)


def _test_together(bots: Sequence[Bot], settings: CheckSettings, on_mute: Callable[[Bot], None]) -> list[RejectedBot]:
    """Test-start the bots at the same time, and return the ones that can't play, in order.

    The first SandboxError or OSError of a test is raised at once.
    """
    with open_check_threads(settings, max(1, min(_MAX_BOXES, len(bots)))) as (threads, shared_settings):
        tests = [threads.submit(smoke_test, bot, shared_settings, partial(on_mute, bot)) for bot in bots]
        pending = set(tests)
        while pending:
            completed, pending = wait(pending, _WAKE_S, FIRST_EXCEPTION)
            for test in completed:
                test.result()
        return _list_rejections(zip(bots, [test.result() for test in tests], strict=True))


def _list_rejections(steps: Iterable[tuple[Bot, CheckStep]]) -> list[RejectedBot]:
    return [RejectedBot(bot, step) for bot, step in steps if step.severity is Severity.FAIL]
