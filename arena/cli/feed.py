"""Implement `arena feed`, which prints the lines that a bot was sent in a recorded match."""

import shutil
import subprocess
import sys
from pathlib import Path

import click

from arena.cli.console import fail, option, os_error_reason, usage_error
from arena.cli.options import complete_name, parse_seat_number
from arena.escaping import escape_control
from arena.referee import Record, RecordError, SentLine, sent_lines
from arena.run import RecordFileError, find_record_files, read_record_file, record_file_name

_HELLO_START = b'{"type":"hello"'


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@click.argument("program", metavar="[-- PROGRAM...]", nargs=-1, type=click.UNPROCESSED)
@option("--match", type=click.IntRange(0), metavar="N", help="Match in the run's folder.")
@option("--game", type=click.IntRange(0), metavar="N", help="Only the hello and this game.  [all games]")
@option(
    "--seat",
    metavar="BOT|N",
    required=True,
    shell_complete=complete_name,
    help="Bot, by name or letter; with --game also by seat.",
)
def feed(path: Path, program: tuple[str, ...], match: int | None, game: int | None, seat: str) -> None:
    """Print the lines that a bot received in a recorded match.

    PROGRAM gets them on standard input, without waiting for its replies, and the exit code is that of PROGRAM.
    For a bot that crashed, the lines end at that request. bank_ms may be 1 ms off; errors on stray lines are missing.

    gdb: run < lines.jsonl; node: node inspect bot.js < lines.jsonl; debug-a-decision.md has the line for pdb.
    """
    record = _get_record(path, match)
    if game is not None and game >= len(record.games):
        usage_error(f"match {record.header.match} has games 0 to {len(record.games) - 1}")
    bot = _get_bot(record, game, seat)
    try:
        lines = _join_lines(list(sent_lines(record, bot)), game)
    except RecordError as problem:
        fail(str(problem))
    if not program:
        sys.stdout.buffer.write(lines)
        return
    if shutil.which(program[0]) is None:
        usage_error(f"program not found: {program[0]}")
    try:
        process = subprocess.run(program, input=lines)
    except OSError as problem:
        fail(os_error_reason(problem))
    sys.exit(process.returncode if process.returncode >= 0 else 128 - process.returncode)


def _join_lines(lines: list[SentLine], game: int | None) -> bytes:
    """Return the lines to pipe: all, or those of a game after the hello of its process."""
    if game is None:
        return b"".join(sent.line for sent in lines)
    hellos = [sent.line for sent in lines if sent.game <= game and sent.line.startswith(_HELLO_START)]
    game_lines = [sent.line for sent in lines if sent.game == game and not sent.line.startswith(_HELLO_START)]
    return b"".join((*hellos[-1:], *game_lines))


def _get_record(path: Path, match: int | None) -> Record:
    """Return the record of a match, by default the only one at `path`. Exits with 2 unless there is exactly one."""
    try:
        all_files = find_record_files(path)
        # A run's folder names files by match; elsewhere all records are searched.
        files_of_match = [file for file in all_files if match is not None and file.name == record_file_name(match)]
        records = [read_record_file(file) for file in files_of_match or all_files]
    except RecordFileError as problem:
        usage_error(str(problem))
    numbers = [record.header.match for record in records]
    if match is None and len(set(numbers)) > 1:
        usage_error(f"{path} has matches {min(numbers)} to {max(numbers)}: choose one with --match")
    chosen = [record for record in records if match in (None, record.header.match)]
    if not chosen:
        usage_error(f"{path} has matches {min(numbers)} to {max(numbers)}, but not {match}")
    if len(chosen) > 1:
        usage_error(f"{path} has {len(chosen)} records of match {chosen[0].header.match}: name one of these files")
    return chosen[0]


def _get_bot(record: Record, game: int | None, seat: str) -> int:
    """Return the number of the bot with a name, a letter or a seat of `game`. Exits with 2 if it doesn't exist."""
    bots, handles = record.header.bots, record.header.handles
    for names in (bots, handles):
        if seat in names:
            return names.index(seat)
    number = parse_seat_number(seat)
    if game is None or number is None or number >= len(bots):
        choices = ", ".join(f"{escape_control(bot)} ({handle})" for bot, handle in zip(bots, handles, strict=True))
        usage_error(f"--seat {escape_control(seat)}: the bots are {choices}; for a seat number, add --game")
    return record.games[game].seating[number]
