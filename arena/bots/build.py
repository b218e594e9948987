"""A bot's build where its folder stands, as the user: for bots that play as plain processes."""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from arena.bots.bot import Bot, Programs
from arena.bots.digest import digested
from arena.bots.errors import BotError, shown
from arena.bots.load import build_program, missing_after_build

_TAIL_LINES = 12  # of a failed build's output: enough for a compiler's last message
_TAIL_BYTES = 8_192  # read back to find those lines
_LINE_CHARACTERS = 200  # of each of those lines


def build_all(bots: Sequence[Bot], timeout_s: float) -> list[Bot]:
    """Build what has a build command, and return the same bots with the digests that count for the run.

    A folder that plays under several names is built once. timeout_s: for each build. Digests are taken after the last
    build, as one bot's folder may lie in another's. Raises BotError.
    """
    built: set[Path] = set()
    for bot in bots:
        if bot.path not in built:
            built.add(bot.path)
            _run_build(bot, timeout_s)
    if all(bot.build is None for bot in bots):
        return list(bots)
    return [digested(bot) for bot in bots]


def build(bot: Bot, timeout_s: float) -> Bot:
    """Build one bot, if it has a build command; return it with the digest of the built folder. Raises BotError."""
    return build_all([bot], timeout_s)[0]


# --- building ---------------------------------------------------------------------------------------------------------


def _run_build(bot: Bot, timeout_s: float) -> None:
    if bot.build is None:
        return
    command = build_program(bot, Programs())
    by_hand = f"\nTry it by hand in {shown(bot.cwd)}: {shown(shlex.join(bot.build))}"
    # A file takes any output from any number of processes; a pipe would have to be drained until the last one leaves.
    with tempfile.TemporaryFile() as output:
        try:
            code = _run(command, bot.cwd, output, timeout_s)
        except subprocess.TimeoutExpired:
            raise BotError(
                f'"{bot.name}": the build took longer than {timeout_s:g} s.{by_hand}{tail(output)}'
            ) from None
        except OSError as error:
            raise BotError(f'"{bot.name}": the build can\'t be started: {error.strerror}.{by_hand}') from None
        if code != 0:
            how = f"failed with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise BotError(f'"{bot.name}": the build {how}.{by_hand}{tail(output)}')
    missing_after_build(bot)


def _run(argv: list[str], cwd: Path, output: IO[bytes], timeout_s: float) -> int:
    """Run a command to its end and return its exit code, negative for a signal. Raises TimeoutExpired, OSError.

    The environment is the user's: compilers and package managers need it (caches, proxies), and a build can read the
    user's files anyway. Whatever it left running is killed, so that nothing changes the folder after it was hashed.
    """
    process = subprocess.Popen(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        return process.wait(timeout_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):  # macOS: not permitted, if only the dead are in the group
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def tail(output: IO[bytes]) -> str:
    """Return the last lines of a build's output, each on a line of its own below a message."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _TAIL_BYTES))
    lines = output.read(_TAIL_BYTES).decode(errors="replace").split("\n")
    told = [shown(line.rstrip().expandtabs())[:_LINE_CHARACTERS] for line in lines if line.strip()]
    return "".join(f"\n  {line}" for line in told[-_TAIL_LINES:])
