"""A bot's build in a sandbox: what the author wrote goes in, what the build made comes out.

Must not know matches, nor how a sandbox isolates. A build is the author's program as much as the bot is (a Makefile, a
build.rs, a postinstall script), so it gets the same box: no network, no file of this machine but the bot's own, and
limits of its own, which a compiler needs.

Nothing in the box can write to a folder of this machine. The build works on a copy in the box's /tmp, and what it made
comes out as an archive on standard output: read up to a size, written to a file, unpacked by archive.py, which takes
nothing that leaves its folder. Build and archive are one program's output, so the build may as well have made the
archive by hand: nothing in it is believed. Standard error is the log."""

import os
import select
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from arena.bots.archive import ArchiveError, unpack
from arena.bots.bot import Bot, Programs
from arena.bots.build import tail
from arena.bots.digest import digested
from arena.bots.errors import BotError, shown
from arena.bots.load import build_program, missing_after_build
from arena.sandbox import LIMITS, Box, Exit, Limits, Program, ProgramError, Sandbox, remove_tree

__all__ = ["BUILD_LIMITS", "build_in_box", "relocated"]

# A C++ compiler takes some 500 MB, and /tmp (sources, results, what it downloads nowhere) counts as memory.
BUILD_LIMITS = Limits(
    memory_mb=1024,
    processes=256,  # make -j, with a JVM or two
    cpu_s=600,
    cores=2.0,
    file_size_mb=256,
    tmp_mb=512,
    open_files=1024,  # linkers open every object
)
MOST_BYTES = 512 << 20  # of the archive: all that /tmp can hold
MOST_FILES = 50_000  # of the archive; what plays may have fewer, see arena.bots
_LOG_BYTES = 16 << 20  # more is no log
_READ_BYTES = 1 << 20
_TICK_MS = 100  # how often the end of a build is looked for that left its output open to a child

# The copy comes without write bits. Standard input and output aren't the build's.
_SCRIPT = (
    "mkdir /tmp/build && cp -r /bot/. /tmp/build && chmod -R u+w /tmp/build && cd /tmp/build || exit 1; "
    '"$@" </dev/null >&2 || exit $?; exec tar -cf - .'
)


@dataclass(frozen=True, slots=True)
class _Ended:
    """How a build went: its end, None where it was stopped, then `stopped` says why."""

    exit: Exit | None
    stopped: str | None = None


def build_in_box(
    bots: Sequence[Bot], sandbox: Sandbox, programs: Programs, into: Path, logs: Path, timeout_s: float
) -> list[Bot]:
    """Build what has a build command, each in a box, and return the bots as they are to be played.

    What was built plays from a folder of its own below `into`, its log is a file in `logs`; both are made when needed.
    A folder that plays under several names is built once. timeout_s: for each build.

    Raises BotError for a build that fails, SandboxError and OSError where this machine does.
    """
    built: dict[Path, Path] = {}
    ready = []
    for number, bot in enumerate(bots):
        if bot.build is None:
            ready.append(bot)
            continue
        if bot.path not in built:
            folder = into / f"{number:02d}-{_file_name(bot.name)}"
            logs.mkdir(parents=True, exist_ok=True)
            into.mkdir(parents=True, exist_ok=True)
            _build(bot, sandbox, programs, folder, logs / f"build-{_file_name(bot.name)}.log", timeout_s)
            built[bot.path] = folder
        ready.append(_moved(bot, built[bot.path]))
    return ready


def _build(bot: Bot, sandbox: Sandbox, programs: Programs, folder: Path, log: Path, timeout_s: float) -> None:
    argv = ("sh", "-c", _SCRIPT, "build", *build_program(bot, programs))
    with log.open("w+b") as told, tempfile.TemporaryFile(dir=folder.parent) as archive:
        try:
            box = sandbox.start(Program(_inside(argv, bot), bot.path, files=bot.path), BUILD_LIMITS)
        except ProgramError as problem:
            raise BotError(f'"{bot.name}": the build can\'t be started: {problem}') from None
        try:
            ended = _run(box, archive, told, timeout_s)
        finally:
            box.close()
        why = _failure(ended)
        if why is not None:
            raise BotError(f'"{bot.name}": the build {why}.\nThe whole log: {shown(log)}{tail(told)}')
        archive.seek(0)
        beside = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
        try:
            unpack(archive, beside, MOST_BYTES, MOST_FILES)
            beside.rename(folder)
        except ArchiveError as problem:
            raise BotError(
                f'"{bot.name}": what the build made can\'t be taken: {problem}.\n'
                "It may hold files, folders, and links that stay in it."
            ) from None
        finally:
            remove_tree(beside)


def _inside(argv: Sequence[str], bot: Bot) -> tuple[str, ...]:
    """Return the command with paths to the bot's folder as they are where the copy is built."""
    return tuple(
        f"/tmp/build{word.removeprefix(str(bot.path))}" if _is_below(word, bot.path) else word for word in argv
    )


def _is_below(word: str, folder: Path) -> bool:
    return os.path.isabs(word) and Path(word).is_relative_to(folder)


def _run(box: Box, archive: IO[bytes], log: IO[bytes], timeout_s: float) -> _Ended:
    """Read all that the build prints until it ends, or stop waiting for it."""
    box.close_stdin()
    deadline = time.monotonic() + timeout_s
    room = {box.stdout: MOST_BYTES, box.stderr: _LOG_BYTES}
    files = {box.stdout: archive, box.stderr: log}
    too_much = {
        box.stdout: f"made more than {MOST_BYTES >> 20} MB",
        box.stderr: f"printed more than {_LOG_BYTES >> 20} MB",
    }
    poll = select.poll()
    for descriptor in files:
        poll.register(descriptor, select.POLLIN)
    while True:
        ended = box.exit()  # before the last look: what it wrote is there by then
        ready = [descriptor for descriptor, _ in poll.poll(_TICK_MS if ended is None else 0)]
        for descriptor in ready:
            data = _read(descriptor)
            room[descriptor] -= len(data or b"")
            if room[descriptor] < 0:
                return _Ended(None, too_much[descriptor])
            if data:
                files[descriptor].write(data)
            elif data == b"":
                poll.unregister(descriptor)
        if ended is not None and not ready:
            return _Ended(ended)
        if time.monotonic() > deadline:
            return _Ended(None, f"took longer than {timeout_s:g} s")


def _read(descriptor: int) -> bytes | None:
    """Return what is there: nothing at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _failure(ended: _Ended) -> str | None:
    if ended.stopped is not None:
        return ended.stopped
    assert ended.exit is not None
    if ended.exit.limit is not None:
        return f"ran into a limit: {LIMITS[ended.exit.limit].told(BUILD_LIMITS)}"
    if ended.exit.code == 0:
        return None
    return f"failed: it {ended.exit.describe(BUILD_LIMITS)}"


def _moved(bot: Bot, folder: Path) -> Bot:
    """Return the bot as it plays from the folder that its build made."""
    moved = relocated(bot, bot.path, folder)
    missing_after_build(moved)
    return digested(moved)


def relocated(bot: Bot, source: Path, target: Path) -> Bot:
    """Return the bot as it is after the folder `source` was moved to `target`; one that lies elsewhere as it was."""
    if not bot.path.is_relative_to(source):
        return bot
    argv = tuple(str(target / Path(word).relative_to(source)) if _is_below(word, source) else word for word in bot.argv)
    path = target / bot.path.relative_to(source)
    return replace(bot, path=path, cwd=path, argv=argv)


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name)
