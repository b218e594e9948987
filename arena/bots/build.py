"""Build a bot and compile its Python modules, in its own folder or in a box.

- In its folder, as the user: for bots that play as plain processes. The build gets the user's environment, which
  compilers need, and could read the user's files anyway. Processes that outlive a build are killed, so that the folder
  can't change after it is hashed.
- In a box: for bots that play in boxes. A build is as untrusted as the bot. It gets no network and only the bot's
  files, and works on a copy in the box's /tmp. Its result is an archive on standard output, which is untrusted, too:
  it has a size limit and is unpacked by archive.py. Standard error is the log.

The whole output becomes the build's log; the error of a failed build quotes some of its lines.

Bytecode: compiling takes a third of the start time of a bot with the kit. A box of the same sandbox and Python compiles
the modules once, and all boxes of the bot show the result next to the sources. It is untrusted, but only this bot loads
it. If the compilation fails, bots start without bytecode. This module must not know matches, nor how a sandbox
isolates."""

import os
import re
import select
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, NamedTuple

from arena.bots.archive import ArchiveError, unpack
from arena.bots.bot import Bot, BotError, relocate_bot
from arena.bots.digest import MAX_FILES, with_digest
from arena.bots.manifest import IN_BOXES, MANIFEST, no_program
from arena.escaping import escape_control
from arena.limits import LIMITS, Limits
from arena.sandbox import (
    DISK_FULL_ERRNOS,
    Box,
    Exit,
    Program,
    ProgramError,
    Programs,
    Sandbox,
    SandboxChoice,
    SandboxError,
    is_executable,
    remove_tree,
    wait_readable,
)

_FIRST_LINES = 10  # from the first error on: a compiler's other errors often follow from it
_LAST_LINES = 4  # the summary of make or a linker
_HEAD_BYTES = 1 << 20  # of a log, searched for an error
_TAIL_BYTES = 8_192  # of a longer log, searched for its last lines
_LINE_BYTES = 1_000  # of each line that is shown
_LINE_CHARACTERS = 200  # of each line in a message
_COLOUR_CODE = re.compile(rb"\x1b\[[0-9;]*[mK]")
# Errors of compilers and linkers; excludes -Wno-error, error.c, and the messages that another program failed.
_ERROR = re.compile(
    rb"(?i)(?<![-\w])error(?=[:\[ ])(?! \d|: ld returned|: linker command)|undefined (?:reference|symbol)|undefined:"
)
_MISSING = re.compile(rb"(?i): not found|no such file")  # configure prints this for optional programs, too
_WARNING = re.compile(rb"(?i)(?<![-\w])warning: ")

# A C++ compiler takes some 500 MB, and files in /tmp count as memory.
BUILD_LIMITS = Limits(
    memory_mb=1024,
    processes=256,  # make -j, with a JVM or two
    cpu_s=600,
    cores=2.0,
    file_size_mb=256,
    tmp_mb=512,
    open_files=1024,  # linkers open every object
)
_MAX_OUTPUT_BYTES = 512 << 20  # of the archive: the size of /tmp
_MAX_LOG_BYTES = 16 << 20
_PRINTED_TOO_MUCH = f"printed more than {_MAX_LOG_BYTES >> 20} MB"
_MIN_FREE_BYTES = 4096  # with less, a disk is full
_READ_BYTES = 1 << 20  # read from a pipe at once
_TICK_MS = 100  # between two checks for the end of a build whose child keeps the output open

# A build may leave files that not even their owner may read.
# The copy has no write bits. The build gets neither the standard input nor the standard output of the script.
_SCRIPT = (
    "export npm_config_fetch_retries=0 PIP_RETRIES=0 CARGO_NET_RETRY=0; "  # without a network, retries only take time
    "mkdir /tmp/build && cp -r /bot/. /tmp/build && chmod -R u+w /tmp/build && cd /tmp/build || exit 1; "
    '"$@" </dev/null >&2 || exit $?; chmod -R u+rwX . >&2; exec tar -cf - .'
)


