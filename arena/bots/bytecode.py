"""A bot's modules in Python, compiled once: its folder can't be written to, so each start would compile them anew.

Compiling takes a third of a start with the kit; doing it once, beforehand, pays after some six starts. So a process
compiles a bot before it first starts it, in a box of the same sandbox, by the Python that runs it. All the bot's boxes
show the bytecode beside the sources, where Python looks for it, in examinations as in matches: files don't tell a bot
where it is. The bytecode isn't checked by time, since each copy of a file has another.

What comes out of that box is the bot's own word, as a build is. It is shown to this bot alone, and nothing of ours
reads it. Whatever goes wrong costs the bot its bytecode and nothing else: a syntax error is told when it is imported.

As a plain process a bot plays where it stands, with the `__pycache__` that its author's own Python may have left, or
from the copy in which its kit is compiled (kit.py).
"""

import os
import re
import time
from pathlib import PurePosixPath

from arena.bots.bot import Bot
from arena.sandbox import Box, Choice, Limits, Program, ProgramError, Sandbox, SandboxError, readable

_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_MOST_S = 5.0  # a module of 1,000 lines takes a hundredth of a second
_MOST_BYTES = 4 << 20  # of one bot: some 100,000 lines; what comes after them is compiled at each start
_MOST_FILES = 1_000
_LONGEST = (1_024, 255)  # bytes of a path, and of the name at its end
_KEPT_BYTES = 32 << 20  # of all bots that a process starts; one with the kit has 50 kB
_READ_BYTES = 1 << 16  # what a pipe holds

# py_compile does the same, but its import takes longer than Python's start. Of each module: sizes, path, bytecode.
_PROGRAM = r"""
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

Files = tuple[tuple[str, bytes], ...]  # paths in the bot's folder, and what is there


class Bytecode:
    """What was compiled of the bots that one process starts: of those that played last, up to so many bytes."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._made: dict[tuple[str, str, Choice], Files] = {}  # the latest in use is the last
        self._bytes = 0

    def program(self, bot: Bot, choice: Choice, sandbox: Sandbox) -> Program:
        """Return how to start a bot in a box of `sandbox`, which was made of `choice`."""
        return Program(bot.argv, bot.cwd, files=bot.path, bytecode=self.of(bot, choice, sandbox))

    def of(self, bot: Bot, choice: Choice, sandbox: Sandbox) -> Files:
        """Return the bytecode of a bot for those boxes."""
        if not choice.isolates or bot.path.is_file() or not _is_python(bot):
            return ()
        key = (bot.digest, bot.argv[0], choice)
        code = self._made.pop(key, None)
        if code is None:
            code = _compile(bot, sandbox)
            if code is None:
                return ()
            self._bytes += _size(code)
        self._made[key] = code
        while self._bytes > self._most_bytes:
            self._bytes -= _size(self._made.pop(next(iter(self._made))))
        return code


def _is_python(bot: Bot) -> bool:
    """Tell whether a bot is run by a Python that isn't its own program."""
    program = PurePosixPath(bot.argv[0])
    return _PYTHON.fullmatch(program.name) is not None and not program.is_relative_to(bot.path)


def _size(files: Files) -> int:
    return sum(len(data) for _, data in files)


def _compile(bot: Bot, sandbox: Sandbox) -> Files | None:
    """Compile the modules in a bot's folder, as many as can be; None where this machine fails."""
    # -I keeps the bot's folder from the compiler's own imports: nothing of the bot's is run.
    program = Program((bot.argv[0], "-I", "-S", "-W", "ignore", "-c", _PROGRAM), bot.cwd, files=bot.path)
    try:
        box = sandbox.start(program, Limits())
        try:
            return bytecode_of(_output(box))
        finally:
            box.close()
    except ProgramError:  # the match that follows meets it too, and tells it
        return ()
    except (SandboxError, OSError):
        return None


def _output(box: Box) -> bytes:
    """Return what a program prints, up to its end or a bound."""
    printed = bytearray()
    deadline = time.monotonic() + _MOST_S
    while len(printed) < _MOST_BYTES and readable(box.stdout, max(0.0, deadline - time.monotonic())):
        data = os.read(box.stdout, _READ_BYTES)
        if not data:
            break
        printed += data
    return bytes(printed)


def bytecode_of(printed: bytes) -> Files:
    """Return the files that the box printed, up to what is cut off or none of its own."""
    files: dict[str, bytes] = {}
    end = 0
    while (match := _SIZES.match(printed, end)) and len(files) < _MOST_FILES:
        begin = match.end() + int(match[1])
        end = begin + int(match[2])
        name = PurePosixPath(os.fsdecode(printed[match.end() : begin]))
        plain = "\0" not in str(name) and ".." not in name.parts and not name.is_absolute()
        short = int(match[1]) <= _LONGEST[0] and len(os.fsencode(name.name)) <= _LONGEST[1]
        if end > len(printed) or name.parent.name != "__pycache__" or not plain or not short:
            break
        files[str(name)] = printed[begin:end]
    return tuple(files.items())
