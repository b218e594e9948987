"""Implement `arena feed`, which prints a bot's recorded input, and `--debug`, which attaches a debugger.

`arena feed` prints the lines that a bot was sent in a recorded match. `--debug BOT` of `arena play` and `arena watch`
runs the bot as a plain process that a debugger can reach. It has no clock, isn't checked before the match and is
never frozen. A shell redirects its standard error to the terminal or a file, prints its process id there, and becomes
the bot."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

from arena.bots import escape_control
from arena.cli.completion import complete_name
from arena.cli.console import fail, option, os_error_reason, print_note, usage_error
from arena.cli.run import RunOptions
from arena.referee import UNTIMED_MS, Record, RecordError, SentLine, Timing, sent_lines
from arena.run import RecordFileError, find_record_files, read_record_file
from arena.sandbox import LIMITS, Limits, Program, SandboxChoice
from ladder.store import record_file_name


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@click.argument("program", metavar="[-- PROGRAM...]", nargs=-1, type=click.UNPROCESSED)
@option("--match", type=click.IntRange(0), metavar="N", help="The match, of a run's folder.")
@option("--game", type=click.IntRange(0), metavar="N", help="The hello, and this game alone.  [all games]")
@option(
    "--seat",
    metavar="BOT|N",
    required=True,
    shell_complete=complete_name,
    help="The bot, by its name or its letter; with --game also by its seat.",
)
def feed(path: Path, program: tuple[str, ...], match: int | None, game: int | None, seat: str) -> None:
    """Write the lines that a bot was sent in a recorded match, or give them to PROGRAM on standard input.

    A bot that crashed gets up to the request at which it did. PROGRAM's answers are printed and not waited for; its
    exit code is the command's. Of what was sent, bank_ms may be 1 ms off, and errors about stray lines are left out.

    gdb: run < lines.jsonl; node: node inspect bot.js < lines.jsonl; docs/local.md has the line for pdb.
    """
    record = _find_record(path, match)
    if game is not None and game >= len(record.games):
        usage_error(f"match {record.header.match} has the games 0 to {len(record.games) - 1}")
    bot = _find_bot(record, game, seat)
    try:
        lines = _join_lines(list(sent_lines(record, bot)), game)
    except RecordError as problem:
        fail(str(problem))
    if not program:
        sys.stdout.buffer.write(lines)
        return
    if shutil.which(program[0]) is None:
        usage_error(f"there is no program {program[0]}")
    try:
        done = subprocess.run(program, input=lines)
    except OSError as problem:
        fail(os_error_reason(problem))
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _join_lines(lines: list[SentLine], game: int | None) -> bytes:
    """Return the lines to pipe: all, or those of a game after its process's hello."""
    if game is None:
        return b"".join(each.line for each in lines)
    hello = [each.line for each in lines if each.game <= game and each.line.startswith(b'{"type":"hello"')][-1:]
    own = [each.line for each in lines if each.game == game and not each.line.startswith(b'{"type":"hello"')]
    return b"".join((*hello, *own))


def _find_record(path: Path, match: int | None) -> Record:
    """Return the record of a match, by default the only one at `path`. Exits with 2 unless there is exactly one."""
    try:
        files = find_record_files(path)
        # A run's folder names files by match; elsewhere all records are searched.
        named = [file for file in files if match is not None and file.name == record_file_name(match)]
        records = [read_record_file(file) for file in named or files]
    except RecordFileError as problem:
        usage_error(str(problem))
    chosen = [record for record in records if match in (None, record.header.match)]
    if len(chosen) != 1:
        numbers = [record.header.match for record in records]
        usage_error(f"{path} has the matches {min(numbers)} to {max(numbers)}: choose one by --match")
    return chosen[0]


def _find_bot(record: Record, game: int | None, seat: str) -> int:
    """Return the number of the bot with a name, a letter or a seat of `game`. Exits with 2 if it doesn't exist."""
    bots, handles = record.header.bots, record.header.handles
    for names in (bots, handles):
        if seat in names:
            return names.index(seat)
    if game is None or not seat.isdecimal() or int(seat) >= len(bots):
        named = ", ".join(f"{escape_control(bot)} ({handle})" for bot, handle in zip(bots, handles, strict=True))
        usage_error(f"--seat {escape_control(seat)}: the bots are {named}; a number is a seat in the game of --game")
    return record.games[game].seating[int(seat)]


DEBUG = option(
    "--debug",
    metavar="BOT",
    help="This bot has no clock, and writes its standard error where you see it. All bots are plain processes.",
)
_DAY_MS = 86_400_000
_SHELL_SCRIPT = 'exec 2>>"$0"; echo "arena: $1 is process $$" >&2; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Debuggee:
    """A bot under a debugger: its number at the table, its name, and the file for its standard error."""

    bot: int
    name: str
    stderr: str

    def program(self, program: Program) -> Program:
        """Return the program wrapped in a shell that prints its process id and then becomes the bot."""
        return replace(program, argv=("/bin/sh", "-c", _SHELL_SCRIPT, self.stderr, self.name, *program.argv))

    def limits(self, limits: Limits) -> Limits:
        """Return limits with the maximum CPU time."""
        return replace(limits, cpu_s=int(LIMITS["cpu_s"].maximum))

    def timing(self, timing: Timing) -> Timing:
        """Return a timing with a day to start and no clock."""
        return replace(timing, limit_ms=UNTIMED_MS, bank_ms=0, start_ms=_DAY_MS, own=False)


def use_plain_processes(asked: RunOptions) -> RunOptions:
    """Return options for plain processes that aren't frozen. Exits with 2 if an isolating sandbox was requested."""
    if asked.sandbox not in (None, "auto") and SandboxChoice(asked.sandbox).isolates:
        usage_error(f"--debug starts bots as plain processes, for a debugger: leave out --sandbox {asked.sandbox}")
    return replace(asked, sandbox="process", ponder=True)


def select_debuggee(name: str, names: Sequence[str], live: bool) -> Debuggee:
    """Return the bot `name` of `names` as a Debuggee. Exits with 2 if it isn't at the table.

    Its standard error goes to the terminal if there is one and it is free (`live`), else to a new file.
    """
    if name not in names:
        usage_error(f"--debug {escape_control(name)}: the bots at the table are {', '.join(names)}")
    if live and os.isatty(2):
        return Debuggee(names.index(name), name, os.ttyname(2))
    file, path = tempfile.mkstemp(".txt", "arena-debug-")
    os.close(file)
    pdb = "a terminal for it" if live else "--browser"
    print_note(f"{name} writes its standard error to {path}; in another terminal: tail -f {path}; pdb needs {pdb}")
    return Debuggee(names.index(name), name, path)