# --- both ways --------------------------------------------------------------------------------------------------------


def _bots_to_build(bots: Sequence[Bot]) -> Iterator[tuple[int, Bot]]:
    """Yield (index, bot) for each bot with a build command; once for a bot that plays under several names."""
    built: set[Path] = set()
    for number, bot in enumerate(bots):
        if bot.build is not None and bot.path not in built:
            built.add(bot.path)
            yield number, bot


def _build_command(bot: Bot, programs: Programs) -> list[str]:
    """Return the bot's build command, its program absolute. Raises BotError if it can't be run."""
    assert bot.build is not None
    program = programs.find(bot.build[0], bot.cwd)
    if program is None:
        raise BotError(no_program(Path(bot.cwd.name, MANIFEST), "build", bot.build[0], bot.cwd, programs))
    return [program, *bot.build[1:]]


def _require_executable(bot: Bot, log: BinaryIO) -> None:
    """Raise BuildError if the run command starts a file of the bot's that the build didn't make executable."""
    program = bot.argv[0]
    if Path(program).is_relative_to(bot.cwd) and not is_executable(program):
        problem = f'"{bot.name}": the build created no executable {escape_control(os.path.relpath(program, bot.cwd))}.'
        raise BuildError(problem, f"Correct run or build in the bot's {MANIFEST}.", log)


def _file_name(bot: Bot) -> str:
    """Return the bot's name without characters that need quotes, as a part of a file's name."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in bot.name)


def _open_log(number: int, bot: Bot, logs: Path) -> BinaryIO:
    """Open the log of a bot's build, and create its folder if necessary."""
    logs.mkdir(parents=True, exist_ok=True)
    return build_log_path(number, bot, logs).open("w+b")


class BuildError(BotError):
    """A build failed.

    `problem`: one line; `help`: the fix, "" if the output shows it. `excerpt`: the most informative lines of the
    output. The message contains all of them, and the path of the log.
    """

    def __init__(self, problem: str, help: str, log: BinaryIO) -> None:
        self.problem, self.help = problem, help
        self.excerpt = _excerpt_log(log, _ERROR, _MISSING)
        lines = (escape_control(line.decode(errors="replace"))[:_LINE_CHARACTERS] for line in self.excerpt.lines)
        log_line = f"Full log: {escape_control(log.name)}"
        super().__init__("\n".join([problem, *filter(None, [help, log_line]), *(f"  {line}" for line in lines)]))


class BuildLogExcerpt(NamedTuple):
    """The most informative lines of an output. `partial`: whether lines, other than blank ones, were omitted or cut."""

    lines: tuple[bytes, ...]
    partial: bool


def build_log_path(number: int, bot: Bot, logs: Path) -> Path:
    """Return the path of a build's log in the folder `logs`. `number`: the bot's index among the bots."""
    return logs / f"build-{number:02d}-{_file_name(bot)}.log"


def excerpt_warnings(log: Path) -> BuildLogExcerpt:
    """Return lines of a build's log from the first warning on, and its last lines; () without a warning."""
    with log.open("rb") as file:
        lines = _split_lines(file.read(_HEAD_BYTES))
        if _find_match(lines, _WARNING) is None:
            return BuildLogExcerpt((), bool(lines) or bool(file.read(1)))
        return _excerpt_log(file, _WARNING)


def _excerpt_log(output: BinaryIO, *patterns: re.Pattern[bytes]) -> BuildLogExcerpt:
    """Return all lines of a short output; of a longer one the lines from the first match on, and the last lines.

    Blank lines are left out, and each line is cut at `_LINE_BYTES`. `patterns`: in order of preference; if nothing
    matches, the excerpt starts at the first line. Gaps become `_GAP`.
    """
    lines, tail = _read_ends(output)
    is_cut = any(len(line) > _LINE_BYTES for line in lines)
    if tail is None and len(lines) <= _FIRST_LINES + _LAST_LINES:
        return BuildLogExcerpt(_shorten(lines), is_cut)
    matches = (_find_match(lines, pattern) for pattern in patterns)
    start = next((index for index in matches if index is not None), 0)
    first_lines, later_lines = lines[start : start + _FIRST_LINES], lines[start + _FIRST_LINES :]
    has_gap = tail is not None or len(later_lines) > _LAST_LINES
    last_lines = (later_lines if tail is None else tail)[-_LAST_LINES:]
    excerpt = [*([_GAP] if start else []), *first_lines, *([_GAP] if has_gap else []), *last_lines]
    return BuildLogExcerpt(_shorten(excerpt), is_cut or start > 0 or has_gap)


