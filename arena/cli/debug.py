"""A bot at a table under a debugger: `--debug BOT` of `arena play` and `arena watch`.

It is a plain process that a debugger can reach. It has no clock, isn't examined before the match, and is never frozen.
A shell moves its standard error to the terminal, or to a file, says its process id there, and becomes the bot.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace

import click

from arena.bots import shown
from arena.cli.new_run import Asked
from arena.cli.out import note, refuse
from arena.referee import UNTIMED_MS, Timing
from arena.sandbox import LIMITS, Choice, Limits, Program

DEBUG = click.option(
    "--debug",
    metavar="BOT",
    help="This bot has no clock, and writes its standard error where you see it. All bots are plain processes.",
)
_DAY_MS = 86_400_000
_SHELL = 'exec 2>>"$0"; echo "arena: $1 is process $$" >&2; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Debuggee:
    """A bot under a debugger: its place among the table's bots, its name, the file of its standard error."""

    bot: int
    name: str
    stderr: str

    def program(self, program: Program) -> Program:
        """Return how it is started: the process becomes the bot, and keeps its id."""
        return replace(program, argv=("/bin/sh", "-c", _SHELL, self.stderr, self.name, *program.argv))

    def limits(self, limits: Limits) -> Limits:
        """Return its limits: all but that of CPU time."""
        return replace(limits, cpu_s=int(LIMITS["cpu_s"].most))

    def timing(self, timing: Timing) -> Timing:
        """Return its times: a day to say hello, then no clock."""
        return replace(timing, limit_ms=UNTIMED_MS, bank_ms=0, start_ms=_DAY_MS, own=False)


def as_plain(asked: Asked) -> Asked:
    """Return what was asked for, in plain processes that nobody freezes. Exits with 2 if a sandbox was asked for."""
    if asked.sandbox not in (None, "auto") and Choice(asked.sandbox).isolates:
        refuse(f"--debug starts bots as plain processes, for a debugger: leave out --sandbox {asked.sandbox}")
    return replace(asked, sandbox="process", ponder=True)


def debuggee(name: str, names: Sequence[str], live: bool) -> Debuggee:
    """Return the bot of that name, and say where its standard error goes. Exits with 2 if none at the table has it.

    That is the terminal, if there is one and it is free (`live`), else a new file.
    """
    if name not in names:
        refuse(f"--debug {shown(name)}: the bots at the table are {', '.join(names)}")
    if live and os.isatty(2):
        return Debuggee(names.index(name), name, os.ttyname(2))
    file, path = tempfile.mkstemp(".txt", "arena-debug-")
    os.close(file)
    pdb = "a terminal for it" if live else "--browser"
    note(f"{name} writes its standard error to {path}; in another terminal: tail -f {path}; pdb needs {pdb}")
    return Debuggee(names.index(name), name, path)
