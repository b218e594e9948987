"""A bot's modules in Python, compiled once: its folder can't be written to, so each start would compile them anew.

That would be a third of a start with the kit; to compile it takes as long as it spares in some six starts. So a worker
compiles a bot before it first plays it, in a box like those it plays in, by the Python that runs it. All its boxes show
the bytecode beside the sources, where Python looks for it: if the first didn't, a bot could tell that it is the first.
The bytecode isn't checked by time, since each copy of a file has another.

What comes out of that box is the bot's own word, as a build is. It is shown to this bot alone, and nothing of ours
reads it. Whatever goes wrong costs the bot its bytecode and nothing else: a syntax error is told when it is imported.

The plain process has no copy to put bytecode into: there a bot plays where it stands, with the `__pycache__` that its
author's own Python may have left.
"""

import os
import re
import time
from pathlib import PurePosixPath

from arena.bots.bot import Bot
from arena.bots.build import BUILD_LIMITS
from arena.sandbox import Box, Choice, Program, ProgramError, Sandbox, SandboxError, readable

__all__ = ["Bytecode", "bytecode_of"]

_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_MOST_S = 10.0  # a module of 1,000 lines takes a hundredth of a second
_MOST_BYTES = 4 << 20  # of one bot: some 100,000 lines; what comes after them is compiled at each start
_MOST_FILES = 1_000
_LONGEST = (1_024, 255)  # bytes of a path, and of the name at its end
_MOST_BOTS = 128  # whose bytecode a process keeps: 50 kB with the kit
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
    """What was compiled of the bots that one process starts."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, Choice], Files] = {}

    def of(self, bot: Bot, choice: Choice, sandbox: Sandbox) -> Files:
        """Return the bytecode of a bot for boxes of `sandbox`, which was made of `choice`."""
        if not choice.isolates or bot.path.is_file() or not _PYTHON.fullmatch(PurePosixPath(bot.argv[0]).name):
            return ()
        key = (bot.digest, bot.argv[0], choice)
        if key not in self._made:
            if len(self._made) >= _MOST_BOTS:
                self._made.clear()
            self._made[key] = _compiled(bot, sandbox)
        return self._made[key]


def _compiled(bot: Bot, sandbox: Sandbox) -> Files:
    """Compile the modules in a bot's folder, as many as can be."""
    # -I keeps the bot's folder from the compiler's own imports: nothing of the bot's is run.
    program = Program((bot.argv[0], "-I", "-S", "-W", "ignore", "-c", _PROGRAM), bot.cwd, files=bot.path)
    try:
        box = sandbox.start(program, BUILD_LIMITS)
        try:
            return bytecode_of(_printed(box))
        finally:
            box.close()
    except (ProgramError, SandboxError, OSError):  # the match that follows meets it too, and tells it
        return ()


def _printed(box: Box) -> bytes:
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
    found: dict[str, bytes] = {}
    end = 0
    while (match := _SIZES.match(printed, end)) and len(found) < _MOST_FILES:
        begin = match.end() + int(match[1])
        end = begin + int(match[2])
        name = PurePosixPath(os.fsdecode(printed[match.end() : begin]))
        plain = "\0" not in str(name) and ".." not in name.parts and not name.is_absolute()
        short = int(match[1]) <= _LONGEST[0] and len(os.fsencode(name.name)) <= _LONGEST[1]
        if end > len(printed) or name.parent.name != "__pycache__" or not plain or not short:
            break
        found[str(name)] = printed[begin:end]
    return tuple(found.items())
