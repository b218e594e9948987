"""Implement `arena watch`, which prints games of bots at a pace that a person can read.

The games are played first, in the boxes and by the clocks of a run, then shown: so a pause costs no bot its time.
"""

import sys
from typing import Any

import click

from arena.cli import options
from arena.cli.console import fail, option, os_error_reason, print_note, treat_sigterm_as_sigint, usage_error
from arena.cli.options import complete_bot
from arena.cli.play import TableSetup, open_table_setup, table_options
from arena.cli.replay import GameNarrator, describe_records, print_narration, select_seat
from arena.formatting import format_count
from arena.referee import ArenaError, Record, RecordError
from arena.referee.process import play_match
from arena.tables.live_match import RecordFolder


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="[BOT...]", shell_complete=complete_bot)
@option("--games", type=click.IntRange(1, 1000), default=1, metavar="N", help="Watch N games.")
@option(
    "--seats",
    type=click.IntRange(2, 10),
    metavar="N",
    help="Players at the table; sample bots take free seats.  [the BOTs; for one or none 4]",
)
@options.RULES_OPTION
@option("--speed", type=click.FloatRange(0.05, 30), default=1.2, metavar="S", help="Seconds per turn.")
@option("--seat", metavar="BOT|N", help="Show only what this bot or seat could know.  [all cards]")
@option("--show-names", is_flag=True, help="Show bots the names of other bots instead of letters.")
@table_options
def watch(bots: tuple[str, ...], speed: float, seat: str | None, debug: str | None, **values: Any) -> None:
    """Watch bots play, turn by turn.

    BOT is as for arena run. The games are played first, then shown and saved: arena replay shows them again. If
    standard output isn't a terminal, all turns are printed at once.
    """
    treat_sigterm_as_sigint()
    with open_table_setup(values, bots, 0, debug) as table:
        names = [bot.name for bot in table.bots]
        seat_names = (*names, *map(str, range(len(names))))
        if seat is not None and seat not in seat_names:
            usage_error(f"--seat {seat}: the seats are 0 to {len(names) - 1}, or a bot's name: {', '.join(names)}")
        record = _play(table, values["games"], values["show_names"])
    narrators = [GameNarrator(record, game, select_seat(record, game, seat)) for game in record.games]
    try:
        for narrator in narrators:
            print_narration(narrator, pause_s=speed if sys.stdout.isatty() else 0)
    except RecordError as problem:
        fail(str(problem))
    finally:
        print_note(describe_records(table.folder, "show again", record.games))


def _play(table: TableSetup, games: int, show_names: bool) -> Record:
    """Play the match at once, write its record, and return it. Exits with 1 if that fails."""
    spec = table.spec(games, [bot.name for bot in table.bots], table.timings(0), show_names)
    try:
        folder = RecordFolder(table.folder)  # first: what can't be stored isn't played
        print_note(f"playing {format_count(games, 'game')} of {spec.settings.rules.name}")
        try:
            result = play_match(spec, table.starter(spec))
            folder.save(result.record, result.logs)
        finally:
            folder.discard()
    except ArenaError as problem:
        fail(f"the match is void: {problem}")
    except OSError as problem:
        fail(f"the record can't be written: {os_error_reason(problem)}")
    return result.record