_GAP = b"[...]"


def _read_ends(output: BinaryIO) -> tuple[list[bytes], list[bytes] | None]:
    """Return the lines of the beginning and of the end of a long output; of a shorter one all lines, and None."""
    size = output.seek(0, os.SEEK_END)
    output.seek(0)
    if size <= _HEAD_BYTES + _TAIL_BYTES:
        return _split_lines(output.read(size)), None
    head = output.read(_HEAD_BYTES)
    output.seek(size - _TAIL_BYTES)
    return _split_lines(head), _split_lines(output.read())


def _split_lines(data: bytes) -> list[bytes]:
    """Split output into lines, without blank ones."""
    return [line.rstrip().expandtabs() for line in data.split(b"\n") if line.strip()]


def _shorten(lines: Sequence[bytes]) -> tuple[bytes, ...]:
    """Cut each line at _LINE_BYTES."""
    return tuple(line[:_LINE_BYTES] for line in lines)


def _find_match(lines: Sequence[bytes], pattern: re.Pattern[bytes]) -> int | None:
    """Return the index of the first line whose beginning, without colour codes, has the pattern; None without one."""
    plain_lines = (_COLOUR_CODE.sub(b"", line[:_LINE_BYTES]) for line in lines)
    return next((index for index, line in enumerate(plain_lines) if pattern.search(line)), None)


# --- as the user ------------------------------------------------------------------------------------------------------


def build_all(bots: Sequence[Bot], logs: Path, timeout_s: float) -> list[Bot]:
    """Build all bots that have a build command, in their own folders; return the bots with their new digests.

    A folder that plays under several names is built once. logs: the folder of the build logs, created if necessary.
    timeout_s: for each build. Digests are computed after the last build, as one bot's folder may contain another's.
    Raises BuildError if a build fails, BotError if it can't start or the files can't be read afterwards; OSError if
    a log can't be written, or a build failed on a full disk.
    """
    to_build = list(_bots_to_build(bots))
    for number, bot in to_build:
        with _open_log(number, bot, logs) as log:
            _build_as_user(bot, log, timeout_s)
    return [with_digest(bot) for bot in bots] if to_build else list(bots)


def _build_as_user(bot: Bot, log: BinaryIO, timeout_s: float) -> None:
    """Build one bot in its folder. Raises the errors of `build_all`."""
    command = _build_command(bot, Programs())
    by_hand = f"Run the command in the bot's folder: {escape_control(shlex.join(bot.build or ()))}"
    try:
        reason = _run_as_user(command, bot.cwd, log, timeout_s)
    except OSError as error:
        raise BotError(f'"{bot.name}": the build can\'t start: {error.strerror}.\n{by_hand}') from None
    if reason is not None:
        _require_disk_space(Path(log.name).parent, bot.cwd, Path(tempfile.gettempdir()))
        raise BuildError(f'"{bot.name}": the build {reason}.', by_hand, log)
    _require_executable(bot, log)


def _require_disk_space(*folders: Path) -> None:
    """Raise OSError with the folder if one is on a full disk, which may be the reason of a failed build."""
    for folder in folders:
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(bytes(_MIN_FREE_BYTES))
        except OSError as problem:
            if problem.errno in DISK_FULL_ERRNOS:
                raise OSError(problem.errno, problem.strerror, str(folder)) from None


