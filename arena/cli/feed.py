"""The command `arena feed`: the lines that a bot was sent in a recorded match, for a debugger."""

import shutil
import subprocess
import sys
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.completion import complete_name
from arena.cli.out import fail, reason, refuse
from arena.referee import Record, RecordError, SentLine, sent_lines
from arena.run import KeptError, record_at, records_at
from ladder.store import record_name


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@click.argument("program", metavar="[-- PROGRAM...]", nargs=-1, type=click.UNPROCESSED)
@click.option("--match", type=click.IntRange(0), metavar="N", help="Of a run's folder: this match.")
@click.option("--game", type=click.IntRange(0), metavar="N", help="The hello, and this game alone.  [all games]")
@click.option(
    "--seat",
    metavar="BOT|N",
    required=True,
    shell_complete=complete_name,
    help="Whose lines: a bot by its name or its letter; with --game also its seat.",
)
def feed(path: Path, program: tuple[str, ...], match: int | None, game: int | None, seat: str) -> None:
    """Write the lines that a bot was sent in a recorded match, or give them to PROGRAM on standard input.

    A bot that crashed gets up to the request at which it did. PROGRAM's answers are printed and not waited for; its
    exit code is the command's. Of what was sent, bank_ms may be 1 ms off, and errors about stray lines are left out.

    gdb: run < lines.jsonl; node: node inspect bot.js < lines.jsonl; docs/local.md has the line for pdb.
    """
    record = _record(path, match)
    if game is not None and game >= len(record.games):
        refuse(f"match {record.header.match} has the games 0 to {len(record.games) - 1}")
    bot = _bot(record, game, seat)
    try:
        lines = _of_game(list(sent_lines(record, bot)), game)
    except RecordError as problem:
        fail(str(problem))
    if not program:
        sys.stdout.buffer.write(lines)
        return
    if shutil.which(program[0]) is None:
        refuse(f"there is no program {program[0]}")
    try:
        done = subprocess.run(program, input=lines)
    except OSError as problem:
        fail(reason(problem))
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _of_game(lines: list[SentLine], game: int | None) -> bytes:
    """Return the lines as they are piped: all, or those of a game after the hello of its process."""
    if game is None:
        return b"".join(each.line for each in lines)
    hello = [each.line for each in lines if each.game <= game and each.line.startswith(b'{"type":"hello"')][-1:]
    own = [each.line for each in lines if each.game == game and not each.line.startswith(b'{"type":"hello"')]
    return b"".join((*hello, *own))


def _record(path: Path, match: int | None) -> Record:
    """Return the record that is meant. Exits with 2 where there is none, or several."""
    try:
        files = records_at(path)
        # In a run's folder the match has its name; elsewhere all are looked through.
        named = [file for file in files if match is not None and file.name == record_name(match)]
        records = [record_at(file) for file in named or files]
    except KeptError as problem:
        refuse(str(problem))
    chosen = [record for record in records if match in (None, record.header.match)]
    if len(chosen) != 1:
        numbers = [record.header.match for record in records]
        refuse(f"{path} has the matches {min(numbers)} to {max(numbers)}: choose one by --match")
    return chosen[0]


def _bot(record: Record, game: int | None, seat: str) -> int:
    """Return the bot of a name, a letter, or a seat. Exits with 2 where there is none."""
    bots, handles = record.header.bots, record.header.handles
    for names in (bots, handles):
        if seat in names:
            return names.index(seat)
    if game is None or not seat.isdecimal() or int(seat) >= len(bots):
        named = ", ".join(f"{shown(bot)} ({handle})" for bot, handle in zip(bots, handles, strict=True))
        refuse(f"--seat {shown(seat)}: the bots are {named}; a number is a seat in the game of --game")
    return record.games[game].seating[int(seat)]
