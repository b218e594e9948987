"""Where the bots of a new run get their kits and are built, before the run has a folder.

There is a folder beside the run's own for it: `<run>.building`. It has `logs/`, what the builds said, and `bots/`: the
copies of bots that lacked their kit, and in a sandbox that isolates what was built. Both move into the run's folder
when that is made. Of a build that failed the logs stay.

The folder is locked while it is in use, and has the file `unfinished`. One that has that file, and that nobody has
locked, is that of an arena that was killed: the next run beside it removes it.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from arena.bots import Bot, BuildError, build_all, build_in_box, completed, relocated
from arena.run.config import RunConfig
from arena.sandbox import Sandbox, locked, programs_of, remove_tree
from ladder.store import FolderError, RunFolder

BUILD_S = 600  # how long a bot's build command may take
_UNFINISHED = "unfinished"
Config = TypeVar("Config", bound=RunConfig)


class Building:
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
                copies[bot.path] = completed(bot, boxed, self._bots / f"kit-{number:02d}")
        return [replace(copies[bot.path], name=bot.name) for bot in bots]

    def settle(self, config: Config, folder: RunFolder) -> Config:
        """Create the run's folder, move the builds into it, and return the config with their new places."""
        inside = folder.path.absolute() / "bots"
        config = replace(config, bots=tuple(relocated(bot, self._bots, inside) for bot in config.bots))

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
        """Remove what arenas that were killed in a build left beside this run's folder."""
        for path in self.path.parent.glob("*.building"):
            with suppress(OSError):  # it vanished, or can't be looked into
                if _of_builds(path) and (path / _UNFINISHED).exists():
                    lock = locked(path)
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
        self._lock = locked(self.path)
        if self._lock is None:
            raise FolderError(f"another arena builds into {self.path} now; wait for it, or name another --out")
        (self.path / _UNFINISHED).touch()
        remove_tree(self._bots)
        remove_tree(self._logs)


def _of_builds(path: Path) -> bool:
    """Tell whether a folder is this user's and holds nothing but what builds make. Raises OSError."""
    ours = path.is_dir() and not path.is_symlink() and path.stat().st_uid == os.getuid()
    return ours and not {found.name for found in path.iterdir()} - {"bots", "logs", _UNFINISHED}
