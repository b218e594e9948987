"""The command `arena ladder log`: what a bot wrote to standard error in a match."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, complete_bots, ladder_at
from arena.cli.out import note, refuse, write
from ladder import views
from ladder.access import STAFF
from protocol import show as printable

LINE = 2000  # characters of a line that are printed


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1, 2**31 - 1))
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@answers(views.Logs)
def log(folder: Path, match: int, bot: str, as_json: bool) -> None:
    """Print what a bot wrote to standard error in a match, a process after the other.

    What could act on a terminal is printed as an escape.
    """
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        line = views.find_match(reader.connection, match)
        if line is None:
            refuse(f"there is no match {match}; see arena ladder matches {folder}")
        logs = views.logs(reader, line, bot)
    if logs is None:
        there = ", ".join(seat.label for seat in line.seats)
        refuse(f"{shown(bot)} did not play in match {match}; there were {there}")
    if as_json:
        print_json(logs)
        return
    if not logs.rows:
        note(f"nothing of it is kept: {shown(bot)} wrote nothing, or its time was over (ladder.toml, retention)")
    for part in logs.rows:
        write(f"--- {shown(part.version)}, process {part.process}")
        write_log(part.text)


def write_log(data: bytes) -> None:
    """Print what a program wrote, what could act on a terminal as escapes."""
    write("\n".join(printable(part, LINE) for part in data.rstrip(b"\n").split(b"\n")))
