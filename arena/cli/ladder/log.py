"""The command `arena ladder log`: what a bot wrote to standard error in a match."""

from pathlib import Path

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, complete_bots, opened, print_json
from arena.cli.out import note, refuse, write

LINE = 2000  # characters of a line that are printed


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1, 2**31 - 1))
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@AS_JSON
def log(folder: Path, match: int, bot: str, as_json: bool) -> None:
    """Print what a bot wrote to standard error in a match, a process after the other.

    What could act on a terminal is printed as an escape.
    """
    with opened(folder) as ladder:
        from arena.bots import shown
        from ladder.pages import find_match
        from ladder.store.database import get_log

        with ladder.database.read() as connection:
            line = find_match(connection, match)
            if line is None:
                refuse(f"there is no match {match}; see arena ladder matches {folder}")
            seats = [seat for seat in line.seats if bot in (seat.label, seat.label.rpartition("@")[0])]
            if not seats:
                there = ", ".join(seat.label for seat in line.seats)
                refuse(f"{shown(bot)} did not play in match {match}; there were {there}")
            found = [
                (seat.label, number, data)
                for seat in seats
                for number, data in get_log(connection, match, seat.version)
            ]
    if as_json:
        print_json(
            [
                {"version": label, "process": number, "text": data.decode(errors="backslashreplace")}
                for label, number, data in found
            ]
        )
        return
    if not found:
        note(f"nothing of it is kept: {shown(bot)} wrote nothing, or its time was over (ladder.toml, retention)")
    for label, number, data in found:
        write(f"--- {shown(label)}, process {number}")
        write_log(data)


def write_log(data: bytes) -> None:
    """Print what a program wrote, what could act on a terminal as escapes."""
    from protocol import show as printable

    write("\n".join(printable(part, LINE) for part in data.rstrip(b"\n").split(b"\n")))