def _run_as_user(argv: list[str], cwd: Path, output: BinaryIO, timeout_s: float) -> str | None:
    """Run a command, kill what it leaves, and truncate its output; return why it failed, None if it didn't.

    Raises OSError if the command can't be started.
    """
    # A file needs no reader; a pipe would have to be drained until the last process has ended.
    process = subprocess.Popen(
        argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        exit_code = _await_process(process, output, time.monotonic() + timeout_s)
    finally:
        with suppress(ProcessLookupError, PermissionError):  # macOS: not permitted if the group contains only zombies
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if _prints_too_much(output):  # checked again: processes that outlived the build wrote until now
        output.truncate(_MAX_LOG_BYTES)
        return _PRINTED_TOO_MUCH
    if exit_code is None:
        return f"took longer than {timeout_s:g} s"
    if exit_code == 0:
        return None
    return f"failed with exit code {exit_code}" if exit_code > 0 else f"was ended by signal {-exit_code}"


def _await_process(process: subprocess.Popen[bytes], output: BinaryIO, deadline_s: float) -> int | None:
    """Return the exit code of a process; None if it runs at the deadline, or once it has printed too much."""
    while not _prints_too_much(output):
        with suppress(subprocess.TimeoutExpired):
            return process.wait(_TICK_MS / 1000)
        if time.monotonic() > deadline_s:
            break
    return None


def _prints_too_much(output: BinaryIO) -> bool:
    return os.fstat(output.fileno()).st_size > _MAX_LOG_BYTES


# --- in a box ---------------------------------------------------------------------------------------------------------


def build_in_box(
    bots: Sequence[Bot], sandbox: Sandbox, programs: Programs, into: Path, logs: Path, timeout_s: float
) -> list[Bot]:
    """Build all bots that have a build command, each in a box; return the bots with their new paths and digests.

    into: the folder for the results, one folder each. logs: the folder of the build logs. Both are created if
    necessary. A folder that plays under several names is built once. timeout_s: for each build.

    Raises BuildError if a build fails, BotError if it can't be started, SandboxError and OSError if this machine fails.
    """
    built: dict[Path, Path] = {}
    for number, bot in _bots_to_build(bots):
        into.mkdir(parents=True, exist_ok=True)
        folder = built[bot.path] = into / f"{number:02d}-{_file_name(bot)}"
        with _open_log(number, bot, logs) as log:
            _build_in_box(bot, sandbox, programs, folder, log, timeout_s)
            _require_executable(relocate_bot(bot, bot.path, folder), log)
    return [bot if bot.build is None else with_digest(relocate_bot(bot, bot.path, built[bot.path])) for bot in bots]


def _build_in_box(
    bot: Bot, sandbox: Sandbox, programs: Programs, folder: Path, log: BinaryIO, timeout_s: float
) -> None:
    """Build one bot into `folder`, which must not exist yet. Raises the errors of `build_in_box`."""
    command = tuple(_build_command(bot, programs))
    moved = relocate_bot(replace(bot, argv=command), bot.path, Path("/tmp/build"))
    program = Program(("sh", "-c", _SCRIPT, "build", *moved.argv), bot.path, files=bot.path, wrapped_command=command)
    with tempfile.TemporaryFile(dir=folder.parent) as archive:
        try:
            box = sandbox.start(program, BUILD_LIMITS)
        except ProgramError as problem:
            raise BotError(f'"{bot.name}": the build can\'t start: {problem}') from None
        try:
            end = _await_build(box, archive, log, timeout_s)
        finally:
            box.close()
        reason = _failure_reason(end)
        if reason is not None:
            raise _box_build_error(f'"{bot.name}": the build {reason}.', log)
        archive.seek(0)
        try:
            _unpack_atomically(archive, folder)
        except ArchiveError as problem:
            text = f'"{bot.name}": the build\'s output was rejected: {problem}.'
            raise BuildError(text, "It may contain files, folders, and links inside of it.", log) from None


def _box_build_error(problem: str, log: BinaryIO) -> BuildError:
    """Return the error of a build in a box, with advice on toolchains if the log says that a program is missing."""
    error = BuildError(problem, "", log)
    lacks_program = any(
        line.endswith(b"not found") or (line.startswith(b"make: ") and b": No such file" in line)
        for line in error.excerpt.lines
    )
    return BuildError(problem, IN_BOXES, log) if lacks_program else error


def _unpack_atomically(archive: IO[bytes], folder: Path) -> None:
    """Unpack an archive to the new folder `folder`, completely or not at all. Raises ArchiveError, OSError."""
    scratch = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    try:
        unpack(archive, scratch, _MAX_OUTPUT_BYTES, MAX_FILES)
        scratch.rename(folder)
    finally:
        remove_tree(scratch)


def _await_build(box: Box, archive: IO[bytes], log: IO[bytes], timeout_s: float) -> Exit | str:
    """Copy the output of a build until it ends, and return its exit; or the reason for stopping it, as text."""
    box.close_stdin()
    deadline_s = time.monotonic() + timeout_s
    bytes_left = {box.stdout: _MAX_OUTPUT_BYTES, box.stderr: _MAX_LOG_BYTES}
    files = {box.stdout: archive, box.stderr: log}
    poll = select.poll()
    for descriptor in files:
        poll.register(descriptor, select.POLLIN)
    while True:
        box_exit = box.exit()  # before reading, so that the last output is read below
        ready = [descriptor for descriptor, _ in poll.poll(_TICK_MS if box_exit is None else 0)]
        for descriptor in ready:
            data = _read(descriptor)
            if data is None:
                continue
            if not data:
                poll.unregister(descriptor)
            bytes_left[descriptor] -= len(data)
            if bytes_left[descriptor] < 0:
                is_log = descriptor == box.stderr
                return _PRINTED_TOO_MUCH if is_log else f"wrote more than {_MAX_OUTPUT_BYTES >> 20} MB"
            files[descriptor].write(data)
        if box_exit is not None and not ready:
            return box_exit
        if time.monotonic() > deadline_s:
            return f"took longer than {timeout_s:g} s"


def _read(descriptor: int) -> bytes | None:
    """Return the available data: b"" at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _failure_reason(end: Exit | str) -> str | None:
    """Return why a build failed, None if it didn't. end: from `_await_build`."""
    if isinstance(end, str):
        return end
    if end.limit is not None:
        return f"exceeded a limit: {LIMITS[end.limit].exceeded(BUILD_LIMITS)}"
    return None if end.code == 0 else f"failed: {end.describe(BUILD_LIMITS)}"


_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_MAX_BYTECODE_BYTES = 4 << 20  # of one bot: some 100,000 lines; further modules are compiled at each start
_MAX_BYTECODE_FILES = 1_000
_MAX_PATH_BYTES, _MAX_NAME_BYTES = 1_024, 255  # the name is the last part of a path
_COMPILATION_S = 5.0  # a module of 1,000 lines takes a hundredth of a second
_MAX_CACHED_BYTES = 32 << 20  # for all bots of a process; one with the kit has 50 kB

# As py_compile, whose import takes longer than Python's start. Prints sizes, path and bytecode of each module.
_COMPILER = r"""
import importlib.util, marshal, os, sys
head = importlib.util.MAGIC_NUMBER + b"\1\0\0\0"
for where, _, names in os.walk("."):
    for name in names:
        if name.endswith(".py"):
            path = os.path.join(where, name)
            try:
                with open(path, "rb") as file:
                    source = file.read()
                code = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
                cached = os.fsencode(importlib.util.cache_from_source(path))
            except Exception:
                continue
            made = head + importlib.util.source_hash(source) + code
            sys.stdout.buffer.write(b"%d %d\n%s%s" % (len(cached), len(made), cached, made))
            sys.stdout.buffer.flush()
"""

_SIZES = re.compile(rb"([0-9]{1,4}) ([0-9]{1,8})\n")

Files = tuple[tuple[str, bytes], ...]  # (path in the bot's folder, content)


class BytecodeCache:
    """The bytecode of the most recently used bots of a process, up to `max_bytes`."""

    def __init__(self, max_bytes: int = _MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._cached: dict[tuple[str, str, SandboxChoice], Files] = {}  # in order of use
        self._bytes = 0

    def program(self, bot: Bot, choice: SandboxChoice, sandbox: Sandbox) -> Program:
        """Return the program that starts a bot, with its bytecode, in a box of `sandbox`, which `choice` selected."""
        return Program(bot.argv, bot.cwd, files=bot.path, bytecode=self.files_of(bot, choice, sandbox))

    def files_of(self, bot: Bot, choice: SandboxChoice, sandbox: Sandbox) -> Files:
        """Return the bytecode of a bot for these boxes, compiled or from the cache; () without, or if that fails."""
        if not choice.isolates or bot.path.is_file() or not _is_python(bot):
            return ()
        key = (bot.digest, bot.argv[0], choice)
        if key in self._cached:
            self._cached[key] = self._cached.pop(key)  # the most recently used is last
            return self._cached[key]
        files = _compile(bot, sandbox)
        if files is None:
            return ()
        self._cached[key] = files
        self._bytes += _size(files)
        while self._bytes > self._max_bytes:
            self._bytes -= _size(self._cached.pop(next(iter(self._cached))))
        return files


def _is_python(bot: Bot) -> bool:
    """Return whether a bot is run by a Python outside of its own folder."""
    program = PurePosixPath(bot.argv[0])
    return _PYTHON.fullmatch(program.name) is not None and not program.is_relative_to(bot.path)


def _size(files: Files) -> int:
    return sum(len(data) for _, data in files)


def _compile(bot: Bot, sandbox: Sandbox) -> Files | None:
    """Compile the modules in a bot's folder, up to the limits; return None if this machine fails.

    (): the bot's Python can't be started.
    """
    # -I keeps the compiler from importing files of the bot: none of its code is run.
    program = Program((bot.argv[0], "-I", "-S", "-W", "ignore", "-c", _COMPILER), bot.cwd, files=bot.path)
    try:
        box = sandbox.start(program, Limits())
        try:
            return parse_bytecode(_read_output(box))
        finally:
            box.close()
    except ProgramError:  # the next match fails in the same way, and reports it
        return ()
    except (SandboxError, OSError):
        return None


def _read_output(box: Box) -> bytes:
    """Return the output of a program, up to its end or a limit of time or size. Raises OSError."""
    printed = bytearray()
    deadline_s = time.monotonic() + _COMPILATION_S
    while len(printed) < _MAX_BYTECODE_BYTES and wait_readable(box.stdout, max(0.0, deadline_s - time.monotonic())):
        data = os.read(box.stdout, 1 << 16)  # the capacity of a pipe
        if not data:
            break
        printed += data
    return bytes(printed)


def parse_bytecode(printed: bytes) -> Files:
    """Return up to _MAX_BYTECODE_FILES bytecode files of the output, to the first incomplete or invalid entry."""
    files: dict[str, bytes] = {}
    end = 0
    while (match := _SIZES.match(printed, end)) and len(files) < _MAX_BYTECODE_FILES:
        start = match.end() + int(match[1])
        end = start + int(match[2])
        path = PurePosixPath(os.fsdecode(printed[match.end() : start]))
        if end > len(printed) or not _is_bytecode_path(path):
            break
        files[str(path)] = printed[start:end]
    return tuple(files.items())


def _is_bytecode_path(path: PurePosixPath) -> bool:
    """Return whether a path, which a bot may have made up, is one below its folder, in a folder for bytecode."""
    is_inside = "\0" not in str(path) and ".." not in path.parts and not path.is_absolute()
    is_short = len(os.fsencode(path)) <= _MAX_PATH_BYTES and len(os.fsencode(path.name)) <= _MAX_NAME_BYTES
    return is_inside and is_short and path.parent.name == "__pycache__"
